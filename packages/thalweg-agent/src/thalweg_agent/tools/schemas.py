"""The arguments of each tool: one schema per tool, generated once per process."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from thalweg_agent.prompts import prompt

DEFAULT_READ_OFFSET = 0
DEFAULT_READ_LIMIT = 100
"""Default number of lines of one `read_file`."""

OutputMode = Literal["files_with_matches", "content", "count"]
"""Form of `grep`'s result."""

_LINES = prompt("tool_arguments").text.splitlines()
_DESCRIPTIONS = {
    name: description for name, _, description in (line.partition(": ") for line in _LINES)
}


def _field(name: str, default: Any = ..., **bounds: Any) -> Any:  # noqa: ANN401  # pydantic's
    return Field(default, description=_DESCRIPTIONS[name], **bounds)


class LsSchema(BaseModel):
    """Arguments of `ls`."""

    path: str = _field("ls.path")


class ReadFileSchema(BaseModel):
    """Arguments of `read_file`."""

    file_path: str = _field("read_file.file_path")
    offset: int = _field("read_file.offset", DEFAULT_READ_OFFSET)
    limit: int = _field("read_file.limit", DEFAULT_READ_LIMIT)
    char_offset: int = _field("read_file.char_offset", 0)
    char_limit: int | None = _field("read_file.char_limit", None)


class ReadVideoFileSchema(ReadFileSchema):
    """Arguments of `read_file` if it shows frames of a video."""

    offset: int = _field("read_file.offset_or_seconds", DEFAULT_READ_OFFSET)
    limit: int = _field("read_file.limit_or_seconds", DEFAULT_READ_LIMIT)


class WriteFileSchema(BaseModel):
    """Arguments of `write_file`."""

    file_path: str = _field("write_file.file_path")
    content: str = _field("write_file.content")


class EditFileSchema(BaseModel):
    """Arguments of `edit_file`."""

    file_path: str = _field("edit_file.file_path")
    old_string: str = _field("edit_file.old_string")
    new_string: str = _field("edit_file.new_string")
    replace_all: bool = _field("edit_file.replace_all", default=False)


class DeleteSchema(BaseModel):
    """Arguments of `delete`."""

    file_path: str = _field("delete.file_path")


class GlobSchema(BaseModel):
    """Arguments of `glob`."""

    pattern: str = _field("glob.pattern")
    path: str | None = _field("glob.path", None)


class GrepSchema(BaseModel):
    """Arguments of `grep`."""

    pattern: str = _field("grep.pattern")
    path: str | None = _field("grep.path", None)
    glob: str | None = _field("grep.glob", None)
    output_mode: OutputMode = _field("grep.output_mode", "files_with_matches")
    max_count: int | None = _field("grep.max_count", None, gt=0)


class ExecuteSchema(BaseModel):
    """Arguments of `execute`."""

    command: str = _field("execute.command")
    timeout: int | None = _field("execute.timeout", None)
