"""See `filesystem_names`: the names of `permissions.interrupts` and its parts."""

from typing import Literal

from thalweg.backends.protocol import BackendProtocol
from thalweg.middleware.permissions import When, interrupts, when_looked_in, when_touched
from thalweg.tools.access import Access
from thalweg.tools.rights import FilesystemOperation, Permissions, rights

_build_interrupt_on_from_permissions = interrupts


def _make_fs_when_predicate(
    rules: Permissions,
    operation: FilesystemOperation,
    path_arg_name: str,
    scope: Literal["exact", "bulk"],
    pattern_arg_name: str | None = None,
    backend: BackendProtocol | None = None,
) -> When:
    access = Access(rights(rules), backend or BackendProtocol())
    if scope == "exact":
        return when_touched(access, operation, path_arg_name)
    return when_looked_in(access, operation, path_arg_name, pattern_arg_name)
