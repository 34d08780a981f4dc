"""Images, documents, sounds and videos, in the blocks of every provider."""

import base64
import struct
import zlib
from typing import Any

Block = dict[str, Any]


def png(width: int = 80, height: int = 60, fill: int = 7) -> str:
    """Return a PNG of one color in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = zlib.compress((b"\0" + bytes([fill]) * (width * 3)) * height, 0)
    size = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def pdf(words: str = "A plan") -> str:
    """Return a PDF of one page in base64."""
    stream = f"BT /F1 12 Tf 20 100 Td ({words}) Tj ET".encode() + b" " * 2_000
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
        b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
    )
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page,
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, one)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, rows)
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        len(body),
    )
    return base64.b64encode(body + table + trailer).decode()


def wav(seconds: float = 0.2) -> str:
    """Return silence of 8 kHz in base64."""
    data = bytes(int(8_000 * seconds))
    head = struct.pack(
        "<4sI4s4sIHHIIHH", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, 8_000, 8_000, 1, 8
    )
    return base64.b64encode(head + struct.pack("<4sI", b"data", len(data)) + data).decode()


PNG, PDF, WAV = png(), pdf(), wav()
MP4 = base64.b64encode(b"\0\0\0\x18ftypmp42" + bytes(2_000)).decode()

STANDARD: dict[str, Block] = {
    "image": {"type": "image", "base64": PNG, "mime_type": "image/png"},
    "pdf": {"type": "file", "base64": PDF, "mime_type": "application/pdf", "filename": "plan.pdf"},
    "audio": {"type": "audio", "base64": WAV, "mime_type": "audio/wav"},
    "video": {"type": "video", "base64": MP4, "mime_type": "video/mp4"},
}
"""LangChain's own blocks."""
OPENAI: dict[str, Block] = {
    "image_url": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    "input_audio": {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
    "file": {
        "type": "file",
        "file": {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    },
}
RESPONSES: dict[str, Block] = {
    "input_image": {
        "type": "input_image",
        "image_url": f"data:image/png;base64,{PNG}",
        "detail": "low",
    },
    "input_file": {
        "type": "input_file",
        "filename": "plan.pdf",
        "file_data": f"data:application/pdf;base64,{PDF}",
    },
}
ANTHROPIC: dict[str, Block] = {
    "source-image": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
    },
    "document": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
        "title": "The plan",
    },
}
GEMINI: dict[str, Block] = {
    "media-image": {"type": "media", "mime_type": "image/png", "data": PNG},
    "media-pdf": {"type": "media", "mime_type": "application/pdf", "data": PDF},
    "media-audio": {"type": "media", "mime_type": "audio/wav", "data": WAV},
    "media-video": {"type": "media", "mime_type": "video/mp4", "data": MP4},
}
BLOCKS: dict[str, Block] = STANDARD | OPENAI | RESPONSES | ANTHROPIC | GEMINI
"""Every block by its name."""
BY_CLIENT: dict[str, tuple[str, ...]] = {
    "openai-chat": ("image", "pdf", "audio", *OPENAI),
    "openai-responses": ("image", "pdf", "image_url", "file", *RESPONSES),
    "anthropic": ("image", "pdf", "image_url", "file", *ANTHROPIC),
    "gemini": (*STANDARD, *OPENAI, *GEMINI),
}
"""The blocks that each client sends in a message of the user."""


def media_in(value: object) -> list[Block]:
    """Return the objects of a request that hold or name media, innermost, in order."""
    if isinstance(value, list):
        return [one for each in value for one in media_in(each)]
    if not isinstance(value, dict):
        return []
    found = [one for each in value.values() for one in media_in(each)]
    own = any(isinstance(v, str) and len(v) > 1_000 and " " not in v for v in value.values())
    return found or ([value] if own else [])
