"""The tools that read and change files.

Two rules: a path is checked before the backend receives it, and its results before the model
does; every result has a bounded length, and one that is cut states how to read the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Semaphore

from thalweg_agent.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    WriteResult,
    accepts_max_count,
    cap_matches,
)
from thalweg_agent.backends.searches.matches import format_grep_matches, regex_literal_hint
from thalweg_agent.backends.text import truncate_if_too_long
from thalweg_agent.prompts import prompt
from thalweg_agent.tools.access import Access
from thalweg_agent.tools.answers import ToolAnswer, refuse
from thalweg_agent.tools.asking import BackendRequest, Steps, ask
from thalweg_agent.tools.schemas import OutputMode

GREP_TRUNCATION_NOTE = prompt("grep_cut").text
GLOB_TRUNCATION_NOTE = prompt("glob_cut").text
GLOB_UNREADABLE_NOTE = prompt("glob_unreadable").text
GLOB_PATHLESS_DENIED_HINT = ". " + prompt("glob_denied").text

MAX_LARGE = 10
"""Files that are named as too large to be searched."""
LONG_LINE = 2_000
"""Characters of a matching line that are shown whole; a longer one is shown around the match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToolContext:
    """Context shared by the tools of one agent."""

    backend: BackendProtocol
    """The backend to call."""
    access: Access
    slots: Semaphore
    """As `slots` of `asking.run`."""
    read_chars: int
    """Most characters of one `read_file`."""
    grep_max_count: int | None
    """Most matches of one `grep`, if the call does not state them."""
    glob_within_s: Callable[[], float]
    max_execute_timeout_s: int
    output_path: Callable[[str], str] | None = None
    """Returns the file for a call's output that is too long to show; `None`: no file is written."""
    samples_video: bool = False
    """Whether `read_file` returns frames of a video; else it returns the video unchanged."""


def ls(context: FileToolContext, path: str) -> Steps[ToolAnswer]:
    """List a folder."""
    path = context.access.checked("read", path)
    found = yield from ask(LsResult, "ls", path)
    shown = context.access.shown(entry["path"] for entry in found.entries or [])
    if found.error:
        # A partial listing helps more than the error alone.
        rest = f"\n\nThe rest of the folder:\n{_listed(shown)}" if shown else ""
        return refuse(f"Error: {truncate_if_too_long(found.error)}{rest}")
    return ToolAnswer(_listed(shown))


def write_file(context: FileToolContext, file_path: str, content: str) -> Steps[ToolAnswer]:
    """Write a whole file."""
    path = context.access.checked("write", file_path)
    done = yield from ask(WriteResult, "write", path, content)
    return refuse(done.error) if done.error else ToolAnswer(f"Updated file {done.path}")


def edit_file(
    context: FileToolContext,
    file_path: str,
    old_string: str,
    new_string: str,
    replace_all: bool = False,  # noqa: FBT001, FBT002  # the schema's
) -> Steps[ToolAnswer]:
    """Replace a text in a file."""
    path = context.access.checked("write", file_path)
    done = yield from ask(EditResult, "edit", path, old_string, new_string, replace_all=replace_all)
    if done.error:
        return refuse(done.error)
    return ToolAnswer(
        f"Successfully replaced {done.occurrences} instance(s) of the string in '{done.path}'"
    )


def delete(context: FileToolContext, file_path: str) -> Steps[ToolAnswer]:
    """Delete a file, or a folder with everything in it."""
    path = yield from context.access.deletable(file_path)
    done = yield from ask(DeleteResult, "delete", path)
    return refuse(done.error) if done.error else ToolAnswer(f"Deleted {done.path}")


def glob(context: FileToolContext, pattern: str, path: str | None = None) -> Steps[ToolAnswer]:
    """Find files by their paths."""
    hint = GLOB_PATHLESS_DENIED_HINT if path is None else ""
    root = context.access.checked("read", "/" if path is None else path, hint)
    within_s = context.glob_within_s()
    named: dict[str, object] = {"path": None if path is None else root}
    found: GlobResult = yield BackendRequest("glob", (pattern,), named, within_s)
    if found.error:
        return refuse(f"Error: {found.error}")
    text = _listed(context.access.shown(entry["path"] for entry in found.matches or []))
    if found.truncated:
        unreadable = found.truncation_reason == "unreadable"
        text = f"{text}\n\n{GLOB_UNREADABLE_NOTE if unreadable else GLOB_TRUNCATION_NOTE}"
    return ToolAnswer(text)


def grep(
    context: FileToolContext,
    pattern: str,
    path: str | None = None,
    glob: str | None = None,
    output_mode: OutputMode = "files_with_matches",
    max_count: int | None = None,
) -> Steps[ToolAnswer]:
    """Find lines that contain a text."""
    if path is not None:
        path = context.access.checked("read", path)
    most = context.grep_max_count if max_count is None else max_count
    requested, takes_count = most, accepts_max_count(type(context.backend))
    while True:
        bound = {"max_count": requested} if takes_count else {}
        found = yield from ask(GrepResult, "grep", pattern, path=path, glob=glob, **bound)
        matches = found.matches or []
        readable = set(context.access.shown(dict.fromkeys(match["path"] for match in matches)))
        shown = [match for match in matches if match["path"] in readable]
        if not (most and requested and takes_count and found.truncated):
            break
        # Matches that a rule hides took the place of others, unless time ended the search.
        if len(shown) >= most or len(matches) < requested:
            break
        requested *= 2
    hint = None if matches else regex_literal_hint(pattern)
    found = cap_matches(replace(found, matches=shown), most)
    return _matches(context, found, output_mode, pattern, hint)


def _matches(
    context: FileToolContext, found: GrepResult, mode: OutputMode, pattern: str, hint: str | None
) -> ToolAnswer:
    shown = found.matches or []
    if found.error and not shown:
        return refuse(found.error)
    shown = [_around(match, pattern) for match in shown]
    text = truncate_if_too_long(format_grep_matches(shown, mode))
    if large := context.access.shown(info["path"] for info in found.skipped):
        listed = ", ".join(large[:MAX_LARGE]) + (", …" if len(large) > MAX_LARGE else "")
        text = f"{text}\n\n{prompt('grep_large').render(paths=listed)}"
    if found.error:
        return refuse(f"{truncate_if_too_long(found.error)}\n\nPartial matches:\n{text}")
    if found.truncated:
        return ToolAnswer(f"{text}\n\n{GREP_TRUNCATION_NOTE}")
    if hint:
        return ToolAnswer(f"{text}\n\n{hint}")
    return ToolAnswer(text)


def _around(match: GrepMatch, pattern: str) -> GrepMatch:
    text = match["text"]
    if len(text) <= LONG_LINE:
        return match
    start = max(0, text.find(pattern) - LONG_LINE // 4)
    excerpt = prompt("grep_long").render(
        shown=text[start : start + LONG_LINE],
        start=start,
        chars=len(text),
        offset=match["line"] - 1,
    )
    return {**match, "text": excerpt}


def _listed(paths: list[str]) -> str:
    return str(truncate_if_too_long(paths)) if paths else "No files found"
