"""Every error Thalweg raises on purpose.

```
ThalwegError                    code; str() is one sentence with the numbers in it
├── ConfigError                 an argument or a setting cannot be used as given
│   ├── MissingExtraError       a package of an extra is not installed; also an ImportError
│   ├── SettingsError           a file of settings cannot be used; all that is wrong with it
│   └── SpecError               a subagent cannot be made from its spec
├── RecordingError              a file cannot be read as a recorded thread
├── PeerError                   another system died of a recorded thread
├── PathError                   a path no backend may touch; also a ValueError
├── InvalidGlobPatternError     a glob that cannot be matched; also a ValueError
├── MemoryFileError             a memory file is there and cannot be read; also a ValueError
├── ContextError
│   ├── PinError                words to pin are not where they were said to be
│   ├── SummaryError            what a model wrote cannot stand for what it was to summarise
│   ├── RejectedRequestError    the provider refused what a request contains, and its repair
│   └── WindowExceededError     what must stay is larger than the window
│       └── RefusedError        the provider found even the smallest request too large
├── MemoryStoreError            a memory cannot do what was asked; nothing was changed
│   ├── NoSuchFactError         no fact of this memory has that id
│   ├── NoSuchOperationError    no commit of this memory has that number, or it was forgotten
│   ├── FactRefusedError        what was to be remembered may not be
│   ├── DocumentError           a memory document cannot be read
│   ├── StaleWriteError         someone else changed the memory first
│   └── MemoryOffError          memory is off, or may not be written, here
├── RunError
│   ├── BusyError               another run of the thread has not ended
│   ├── NoSuchRunError          no run of this owner has that id
│   ├── AnswerError             a person's word does not answer what is asked
│   ├── RunExistsError          a run of this owner has that id already
│   └── ClaimLostError          another process performs the run now
├── NoSuchThreadError           no thread of this owner has that id
├── FileError                   a file of a thread cannot be had or taken
│   ├── NoSuchFileError         there is none
│   └── UploadRefusedError      its type, its size or its content may not come in
├── ClientError                 a gateway refused what a client asked, or cannot be reached
└── ArchiveError
    ├── HandleError             a handle names nothing this reader may read
    ├── RangeError              a handle is good, the range asked of it is not
    ├── ConflictError           someone else appended first
    ├── LostThreadError         a state's older messages are in another archive
    └── StorageError            the medium failed: disk full, locked, damaged
```
"""

from collections.abc import Iterable


class ThalwegError(Exception):
    """The root of the tree: catch this to catch everything Thalweg raises on purpose."""

    code = "thalweg"
    """Stable dotted name, for logs and the wire."""


class ConfigError(ThalwegError):
    """An argument or a setting is invalid.

    Attributes:
        what: The setting or argument.
        problem: What is wrong with it, with the numbers.
        mend: What to do about it.
    """

    code = "config"

    def __init__(self, what: str, problem: str, mend: str) -> None:
        super().__init__(what, problem, mend)
        self.what = what
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.what}: {self.problem}; {self.mend}"


class MissingExtraError(ConfigError, ImportError):
    """A package that an extra installs is missing; `mend` is the command that installs it."""

    code = "config.extra"


class SettingsError(ConfigError):
    """A file of settings is invalid.

    Attributes:
        file: The file's path as passed; empty if none was read.
        line: The line of the error, from 1; 0 if it is in no line.
        key: The path of the setting in the file (`models[0].window`); may be empty.
        others: Further errors of the file.
    """

    code = "config.settings"

    def __init__(
        self, file: str, line: int, key: str, problem: str, mend: str, *others: "SettingsError"
    ) -> None:
        place = f"{file}:{line}" if file and line else file
        super().__init__(": ".join(part for part in (place, key) if part), problem, mend)
        self.args = (file, line, key, problem, mend, *others)
        self.file = file
        self.line = line
        self.key = key
        self.others = others

    @classmethod
    def of(cls, errors: Iterable["SettingsError"]) -> "SettingsError":
        """Return the first of some errors, with the others in it."""
        first, *others = errors
        return cls(first.file, first.line, first.key, first.problem, first.mend, *others)

    def __str__(self) -> str:
        """A sentence for everything that is wrong, a line each."""
        return "\n".join((super().__str__(), *map(str, self.others)))


