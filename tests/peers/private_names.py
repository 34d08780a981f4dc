"""Private names of deepagents under which its tests reach behaviour that Thalweg has.

They are no part of Thalweg: each is one line over what does the work.
"""

import base64
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import BaseTool

from thalweg_agent.backends import file_data, paths
from thalweg_agent.backends.concurrency.state_channel import merge_files
from thalweg_agent.backends.paths import sanitize_tool_call_id
from thalweg_agent.backends.protocol import (
    BackendProtocol,
    FileData,
    FileDownloadResponse,
    FileInfo,
    supports_delete,
)
from thalweg_agent.backends.sandbox import errand, included
from thalweg_agent.backends.searches.matches import glob_matches_from_files
from thalweg_agent.backends.text import TRUNCATION_MARKER_TEMPLATE
from thalweg_agent.graph.state import merge_messages
from thalweg_agent.middleware.filesystem import FilesystemMiddleware, shell_paths
from thalweg_agent.middleware.memory import MEMORY_SYSTEM_PROMPT, MemoryFilesMiddleware
from thalweg_agent.middleware.permissions import When, interrupts, when_looked_in, when_touched
from thalweg_agent.middleware.skills.loading import find_skills_in, read_download
from thalweg_agent.middleware.skills.middleware import SkillsMiddleware
from thalweg_agent.middleware.subagents.middleware import (
    CompiledSubAgent,
    SubAgent,
    SubAgentMiddleware,
)
from thalweg_agent.prompts import prompt
from thalweg_agent.skills.format import (
    SkillMetadata,
    annotations,
    as_metadata,
    parse_skill,
    validate_skill_name,
)
from thalweg_agent.skills.listing import write_warnings
from thalweg_agent.tools.access import Access
from thalweg_agent.tools.asking import Steps, arun, run
from thalweg_agent.tools.filing import FILED, Result, as_stub, file_result, retold, text_of
from thalweg_agent.tools.kit import FILE_TOOLS
from thalweg_agent.tools.places import below_routes, keeps_in_state, real_path
from thalweg_agent.tools.previews import (
    PREVIEW_LINE_CHAR_LIMIT,
    ContentPreview,
    preview_of,
    result_stub,
)
from thalweg_agent.tools.rights import FilesystemOperation, Mode, Permissions, rights
from thalweg_agent.tools.video import VideoError, sample_frames

_log = logging.getLogger("thalweg.skills")
_NOWHERE = BackendProtocol()


_ALL_FS_TOOL_NAMES = frozenset(FILE_TOOLS)
_FS_TOOL_ORDER = tuple(name for name in FILE_TOOLS if name != "execute")
_TOO_LARGE_HUMAN_MSG = prompt("too_large_message").text
_SYNC_GLOB_WORKERS = 4


def _file_data_reducer(left: Any, right: Any) -> Any:  # noqa: ANN401 (as the peer has it)
    return dict(merge_files(left, [right]))


def _paths_overlap(one: str, other: str) -> bool:
    first, second = PurePosixPath(one), PurePosixPath(other)
    return first.is_relative_to(second) or second.is_relative_to(first)


_file_data_delta_reducer = merge_files
_resolve_real_path = real_path
_route_host_path_prompt = shell_paths
_uses_state_backend = keeps_in_state


def _check_fs_permission(rules: Permissions, operation: FilesystemOperation, path: str) -> Mode:
    return rights(rules).verdict(operation, path)


def _find_delete_deny_patterns(
    rules: Permissions, target: str, *, has_descendants: bool = True
) -> list[str]:
    return rights(rules).forbidding(target, is_folder=has_descendants)


def _filter_paths_by_permission(
    rules: Permissions,
    operation: Literal["read"],
    paths: Iterable[str],
    *,
    backend: BackendProtocol | None = None,
) -> list[str]:
    del operation
    return Access(rights(rules), backend or _NOWHERE).shown(paths)


def _apply_permissions_to_glob_results(
    rules: Permissions, matches: Iterable[FileInfo], *, backend: BackendProtocol | None = None
) -> list[str]:
    paths = (match["path"] for match in matches)
    return _filter_paths_by_permission(rules, "read", paths, backend=backend)


