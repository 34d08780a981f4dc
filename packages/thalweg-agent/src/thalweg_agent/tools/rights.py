"""File permissions of an agent: rules about paths, and their evaluation.

Two rules: the first matching rule decides; of several layers of rules the strictest does, so a
layer can remove permissions and never add them.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import Literal, get_args

from thalweg.errors import ConfigError

FilesystemOperation = Literal["read", "write"]
"""A tool's access to a path: to read or to change it."""

Mode = Literal["allow", "deny", "interrupt"]
"""Outcome of a call: it is performed, refused, or waits for a human."""


class RuleError(ConfigError, ValueError):
    """Raised for a rule about paths that is invalid."""

    code = "config.rule"


class UnsupportedRuleError(ConfigError, NotImplementedError):
    """Raised for a rule that cannot be enforced: for a home folder, or with a full shell."""

    code = "config.rule_unsupported"


@dataclass(frozen=True)
class FilesystemPermission:
    """A rule: the outcome of calls that read or write certain paths.

    Rules apply to the requested path and to its link target. Prefer a pattern that begins with
    names, not wildcards (`/secrets/**`): listing, searching and deleting a folder depend on
    whether the pattern could match something in it.

    Raises:
        RuleError: A path is not absolute or contains `..`, or an operation or mode is invalid.
        UnsupportedRuleError: A path names a home folder with `~`.
    """

    operations: list[FilesystemOperation]
    paths: list[str]
    """Patterns: `*` and `?` within a name, `**` for folders, `[abc]`, `{a,b}`. They match names
    that begin with a dot, too."""
    mode: Mode = "allow"

    def __post_init__(self) -> None:
        for operation in self.operations:
            if operation not in get_args(FilesystemOperation):
                what = f"Permission operation {operation!r}"
                raise RuleError(what, "there is no such operation", "use 'read' and 'write'")
        if self.mode not in get_args(Mode):
            what = f"Permission mode {self.mode!r}"
            raise RuleError(what, "there is no such mode", "use 'allow', 'deny' or 'interrupt'")
        for path in self.paths:
            _check_pattern(path)


def _check_pattern(path: str) -> None:
    parts = PurePosixPath(_slashes(path)).parts
    if not path.startswith("/"):
        what = f"Permission path must start with '/': {path!r}"
        raise RuleError(what, "tools take absolute paths", "write it from the root")
    if ".." in parts:
        what = f"Permission path must not contain '..': {path!r}"
        raise RuleError(what, "its target depends on links", "write it without ..")
    if "~" in parts:
        what = f"Permission path must not contain '~': {path!r}"
        raise UnsupportedRuleError(what, "backends have no home folders", "write it from the root")


@dataclass(frozen=True, slots=True)
class Rights:
    """Layers of rules; the strictest layer decides about a path.

    Example:
        >>> parent = [FilesystemPermission(["write"], ["/etc/**"], "deny")]
        >>> child = [FilesystemPermission(["write"], ["/**"], "allow")]
        >>> both(parent, child).verdict("write", "/etc/hosts")
        'deny'
    """

    layers: tuple[tuple[FilesystemPermission, ...], ...] = ()

    def __bool__(self) -> bool:
        return any(self.layers)

    def __iter__(self) -> Iterator[FilesystemPermission]:
        """Iterate over the rules of all layers."""
        return (rule for layer in self.layers for rule in layer)

    def verdict(
        self, operation: FilesystemOperation, path: str, *, folds_case: bool = False
    ) -> Mode:
        """Return the outcome of a call.

        Args:
            operation: The operation of the call.
            path: Its path, absolute and normalized.
            folds_case: Whether `/A` and `/a` are the same file.
        """

        def decide(layer: Iterable[FilesystemPermission]) -> Mode:
            for rule in layer:
                if operation in rule.operations and any(_matched(rule, path, folds_case)):
                    return rule.mode
            return "allow"

        return strictest(map(decide, self.layers))

    def forbidding(
        self, path: str, *, is_folder: bool = True, folds_case: bool = False
    ) -> list[str]:
        """Return the patterns that forbid the deletion of a path.

        Deleting a folder deletes everything in it, so a pattern that could match something there
        forbids it, regardless of earlier rules; and so does one that matches a parent folder.
        """
        found = (_forbidding(layer, path, is_folder, folds_case) for layer in self.layers)
        return list(dict.fromkeys(chain.from_iterable(found)))

    def patterns(self, mode: Mode, operation: FilesystemOperation) -> list[str]:
        """Return the patterns of the rules with this mode for this operation."""
        rules = (rule for rule in self if rule.mode == mode and operation in rule.operations)
        return [pattern for rule in rules for pattern in rule.paths]


