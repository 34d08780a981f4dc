"""The root of the tree of errors, and the errors of arguments, settings, paths and files."""

from collections.abc import Iterable
from inspect import Parameter, Signature, get_annotations
from typing import ClassVar, dataclass_transform

_PACKAGE = __name__.rpartition(".")[0]


@dataclass_transform(eq_default=False)
class ThalwegError(Exception):
    """The root of the tree: catch this to catch everything Thalweg raises on purpose.

    The annotations of a subclass are its arguments and attributes, those of its base before them.
    """

    code = "thalweg"
    """Stable dotted name, for logs and the wire."""
    sentence = ""
    """The text, with fields in braces; an error without fields has the text that is passed."""
    arguments: ClassVar[Signature] = Signature()
    """The arguments of an error of this kind; none if any text is accepted."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        if self.arguments.parameters:
            bound = self.arguments.bind(*args, **kwargs)
            bound.apply_defaults()
            vars(self).update(bound.arguments)
            args = (*bound.arguments.values(),)
        super().__init__(*args)

    def __str__(self) -> str:
        return self.sentence.format_map(vars(self)) if self.sentence else super().__str__()

    def __init_subclass__(cls, **options: object) -> None:
        """Name the errors of this package by their public path in tracebacks and pickles."""
        super().__init_subclass__(**options)
        if cls.__module__.startswith(_PACKAGE + "."):
            cls.__module__ = _PACKAGE
        own_parameters = [
            Parameter(
                name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=vars(cls).get(name, Parameter.empty),
                annotation=annotation,
            )
            for name, annotation in get_annotations(cls).items()
        ]
        if own_parameters:
            cls.arguments = Signature([*cls.arguments.parameters.values(), *own_parameters])


ThalwegError.__module__ = _PACKAGE


class ConfigError(ThalwegError):
    """An argument or a setting is invalid."""

    code = "config"
    sentence = "{what}: {problem}; {fix}"

    what: str
    """The setting or argument."""
    problem: str
    """The problem, with the numbers."""
    fix: str
    """What to do about it."""


class MissingExtraError(ConfigError, ImportError):
    """A package that an extra installs is missing; `fix` is the command that installs it."""

    code = "config.extra"


class SettingsError(ConfigError):
    """A file of settings is invalid.

    Attributes:
        file: The file's path as passed; empty if none was read.
        line: The line of the error, from 1; 0 if it is in no line.
        column: Its column there, from 1; 0 if it is in no line.
        key: The path of the setting in the file (`models[0].window`); may be empty.
        others: Further errors of the file.
    """

    code = "config.settings"

    def __init__(
        self,
        file: str,
        line: int,
        column: int,
        key: str,
        problem: str,
        fix: str,
        *others: "SettingsError",
    ) -> None:
        place = f"{file}:{line}:{column}" if file and line else file
        super().__init__(": ".join(part for part in (place, key) if part), problem, fix)
        self.args = (file, line, column, key, problem, fix, *others)
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.others = others

    @classmethod
    def of(cls, errors: Iterable["SettingsError"]) -> "SettingsError":
        """Return the first of some errors, with the others in it."""
        first, *others = errors
        return cls(*first.args[:6], *others)

    def __str__(self) -> str:
        """A sentence for everything that is wrong, a line each."""
        return "\n".join((super().__str__(), *map(str, self.others)))


class SpecError(ConfigError, ValueError):
    """A subagent cannot be made from its spec."""

    code = "config.spec"


class RecordingError(ThalwegError):
    """A file cannot be read as a recorded thread."""

    code = "recording"
    sentence = "{path}: {problem}; {fix}"

    path: str
    """The file's path as passed."""
    problem: str
    """The problem that was found there."""
    fix: str
    """What to do about it."""


class PathError(ThalwegError, ValueError):
    """A path that no backend may touch: it climbs, is not text, or cannot be a file's name."""

    code = "path"

    path: str
    """The path as passed."""
    problem: str
    """The problem with it."""
    fix: str = ""
    """What to do about it; may be empty."""

    def __str__(self) -> str:
        shown = self.path if self.path.isprintable() else repr(self.path)
        fix = f". {self.fix}" if self.fix else ""
        return f"{self.problem}: {shown[:300]}{fix}"


class InvalidGlobPatternError(ThalwegError, ValueError):
    """A glob that cannot be matched: it climbs, or its braces make too many patterns."""

    code = "glob"


class MemoryFileError(ThalwegError, ValueError):
    """A memory file exists and cannot be read."""

    code = "memory_file"
    sentence = "Failed to download {path}: {problem}"

    path: str
    """The file."""
    problem: str
    """The backend's error."""


class FileError(ThalwegError):
    """A file of a thread cannot be had or taken."""

    code = "file"


class NoSuchFileError(FileError):
    """The thread has no such file."""

    code = "file.not_found"
    sentence = "there is no file {path!r}"

    path: str
    """The path that was asked for."""


class UploadRefusedError(FileError):
    """A file's type, size or content is not allowed."""

    code = "file.refused"
    sentence = "{name}: {problem}; {fix}"

    name: str
    """The sender's name of the file."""
    problem: str
    """The problem, with the numbers."""
    fix: str
    """The alternative that is allowed."""