_apply_permissions_to_ls_results = _apply_permissions_to_glob_results


def _all_paths_scoped_to_routes(rules: Permissions, backend: BackendProtocol) -> bool:
    return below_routes(rights(rules), backend)


def _build_truncated_human_message(message: HumanMessage, file_path: str) -> HumanMessage:
    told = {**message.additional_kwargs, FILED: file_path}
    shown = as_stub(message.model_copy(update={"additional_kwargs": told}))
    return shown.model_copy(update={"additional_kwargs": message.additional_kwargs})


_build_interrupt_on_from_permissions = interrupts


def _make_fs_when_predicate(
    rules: Permissions,
    operation: FilesystemOperation,
    path_arg_name: str,
    scope: Literal["exact", "bulk"],
    pattern_arg_name: str | None = None,
    backend: BackendProtocol | None = None,
) -> When:
    access = Access(rights(rules), backend or BackendProtocol())
    if scope == "exact":
        return when_touched(access, operation, path_arg_name)
    return when_looked_in(access, operation, path_arg_name, pattern_arg_name)


TOO_LARGE_TOOL_MSG = _TOO_LARGE_TOOL_MSG = prompt("too_large_result").text
_create_content_preview = preview_of
_extract_text_from_message = text_of


def _preview_note(
    *, lines_omitted: bool, lines_clipped: bool = False, subject: str = "result"
) -> str:
    preview = ContentPreview("", lines_omitted=lines_omitted, lines_clipped=lines_clipped)
    return preview.note(subject)


def _build_evicted_content(message: BaseMessage, replacement_text: str) -> object:
    return retold(message, replacement_text).content


def render_too_large_tool_msg(*, tool_call_id: str, file_path: str, content_str: str) -> str:
    """Write the replacement of a tool's result."""
    return result_stub(tool_call_id, file_path, preview_of(content_str))


_render_too_large_tool_msg = render_too_large_tool_msg


_format_skill_annotations = annotations
_validate_skill_name = validate_skill_name


def _validate_metadata(raw: object, skill_path: str) -> dict[str, str]:
    oddities: list[str] = []
    metadata = as_metadata(raw, oddities)
    for oddity in oddities:
        _log.warning("Skill %s: %s", skill_path, oddity)
    return metadata


def _parse_skill_metadata(
    content: str, skill_path: str, directory_name: str
) -> SkillMetadata | None:
    return parse_skill(content, skill_path, directory_name).skill


def _skill_metadata_from_response(
    response: FileDownloadResponse, skill_dir_path: str, skill_md_path: str
) -> SkillMetadata | None:
    del skill_dir_path
    return read_download(response, skill_md_path).skill


def _list_skills(backend: BackendProtocol, source_path: str) -> list[SkillMetadata]:
    found = run(find_skills_in([source_path], is_followed=False), backend)
    return found.skills if found else []


async def _alist_skills(backend: BackendProtocol, source_path: str) -> list[SkillMetadata]:
    found = await arun(find_skills_in([source_path], is_followed=False), backend)
    return found.skills if found else []


_FORK_TASK_PREAMBLE = f"{prompt('task_fork').render()}\n\n"
_FORK_RECURSION_REFUSAL = prompt("task_fork_refused").render()
_FORKED_CONTEXT_KEY = "_deepagents_forked_context"


def _build_task_tool(
    subagents: Sequence[SubAgent | CompiledSubAgent],
    task_description: str | None = None,
    *,
    private_state_keys: frozenset[str] = frozenset(),
    state_schema: type | None = None,
) -> BaseTool:
    """Make the tool alone, without the middleware that enters its calls in a ledger."""
    middleware = SubAgentMiddleware(
        backend=None,
        subagents=subagents,
        task_description=task_description,
        private_state_keys=private_state_keys,
        state_schema=state_schema,
    )
    return middleware.tools[0]


def _glob_command(pattern: str, path: str) -> str:
    """Return a sandbox's glob, in the form in which the peer's tests take a command apart."""
    return _python_command(errand("python3", "glob", path, included(pattern)), path)


