"""The root of the tree of errors, and the errors of arguments, settings, paths and files."""

from collections.abc import Iterable

_PACKAGE = __name__.rpartition(".")[0]


class ThalwegError(Exception):
    """The root of the tree: catch this to catch everything Thalweg raises on purpose."""

    code = "thalweg"
    """Stable dotted name, for logs and the wire."""

    def __init_subclass__(cls, **arguments: object) -> None:
        """Name the errors of this package by their public path in tracebacks and pickles."""
        super().__init_subclass__(**arguments)
        if cls.__module__.startswith(_PACKAGE + "."):
            cls.__module__ = _PACKAGE


ThalwegError.__module__ = _PACKAGE


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