class SpecError(ConfigError, ValueError):
    """A subagent cannot be made from its spec."""

    code = "config.spec"


class RecordingError(ThalwegError):
    """A file cannot be read as a recorded thread.

    Attributes:
        path: The file's path as passed.
        problem: What was found there.
        mend: What to do about it.
    """

    code = "recording"

    def __init__(self, path: str, problem: str, mend: str) -> None:
        super().__init__(path, problem, mend)
        self.path = path
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; {self.mend}"


class PeerError(ThalwegError):
    """Another system failed during a recorded thread.

    Attributes:
        kind: The class of its error.
        told: The error's text.
    """

    code = "peer"

    def __init__(self, kind: str, told: str) -> None:
        super().__init__(kind, told)
        self.kind = kind
        self.told = told

    def __str__(self) -> str:
        """One sentence."""
        return f"it died of {self.kind}: {self.told[:300]}"


class PathError(ThalwegError, ValueError):
    """A path that no backend may touch: it climbs, is not text, or cannot be a file's name.

    Attributes:
        path: The path as passed.
        problem: What is wrong with it.
        mend: What to do about it; may be empty.
    """

    code = "path"

    def __init__(self, path: str, problem: str, mend: str = "") -> None:
        super().__init__(path, problem, mend)
        self.path = path
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        shown = self.path if self.path.isprintable() else repr(self.path)
        mend = f". {self.mend}" if self.mend else ""
        return f"{self.problem}: {shown[:300]}{mend}"


class InvalidGlobPatternError(ThalwegError, ValueError):
    """A glob that cannot be matched: it climbs, or its braces make too many patterns."""

    code = "glob"


class MemoryFileError(ThalwegError, ValueError):
    """A memory file exists and cannot be read.

    Attributes:
        path: The file.
        problem: The backend's error.
    """

    code = "memory_file"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"Failed to download {self.path}: {self.problem}"


class ContextError(ThalwegError):
    """A context cannot be built."""

    code = "context"


class PinError(ContextError):
    """Words to pin are not in a request at the position that was named.

    Attributes:
        position: The position that was named.
        quote: The words.
    """

    code = "context.pin"

    def __init__(self, position: int, quote: str) -> None:
        super().__init__(position, quote)
        self.position = position
        self.quote = quote

    def __str__(self) -> str:
        return (
            f"no request at position {self.position} says {self.quote[:80]!r}; "
            "copy the words exactly, from a message of the user"
        )


class SummaryError(ContextError):
    """A model's summary is no valid replacement of its messages.

    Attributes:
        problem: What is wrong with it.
        text: The beginning of the model's text.
    """

    code = "context.summary"

    def __init__(self, problem: str, text: str = "") -> None:
        super().__init__(problem, text[:200])
        self.problem = problem
        self.text = text[:200]

    def __str__(self) -> str:
        wrote = f": {self.text[:80]!r}" if self.text else ""
        return f"the model returned no usable summary: {self.problem}{wrote}"


class WindowExceededError(ContextError):
    """What cannot be compacted is larger than the window, after all steps of reduction.

    Attributes:
        needed: Tokens in the smallest context that could be built.
        window: Tokens the request may fill.
        irreducible: What cannot be reduced, as `name: tokens`, largest first.
    """

    code = "context.window_exceeded"

    def __init__(self, needed: int, window: int, irreducible: tuple[str, ...]) -> None:
        super().__init__(needed, window, irreducible)
        self.needed = needed
        self.window = window
        self.irreducible = irreducible

    def __str__(self) -> str:
        parts = ", ".join(self.irreducible)
        return (
            f"the smallest context needs {self.needed} tokens and {self.window} fit; "
            f"parts that cannot shrink: {parts}; use a larger window or shorten these"
        )


