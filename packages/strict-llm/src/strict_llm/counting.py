"""Tokens of a request, counted over one canonical rendering.

A request is a row of *pieces*: the tools, the system prompt, then every block of every message, in
the order that the provider's prompt cache sees them. A piece costs the exact o200k count of its
text and its framing:

- `MESSAGE_TOKENS` on the first piece of a message, `CALL_TOKENS` on a tool call, `TOOL_TOKENS` on a
  tool's definition, `REQUEST_TOKENS` once;
- a tool call is its name and its arguments on two lines, a tool's definition its JSON with sorted
  keys and no spaces;
- an image of any size costs `IMAGE_TOKENS` of its wire, a page of a PDF `PAGE_TOKENS`, a sound or a
  film of any length the price of a minute, three bytes of another file one token;
- reasoning is its text; its signature is free.
"""

import json
import re
import warnings
from base64 import b64decode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from io import BytesIO
from itertools import accumulate
from typing import Any

from strict_llm.exchange import WireName

MESSAGE_TOKENS = 4
CALL_TOKENS = 8
TOOL_TOKENS = 4
REQUEST_TOKENS = 3
IMAGE_TOKENS: dict[WireName, int] = {
    "openai-chat": 765,
    "openai-responses": 765,
    "anthropic": 1_600,
    "gemini": 258,
}
"""OpenAI's price of 1,024 x 1,024 pixels in high detail; Anthropic's of its largest image;
Google's of one tile."""
PAGE_TOKENS: dict[WireName, int] = {
    "openai-chat": 3_000,
    "openai-responses": 3_000,
    "anthropic": 3_000,
    "gemini": 560,
}
"""Anthropic publishes 1,500 to 3,000 tokens for the text of a page, and an image of it besides;
OpenAI no figure; Google 560 (platform.claude.com, "PDF support"; developers.openai.com, "File
inputs"; ai.google.dev, "Media resolution"; all read 2026-11-28)."""
UNREAD_PAGES = 10
"""Pages of a document that is an address or an id, or that cannot be read."""
MINUTE_TOKENS: dict[tuple[str, str], int] = {("gemini", "audio"): 1_920, ("gemini", "video"): 6_120}
"""A minute by Google's price of a second, 32 and 102 (as above)."""
OTHER_MINUTE_TOKENS = 600
"""A minute of sound by OpenAI's price, 10 tokens a second."""


@dataclass(frozen=True, slots=True)
class CountedPiece:
    """A stretch of a request that is counted, and cached, as one."""

    kind: str
    """Its type and sender; a part of its identity that is not counted."""
    text: str
    framing: int = 0
    """Tokens around it."""
    media: int | None = None
    """Tokens instead of those of the text, which is then only its identity."""
    keep: str = ""
    """Lifetime of a cache breakpoint after this piece (`5m`, `1h`), or empty."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A request as it was counted."""

    prefixes: tuple[bytes, ...]
    """Identity of the request up to and with each piece."""
    sums: tuple[int, ...]
    """Tokens up to and with each piece."""
    keeps: tuple[str, ...]
    """The cache breakpoint after each piece, or empty."""

    @property
    def total(self) -> int:
        """Tokens of the request."""
        return self.sums[-1] if self.sums else 0


class TokenCounter:
    """Counts pieces; a text it has seen costs one hash."""

    def __init__(self) -> None:
        self._tokenizer = _tokenizer()
        self._known: dict[bytes, int] = {}

    def text(self, text: str) -> int:
        """Count one text."""
        return self._tokens(_digest("", text), text)

    def measure(self, pieces: Sequence[CountedPiece], inflation: float) -> Measured:
        """Count a request: texts times `inflation`, media at their price."""
        identities = [_digest(piece.kind, piece.text) for piece in pieces]
        counted = (
            piece.framing * inflation
            + (self._tokens(key, piece.text) * inflation if piece.media is None else piece.media)
            for key, piece in zip(identities, pieces, strict=True)
        )
        exact = accumulate(counted, initial=REQUEST_TOKENS * inflation)
        chain = accumulate(identities, _chained, initial=b"")
        return Measured(
            prefixes=tuple(chain)[1:],
            sums=tuple(map(round, exact))[1:],
            keeps=tuple(piece.keep for piece in pieces),
        )

    def _tokens(self, key: bytes, text: str) -> int:
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._count(text)
        return known

    def _count(self, text: str) -> int:
        try:
            counted: int = self._tokenizer.count(text)
        except UnicodeEncodeError:  # lone surrogates
            return self._count(text.encode("utf-8", "replace").decode())
        return counted


@cache
def _tokenizer() -> Any:  # noqa: ANN401 (of a binding without types)
    """Load the vocabulary o200k. Its public wrapper refuses texts over a million characters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it uses `open_binary`
        from bpe_openai import _bindings  # noqa: PLC0415 (takes half a second)
    return _bindings.tokenizer_for_encoding("o200k_base")


def _digest(kind: str, text: str) -> bytes:
    return blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _chained(before: bytes, identity: bytes) -> bytes:
    return blake2b(before + identity, digest_size=16).digest()


def compact(value: object) -> str:
    """Write JSON with sorted keys and no spaces."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def tool_pieces(tools: Iterable[object]) -> list[CountedPiece]:
    """Render the tools of a request."""
    return [CountedPiece("tool", compact(tool), TOOL_TOKENS) for tool in tools]


def call_piece(call_id: str, name: str, arguments: str) -> CountedPiece:
    """Render a tool call."""
    return CountedPiece(f"call {call_id}", f"{name}\n{arguments}", CALL_TOKENS)


def image_piece(wire: WireName, kind: str, content: str) -> CountedPiece:
    """Render an image: its address or base64."""
    return CountedPiece(f"{kind} image", content, media=IMAGE_TOKENS[wire])


def document_piece(
    wire: WireName, kind: str, content: str, mime: str = "application/pdf"
) -> CountedPiece:
    """Render a document, a sound or a film: the JSON or base64 that holds it, or its address."""
    found = max(_BASE64.findall(content), key=len, default="")
    return CountedPiece(f"{kind} file", content, media=_file_tokens(wire, mime, found))


_BASE64 = re.compile(r"[A-Za-z0-9+/]{100,}={0,2}")


def _file_tokens(wire: WireName, mime: str, data: str) -> int:
    kind = mime.partition("/")[0]
    if kind in {"audio", "video"}:
        return MINUTE_TOKENS.get((wire, kind), OTHER_MINUTE_TOKENS)
    if kind == "text" and data:
        return len(data) // 4
    return PAGE_TOKENS[wire] * (_pages(data) or UNREAD_PAGES)


@lru_cache(maxsize=32)
def _pages(data: str) -> int:
    """Return the pages of a PDF in base64; 0 if it is none, or damaged."""
    raw = b64decode(data + "=" * (-len(data) % 4))
    if not raw.startswith(b"%PDF-"):
        return 0
    from pypdf import PdfReader  # noqa: PLC0415 (only bodies with a PDF need it)

    try:
        root: Any = PdfReader(BytesIO(raw)).root_object
        return int(root["/Pages"]["/Count"])
    except Exception:  # noqa: BLE001 (any error of a parser means unreadable)
        return 0
