"""Errors of runs, threads, models and skills, and of a client of the gateway."""

from thalweg.errors.base import ThalwegError

_SHOWN = 80
"""Characters of an invalid id in a message."""


class RunError(ThalwegError):
    """A run cannot be started, found or resumed."""

    code = "run"


class BusyError(RunError):
    """Another run of the thread has not ended."""

    code = "run.busy"
    sentence = "run {run} of thread {thread} has not ended; wait for it or cancel it"

    thread: str
    """The thread."""
    run: str
    """The run under way."""


class AnswerError(RunError):
    """A person's answer does not match the agent's pending questions; it was ignored."""

    code = "run.answer"
    sentence = "the answer is invalid: {problem}; {fix}"

    problem: str
    """The problem with it."""
    fix: str
    """What to do."""


class NoSuchRunError(RunError):
    """No run of this owner has that id."""

    code = "run.not_found"
    sentence = "there is no run {run!r}"

    run: str
    """The id that was asked for."""


class RunExistsError(RunError):
    """A run of this owner already has that id."""

    code = "run.exists"
    sentence = "run {run!r} exists already; use another id"

    run: str
    """The requested id."""


class ClaimLostError(RunError):
    """Another process performs the run now, or it has ended."""

    code = "run.claim_lost"
    sentence = (
        "claim {attempt} on run {run} is invalid: another process claimed the run, or it has ended"
    )

    run: str
    """The run."""
    attempt: int
    """The claim that is void."""


class NoSuchThreadError(ThalwegError):
    """No thread of this owner has that id."""

    code = "thread.not_found"
    sentence = "there is no thread {thread!r}"

    thread: str
    """The id that was asked for."""


class NoSuchAssistantError(ThalwegError):
    """No graph and no assistant of this owner has that id."""

    code = "assistant.not_found"
    sentence = "there is no assistant and no graph {assistant!r}"

    assistant: str
    """The id that was asked for."""


class ThreadIdError(ThalwegError, ValueError):
    """A text cannot be the id of a thread."""

    code = "thread.id"

    thread: str
    """The text."""
    problem: str
    """The problem with it, and what to do: `is empty; use at least one character`."""

    def __str__(self) -> str:
        shown = self.thread if len(self.thread) <= _SHOWN else f"{self.thread[:_SHOWN]}…"
        return f"the thread id {shown!r} {self.problem}"


class RecordedThreadError(RunError):
    """A thread is a session recorded by another agent: it can be read, not changed or answered."""

    code = "thread.recorded"
    sentence = (
        "thread {thread!r} is a session that {agent} recorded: it can be read, but not changed or "
        "answered here; branch it (/branch in a chat, POST /api/threads/ID/branch), and use the "
        "branch"
    )

    thread: str
    """The id of the thread."""
    agent: str
    """The agent that recorded it: `claude-code`."""


class ThreadExistsError(ThalwegError):
    """A thread of this owner has that id already."""

    code = "thread.exists"
    sentence = "thread {thread!r} exists already; choose another id, or omit it"

    thread: str
    """The id."""


class NoSuchModelError(ThalwegError):
    """The settings name no such model."""

    code = "model.not_found"

    name: str
    """The requested name."""
    known: tuple[str, ...] = ()
    """The existing names."""

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"there is no model {self.name!r}; there are: {known}"


class NoSuchSkillError(ThalwegError):
    """No skill has that name."""

    code = "skill.not_found"
    sentence = "there is no skill {name!r}"

    name: str
    """The name that was asked for."""


class ClientError(ThalwegError):
    """A gateway refused a client's request, or cannot be reached."""

    code = "client"

    status: int
    """The HTTP status; 0 if no answer was received."""
    problem_code: str
    """The gateway's own `code`: `run.busy`, `thread.not_found`."""
    detail: str
    """The gateway's sentence."""

    def __str__(self) -> str:
        return self.detail
