"""Media arrive as without the middleware, up to the limits that the providers publish.

Each form of a block that a client sends, in the newest user message and in a fresh tool result,
just below and just above each limit. Limits are those of the providers' pages, as of 2026-11-28:

- Anthropic: https://platform.claude.com/docs/en/build-with-claude/vision and `…/pdf-support`:
  10 MB of base64 and 8,000 pixels an image, 2,000 pixels above 20 images; 100 images and 100 pages
  a request with a window of 200,000 tokens; 32 MB a request.
- OpenAI: https://developers.openai.com/api/docs/guides/file-inputs and `…/images-vision`: 50 MB a
  file, 1,500 images a request.
- Gemini: https://ai.google.dev/gemini-api/docs/document-processing and `…/image-understanding`:
  50 MB and 1,000 pages a document, 3,600 images a request.
"""

import base64
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command

from tests.rules.endpoint import ANSWERS, Endpoint, parsed, serving
from tests.rules.players import client
from tests.rules.rule import PROVIDERS, Provider, Request
from tests.rules.story import Call, Move
from tests.rules.table import faults
from thalweg import ContextMiddleware, ContextPolicy

MODELS: dict[Provider, str] = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "openai-chat": "gpt-4o",
    "openai-responses": "gpt-4o",
}
MEGABYTE = 1_000_000
NOTICE = "recall(handle="


@dataclass(slots=True)
class Provision(Endpoint):
    """An endpoint that accepts and keeps everything."""

    bodies: list[Any] = field(default_factory=list)

    def answer(self, provider: Provider, model: str, raw: bytes) -> tuple[int, dict[str, Any]]:
        """Return the next move."""
        body = parsed(raw)
        self.bodies.append(body)
        move = self.moves.popleft() if self.moves else Move("Done.", thinks=False)
        self.serial += 1
        return 200, ANSWERS[provider](self, Request(body, raw, model, self.issued), move, 100)


