"""Permissions applied to a backend: refuse calls, and hide paths from results.

A path is checked as requested and as the target of its links.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg_agent.backends.paths import validate_path
from thalweg_agent.backends.protocol import BackendProtocol, LsResult
from thalweg_agent.tools.asking import Steps, ask
from thalweg_agent.tools.places import folds_case, real_path
from thalweg_agent.tools.rights import FilesystemOperation, Mode, Rights, strictest


class ToolRefusedError(Exception):
    """Raised for a call that a tool does not make; the model receives the reason."""


class ToolDeniedError(ToolRefusedError):
    """Raised for a call that a rule about paths denies."""


@dataclass(frozen=True, slots=True)
class Access:
    """An agent's permitted operations on the paths of a backend."""

    rights: Rights
    backend: BackendProtocol

    def checked(self, operation: FilesystemOperation, path: str, hint: str = "") -> str:
        """Return a path, normalized, if its use is allowed.

        Args:
            operation: The operation on it.
            path: As the model wrote it.
            hint: Added to the error if a rule about the requested path refuses it.

        Raises:
            RefusedError: It is not a path, or a rule denies it or its link target.
        """
        path = valid(path)
        if not self.rights:
            return path
        folds = folds_case(self.backend)
        if self.rights.verdict(operation, path, folds_case=folds) == "deny":
            raise _denied(operation, path, hint)
        real = self._real(path)
        if real != path and self.rights.verdict(operation, real, folds_case=folds) == "deny":
            raise _denied(operation, path, f" (resolves to {real})")
        return path

    def deletable(self, path: str) -> Steps[str]:
        """Return a path, normalized, if it and everything in it may be deleted.

        Raises:
            RefusedError: As for `checked`; or something in the folder is denied.
        """
        path = valid(path)
        if not self.rights:
            return path
        is_folder = yield from _may_be_folder(path)
        folds = folds_case(self.backend)
        if rules := self.rights.forbidding(path, is_folder=is_folder, folds_case=folds):
            raise _denied("write", path, f" (matches deny rule(s): {', '.join(rules)})")
        real = self._real(path)
        if real != path and self.rights.forbidding(real, is_folder=is_folder, folds_case=folds):
            raise _denied("write", path, f" (resolves to {real})")
        return path

    def verdict(self, operation: FilesystemOperation, path: str) -> Mode:
        """Return the mode of a call; a path whose link target is unreachable is denied.

        Args:
            operation: The operation of the call.
            path: Normalized.
        """
        folds = folds_case(self.backend)
        try:
            names = self.names(path)
        except ToolRefusedError:
            return "deny"
        return strictest(self.rights.verdict(operation, n, folds_case=folds) for n in names)

    def names(self, path: str) -> tuple[str, ...]:
        """Return a path as requested and as its link target.

        Raises:
            RefusedError: The target is outside the backend.
        """
        return path, self._real(path)

    def shown(self, paths: Iterable[str]) -> list[str]:
        """Return the paths that may be read, without those whose link target is unreachable."""
        if not self.rights:
            return list(paths)
        known: dict[str, bool] = {}
        found = list(paths)
        for path in found:
            if path not in known:
                known[path] = self.verdict("read", path) != "deny"
        return [path for path in found if known[path]]

    def _real(self, path: str) -> str:
        try:
            return real_path(self.backend, path)
        except (ValueError, OSError, RuntimeError):
            message = f"Error: cannot resolve {path}"
            raise ToolRefusedError(message) from None


def valid(path: str) -> str:
    """Return a path, normalized.

    Raises:
        RefusedError: It is not the path of a file.
    """
    try:
        return validate_path(path)
    except ValueError as error:
        message = f"Error: {error}"
        raise ToolRefusedError(message) from None


def _denied(operation: FilesystemOperation, path: str, why: str) -> ToolDeniedError:
    return ToolDeniedError(f"Error: permission denied for {operation} on {path}{why}")


def _may_be_folder(path: str) -> Steps[bool]:
    """Return whether something may exist below a path; true in doubt.

    Backends that store files by path alone return an empty listing both for a file and for an empty
    folder; the listing of the parent folder distinguishes the two.
    """
    try:
        inside = yield from ask(LsResult, "ls", path)
        if inside.error is not None:
            return "not_a_directory" not in inside.error
        if inside.entries:
            return True
        above = yield from ask(LsResult, "ls", path.rpartition("/")[0] or "/")
    except NotImplementedError:
        return True
    own = [entry for entry in above.entries or [] if entry["path"].rstrip("/") == path]
    return above.error is not None or not own or any(entry.get("is_dir") for entry in own)
