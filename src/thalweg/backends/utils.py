"""Names that users of Deep Agents import from `backends.utils`; each stands in its own file."""

from thalweg.backends.files import (
    EXTENSION_TO_FILE_TYPE as _EXTENSION_TO_FILE_TYPE,
)
from thalweg.backends.files import (
    MAX_VIDEO_INPUT_BYTES,
    FileType,
    create_file_data,
    file_data_to_string,
    update_file_data,
)
from thalweg.backends.files import VIDEO_EXTRA_EXTENSIONS as _VIDEO_EXTRA_EXTENSIONS
from thalweg.backends.files import file_type as _get_file_type
from thalweg.backends.files import read_file_type as _get_backend_read_file_type
from thalweg.backends.files import with_content as _copy_file_data_with_content
from thalweg.backends.globs import compile_grep_include_glob
from thalweg.backends.matches import (
    build_grep_results_dict,
    format_grep_matches,
    grep_matches_from_files,
    regex_literal_hint,
)
from thalweg.backends.matches import glob_search_files as _glob_search_files
from thalweg.backends.paths import files_under as _filter_files_by_path
from thalweg.backends.paths import glob_anchor as _glob_anchor
from thalweg.backends.paths import normalize_path as _normalize_path
from thalweg.backends.paths import paths_overlap as _paths_overlap
from thalweg.backends.paths import relative_to as _relative_to_root
from thalweg.backends.paths import (
    sanitize_tool_call_id,
    to_posix_path,
    validate_path,
)
from thalweg.backends.protocol import FileInfo, GrepMatch
from thalweg.backends.text import (
    EMPTY_CONTENT_WARNING,
    EMPTY_OLD_STRING_ERROR,
    MAX_LINE_LENGTH,
    TOOL_RESULT_TOKEN_LIMIT,
    TRUNCATION_GUIDANCE,
    TRUNCATION_MARKER_TEMPLATE,
    check_empty_content,
    format_content_with_line_numbers,
    normalize_read_bounds,
    perform_string_replacement,
    slice_read_response,
    truncate_if_too_long,
)
from thalweg.backends.text import format_source_block as _format_source_block
from thalweg.errors import InvalidGlobPatternError

__all__ = [
    "EMPTY_CONTENT_WARNING",
    "EMPTY_OLD_STRING_ERROR",
    "MAX_LINE_LENGTH",
    "MAX_VIDEO_INPUT_BYTES",
    "TOOL_RESULT_TOKEN_LIMIT",
    "TRUNCATION_GUIDANCE",
    "TRUNCATION_MARKER_TEMPLATE",
    "_EXTENSION_TO_FILE_TYPE",
    "_VIDEO_EXTRA_EXTENSIONS",
    "FileInfo",
    "FileType",
    "GrepMatch",
    "InvalidGlobPatternError",
    "_copy_file_data_with_content",
    "_filter_files_by_path",
    "_format_source_block",
    "_get_backend_read_file_type",
    "_get_file_type",
    "_glob_anchor",
    "_glob_search_files",
    "_normalize_path",
    "_paths_overlap",
    "_relative_to_root",
    "build_grep_results_dict",
    "check_empty_content",
    "compile_grep_include_glob",
    "create_file_data",
    "file_data_to_string",
    "format_content_with_line_numbers",
    "format_grep_matches",
    "grep_matches_from_files",
    "normalize_read_bounds",
    "perform_string_replacement",
    "regex_literal_hint",
    "sanitize_tool_call_id",
    "slice_read_response",
    "to_posix_path",
    "truncate_if_too_long",
    "update_file_data",
    "validate_path",
]
