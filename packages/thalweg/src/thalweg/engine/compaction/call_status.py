"""How a call ended, from facts: flags, exit codes, and the fixed texts of hosts and programs.

The facts are rows of `call_status.toml`. No prose is read: a log that mentions an error is no
failure, and an exit code of the last command of a pipe is none of the others.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from thalweg.engine.data_files import read_table
from thalweg.engine.entries import Message, ToolUse

State = Literal["ok", "failed", "refused", "unknown"]
"""The end of a call; `refused`: the user or the host did not let it run."""
READ_CHARS = 20_000
"""Characters at each end of a result that are read."""


@dataclass(frozen=True, slots=True)
class CallStatus:
    """The end of a call."""

    state: State
    words: str = ""
    """The user's words in a refusal, verbatim; empty unless the result is flagged as an error."""


def status(call: ToolUse, result: Message) -> CallStatus:
    """Return how a call ended.

    Args:
        call: The call.
        result: Its result, as its host wrote it.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> run = ToolUse("c1", "Bash", "run", "make test 2>&1 | tail -5", "", "", 0)
        >>> status(run, Message("tool", (Text("make: *** [test] Error 2"),))).state
        'failed'
    """
    text = result.text
    if len(text) > 2 * READ_CHARS:
        text = f"{text[:READ_CHARS]}\n{text[-READ_CHARS:]}"
    for pattern in _PATTERNS["refused"]:
        if found := pattern.match(text):
            words = next(filter(None, found.groupdict().values()), "") if result.is_error else ""
            return CallStatus("refused", words.strip())
    if call.action == "run":
        return CallStatus(_command_state(call.target, text, is_error=result.is_error))
    names = ("failed", "failed_write") if call.action == "write" else ("failed",)
    has_failed = result.is_error or any(p.match(text) for name in names for p in _PATTERNS[name])
    return CallStatus("failed" if has_failed else "ok")


def aims(call: ToolUse) -> frozenset[str]:
    """Return the aim of a call; the same aim of a later call is the same text.

    Returns:
        Of a command: each of its programs, with what it runs; of a change: the file; of another
        call: the tool. Empty if the call looks something up: it fails by finding nothing.

    Example:
        >>> command = "cd /src && CI=1 mise run test 2>&1 | tail -50"
        >>> aims(ToolUse("c1", "Bash", "run", command, "", "", 0))
        frozenset({'mise run test'})
    """
    match call.action:
        case "run" if call.target:
            return frozenset(_aim(command) for _, command in _steps(call.target))
        case "read" | "search" | "plan":
            return frozenset()
        case "write" if call.target:
            return frozenset({f"write {call.target}"})
        case _:
            return frozenset({call.name})


def _command_state(command: str, text: str, *, is_error: bool) -> State:
    steps = _steps(command)
    if command and not steps:
        return "unknown" if is_error or _exit_code(text) else "ok"
    commands = _commands(command) or (("", ""),)
    separator, last = commands[-1]
    is_masked = len(commands) > 1 and any(each != "&&" for each, _ in commands[1:])
    has_code_of_other = is_masked and separator != "&&" and (separator, last) not in steps
    code = _exit_code(text)
    if not has_code_of_other and (code or (code is None and is_error)):
        return "failed"
    if (is_masked or code is None) and any(p.search(text) for p in _PATTERNS["program"]):
        return "failed"
    return "unknown" if is_masked else "ok"


def _exit_code(text: str) -> int | None:
    for pattern in _PATTERNS["exit_code"]:
        if found := pattern.search(text):
            return int(next(filter(None, found.groups())))
    if text[:1] == "{":
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return None
        metadata = parsed.get("metadata")
        fields = parsed | metadata if isinstance(metadata, dict) else parsed
        return next((fields[k] for k in _JSON_CODES if isinstance(fields.get(k), int)), None)
    return None


@lru_cache(maxsize=1_024)
def _commands(command: str) -> tuple[tuple[str, str], ...]:
    """Split a command line into simple commands, each with the separator before it."""
    line = _SUBSTITUTION.sub("$", _HERE_DOCUMENT.sub("\n", command.replace("\\\n", " ")))
    found: list[tuple[str, str]] = []
    separator = ""
    for token in _TOKEN.findall(line):
        if token in _SEPARATORS:
            separator = token
        elif text := " ".join(_words(token)):
            found.append((separator, text))
    return tuple(found)


def _words(simple: str) -> list[str]:
    """Return the words of a simple command, from its program on."""
    words = _REDIRECTION.sub(" ", simple).split()
    while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
        del words[0]
    if words[:1] == ["timeout"]:
        del words[:2]
    if words[:1] and words[0] in _PROGRAMS_WITH_PLACE and words[1:2] in (["-C"], ["-c"]):
        del words[1:3]
    return words


def _steps(command: str) -> tuple[tuple[str, str], ...]:
    """Return the commands that do the work: not those that prepare it, or look something up."""
    return tuple(each for each in _commands(command) if not _NO_STEP.match(each[1]))


def _aim(simple: str) -> str:
    program, *rest = _INTERPRETER.sub("", simple).split()
    parts = [program.rpartition("/")[2]]
    if parts[0] != program or "." in program:  # a script
        return parts[0]
    for word in rest:
        if word in _RUNNERS:
            parts.append(word)
        elif _BARE.fullmatch(word):
            return " ".join([*parts, word])
        elif not word.startswith("-"):
            break
    return " ".join(parts)


_TABLE = read_table(__package__, "call_status.toml")
_PATTERNS = {
    name: [
        re.compile(row["pattern"], re.MULTILINE if name == "program" else re.DOTALL)
        for row in _TABLE[name]
    ]
    for name in ("refused", "failed", "failed_write", "exit_code", "program")
}
_JSON_CODES: list[str] = _TABLE["commands"]["json_exit_codes"]
_WRAPPERS = frozenset(_TABLE["commands"]["wrappers"])
_RUNNERS = frozenset(_TABLE["commands"]["runners"])
_INTERPRETER = re.compile(_TABLE["commands"]["interpreters"])
_NO_STEP = re.compile(f"{_TABLE['commands']['setup']}|{_TABLE['commands']['lookups']}")
_PROGRAMS_WITH_PLACE = frozenset({"git", "make", "go"})
"""Programs that take a folder before what they run."""
_SEPARATORS = frozenset({"&&", "||", ";", "|", "|&", "&", "\n"})
_TOKEN = re.compile(
    r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|\d?>&\d?|&>|[^"'\\;&|\n]|["'])+|&&|\|\||\|&|[;|&\n]""",
    re.DOTALL,
)
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:\n\s*\2\b|\Z)", re.DOTALL)
_SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`")
_REDIRECTION = re.compile(r"\d?>&\d|[\d&]?>>?\s*\S+|<\s*\S+")
_ASSIGNMENT = re.compile(r"\w+=")
_BARE = re.compile(r"[A-Za-z][\w:-]*")
"""A word that names what a program runs: a command, or a task."""
