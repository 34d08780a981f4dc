"""FilesystemBackend and its base, compared with those of deepagents as it is installed."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from core_tests.property.path_strategies import paths, patterns, trees
from thalweg_agent.backends import utils as ours
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.protocol import FileData
from thalweg_agent.backends.text import check_empty_content

peer = pytest.importorskip("deepagents.backends.filesystem", reason="deepagents is not installed")
theirs = pytest.importorskip("deepagents.backends.utils")


Backend = Any  # ours or theirs
lines = st.lists(st.sampled_from(("a", "b", "a.b", "", "x" * 12_000, "ü")), max_size=5)
contents = st.builds(lambda ls, end: "\n".join(ls) + end, lines, st.sampled_from(("", "\n")))
names = st.sampled_from(("/a.txt", "/d/a.txt", "/d/e/b.py", "/.x/c.py", "/d", "/nowhere/x", "/"))
snippets = st.sampled_from(("a", "a\n", "a\na", "b", "", "a.b", "ü", "\n", "lost", "x\n"))


def told(call: Callable[..., object], *arguments: object) -> object:
    """Return the result of a call, or the kind of error it raises."""
    try:
        return call(*arguments)
    except ValueError:
        return ValueError


@given(paths)
def test_a_path_that_both_take_has_the_same_form(path: str) -> None:
    """Ours refuses more, and never returns a form that is not canonical."""
    mine, other = (told(side.validate_path, path) for side in (ours, theirs))
    if mine is ValueError or not isinstance(other, str):
        assert "\0" in path or other is ValueError or not path.isascii() or len(path) > 255
        return
    canonical = "/" + "/".join(n for n in other.split("/") if n not in {"", "."})
    event("canonical" if canonical == other else "theirs is not canonical")
    assert mine == canonical


@given(patterns, trees)
def test_a_glob_means_what_it_means_there(pattern: str, tree: list[str]) -> None:
    """And is refused where it is refused there."""
    mine, other = (told(side.compile_grep_include_glob, pattern) for side in (ours, theirs))
    assert (mine is ValueError) == (other is ValueError)
    if callable(mine) and callable(other):
        assert [bool(mine(path)) for path in tree] == [bool(other(path)) for path in tree]


@given(contents, st.integers(-2, 8), st.integers(-2, 8))
def test_a_window_is_the_same(content: str, offset: int, limit: int) -> None:
    """With the same words where there is none."""
    file = FileData(content=content, encoding="utf-8")

    assert asdict(ours.slice_read_response(file, offset, limit)) == asdict(
        theirs.slice_read_response(file, offset, limit)
    )


@given(contents, st.integers(1, 1_000))
def test_numbers_stand_beside_lines_the_same(content: str, start: int) -> None:
    """Also of lines that go on in rows of their own, and of lists of lines."""
    for text in (content, content.split("\n")):
        assert ours.format_content_with_line_numbers(
            text, start
        ) == theirs.format_content_with_line_numbers(text, start)


@given(contents, snippets, snippets, st.booleans())
def test_a_replacement_is_the_same(content: str, old: str, new: str, every: bool) -> None:  # noqa: FBT001
    """With the same words where it is refused."""
    assert ours.perform_string_replacement(
        content, old, new, every
    ) == theirs.perform_string_replacement(content, old, new, every)


@given(st.one_of(st.text(max_size=20), contents.map(lambda text: text * 9)))
def test_results_too_long_are_cut_the_same(text: str) -> None:
    """Texts and lists."""
    for result in (text, text * 100, text.split("\n") * 50):
        assert ours.truncate_if_too_long(result) == theirs.truncate_if_too_long(result)


@given(st.text(max_size=200), st.text("./\\aé", max_size=200))
def test_hints_and_ids_are_the_same(text: str, call: str) -> None:
    """In their fixed words."""
    assert ours.regex_literal_hint(text) == theirs.regex_literal_hint(text)
    assert check_empty_content(text) == theirs.check_empty_content(text)
    assert ours.sanitize_tool_call_id(call) == theirs.sanitize_tool_call_id(call)


matches = st.lists(
    st.fixed_dictionaries(
        {
            "path": st.sampled_from(("/a", "/b/c")),
            "line": st.integers(1, 9),
            "text": st.sampled_from(("x", "y z", "")),
        },
        optional={
            side: st.lists(
                st.fixed_dictionaries({"line": st.integers(1, 12), "text": st.just("beside")}),
                max_size=2,
            )
            for side in ("context_before", "context_after")
        },
    ),
    max_size=5,
    unique_by=lambda match: (match["path"], match["line"]),
)


@given(matches, st.sampled_from(("files_with_matches", "content", "count")))
def test_matches_are_put_in_words_the_same(found: list[Any], mode: Any) -> None:  # noqa: ANN401
    """In every mode, with context and without."""
    marked = {(match["path"], match["line"]) for match in found}
    for match in found:
        for side in ("context_before", "context_after"):
            assume(all((match["path"], b["line"]) not in marked for b in match.get(side, [])))
    alike = len({("context_before" in m or "context_after" in m) for m in found}) < 2
    assume(alike)

    assert ours.format_grep_matches(found, mode) == theirs.format_grep_matches(found, mode)


@given(st.dictionaries(names, contents, max_size=4), snippets, names, patterns)
def test_a_search_in_memory_finds_the_same(
    kept: dict[str, str], text: str, folder: str, glob: str
) -> None:
    """In the same order, cut at the same number."""
    files = {path: FileData(content=content, encoding="utf-8") for path, content in kept.items()}
    assume(not any(content.endswith("\n") and text == "" for content in kept.values()))
    assume("" not in kept.values() or text)
    inside = (
        folder.rstrip("/") + "/"
    )  # of a file and a folder of one name, theirs searches the file
    assume(folder not in kept or not any(p != folder and p.startswith(inside) for p in kept))
    for most in (None, 2):
        found, others = (
            asdict(side.grep_matches_from_files(files, text, folder, glob, max_count=most))
            for side in (ours, theirs)
        )
        assert found == others | {"skipped": []}


steps = st.one_of(
    st.tuples(st.just("write"), names, contents),
    st.tuples(st.just("read"), names, st.integers(-1, 4), st.integers(-1, 4)),
    st.tuples(st.just("edit"), names, snippets, snippets, st.booleans()),
    st.tuples(st.just("delete"), names.filter(lambda name: name != "/")),
    st.tuples(st.just("ls"), names),
    st.tuples(st.just("glob"), patterns, names),
    st.tuples(st.just("grep"), st.sampled_from(("a", "ü", "lost")), names),
    st.tuples(st.just("download_files"), st.lists(names, max_size=2)),
    st.tuples(
        st.just("upload_files"), st.lists(st.tuples(names, st.binary(max_size=4)), max_size=2)
    ),
)


@pytest.mark.parametrize("virtual", [True, False])
@given(taken=st.lists(steps, max_size=12))
def test_a_folder_is_worked_on_with_the_same_results(
    *, virtual: bool, taken: list[tuple[Any, ...]]
) -> None:
    """Both agree after any operations on a folder, but for words that name the machine's paths."""
    bases = [mkdtemp(), mkdtemp()]
    try:
        pair: list[Backend] = [
            kind(base, virtual_mode=virtual)
            for kind, base in zip((FilesystemBackend, peer.FilesystemBackend), bases, strict=True)
        ]
        for name, *arguments in taken:
            if name == "grep" and Path(bases[1], arguments[1][1:]).is_file():
                continue  # theirs searches the whole folder of a file
            homes = ["", ""] if virtual else bases
            mine, other = (
                plain(told(getattr(backend, name), *placed(home, name, arguments)), home)
                for backend, home in zip(pair, homes, strict=True)
            )
            event(name)
            assert mine == other, (name, arguments)
        assert kept(bases[0]) == kept(bases[1])
    finally:
        for base in bases:
            rmtree(base)