class RefusedError(WindowExceededError):
    """A provider refused a request as too large, and the smaller ones after it.

    Attributes:
        kind: What was too much: `tokens`, `sum` (with the answer), `bytes` or `media`.
        model: The model that refused it, as `provider:name`.
        said: The provider's error text.
    """

    code = "context.refused"

    def __init__(
        self,
        needed: int,
        window: int,
        irreducible: tuple[str, ...],
        *,
        kind: str,
        model: str,
        said: str,
    ) -> None:
        super().__init__(needed, window, irreducible)
        self.kind = kind
        self.model = model
        self.said = said

    def __reduce__(self) -> tuple[object, ...]:
        return _refused, (*self.args, self.kind, self.model, self.said)

    def __str__(self) -> str:
        what = _TOO_MUCH.get(self.kind, self.kind)
        parts = ", ".join(self.irreducible)
        return (
            f"{self.model} refused a request of {self.needed} tokens ({what}), and no "
            f"smaller one is possible; its message: {self.said[:300]!r}; remaining parts: {parts}"
        )


class RejectedRequestError(ContextError):
    """A provider refused a request's content, and its repair, too.

    The provider's own error is the `__cause__`. The thread remains usable: its next request omits
    what was refused.

    Attributes:
        model: The model that refused it, as `provider:name`.
        status: The HTTP status.
        said: The provider's error text.
        tried: The changes before the retry; empty if there were none.
        thread: Id of the thread.
    """

    code = "context.rejected"

    def __init__(self, model: str, status: int, said: str, tried: str, thread: str) -> None:
        super().__init__(model, status, said, tried, thread)
        self.model = model
        self.status = status
        self.said = said
        self.tried = tried
        self.thread = thread

    def __str__(self) -> str:
        tried = (
            f"sent again with {self.tried}" if self.tried else "no change could make it acceptable"
        )
        return (
            f"{self.model or 'the model'} refused the request ({self.status}): "
            f"{self.said[:300]!r}; {tried}; the next request omits what was refused; "
            f"to see this request: thalweg thread show {self.thread} --context"
        )


_TOO_MUCH = {
    "tokens": "too many tokens",
    "sum": "too many tokens with the answer",
    "bytes": "too many bytes",
    "media": "too many or too large images or documents",
}


def _refused(
    needed: int, window: int, irreducible: tuple[str, ...], kind: str, model: str, said: str
) -> RefusedError:
    return RefusedError(needed, window, irreducible, kind=kind, model=model, said=said)


class MemoryStoreError(ThalwegError):
    """A memory cannot do what was asked; nothing was changed."""

    code = "memory"


class NoSuchFactError(MemoryStoreError):
    """No fact of this memory has that id.

    A fact that never existed, one that was forgotten and one of another scope raise the same error.

    Attributes:
        fact: The id as passed.
    """

    code = "memory.no_such_fact"

    def __init__(self, fact: str) -> None:
        super().__init__(fact)
        self.fact = fact

    def __str__(self) -> str:
        return f"no fact {self.fact!r} in this memory; copy an id from the list"


class NoSuchOperationError(MemoryStoreError):
    """No commit of this memory has that number, or its changes were forgotten.

    Attributes:
        operation: The number as passed.
    """

    code = "memory.no_such_operation"

    def __init__(self, operation: int) -> None:
        super().__init__(operation)
        self.operation = operation

    def __str__(self) -> str:
        return (
            f"no change {self.operation} in this memory that can be undone; "
            "copy a number from the history"
        )


class FactRefusedError(MemoryStoreError):
    """The content is not allowed in memory.

    Attributes:
        content: The beginning of it.
        problem: What is wrong with it, and how to correct it.
    """

    code = "memory.refused"

    def __init__(self, content: str, problem: str) -> None:
        super().__init__(content[:200], problem)
        self.content = content[:200]
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.content[:80]!r} cannot be remembered: {self.problem}"


class DocumentError(MemoryStoreError):
    """A memory document is invalid; the memory did not change.

    Attributes:
        where: The file and the place in it (`memory.json: facts[3].confidence`).
        problem: What is wrong there.
        mend: What to write instead.
    """

    code = "memory.document"

    def __init__(self, where: str, problem: str, mend: str) -> None:
        super().__init__(where, problem, mend)
        self.where = where
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}; {self.mend}"


