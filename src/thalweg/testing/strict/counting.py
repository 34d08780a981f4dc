"""Tokens of a request, counted over one canonical rendering.

A request is a row of *pieces*: the tools, the system prompt, then every block of every message, in
the order that the provider's prompt cache sees them. A piece costs the exact o200k count of its
text and its framing:

- `MESSAGE_TOKENS` on the first piece of a message, `CALL_TOKENS` on a tool call, `TOOL_TOKENS` on a
  tool's definition, `REQUEST_TOKENS` once;
- a tool call is its name and its arguments on two lines, a tool's definition its JSON with sorted
  keys and no spaces;
- an image of any size costs `IMAGE_TOKENS` of its wire, a document `engine.media.cost`;
- reasoning is its text; its signature is free.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate

from thalweg.engine.entries import Media
from thalweg.engine.media.cost import cost_of
from thalweg.engine.tokens import exact_counter
from thalweg.testing.strict.exchange import WireName

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


@dataclass(frozen=True, slots=True)
class CountedPiece:
    """A stretch of a request that is counted, and cached, as one."""

    kind: str
    """What it is and whose; a part of its identity that is not counted."""
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
        self._count = exact_counter()
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
    media = Media(mime, data=found) if found else Media(mime, url=content)
    return CountedPiece(f"{kind} file", content, media=cost_of(media, _VENDORS[wire]).tokens)


_BASE64 = re.compile(r"[A-Za-z0-9+/]{100,}={0,2}")
_VENDORS: dict[WireName, str] = {
    "openai-chat": "openai:",
    "openai-responses": "openai:",
    "anthropic": "anthropic:",
    "gemini": "google_genai:",
}
"""Whose prices media have, as models are named."""
