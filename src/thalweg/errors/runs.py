"""Errors of runs, threads, models and skills, and of a client of the gateway."""

from thalweg.errors.base import ThalwegError


class RunError(ThalwegError):
    """A run cannot be started, found or resumed."""

    code = "run"


class BusyError(RunError):
    """Another run of the thread has not ended.

    Attributes:
        thread: The thread.
        run: The run under way.
    """

    code = "run.busy"

    def __init__(self, thread: str, run: str) -> None:
        super().__init__(thread, run)
        self.thread = thread
        self.run = run

    def __str__(self) -> str:
        return f"run {self.run} of thread {self.thread} has not ended; wait for it or cancel it"


class AnswerError(RunError):
    """A person's answer does not match the agent's pending questions; it was ignored.

    Attributes:
        problem: What is wrong with it.
        mend: What to do.
    """

    code = "run.answer"

    def __init__(self, problem: str, mend: str) -> None:
        super().__init__(problem, mend)
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"the answer is invalid: {self.problem}; {self.mend}"


class NoSuchRunError(RunError):
    """No run of this owner has that id.

    Attributes:
        run: The id that was asked for.
    """

    code = "run.not_found"

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.run = run

    def __str__(self) -> str:
        return f"there is no run {self.run!r}"


class RunExistsError(RunError):
    """A run of this owner already has that id.

    Attributes:
        run: The requested id.
    """

    code = "run.exists"

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.run = run

    def __str__(self) -> str:
        return f"run {self.run!r} exists already; use another id"


class ClaimLostError(RunError):
    """Another process performs the run now, or it has ended.

    Attributes:
        run: The run.
        attempt: The claim that is void.
    """

    code = "run.claim_lost"

    def __init__(self, run: str, attempt: int) -> None:
        super().__init__(run, attempt)
        self.run = run
        self.attempt = attempt

    def __str__(self) -> str:
        return (
            f"claim {self.attempt} on run {self.run} is invalid: "
            "another process claimed the run, or it has ended"
        )


class NoSuchThreadError(ThalwegError):
    """No thread of this owner has that id.

    Attributes:
        thread: The id that was asked for.
    """

    code = "thread.not_found"

    def __init__(self, thread: str) -> None:
        super().__init__(thread)
        self.thread = thread

    def __str__(self) -> str:
        return f"there is no thread {self.thread!r}"


class ThreadExistsError(ThalwegError):
    """A thread of this owner has that id already.

    Attributes:
        thread: The id.
    """

    code = "thread.exists"

    def __init__(self, thread: str) -> None:
        super().__init__(thread)
        self.thread = thread

    def __str__(self) -> str:
        return f"thread {self.thread!r} exists already; choose another id, or omit it"


class NoSuchModelError(ThalwegError):
    """The settings name no such model.

    Attributes:
        name: The requested name.
        known: The existing names.
    """

    code = "model.not_found"

    def __init__(self, name: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = known

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"there is no model {self.name!r}; there are: {known}"


class NoSuchSkillError(ThalwegError):
    """No skill has that name.

    Attributes:
        name: The name that was asked for.
    """

    code = "skill.not_found"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no skill {self.name!r}"


class ClientError(ThalwegError):
    """A gateway refused what a client asked, or cannot be reached.

    Attributes:
        status: The HTTP status; 0 where no answer came.
        problem_code: The gateway's own `code`: `run.busy`, `thread.not_found`.
        detail: The gateway's sentence.
    """

    code = "client"

    def __init__(self, status: int, problem_code: str, detail: str) -> None:
        super().__init__(status, problem_code, detail)
        self.status = status
        self.problem_code = problem_code
        self.detail = detail

    def __str__(self) -> str:
        return self.detail
