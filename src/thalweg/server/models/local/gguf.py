"""The metadata of a GGUF file."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from thalweg.errors import ConfigError

MAGIC: Final = b"GGUF"
"""How every such file begins."""


@dataclass(frozen=True, slots=True)
class Gguf:
    """The metadata of one file, as far as people and requests need it."""

    name: str
    """The name of the model in the file; empty if missing."""
    architecture: str
    quantisation: str
    """`Q4_K_M` and the like; empty if unknown."""
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
        """Whether it chats and calls tools, in a few words.

        Example:
            >>> Gguf("Base", "llama", "Q8_0", 8_192, "").abilities
            'none: a base model, it cannot chat'
        """
        if not self.template:
            return "none: a base model, it cannot chat"
        return "calls tools" if self.calls_tools else "does not call tools well"


_UNTAUGHT: Final = re.compile(r"qwen\W?2(\.5)?\W?coder", re.IGNORECASE)
"""Models that write calls into a block of code, with any template (measured with Qwen2.5-Coder
1.5B; docs/models.md)."""


def read_gguf(path: Path) -> Gguf:
    """Read the metadata of a file; the weights are not touched.

    Raises:
        ConfigError: It is no GGUF file, or is cut off.
    """
    try:
        with path.open("rb") as file:
            fields = _GgufReader(file).fields()
    except (EOFError, struct.error, UnicodeDecodeError, ValueError, MemoryError) as error:
        problem = f"it is not a readable GGUF file ({error})"
        raise ConfigError(str(path), problem, "download it again, or name another file") from None
    architecture = _text(fields, "general.architecture")
    return Gguf(
        name=_text(fields, "general.name") or _text(fields, "general.basename"),
        architecture=architecture,
        quantisation=_QUANTISATIONS.get(_number(fields, "general.file_type", -1), ""),
        context=_number(fields, f"{architecture}.context_length", 0),
        template=_text(fields, "tokenizer.chat_template"),
    )


def _text(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _number(fields: Mapping[str, object], key: str, otherwise: int) -> int:
    value = fields.get(key)
    return value if isinstance(value, int) else otherwise


_PLAIN: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
"""Types of values with a fixed size, as `struct` writes them."""
_STRING, _ARRAY = 8, 9
_MOST_TEXT = 1 << 24
"""Bytes of the longest text that is believed."""
_MOST_FIELDS = 1 << 16
_OLDEST, _NEWEST = 2, 3
"""Versions of the format that are read; the first is from before anybody's model of today."""


class _GgufReader:
    """Reads the head of one file, front to back."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def fields(self) -> dict[str, object]:
        """Read all fields; of arrays only that they are there."""
        if self._bytes(len(MAGIC)) != MAGIC:
            msg = "it does not begin with GGUF"
            raise ValueError(msg)
        version, _tensors, count = self._plain("<I"), self._plain("<Q"), self._plain("<Q")
        if not (_OLDEST <= version <= _NEWEST and count <= _MOST_FIELDS):
            msg = f"version {version}, {count} fields"
            raise ValueError(msg)
        return {self._string(): self._value(self._plain("<I")) for _ in range(count)}

    def _value(self, kind: int) -> object:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            self._skip_array()
            return None
        if kind not in _PLAIN:
            msg = f"a value of type {kind}"
            raise ValueError(msg)
        return self._plain(_PLAIN[kind])

    def _skip_array(self) -> None:
        kind, count = self._plain("<I"), self._plain("<Q")
        if kind in _PLAIN:
            self._file.seek(struct.calcsize(_PLAIN[kind]) * count, 1)
        elif kind == _STRING:
            for _ in range(count):
                self._file.seek(self._plain("<Q"), 1)
        else:
            for _ in range(count):
                self._value(kind)

    def _string(self) -> str:
        size = self._plain("<Q")
        if size > _MOST_TEXT:
            msg = f"a text of {size} bytes"
            raise ValueError(msg)
        return self._bytes(size).decode()

    def _plain(self, form: str) -> int:
        (value,) = struct.unpack(form, self._bytes(struct.calcsize(form)))
        return value  # type: ignore[no-any-return]  # a float only where nobody looks

    def _bytes(self, size: int) -> bytes:
        read = self._file.read(size)
        if len(read) < size:
            msg = "it ends too early"
            raise EOFError(msg)
        return read


_QUANTISATIONS: Final = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
    30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE",
}  # fmt: skip
"""`general.file_type`, as llama.cpp numbers them."""
