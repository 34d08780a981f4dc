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
_TOLD = {name: told for name, _, told in (line.partition(": ") for line in _LINES)}


def _told(name: str, default: Any = ..., **bounds: Any) -> Any:  # noqa: ANN401  # pydantic's
    return Field(default, description=_TOLD[name], **bounds)


class LsSchema(BaseModel):
    """Arguments of `ls`."""

    path: str = _told("ls.path")


class ReadFileSchema(BaseModel):
    """Arguments of `read_file`."""

    file_path: str = _told("read_file.file_path")
    offset: int = _told("read_file.offset", DEFAULT_READ_OFFSET)
    limit: int = _told("read_file.limit", DEFAULT_READ_LIMIT)
    char_offset: int = _told("read_file.char_offset", 0)
    char_limit: int | None = _told("read_file.char_limit", None)


class ReadVideoFileSchema(ReadFileSchema):
    """Arguments of `read_file` where it shows frames of a video."""

    offset: int = _told("read_file.offset_or_seconds", DEFAULT_READ_OFFSET)
    limit: int = _told("read_file.limit_or_seconds", DEFAULT_READ_LIMIT)


class WriteFileSchema(BaseModel):
    """Arguments of `write_file`."""

    file_path: str = _told("write_file.file_path")
    content: str = _told("write_file.content")


class EditFileSchema(BaseModel):
    """Arguments of `edit_file`."""

    file_path: str = _told("edit_file.file_path")
    old_string: str = _told("edit_file.old_string")
    new_string: str = _told("edit_file.new_string")
    replace_all: bool = _told("edit_file.replace_all", default=False)


class DeleteSchema(BaseModel):
    """Arguments of `delete`."""

    file_path: str = _told("delete.file_path")


class GlobSchema(BaseModel):
    """Arguments of `glob`."""

    pattern: str = _told("glob.pattern")
    path: str | None = _told("glob.path", None)


class GrepSchema(BaseModel):
    """Arguments of `grep`."""

    pattern: str = _told("grep.pattern")
    path: str | None = _told("grep.path", None)
    glob: str | None = _told("grep.glob", None)
    output_mode: OutputMode = _told("grep.output_mode", "files_with_matches")
    max_count: int | None = _told("grep.max_count", None, gt=0)


class ExecuteSchema(BaseModel):
    """Arguments of `execute`."""

    command: str = _told("execute.command")
    timeout: int | None = _told("execute.timeout", None)
