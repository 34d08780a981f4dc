"""The sessions that coding agents keep on a machine."""

from collections.abc import Iterator
from pathlib import Path

_PLACES = (
    (".claude/projects", "*/*.jsonl"),
    (".codex/sessions", "**/rollout-*.jsonl"),
    (".codex/archived_sessions", "rollout-*.jsonl"),
    (".gemini/tmp", "*/chats/*.json"),
    (".gemini/tmp", "*/chats/*.jsonl"),
    (".pi/agent/sessions", "*/*.jsonl"),
)
_SUBAGENT_PLACES = ((".claude/projects", "*/*/subagents/*.jsonl"),)
_SUBAGENT = "agent-"
"""How Claude Code names the file of a subagent, which is no session of its own."""


def coding_sessions(home: Path, *, subagents: bool = False) -> list[Path]:
    """Find the sessions of Claude Code, Codex, Gemini CLI and pi.

    Args:
        home: The home folder to look in.
        subagents: Whether the threads of Claude Code's subagents are listed, too.

    Returns:
        Files that can be read and are not empty, the one changed last first.
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
                    if opened.read(1):
                        yield path.stat().st_mtime_ns, path
            except OSError:
                continue


def _matches(folder: Path, pattern: str) -> Iterator[Path]:
    found = folder.glob(pattern)
    while True:
        try:
            path = next(found)
        except StopIteration:
            return
        except OSError:
            # What a generator raised ends it: the rest of this folder cannot be listed.
            return
        if path.is_file():
            yield path
