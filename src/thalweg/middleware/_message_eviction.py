"""See `filesystem_names`: the names of what stands for texts that were filed."""

from langchain_core.messages import BaseMessage

from thalweg.backends.text import TRUNCATION_MARKER_TEMPLATE
from thalweg.prompts import prompt
from thalweg.tools.filing import retold, text_of
from thalweg.tools.previews import (
    PREVIEW_LINE_CHAR_LIMIT,
    ContentPreview,
    preview_of,
    result_stub,
)

__all__ = ["PREVIEW_LINE_CHAR_LIMIT", "TRUNCATION_MARKER_TEMPLATE", "ContentPreview"]

TOO_LARGE_TOOL_MSG = _TOO_LARGE_TOOL_MSG = prompt("too_large_result").text
_create_content_preview = preview_of
_extract_text_from_message = text_of


def _preview_note(
    *, lines_omitted: bool, lines_clipped: bool = False, subject: str = "result"
) -> str:
    preview = ContentPreview("", lines_omitted=lines_omitted, lines_clipped=lines_clipped)
    return preview.note(subject)


def _build_evicted_content(message: BaseMessage, replacement_text: str) -> object:
    return retold(message, replacement_text).content


def render_too_large_tool_msg(*, tool_call_id: str, file_path: str, content_str: str) -> str:
    """Write what stands for a tool's result."""
    return result_stub(tool_call_id, file_path, preview_of(content_str))


_render_too_large_tool_msg = render_too_large_tool_msg