class StaleWriteError(MemoryStoreError):
    """Someone else changed the memory first: read it again, and decide again.

    Attributes:
        problem: What was changed.
    """

    code = "memory.stale_write"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the memory changed in the meantime: {self.problem}; read it and try again"


class MemoryOffError(MemoryStoreError):
    """Memory is off or read-only here.

    Attributes:
        where: What is off: the setting or the thread.
        mend: How to turn it on.
    """

    code = "memory.off"

    def __init__(self, where: str, mend: str) -> None:
        super().__init__(where, mend)
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        return f"memory rejects this: {self.where}; {self.mend}"


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


class FileError(ThalwegError):
    """A file of a thread cannot be had or taken."""

    code = "file"


class NoSuchFileError(FileError):
    """The thread has no such file.

    Attributes:
        path: The path that was asked for.
    """

    code = "file.not_found"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"there is no file {self.path!r}"


class UploadRefusedError(FileError):
    """A file's type, size or content is not allowed.

    Attributes:
        name: The sender's name of the file.
        problem: What is wrong with it, with the numbers.
        mend: What is allowed.
    """

    code = "file.refused"

    def __init__(self, name: str, problem: str, mend: str) -> None:
        super().__init__(name, problem, mend)
        self.name = name
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}; {self.mend}"


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


class ArchiveError(ThalwegError):
    """The archive cannot do what was asked; nothing was changed."""

    code = "archive"


class HandleError(ArchiveError):
    """A reference resolves to nothing that this reader may read.

    A reference that never existed, one that was pruned and one of another thread or owner raise the
    same error, so that guessing reveals nothing.

    Attributes:
        handle: The reference as passed.
    """

    code = "archive.handle"

    def __init__(self, handle: str) -> None:
        super().__init__(handle)
        self.handle = handle

    def __str__(self) -> str:
        return f"no handle {self.handle!r} in this thread; copy it from the context"


class RangeError(ArchiveError):
    """A handle is good, the range asked of it is not.

    Attributes:
        handle: The handle that was read.
        problem: Which range was asked for and what there is.
    """

    code = "archive.range"

    def __init__(self, handle: str, problem: str) -> None:
        super().__init__(handle, problem)
        self.handle = handle
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.handle}: {self.problem}"


class ConflictError(ArchiveError):
    """Someone else appended to the thread first; read on from `found` and try again.

    Attributes:
        thread: The thread that was appended to.
        expected: Length of the log the writer had seen.
        found: Length of the log as it is.
    """

    code = "archive.conflict"

    def __init__(self, thread: str, expected: int, found: int) -> None:
        super().__init__(thread, expected, found)
        self.thread = thread
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return (
            f"thread {self.thread!r} has {self.found} messages, not {self.expected}: "
            "another writer appended first; read them and append again"
        )


class LostThreadError(ArchiveError):
    """A state's older messages are in an archive that is not the one in use.

    Attributes:
        thread: The thread.
        messages: Messages that the state holds.
        released: Older messages that it does not hold; -1 where that was not counted.
    """

    code = "archive.lost_thread"

    def __init__(self, thread: str, messages: int, released: int) -> None:
        super().__init__(thread, messages, released)
        self.thread = thread
        self.messages = messages
        self.released = released

    def __str__(self) -> str:
        older = "older messages" if self.released < 0 else f"{self.released} older messages"
        return (
            f"thread {self.thread!r}: {older} are in another archive; this one has no journal of "
            f"the thread. Name that archive (archive=…) or restore it, or continue with the "
            f"{self.messages} messages of the state alone: "
            'update_state(config, {"thalweg_turn": ""}, as_node="model")'
        )


class StorageError(ArchiveError):
    """The medium under the archive failed; nothing was changed.

    Attributes:
        place: The file's path as passed.
        problem: The medium's error.
        mend: What to do about it.
    """

    code = "archive.storage"

    def __init__(self, place: str, problem: str, mend: str) -> None:
        super().__init__(place, problem, mend)
        self.place = place
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}; {self.mend}"