Permissions = Sequence[FilesystemPermission] | Rights | None
"""Rules as an argument: one layer, several, or none."""


def rights(given: Permissions) -> Rights:
    """Return rules as layers; a `Rights` is returned unchanged."""
    if isinstance(given, Rights):
        return given
    return Rights((tuple(given),)) if given else Rights()


def both(parent: Permissions, child: Permissions) -> Rights:
    """Combine a child's rules with its parent's: the child may do what both allow."""
    return Rights((*rights(parent).layers, *rights(child).layers))


def strictest(modes: Iterable[Mode]) -> Mode:
    """Return the strictest of several modes."""
    present = set(modes)
    return "deny" if "deny" in present else "interrupt" if "interrupt" in present else "allow"


def reaches(pattern: str, folder: str, *, folds_case: bool = False) -> bool:
    """Return whether a pattern matches a folder or a parent, or could match something in it.

    Example:
        >>> reaches("/work/*/secrets", "/work/app"), reaches("/work/*.log", "/work/notes")
        (True, False)
    """
    parts = _parts(folder)
    return any(_walks(_parts(p), parts, folds_case) for p in _alternatives(pattern))


def _walks(segments: Sequence[str], parts: Sequence[str], folds_case: bool) -> bool:  # noqa: FBT001
    for segment, part in zip(segments, parts, strict=False):
        if segment == "**":
            return True
        if not _matcher(segment, folds_case)(part):
            return False
    return True


def _matched(rule: FilesystemPermission, path: str, folds_case: bool) -> Iterator[str]:  # noqa: FBT001
    """Yield the patterns of a rule that match a path."""
    return (p for p in rule.paths if _matcher(p, folds_case)(path))


def _forbidding(
    layer: Iterable[FilesystemPermission],
    path: str,
    is_folder: bool,  # noqa: FBT001
    folds_case: bool,  # noqa: FBT001
) -> Iterator[str]:
    for rule in layer:
        if "write" not in rule.operations:
            continue
        if is_folder and rule.mode == "deny":
            yield from (p for p in rule.paths if reaches(p, path, folds_case=folds_case))
        elif not is_folder and (matched := [*_matched(rule, path, folds_case)]):
            yield from matched if rule.mode == "deny" else ()
            return


@lru_cache(maxsize=1024)
def _matcher(pattern: str, folds_case: bool) -> Callable[[str], bool]:  # noqa: FBT001
    from wcmatch import glob  # noqa: PLC0415  # only agents that have rules pay for it

    flags = glob.BRACE | glob.GLOBSTAR | glob.DOTGLOB | glob.FORCEUNIX
    flags |= glob.IGNORECASE if folds_case else glob.CASE
    match = glob.compile(_folded(pattern), flags=flags).match
    return lambda path: match(_folded(path))


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", _slashes(path))


@lru_cache(maxsize=1024)
def _alternatives(pattern: str) -> tuple[str, ...]:
    from bracex import expand  # noqa: PLC0415  # see `_matcher`

    return tuple(expand(_slashes(pattern)))


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in _slashes(path).split("/") if part not in {"", "."})


def _slashes(path: str) -> str:
    return path.replace("\\", "/")