def png(width: int, height: int, size: int = 0) -> str:
    """Return an image in base64, with so many random bytes added to its pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0" * (width + 1) * height))
    noise = chunk(b"noIs", random.Random(size).randbytes(size))  # noqa: S311 (no secret)
    whole = b"\x89PNG\r\n\x1a\n" + header + noise + pixels + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()


def pdf(pages: int, size: int = 0) -> str:
    """Return a document of empty pages in base64, with so many random bytes in a stream."""
    kids = " ".join(f"{3 + n} 0 R" for n in range(pages))
    noise = random.Random(size).randbytes(size)  # noqa: S311 (no secret)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {pages}>>".encode(),
        *[b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"] * pages,
        b"<</Length %d>>stream\n%s\nendstream" % (len(noise), noise),
    ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1)
    out += b"startxref\n%d\n%%%%EOF" % start
    return base64.b64encode(out).decode()


def wav(seconds: int) -> str:
    """Return a sound in base64: 8 kHz, 8 bits."""
    noise = random.Random(seconds).randbytes(8_000 * seconds)  # noqa: S311 (no secret)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8_000, 8_000, 1, 8)
    data = form + struct.pack("<4sI", b"data", len(noise)) + noise
    return base64.b64encode(struct.pack("<4sI4s", b"RIFF", 4 + len(data), b"WAVE") + data).decode()


def image_blocks(data: str, provider: Provider) -> dict[str, dict[str, Any]]:
    """Return an image in every form that the client takes."""
    mime, url = "image/png", f"data:image/png;base64,{data}"
    forms: dict[str, dict[str, Any]] = {
        "standard": {"type": "image", "base64": data, "mime_type": mime},
        "standard v0": {
            "type": "image",
            "source_type": "base64",
            "data": data,
            "mime_type": mime,
        },
        "image_url": {"type": "image_url", "image_url": {"url": url}},
    }
    if provider == "anthropic":
        source = {"type": "base64", "media_type": mime, "data": data}
        forms["native"] = {"type": "image", "source": source}
    elif provider == "openai-responses":
        forms["native"] = {"type": "input_image", "image_url": url, "detail": "auto"}
    elif provider == "gemini":
        forms["native"] = {"type": "media", "mime_type": mime, "data": data}
    return forms


def document_blocks(data: str, provider: Provider) -> dict[str, dict[str, Any]]:
    """Return a document in every form that the client takes."""
    mime, name = "application/pdf", "report.pdf"
    url = f"data:{mime};base64,{data}"
    forms: dict[str, dict[str, Any]] = {
        "standard": {"type": "file", "base64": data, "mime_type": mime, "filename": name},
        "standard v0": {
            "type": "file",
            "source_type": "base64",
            "data": data,
            "mime_type": mime,
            "filename": name,
        },
    }
    if provider == "anthropic":
        source = {"type": "base64", "media_type": mime, "data": data}
        forms["native"] = {"type": "document", "source": source}
    elif provider == "openai-chat":
        forms["native"] = {"type": "file", "file": {"filename": name, "file_data": url}}
    elif provider == "openai-responses":
        forms["native"] = {"type": "input_file", "filename": name, "file_data": url}
    else:
        forms["native"] = {"type": "media", "mime_type": mime, "data": data}
    return forms


def sound_blocks(data: str, provider: Provider) -> dict[str, dict[str, Any]]:
    """Return a sound in every form that the client takes."""
    if provider != "gemini":
        return {}
    return {
        "standard": {"type": "audio", "base64": data, "mime_type": "audio/wav"},
        "native": {"type": "media", "mime_type": "audio/wav", "data": data},
    }


FORMS = {"image": image_blocks, "document": document_blocks, "sound": sound_blocks}


@pytest.fixture
def addresses() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def sent(
    provider: Provider,
    blocks: Sequence[dict[str, Any]],
    addresses: ExitStack,
    *,
    ours: bool,
    in_result: bool = False,
    model: str = "",
) -> Any:  # noqa: ANN401 (JSON)
    """Return the last body that an agent sends with these blocks.

    One without tools, unless the blocks are in a result: with tools of its own it has ours, too.
    """
    point = Provision(10**9)
    address = addresses.enter_context(serving(point))
    content = [{"type": "text", "text": "Here it is."}, *blocks]

    @tool("fetch")
    def fetch(page: int, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Fetch a page."""
        del page
        # LangChain's tools node writes a result as JSON if it does not know the type of a block.
        return Command(update={"messages": [ToolMessage([*content], tool_call_id=call)]})

    policy = ContextPolicy(prompt_caching=False)
    agent: Any = create_agent(
        client(provider, model or MODELS[provider], address),
        [fetch] if in_result else [],
        middleware=[ContextMiddleware(policy, archive=":memory:")] if ours else [],
    )
    if in_result:
        point.play([Move("", (Call("fetch", '{"page": 1}'),), thinks=False)])
    request = HumanMessage("Fetch it." if in_result else [*content])
    agent.invoke({"messages": [request]})
    return point.bodies[-1]


FOREIGN = [
    pytest.param(provider, author, kind, form, id=f"{author}-{kind}-{form}-to-{provider}")
    for provider in PROVIDERS
    for author in PROVIDERS
    for kind in ("image", "document")
    for form in FORMS[kind]("", author)
    if author != provider and form in {"native", "image_url"}
]


@pytest.mark.parametrize(("provider", "author", "kind", "form"), FOREIGN)
@pytest.mark.parametrize("in_result", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_media_written_for_another_provider_are_sent(
    provider: Provider,
    author: Provider,
    kind: str,
    form: str,
    addresses: ExitStack,
    *,
    in_result: bool,
) -> None:
    """A thread whose model changes keeps its media, in a form that the new provider takes."""
    data = png(8, 8) if kind == "image" else pdf(1)
    body = sent(
        provider, [FORMS[kind](data, author)[form]], addresses, ours=True, in_result=in_result
    )

    assert text_of(body).count(data) == 1
    assert broken(provider, body) == []


JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(50)).decode()
WORDS = base64.b64encode(b"a,b\n1,2\n").decode()
CORRECTED: dict[str, tuple[Provider, dict[str, Any], str]] = {
    "a stated type that the bytes do not have": (
        "anthropic",
        {"type": "image", "base64": JPEG, "mime_type": "image/png"},
        '"media_type": "image/jpeg"',
    ),
    "the same in an address": (
        "anthropic",
        {"type": "image_url", "image_url": {"url": f"data:image/PNG;base64,{JPEG}"}},
        '"media_type": "image/jpeg"',
    ),
    "no stated type": (
        "openai-chat",
        {"type": "image", "base64": JPEG},
        "data:image/jpeg;base64",
    ),
    "a detail is kept": (
        "openai-chat",
        {
            "type": "image_url",
            "image_url": {"url": f"data:image/jpg;base64,{JPEG}", "detail": "low"},
        },
        '"detail": "low"',
    ),
    "a text by value": (
        "anthropic",
        {"type": "file", "base64": WORDS, "mime_type": "text/csv", "filename": "a.csv"},
        '"data": "a,b\\n1,2\\n"',
    ),
    "an MP3": (
        "openai-chat",
        {"type": "audio", "base64": WORDS, "mime_type": "audio/mpeg"},
        '"format": "mp3"',
    ),
    "a table": (
        "openai-responses",
        {"type": "file", "base64": WORDS, "mime_type": "text/csv", "filename": "a.csv"},
        "data:text/csv;base64",
    ),
}
"""A block, and what of it is sent."""


