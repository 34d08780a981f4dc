"""Names under which programs written for Deep Agents import parts of the file tools.

They are not documented there, and ours to change; each is one line over what does the work.
"""

from collections.abc import Iterable
from typing import Literal

from langchain_core.messages import HumanMessage

from thalweg.backends.channel import merge_file, merge_files
from thalweg.backends.paths import sanitize_tool_call_id
from thalweg.backends.protocol import BackendProtocol, FileInfo
from thalweg.middleware.showing import shell_paths
from thalweg.prompts import prompt
from thalweg.tools.access import Access
from thalweg.tools.filing import FILED, as_stub
from thalweg.tools.kit import FILE_TOOLS
from thalweg.tools.places import below_routes, keeps_in_state, real_path
from thalweg.tools.rights import FilesystemOperation, Mode, Permissions, rights
from thalweg.tools.schemas import GrepSchema, ReadFileSchema

__all__ = ["sanitize_tool_call_id"]

_NOWHERE = BackendProtocol()

GREP_GLOB_DESCRIPTION = str(GrepSchema.model_fields["glob"].description)
GREP_OUTPUT_MODE_DESCRIPTION = str(GrepSchema.model_fields["output_mode"].description)
READ_FILE_VIDEO_TOOL_DESCRIPTION = prompt("tool_read_file").text
ReadVideoFileSchema = ReadFileSchema

_ALL_FS_TOOL_NAMES = frozenset(FILE_TOOLS)
_FS_TOOL_ORDER = tuple(name for name in FILE_TOOLS if name != "execute")
_TOO_LARGE_HUMAN_MSG = prompt("too_large_message").text
_SYNC_GLOB_WORKERS = 4
_file_data_reducer = merge_file
_file_data_delta_reducer = merge_files
_resolve_real_path = real_path
_route_host_path_prompt = shell_paths
_uses_state_backend = keeps_in_state


def _check_fs_permission(rules: Permissions, operation: FilesystemOperation, path: str) -> Mode:
    return rights(rules).verdict(operation, path)


def _find_delete_deny_patterns(
    rules: Permissions, target: str, *, has_descendants: bool = True
) -> list[str]:
    return rights(rules).forbidding(target, is_folder=has_descendants)


def _filter_paths_by_permission(
    rules: Permissions,
    operation: Literal["read"],
    paths: Iterable[str],
    *,
    backend: BackendProtocol | None = None,
) -> list[str]:
    del operation
    return Access(rights(rules), backend or _NOWHERE).shown(paths)


def _apply_permissions_to_glob_results(
    rules: Permissions, matches: Iterable[FileInfo], *, backend: BackendProtocol | None = None
) -> list[str]:
    paths = (match["path"] for match in matches)
    return _filter_paths_by_permission(rules, "read", paths, backend=backend)


_apply_permissions_to_ls_results = _apply_permissions_to_glob_results


def _all_paths_scoped_to_routes(rules: Permissions, backend: BackendProtocol) -> bool:
    return below_routes(rights(rules), backend)


def _build_truncated_human_message(message: HumanMessage, file_path: str) -> HumanMessage:
    told = {**message.additional_kwargs, FILED: file_path}
    shown = as_stub(message.model_copy(update={"additional_kwargs": told}))
    return shown.model_copy(update={"additional_kwargs": message.additional_kwargs})
