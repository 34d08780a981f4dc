"""Rights at work on a backend: what is refused, and what is not shown.

A path is judged as it was asked for and as what it is a link to.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import BackendProtocol, LsResult
from thalweg.tools.asking import Steps, ask
from thalweg.tools.places import folds_case, real_path
from thalweg.tools.rights import FilesystemOperation, Mode, Rights, strictest


class RefusedError(Exception):
    """A call that a tool does not make; the model is told why."""


@dataclass(frozen=True, slots=True)
class Access:
    """What an agent may do with the paths of a backend."""

    rights: Rights
    backend: BackendProtocol

    def checked(self, operation: FilesystemOperation, path: str, hint: str = "") -> str:
        """Bring a path into its form, if it may be touched.

        Args:
            operation: What is to be done.
            path: As the model wrote it.
            hint: What to add when a rule about the path itself refuses it.

        Raises:
            RefusedError: It is no path, or a rule denies it, or where it leads.
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
        """Bring a path into its form, if it and everything in it may be deleted.

        Raises:
            RefusedError: See `checked`; or something in the folder is denied.
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
        """Say what becomes of a call; a path that leads nowhere is denied.

        Args:
            operation: What it does.
            path: Normalized.
        """
        folds = folds_case(self.backend)
        try:
            names = self.names(path)
        except RefusedError:
            return "deny"
        return strictest(self.rights.verdict(operation, n, folds_case=folds) for n in names)

    def names(self, path: str) -> tuple[str, ...]:
        """Name a path as it was asked for and as what it leads to.

        Raises:
            RefusedError: It leads nowhere that the backend may touch.
        """
        return path, self._real(path)

    def shown(self, paths: Iterable[str]) -> list[str]:
        """Leave out what may not be read; a path that leads nowhere is left out, too."""
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
            told = f"Error: cannot resolve {path}"
            raise RefusedError(told) from None


def valid(path: str) -> str:
    """Bring a path into its form.

    Raises:
        RefusedError: It is no path of a file.
    """
    try:
        return validate_path(path)
    except ValueError as error:
        told = f"Error: {error}"
        raise RefusedError(told) from None


def _denied(operation: FilesystemOperation, path: str, why: str) -> RefusedError:
    return RefusedError(f"Error: permission denied for {operation} on {path}{why}")


def _may_be_folder(path: str) -> Steps[bool]:
    """Ask whether something may lie under a path; a doubt is a yes.

    Backends that keep files by their paths alone answer with an empty listing for a file and
    for an empty folder alike; the listing of the folder above tells them apart.
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
