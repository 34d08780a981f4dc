"""Answers of a sandbox to the file commands, parsed into results.

Two rules: an answer that cannot be parsed is an error that shows its beginning, never an empty
result, from which a model would conclude that there are no files; a path in it is made absolute
and converted to its name outside the sandbox.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from thalweg_agent.backends.protocol import (
    EditResult,
    ExecuteResponse,
    FileData,
    FileInfo,
    GlobResult,
    GlobTruncationReason,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
)
from thalweg_agent.backends.text import check_empty_content

MAX_BINARY_BYTES: Final = 500 * 1024
"""Bytes of a file that is no text above which it is not read."""
MAX_OUTPUT_BYTES: Final = 500 * 1024
"""Bytes that one answer may have."""
TRUNCATION_MSG: Final = (
    "\n\n[Output was truncated due to size limits. The line above is longer than one read can "
    "carry; the rest of the file is read with a larger offset.]"
)
_SHOWN: Final = 200

Outside = Callable[[str], str]
"""Converts a path in the sandbox to the path that callers use."""


def as_ls(response: ExecuteResponse, path: str, outside: Outside) -> LsResult:
    """Read the entries of a folder; an error among them counts before them."""
    entries: list[FileInfo] = []
    problem = _failure(response)
    is_cut = response.truncated or problem is not None
    if problem and not response.output.strip():
        return LsResult(error=f"Path '{path}': {problem}")
    for record in _records(response):
        match record:
            case {"error": error}:
                return LsResult(error=f"Path '{path}': {error}")
            case {"path": str()}:
                entries.append(_info(record, outside))
            case {"warning": _}:
                is_cut = True
            case _:
                return LsResult(error=f"Path '{path}': {_strange(record)}")
    cut = f"Path '{path}': only the first {len(entries)} entries are listed"
    return LsResult(error=cut if is_cut else None, entries=entries)


def as_read(response: ExecuteResponse, path: str) -> ReadResult:
    """Read a window of a file."""
    record = _record(response)
    match record:
        case {"error": "file_not_found" as error}:
            return ReadResult(error=f"File '{path}' not found: {error}")
        case {"error": str(error)} if error.startswith("Line offset"):
            return ReadResult(error=error)
        case {"error": error}:
            return ReadResult(error=f"File '{path}': {error}")
        case {"content": str(content)}:
            pass
        case _:
            return ReadResult(error=f"File '{path}': {_strange(record)}")
    if record.get("is_cut"):
        content += TRUNCATION_MSG
    start, no_lines = record.get("start_line"), bool(record.get("no_lines_requested"))
    if start is None and not no_lines:
        content = check_empty_content(content) or content
    try:
        return ReadResult(
            file_data=FileData(content=content, encoding=record.get("encoding", "utf-8")),
            total_lines=record.get("total_lines"),
            start_line=start,
            end_line=record.get("end_line"),
            next_offset=record.get("next_offset"),
            no_lines_requested=no_lines,
        )
    except (TypeError, ValueError) as contradiction:
        return ReadResult(error=f"File '{path}': unexpected server response: {contradiction}")


def as_edit(response: ExecuteResponse, path: str, old: str) -> EditResult:
    """Parse the result of an edit."""
    record = _record(response)
    match record:
        case {"error": error}:
            return EditResult(error=_refusal(str(error), path, old, record.get("count")))
        case {"count": int(count)}:
            return EditResult(path=path, occurrences=count)
        case _:
            return EditResult(error=f"Error editing file '{path}': {_strange(record)}")


def as_glob(response: ExecuteResponse, path: str, outside: Outside) -> GlobResult:
    """Read the files that a glob found."""
    if problem := _failure(response):
        return GlobResult(error=f"Path '{path}': glob helper failed: {problem}")
    found: list[FileInfo] = []
    reason: GlobTruncationReason | None = "transport" if response.truncated else None
    is_cut = response.truncated
    for record in _records(response):
        match record:
            case {"error": error}:
                return GlobResult(error=f"Path '{path}': {error}")
            case {"warning": warning}:
                is_cut = True
                # A narrower pattern does not help against unreadable files, so this reason comes
                # first.
                reason = "unreadable" if warning == "walk_errors" else reason or "budget"
            case {"path": str()}:
                found.append(_info(record, outside))
            case _:
                return GlobResult(
                    error=f"Path '{path}': glob helper emitted unexpected output: "
                    f"{str(record)[:_SHOWN]}"
                )
    return GlobResult(matches=found, truncated=is_cut, truncation_reason=reason)


def as_grep(response: ExecuteResponse, path: str, outside: Outside) -> GrepResult:
    """Read the lines that a search found; also as `grep -HnZ` prints them."""
    if problem := _failure(response):
        return GrepResult(error=f"Path '{path}': {problem}")
    found: list[GrepMatch] = []
    skipped: list[FileInfo] = []
    strange: str | None = None
    is_cut = response.truncated
    for record in _records(response):
        match record:
            case {"error": error}:
                return GrepResult(error=f"Path '{path}': {error}")
            case {"warning": _}:
                is_cut = True
            case {"path": str(file), "line": int(line), "text": str(text)}:
                found.append(GrepMatch(path=outside(file), line=line, text=text))
            case {"skipped": str(file)}:
                skipped.append(FileInfo(path=outside(file)))
            case _ if (match := _printed_match(record, outside)) is not None:
                found.append(match)
            case _:
                strange = str(record)
    if strange is not None and not found:
        return GrepResult(error=f"Path '{path}': {strange}")
    return GrepResult(matches=found, truncated=is_cut, skipped=skipped)


def is_answer(response: ExecuteResponse) -> bool:
    """Whether the program got far enough to answer."""
    return isinstance(_record(response), dict)


def _record(response: ExecuteResponse) -> Any:  # noqa: ANN401  # whatever is there, to be matched
    output = response.output.strip()
    try:
        return json.loads(output)
    except ValueError:
        return output


def _records(response: ExecuteResponse) -> Iterator[Any]:
    """Yield each line as JSON, or as it is if it is none."""
    lines = [line for line in response.output.split("\n") if line.strip()]
    # A single line after a failure is its error, as a shell prints it.
    is_cut = response.truncated or (_failure(response) is not None and len(lines) > 1)
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError:
            # What cuts the output may cut a line.
            if not (is_cut and number == len(lines)):
                yield line


def _failure(response: ExecuteResponse) -> str | None:
    if response.exit_code in {None, 0}:
        return None
    return response.output.strip()[:_SHOWN] or f"exit code {response.exit_code}"


def _strange(record: object) -> str:
    shown = record if isinstance(record, str) else json.dumps(record)
    return f"unexpected server response: {shown[:_SHOWN] or '(empty)'}"


def _info(record: dict[str, Any], outside: Outside) -> FileInfo:
    info = FileInfo(path=outside(record["path"]), is_dir=bool(record.get("is_dir", False)))
    if isinstance(size := record.get("size"), int):
        info["size"] = size
    if isinstance(changed := record.get("modified_at"), str):
        info["modified_at"] = changed
    return info


def _printed_match(record: object, outside: Outside) -> GrepMatch | None:
    if not isinstance(record, str):
        return None
    path, _, rest = record.partition("\0")
    number, colon, text = rest.partition(":")
    if not (colon and number.isdecimal()):
        return None
    return GrepMatch(path=outside(path), line=int(number), text=text)


def _refusal(code: str, path: str, old: str, count: object) -> str:
    messages = {
        "file_not_found": f"Error: File '{path}' not found",
        "permission_denied": f"Error: Permission denied editing file '{path}'",
        "not_a_file": f"Error: '{path}' is not a regular file",
        "not_a_text_file": f"Error: File '{path}' is not a text file",
        "string_not_found": f"Error: String not found in file: '{old}'",
        "multiple_occurrences": (
            f"Error: String '{old}' appears {count} times in file. What appears multiple times "
            "needs replace_all=True, or more of what surrounds it to be meant once."
        ),
        "no_newline_at_end": (
            "Error: old_string ends with a newline, but the file does not end with a newline. "
            "Retry without the newline at the end of old_string, and of new_string if it has one."
        ),
    }
    return messages.get(code, f"Error editing file '{path}': {code}")