@pytest.mark.parametrize("name", CORRECTED)
@pytest.mark.parametrize("in_result", [False, True])
def test_media_are_sent_with_a_type_that_the_provider_takes(
    name: str, addresses: ExitStack, *, in_result: bool
) -> None:
    """What would be refused for its type alone is sent with the right one."""
    provider, block, expected = CORRECTED[name]
    model = "gpt-audio" if name == "an MP3" else ""
    body = sent(provider, [block], addresses, ours=True, in_result=in_result, model=model)

    assert expected in json.dumps(body)
    assert broken(provider, body) == []


WITHHELD: dict[str, tuple[Provider, dict[str, Any]]] = {
    "a file by its address": (
        "openai-chat",
        {"type": "file", "url": "https://localhost/a.pdf", "mime_type": "application/pdf"},
    ),
    "Anthropic's by its address": (
        "openai-chat",
        {"type": "document", "source": {"type": "url", "url": "https://localhost/a.pdf"}},
    ),
    "bytes without a type": ("openai-chat", {"type": "image", "base64": "aGVsbG8="}),
    "the same for Claude": ("anthropic", {"type": "image", "base64": "aGVsbG8="}),
    "a text by its address": (
        "anthropic",
        {"type": "file", "url": "https://localhost/a.txt", "mime_type": "text/plain"},
    ),
}
"""What no request of a provider may have."""


