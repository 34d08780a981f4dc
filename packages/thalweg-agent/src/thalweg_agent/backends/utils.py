"""Names of `deepagents.backends.utils`, each defined in a file of its own."""

from thalweg.errors import InvalidGlobPatternError
from thalweg_agent.backends.file_data import (
    MAX_VIDEO_INPUT_BYTES,
    FileType,
    create_file_data,
    file_data_to_string,
    update_file_data,
)
from thalweg_agent.backends.paths import sanitize_tool_call_id, to_posix_path, validate_path
from thalweg_agent.backends.protocol import FileInfo, GrepMatch
from thalweg_agent.backends.searches.globs import compile_grep_include_glob
from thalweg_agent.backends.searches.matches import (
    format_grep_matches,
    grep_matches_from_files,
    regex_literal_hint,
)
from thalweg_agent.backends.text import (
    EMPTY_CONTENT_WARNING,
    MAX_LINE_LENGTH,
    TOOL_RESULT_TOKEN_LIMIT,
    TRUNCATION_GUIDANCE,
    format_content_with_line_numbers,
    perform_string_replacement,
    slice_read_response,
    truncate_if_too_long,
)

__all__ = [
    "EMPTY_CONTENT_WARNING",
    "MAX_LINE_LENGTH",
    "MAX_VIDEO_INPUT_BYTES",
    "TOOL_RESULT_TOKEN_LIMIT",
    "TRUNCATION_GUIDANCE",
    "FileInfo",
    "FileType",
    "GrepMatch",
    "InvalidGlobPatternError",
    "compile_grep_include_glob",
    "create_file_data",
    "file_data_to_string",
    "format_content_with_line_numbers",
    "format_grep_matches",
    "grep_matches_from_files",
    "perform_string_replacement",
    "regex_literal_hint",
    "sanitize_tool_call_id",
    "slice_read_response",
    "to_posix_path",
    "truncate_if_too_long",
    "update_file_data",
    "validate_path",
]