def placed(home: str, name: str, arguments: list[Any]) -> list[Any]:
    """Put a home before the paths of a call."""
    match name, arguments:
        case "glob" | "grep", [pattern, path]:
            return [pattern, home + path]
        case "download_files", [paths]:
            return [[home + path for path in paths]]
        case "upload_files", [files]:
            return [[(home + path, raw) for path, raw in files]]
        case _:
            return [home + arguments[0], *arguments[1:]]


def plain(result: Any, home: str) -> object:  # noqa: ANN401
    """Remove the home, times, and words of the system, which theirs returns with its paths."""
    if isinstance(result, list):
        return [plain(item, home) for item in result]
    if result is ValueError:
        return result
    fields = asdict(result)
    fields.pop("skipped", None)
    if (fields.get("error") or "").startswith("Error ") and "'" in fields["error"]:
        fields["error"] = fields["error"].split("': ")[0]
    for found in ("entries", "matches"):
        items = fields.get(found) or []
        fields[found] = sorted(
            ({key: value for key, value in item.items() if key != "modified_at"} for item in items),
            key=repr,
        )
    return repr(fields).replace(home, "") if home else repr(fields)


def kept(base: str) -> list[tuple[str, bytes]]:
    """Everything in a folder."""
    return sorted(
        (str(path.relative_to(base)), path.read_bytes() if path.is_file() else b"")
        for path in Path(base).rglob("*")
    )
