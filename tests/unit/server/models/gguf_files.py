"""GGUF files without weights, as small as they can be."""

import struct
from collections.abc import Mapping, Sequence

Value = str | int | float | bool | Sequence[str] | Sequence[int]


def gguf(fields: Mapping[str, Value], version: int = 3) -> bytes:
    """Write a file that has these fields and no tensor."""
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(fields))
    return head + b"".join(_string(key) + _typed(value) for key, value in fields.items())


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _typed(value: Value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<IQ", 10, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if all(isinstance(one, str) for one in value):
        items = b"".join(_string(str(one)) for one in value)
        return struct.pack("<IIQ", 9, 8, len(value)) + items
    items = b"".join(struct.pack("<i", int(one)) for one in value)
    return struct.pack("<IIQ", 9, 5, len(value)) + items


TINY = gguf(
    {
        "general.architecture": "llama",
        "general.name": "Tiny",
        "general.file_type": 15,
        "tokenizer.ggml.tokens": ["a", "bc", "def"],
        "tokenizer.ggml.token_type": [1, 2, 3],
        "tokenizer.ggml.add_bos_token": True,
        "llama.rope.freq_base": 10_000.0,
        "llama.context_length": 2_048,
        "tokenizer.chat_template": "{% for m in messages %}<|im_start|>{{ m }}{% endfor %}",
    }
)
"""What a chat model of a few billion parameters says of itself."""
