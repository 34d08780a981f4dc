"""The sessions that coding agents store on a machine."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from thalweg.errors import RecordingError
from thalweg_recorder.recordings.agents import AGENTS, Machine
from thalweg_recorder.recordings.files import FORMATS, session_state, sessions_in
from thalweg_recorder.recordings.opencode_database import is_database

_SUBAGENT = "agent-"
"""Prefix of files of subagents, which are no sessions of their own."""


def coding_sessions(
    machine: Machine,
    *,
    subagents: bool = False,
    profiles: Mapping[str, Sequence[Path]] | None = None,
) -> list[Path]:
    """Return the sessions of coding agents, the last modified first.

    Args:
        machine: The home folder, and the variables that move folders of agents.
        subagents: Whether the threads of subagents are listed, too.
        profiles: Further folders of agents, by the agents' names.

    Returns:
        Non-empty files, the addresses of sessions in a file with several, and sources that cannot
        be listed: reading one states why.
    """
    found = dict(_found(machine, profiles or {}, subagents=subagents))
    files = {os.path.realpath(path): path for path in found}  # a folder may be linked to another
    return sorted(files.values(), key=lambda path: (-found[path], path))


def _found(
    machine: Machine, profiles: Mapping[str, Sequence[Path]], *, subagents: bool
) -> Iterator[tuple[Path, int]]:
    for agent in (*AGENTS, *(known.places for known in FORMATS if known.places)):
        for folder in dict.fromkeys(
            (*machine.places(agent.folders), *profiles.get(agent.name, ()))
        ):
            for log in agent.logs(folder, machine, subagents=subagents):
                if subagents or not log.name.startswith(_SUBAGENT):
                    yield from _dated(log)


def _dated(log: Path) -> Iterator[tuple[Path, int]]:
    try:
        if not is_database(log):
            state = log.stat()
            yield from [(log, state.st_mtime_ns)] if state.st_size else []
        else:
            yield from [(one, session_state(one)[1]) for one in sessions_in(log)]
    except (OSError, RecordingError):
        yield log, 0