def _python_command(command: str, folder: str) -> str:
    """Write a command of a sandbox as `python3 -c "…" 2>&1`, with paths relative to a folder."""
    script, arguments = command.split(" -c ", 1)[1].removeprefix("'").split("' ", 1)
    argv = ["-c", *arguments.removesuffix(" 2>&1").split()]
    relative = (
        "import contextlib,io,json,os,sys\n"
        f"sys.argv={argv!r}\n"
        "out=io.StringIO()\n"
        f"with contextlib.redirect_stdout(out):\n exec({script!r})\n"
        "for line in out.getvalue().splitlines():\n"
        " record=json.loads(line)\n"
        f" if 'path' in record: record['path']=os.path.relpath(record['path'],{folder!r})\n"
        " print(json.dumps(record))\n"
    )
    return f'python3 -c "{relative}" 2>&1'


class _ReadTemplate(str):
    """A command that reads a file; `format` takes what the peer's template takes."""

    __slots__ = ()

    def format(self, *_: object, **given: Any) -> str:  # noqa: ANN401  # the peer's names
        path = base64.b64decode(given["path_b64"]).decode()
        kind = "text" if given["file_type"] == "text" else "bytes"
        window = (str(given["offset"]), str(given["limit"]), str(500 * 1024))
        return _python_command(errand("python3", "read", path, kind, *window), "/")


def _glob_search_files(held: Mapping[str, FileData], pattern: str, path: str | None = None) -> str:
    found = glob_matches_from_files(held, pattern, path).matches or ()
    names = [match["path"] for match in found]
    names.sort(key=lambda name: held[name].get("modified_at", ""), reverse=True)
    return "\n".join(names) or "No files found"


def _format_source_block(content: str | list[str]) -> str:
    rows = content.split("\n") if isinstance(content, str) else content
    return "\n".join(rows[:-1] if isinstance(content, str) and not rows[-1] else rows)


def _format_agent_memory(
    self: MemoryFilesMiddleware, contents: Mapping[str, str], template: str = MEMORY_SYSTEM_PROMPT
) -> str:
    return self.write(contents, template)


def _format_skills_list(self: SkillsMiddleware, skills: Sequence[SkillMetadata]) -> str:
    if skills:
        return str(self._listing(skills, ()).text)
    return prompt("skills_none").render(sources=" or ".join(self.sources))


def _filed(self: FilesystemMiddleware, result: Result) -> Steps[Result]:
    most = self._result_chars
    return file_result(result, self._results_folder, sys.maxsize if most is None else most)


PRIVATE_METHODS: Mapping[type, Mapping[str, Any]] = {
    MemoryFilesMiddleware: {"_format_agent_memory": _format_agent_memory},
    FilesystemMiddleware: {
        "_filter_unsupported_tools_and_apply_prompt": (
            lambda self, request: self._with_tools_and_prompt(request)
        ),
        "_intercept_large_tool_result": lambda self, result: run(
            _filed(self, result), self.backend
        ),
        "_aintercept_large_tool_result": lambda self, result: arun(
            _filed(self, result), self.backend
        ),
    },
    SkillsMiddleware: {
        "_format_skills_list": _format_skills_list,
        "_format_skills_locations": lambda self: self._locations,
        "_format_skills_load_warnings": lambda _, errors: write_warnings(errors),
    },
}
"""Methods of the peer's middleware, by ours."""

