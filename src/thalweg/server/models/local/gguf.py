"""The metadata of a GGUF file, as far as requests and lists of models need it before it is loaded.

The format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from thalweg.errors import ConfigError

MAGIC: Final = b"GGUF"
"""How every such file begins."""
_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of the value types with a fixed size."""
_STRING, _ARRAY = 8, 9
_MOST_TEXT: Final = 1 << 24
"""Bytes of the longest text that is believed."""
_UNTAUGHT: Final = re.compile(r"qwen\W?2(\.5)?\W?coder", re.IGNORECASE)
"""Models that write calls into a block of code, with any template (measured with Qwen2.5-Coder
1.5B; docs/models.md)."""


@dataclass(frozen=True, slots=True)
class Gguf:
    """The metadata of one file."""

    name: str
    """The name of the model in the file; empty if missing."""
    context: int
    """Tokens of the window it was trained for; 0 if missing."""
    template: str
    """How it wants a conversation written, in Jinja; empty where it has none."""

    @property
    def calls_tools(self) -> bool:
        """Whether the model was trained to call tools, by its template.

        A model without this training also calls tools without need.
        """
        return "tools" in self.template and not _UNTAUGHT.search(self.name)

    @property
    def abilities(self) -> str:
        """Whether it chats and calls tools, in a few words."""
        if not self.template:
            return "none: a base model, it cannot chat"
        return "calls tools" if self.calls_tools else "does not call tools well"


def read_gguf(path: Path) -> Gguf:
    """Read the metadata of a file; the weights are not touched.

    Raises:
        ConfigError: It is no GGUF file, or is cut off.
    """
    try:
        with path.open("rb") as file:
            fields = _fields(file)
    except (OSError, struct.error, ValueError, OverflowError) as error:
        problem = f"it is not a readable GGUF file ({error})"
        raise ConfigError(str(path), problem, "download it again, or name another file") from None
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    context = fields.get(f"{texts.get('general.architecture')}.context_length")
    return Gguf(
        name=texts.get("general.name") or texts.get("general.basename", ""),
        context=context if isinstance(context, int) else 0,
        template=texts.get("tokenizer.chat_template", ""),
    )


def _fields(file: BinaryIO) -> dict[str, str | int | None]:
    """Read texts and numbers; of arrays only that they are there."""
    magic, version, _tensors, count = struct.unpack("<4sIQQ", _bytes(file, 24))
    if magic != MAGIC or version not in {2, 3}:
        msg = f"it begins with {magic!r}, version {version}"
        raise ValueError(msg)
    return {_text(file): _value(file, _number(file, 4)) for _ in range(count)}


def _value(file: BinaryIO, kind: int) -> str | int | None:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        return _number(file, _size(kind))
    kind, count = _number(file, 4), _number(file, 8)
    if kind == _STRING:
        for _ in range(count):
            file.seek(_number(file, 8), 1)
    else:
        file.seek(_size(kind) * count, 1)
    return None


def _size(kind: int) -> int:
    if kind not in _SIZES:
        msg = f"a value of type {kind}"
        raise ValueError(msg)
    return _SIZES[kind]


def _number(file: BinaryIO, size: int) -> int:
    return int.from_bytes(_bytes(file, size), "little")


def _text(file: BinaryIO) -> str:
    return _bytes(file, _number(file, 8)).decode()


def _bytes(file: BinaryIO, size: int) -> bytes:
    read = file.read(size) if size <= _MOST_TEXT else b""
    if len(read) < size:
        msg = f"it ends too early, or a text of {size} bytes"
        raise ValueError(msg)
    return read
