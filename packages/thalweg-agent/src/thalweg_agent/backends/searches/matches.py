"""Searches over files by path, and descriptions of their results."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Literal, TypeVar

from thalweg.errors import InvalidGlobPatternError, PathError
from thalweg_agent.backends.file_data import file_data_to_string, file_size
from thalweg_agent.backends.paths import files_under, normalize_path, relative_to
from thalweg_agent.backends.protocol import (
    ContextLine,
    FileData,
    FileInfo,
    GlobResult,
    GrepMatch,
    GrepResult,
    cap_matches,
)
from thalweg_agent.backends.searches.globs import compile_grep_include_glob
from thalweg_agent.backends.text import lines_of

T = TypeVar("T")
OutputMode = Literal["files_with_matches", "content", "count"]


def grep_matches_from_files(
    files: Mapping[str, FileData],
    pattern: str,
    path: str | None = None,
    glob: str | None = None,
    *,
    max_count: int | None = None,
) -> GrepResult:
    r"""Find the lines of files that hold a text; see `BackendProtocol.grep`.

    A file that is bytes is passed over.

    Example:
        >>> found = grep_matches_from_files(
        ...     {"/a.md": {"content": "one\ntwo", "encoding": "utf-8"}}, "tw"
        ... )
        >>> found.matches
        [{'path': '/a.md', 'line': 2, 'text': 'two'}]
    """
    try:
        found = chosen(files, path, glob or None)
    except PathError:
        return GrepResult(matches=[])
    except InvalidGlobPatternError as refused:
        return GrepResult(error=str(refused))
    return capped(
        (
            match
            for name, file_data in found.items()
            if file_data.get("encoding") != "base64"
            for match in matching_lines(name, file_data_to_string(file_data), pattern)
        ),
        max_count,
    )


def glob_matches_from_files(
    files: Mapping[str, FileData], pattern: str, path: str | None = None
) -> GlobResult:
    """Find files by their paths, those last changed first; see `BackendProtocol.glob`."""
    try:
        found = chosen(files, path, pattern)
    except PathError:
        return GlobResult(matches=[])
    except InvalidGlobPatternError as refused:
        return GlobResult(error=str(refused))
    infos = [file_info(name, file_data) for name, file_data in found.items()]
    infos.sort(key=lambda info: info.get("modified_at", ""), reverse=True)
    return GlobResult(matches=infos)


def file_info(path: str, file_data: FileData) -> FileInfo:
    """Describe a file as a listing does."""
    return FileInfo(
        path=path,
        is_dir=False,
        size=file_size(file_data),
        modified_at=file_data.get("modified_at", ""),
    )


def entries_of(files: Mapping[str, FileData], folder: str) -> list[FileInfo]:
    """List the entries of a folder; `folder` ends in `/`, and so do the folders in it."""
    entries: dict[str, FileInfo] = {}
    for name, file_data in files.items():
        if name.startswith(folder):
            first, slash, _ = name[len(folder) :].partition("/")
            path = folder + first + slash
            entries[path] = folder_info(path) if slash else file_info(path, file_data)
    return [entries[path] for path in sorted(entries)]


def folder_info(path: str) -> FileInfo:
    """Describe a folder as a listing does."""
    return FileInfo(path=path, is_dir=True, size=0, modified_at="")


def chosen(files: Mapping[str, T], path: str | None, glob: str | None) -> dict[str, T]:
    """Take the files in a folder, and of these the ones that a pattern names.

    Raises:
        PathError: There can be no such folder.
        InvalidGlobPatternError: The pattern is none.
    """
    folder = normalize_path(path)
    included = None if glob is None else compile_grep_include_glob(glob)
    return {
        name: file_data
        for name, file_data in files_under(files, folder).items()
        if included is None or included(relative_to(name, folder))
    }


def matching_lines(
    path: str, content: str, pattern: str, context_lines: int = 0
) -> Iterator[GrepMatch]:
    """Yield the lines that hold a text, in their order.

    Args:
        path: For the matches.
        content: To search.
        pattern: The text, literally.
        context_lines: Lines to show on each side; those that match themselves are not among
            them.
    """
    if pattern not in content:
        return
    lines = [line.rstrip("\r\n") for line in lines_of(content)]
    for number, line in enumerate(lines, 1):
        if pattern not in line:
            continue
        match = GrepMatch(path=path, line=number, text=line)
        if context_lines:
            first = max(0, number - 1 - context_lines)
            match["context_before"] = _context_lines(lines, range(first, number - 1), pattern)
            last = min(len(lines), number + context_lines)
            match["context_after"] = _context_lines(lines, range(number, last), pattern)
        yield match


def _context_lines(lines: Sequence[str], positions: range, pattern: str) -> list[ContextLine]:
    return [
        ContextLine(line=position + 1, text=lines[position])
        for position in positions
        if pattern not in lines[position]
    ]


def capped(matches: Iterable[GrepMatch], max_count: int | None) -> GrepResult:
    """Take so many matches, and look for one more to know whether there are more."""
    if max_count is None:
        return GrepResult(matches=list(matches))
    most = max(0, max_count)
    return cap_matches(GrepResult(matches=list(islice(matches, most + 1))), most)


def format_grep_matches(matches: Sequence[GrepMatch], output_mode: OutputMode) -> str:
    """Put matches in words, files in the order of their names.

    Args:
        matches: In any order.
        output_mode: Names alone, names with how many lines matched, or the lines.

    Example:
        >>> print(format_grep_matches([{"path": "/a.md", "line": 2, "text": "two"}], "content"))
        /a.md:
          2: two
    """
    if not matches:
        return "No matches found"
    by_path = _by_path(matches)
    if output_mode == "files_with_matches":
        return "\n".join(sorted(by_path))
    if output_mode == "count":
        return "\n".join(f"{path}: {len(by_path[path])}" for path in sorted(by_path))
    return "\n".join(row for path in sorted(by_path) for row in (f"{path}:", *_rows(by_path[path])))


def _by_path(matches: Iterable[GrepMatch]) -> dict[str, list[GrepMatch]]:
    grouped: dict[str, list[GrepMatch]] = {}
    for match in matches:
        grouped.setdefault(match["path"], []).append(match)
    return grouped


def _rows(matches: Sequence[GrepMatch]) -> list[str]:
    """Return the rows of one file; with context, `--` replaces omitted lines."""
    if not any("context_before" in match or "context_after" in match for match in matches):
        return [f"  {match['line']}: {match['text']}" for match in matches]
    marks: dict[int, tuple[str, str]] = {}
    for match in matches:
        for context in (*match.get("context_before", []), *match.get("context_after", [])):
            marks.setdefault(context["line"], ("-", context["text"]))
        marks[match["line"]] = (":", match["text"])
    rows: list[str] = []
    for _, stretch in groupby(enumerate(sorted(marks)), key=lambda pair: pair[1] - pair[0]):
        if rows:
            rows.append("  --")
        rows += [f"  {line}{marks[line][0]} {marks[line][1]}" for _, line in stretch]
    return rows


_REGEX = re.compile(r"\||\.[*+]|\\[.wWdDsSbB(){}\[\]|+*?^$]")


def regex_literal_hint(pattern: str) -> str | None:
    r"""Return a hint that a search is literal, if its text looks like a regular expression.

    Characters that are common in code (`.`, `(`, `[`) do not count.

    Example:
        >>> regex_literal_hint("self.tools(") is None
        True
        >>> regex_literal_hint(r"TODO|FIXME")[:30]
        'Note: grep matches literal tex'
    """
    if not _REGEX.search(pattern):
        return None
    return (
        "Note: grep matches literal text, not regex, so characters like `|`, `.*`, and `\\.` "
        "are searched verbatim. Search for the literal text you need instead; for `|` "
        "alternation, run a separate search per alternative."
    )