PRIVATE_NAMES: Mapping[str, Mapping[str, object]] = {
    "deepagents.backends.utils": {
        "_EXTENSION_TO_FILE_TYPE": file_data.EXTENSION_TO_FILE_TYPE,
        "_VIDEO_EXTRA_EXTENSIONS": file_data.VIDEO_EXTRA_EXTENSIONS,
        "_copy_file_data_with_content": file_data.with_content,
        "_filter_files_by_path": paths.files_under,
        "_format_source_block": _format_source_block,
        "_get_backend_read_file_type": file_data.read_file_type,
        "_get_file_type": file_data.file_type,
        "_glob_anchor": paths.glob_anchor,
        "_glob_search_files": _glob_search_files,
        "_normalize_path": paths.normalize_path,
        "_paths_overlap": _paths_overlap,
        "_relative_to_root": paths.relative_to,
    },
    "deepagents._messages_reducer": {"_messages_delta_reducer": merge_messages},
    "deepagents.middleware.filesystem": {
        "_ALL_FS_TOOL_NAMES": _ALL_FS_TOOL_NAMES,
        "_FS_TOOL_ORDER": _FS_TOOL_ORDER,
        "_TOO_LARGE_HUMAN_MSG": _TOO_LARGE_HUMAN_MSG,
        "_SYNC_GLOB_WORKERS": _SYNC_GLOB_WORKERS,
        "_file_data_reducer": _file_data_reducer,
        "_file_data_delta_reducer": _file_data_delta_reducer,
        "_resolve_real_path": _resolve_real_path,
        "_route_host_path_prompt": _route_host_path_prompt,
        "_uses_state_backend": _uses_state_backend,
        "_check_fs_permission": _check_fs_permission,
        "_find_delete_deny_patterns": _find_delete_deny_patterns,
        "_filter_paths_by_permission": _filter_paths_by_permission,
        "_apply_permissions_to_glob_results": _apply_permissions_to_glob_results,
        "_apply_permissions_to_ls_results": _apply_permissions_to_ls_results,
        "_all_paths_scoped_to_routes": _all_paths_scoped_to_routes,
        "_build_truncated_human_message": _build_truncated_human_message,
        "sanitize_tool_call_id": sanitize_tool_call_id,
        "TOO_LARGE_TOOL_MSG": TOO_LARGE_TOOL_MSG,
    },
    "deepagents.middleware._video": {
        "VideoExtractionError": VideoError,
        "extract_video_frames": sample_frames,
    },
    "deepagents.middleware._fs_interrupt": {
        "_build_interrupt_on_from_permissions": _build_interrupt_on_from_permissions,
        "_make_fs_when_predicate": _make_fs_when_predicate,
    },
    "deepagents.middleware._message_eviction": {
        "TOO_LARGE_TOOL_MSG": TOO_LARGE_TOOL_MSG,
        "_create_content_preview": _create_content_preview,
        "_extract_text_from_message": _extract_text_from_message,
        "_preview_note": _preview_note,
        "_build_evicted_content": _build_evicted_content,
        "render_too_large_tool_msg": render_too_large_tool_msg,
        "_render_too_large_tool_msg": _render_too_large_tool_msg,
        "_TOO_LARGE_TOOL_MSG": _TOO_LARGE_TOOL_MSG,
        "PREVIEW_LINE_CHAR_LIMIT": PREVIEW_LINE_CHAR_LIMIT,
        "TRUNCATION_MARKER_TEMPLATE": TRUNCATION_MARKER_TEMPLATE,
        "ContentPreview": ContentPreview,
    },
    "deepagents.middleware.skills": {
        "_format_skill_annotations": _format_skill_annotations,
        "_validate_skill_name": _validate_skill_name,
        "_validate_metadata": _validate_metadata,
        "_parse_skill_metadata": _parse_skill_metadata,
        "_skill_metadata_from_response": _skill_metadata_from_response,
        "_list_skills": _list_skills,
        "_alist_skills": _alist_skills,
    },
    "deepagents.middleware.subagents": {
        "_FORK_TASK_PREAMBLE": _FORK_TASK_PREAMBLE,
        "_FORK_RECURSION_REFUSAL": _FORK_RECURSION_REFUSAL,
        "_FORKED_CONTEXT_KEY": _FORKED_CONTEXT_KEY,
        "_build_task_tool": _build_task_tool,
    },
    "deepagents.backends.sandbox": {
        "_build_glob_cmd": _glob_command,
        "_READ_COMMAND_TEMPLATE": _ReadTemplate(),
    },
    "deepagents.backends.protocol": {"_supports_delete": supports_delete},
}
"""By the peer's module."""