@pytest.mark.parametrize("name", WITHHELD)
def test_media_that_the_client_cannot_send_are_a_notice(name: str, addresses: ExitStack) -> None:
    """LangChain's client raises for some of them, before each later request of the thread."""
    provider, block = WITHHELD[name]
    body = sent(provider, [block], addresses, ours=True)

    assert "not shown, since this model does not accept it" in json.dumps(body)
    assert broken(provider, body) == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_file_of_another_provider_is_a_line(provider: Provider, addresses: ExitStack) -> None:
    """An id names nothing there."""
    author: Provider = "openai-chat" if provider in {"anthropic", "gemini"} else "anthropic"
    block: dict[str, Any] = (
        {"type": "file", "file": {"file_id": "file-1"}}
        if author == "openai-chat"
        else {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
    )
    body = sent(provider, [block], addresses, ours=True)

    assert '"file_id"' not in json.dumps(body)
    assert "not shown, since this model does not accept it" in json.dumps(body)


def broken(provider: Provider, body: Any) -> list[str]:  # noqa: ANN401 (JSON)
    """Return what a body breaks besides its reasoning, which another endpoint issued."""
    found = faults(provider, Request(body, json.dumps(body).encode(), MODELS[provider]))
    return [fault for fault in found if "signature" not in fault]


def text_of(body: Any) -> str:  # noqa: ANN401 (JSON)
    """Return a body as text; Google's client writes the base64 of URLs."""
    text = json.dumps(body)
    return text.replace("-", "+").replace("_", "/") if "contents" in body else text


SMALL: dict[str, tuple[str, Callable[[], str]]] = {
    "image of 10 kB": ("image", lambda: png(40, 40, 7_500)),
    "image of 3 MB": ("image", lambda: png(1_000, 1_000, 2_200_000)),
    "image of 8,000 pixels": ("image", lambda: png(8_000, 8)),
    "document of 100 kB": ("document", lambda: pdf(3, 75_000)),
    "document of 5 MB": ("document", lambda: pdf(20, 3_700_000)),
    "document of 100 pages": ("document", lambda: pdf(100)),
    "sound of 30 s": ("sound", lambda: wav(30)),
    "sound of 10 min": ("sound", lambda: wav(600)),
}
HUGE = {"image of 3 MB", "document of 5 MB", "sound of 10 min"}
"""Whose other forms than the first are sent nightly."""
CELLS = [
    pytest.param(
        provider,
        name,
        form,
        id=f"{provider}-{name}-{form}",
        marks=[pytest.mark.nightly] if name in HUGE and form != "standard" else [],
    )
    for provider in PROVIDERS
    for name, (kind, _) in SMALL.items()
    for form in FORMS[kind]("", provider)
]


@pytest.mark.parametrize(("provider", "name", "form"), CELLS)
def test_media_of_the_newest_message_are_sent_as_without_us(
    provider: Provider, name: str, form: str, addresses: ExitStack
) -> None:
    """The body is equal, key by key."""
    kind, make = SMALL[name]
    data = make()
    blocks = [FORMS[kind](data, provider)[form]]
    plain = sent(provider, blocks, addresses, ours=False)
    assert data in text_of(plain)
    assert sent(provider, blocks, addresses, ours=True) == plain


@pytest.mark.parametrize(("provider", "name", "form"), CELLS)
def test_media_of_a_fresh_result_are_sent(
    provider: Provider, name: str, form: str, addresses: ExitStack
) -> None:
    """Each once, wherever the provider takes it, and without a reference."""
    kind, make = SMALL[name]
    data = make()
    blocks = [FORMS[kind](data, provider)[form]]
    body = text_of(sent(provider, blocks, addresses, ours=True, in_result=True))
    assert body.count(data) == 1
    assert NOTICE not in body


WHOLE_FILES: list[tuple[str, Provider]] = [
    ("document (Gemini)", "gemini"),
    ("file (Chat)", "openai-chat"),
    ("file (Responses)", "openai-responses"),
]
LIMITS: dict[str, tuple[Provider, str, Callable[[int], list[str]]]] = {
    "10 MB an image": (
        "anthropic",
        "image",
        lambda over: [png(40, 40, 7_600_000 if over else 7_400_000)],
    ),
    "8,000 pixels": ("anthropic", "image", lambda over: [png(8_000 + over, 8)]),
    "100 images": ("anthropic", "image", lambda over: [png(8, 8, n) for n in range(100 + over)]),
    "2,000 pixels above 20 images": (
        "anthropic",
        "image",
        lambda over: [*[png(8, 8, n) for n in range(20)], png(2_000 + over, 8)],
    ),
    "100 pages": ("anthropic", "document", lambda over: [pdf(100 + over)]),
    "32 MB a request": (
        "anthropic",
        "document",
        lambda over: [pdf(n, 12_500_000 if over else 11_500_000) for n in (1, 2)],
    ),
    "1,000 pages": ("gemini", "document", lambda over: [pdf(1_000 + over)]),
    **{
        f"50 MB a {which}": (
            provider,
            "document",
            lambda over: [pdf(1, 50_100_000 if over else 49_900_000)],
        )
        for which, provider in WHOLE_FILES
    },
}
"""What is sent at each limit, with 0, and above it, with 1."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.slow, pytest.mark.nightly]
            if name.startswith(("50 MB", "32 MB"))
            else [],
        )
        for name in LIMITS
    ],
)
def test_a_published_limit_is_where_media_stop(name: str, addresses: ExitStack) -> None:
    """Below it the body is that of a plain agent; above it a notice replaces what is too much."""
    provider, kind, make = LIMITS[name]
    below, above = make(0), make(1)
    blocks = [FORMS[kind](data, provider)["standard"] for data in below]
    plain = sent(provider, blocks, addresses, ours=False)
    assert sent(provider, blocks, addresses, ours=True) == plain

    blocks = [FORMS[kind](data, provider)["standard"] for data in above]
    body = text_of(sent(provider, blocks, addresses, ours=True))
    left = [data for data in above if data not in body]
    assert left
    assert len(left) < len(above) or len(above) == 1
    assert NOTICE in body
