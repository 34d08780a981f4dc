"""Names by which programs written for Deep Agents import parts of the file tools."""

import pytest
from langchain_core.messages import HumanMessage, ToolMessage

from tests.unit.middleware.test_filesystem_permissions import request
from thalweg.backends.state import StateBackend
from thalweg.middleware import filesystem
from thalweg.middleware._fs_interrupt import (
    _build_interrupt_on_from_permissions,
    _make_fs_when_predicate,
)
from thalweg.middleware._message_eviction import (
    _build_evicted_content,
    _create_content_preview,
    _preview_note,
    render_too_large_tool_msg,
)
from thalweg.middleware.filesystem import FilesystemPermission
from thalweg.middleware.filesystem_names import (
    _all_paths_scoped_to_routes,
    _apply_permissions_to_glob_results,
    _build_truncated_human_message,
    _check_fs_permission,
    _file_data_reducer,
    _filter_paths_by_permission,
    _find_delete_deny_patterns,
    _route_host_path_prompt,
)

RULES = [FilesystemPermission(["read", "write"], ["/secrets/**"], "deny")]


def test_names_are_found_where_programs_look_for_them() -> None:
    """Old ones too; and a name that never was is an error as usual."""
    for name in ("_check_fs_permission", "GREP_GLOB_DESCRIPTION", "TOO_LARGE_TOOL_MSG"):
        assert getattr(filesystem, name)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = filesystem.nonsense


def test_rules_are_asked_by_their_old_names() -> None:
    """Each says what rights say."""
    found = [{"path": "/secrets/key"}, {"path": "/a"}]

    assert _check_fs_permission(RULES, "read", "/secrets/key") == "deny"
    assert _find_delete_deny_patterns(RULES, "/") == ["/secrets/**"]
    assert _find_delete_deny_patterns(RULES, "/secrets", has_descendants=False) == []
    assert _filter_paths_by_permission(RULES, "read", ["/secrets/key", "/a"]) == ["/a"]
    assert _apply_permissions_to_glob_results(RULES, found) == ["/a"]  # type: ignore[arg-type]
    assert not _all_paths_scoped_to_routes(RULES, StateBackend())
    assert _route_host_path_prompt(StateBackend()) == ""
    assert _file_data_reducer({}, {"/a": None}) == {}


def test_calls_that_wait_are_asked_by_their_old_names() -> None:
    """For one path, and for what may be in a folder."""
    rules = [FilesystemPermission(["read"], ["/secrets/**"], "interrupt")]
    exact = _make_fs_when_predicate(rules, "read", "file_path", "exact")
    bulk = _make_fs_when_predicate(rules, "read", "path", "bulk", "pattern")

    assert exact(request("read_file", file_path="/secrets/key"))
    assert bulk(request("glob", path="/a", pattern="/secrets/*"))
    assert not bulk(request("glob", path="/a", pattern="*"))
    assert "ls" in _build_interrupt_on_from_permissions(rules)


def test_stubs_are_made_by_their_old_names() -> None:
    """With notes that say what is missing, and only that."""
    long = "\n".join(map(str, range(50)))
    stub = render_too_large_tool_msg(tool_call_id="c", file_path="/f", content_str=long)
    message = _build_truncated_human_message(HumanMessage(long, id="h"), "/f")
    clipped = _create_content_preview("x" * 5_000)

    assert "/f" in stub
    assert "lines of the form" in stub
    assert "/f" in str(message.content)
    assert message.additional_kwargs == {}
    assert (clipped.lines_omitted, clipped.lines_clipped) == (False, True)
    assert _preview_note(lines_omitted=False) == "Here is a preview of the result:"
    assert _build_evicted_content(ToolMessage("t", tool_call_id="c"), "stub") == "stub"
