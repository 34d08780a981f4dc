"""The sessions that coding agents store on a machine."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from thalweg.errors import RecordingError
from thalweg_recorder.recordings.opencode_database import DATABASE, session_state, sessions_in

_PLACES = (
    (".claude/projects", "*/*.jsonl"),
    (".codex/sessions", "**/rollout-*.jsonl"),
    (".codex/archived_sessions", "rollout-*.jsonl"),
    (".gemini/tmp", "*/chats/*.json"),
    (".gemini/tmp", "*/chats/*.jsonl"),
    (".pi/agent/sessions", "*/*.jsonl"),
    (".local/share/opencode", DATABASE),
)
_SUBAGENT_PLACES = ((".claude/projects", "*/*/subagents/*.jsonl"),)
_SUBAGENT = "agent-"
"""Prefix of Claude Code's files of subagents, which are no sessions of their own."""


def coding_sessions(home: Path, *, subagents: bool = False) -> list[Path]:
    """Return the sessions of Claude Code, Codex, Gemini CLI, opencode and pi.

    Args:
        home: The home folder to search.
        subagents: Whether the threads of Claude Code's subagents are listed, too.

    Returns:
        Readable, non-empty files, and the addresses of sessions in opencode's database; the last
        modified first.
    """
    return [
        path for _, path in sorted(_found(home, subagents), key=lambda pair: (-pair[0], pair[1]))
    ]


def _found(home: Path, subagents: bool) -> Iterator[tuple[int, Path]]:  # noqa: FBT001 (private)
    for folder, pattern in (*_PLACES, *(_SUBAGENT_PLACES if subagents else ())):
        for path in _matches(home / folder, pattern):
            if path.name.startswith(_SUBAGENT) and not subagents:
                continue
            try:
                with path.open("rb") as opened:
                    if not opened.read(1):
                        continue
                if path.name == DATABASE:
                    yield from ((session_state(one)[1], one) for one in sessions_in(path))
                else:
                    yield path.stat().st_mtime_ns, path
            except (OSError, RecordingError):
                continue


def _matches(folder: Path, pattern: str) -> Iterator[Path]:
    with suppress(OSError):  # the rest of this folder cannot be listed
        yield from filter(Path.is_file, folder.glob(pattern))
