"""Generated threads through real clients: no thread dies and nothing is lost in any case.

Threads over the real clients of four request formats, real agents and LangGraph's saver, against a
loopback endpoint that applies the providers' rules (`tests/rules/table.py`) and one window to every
request, those for summaries included. Between turns any message is edited, removed or replaced,
the thread is rewound, another model or provider continues it, and other middleware narrows the
tools; contents have media in every form that the client takes, odd characters and lists of strings.
Each text has a marker of its own, so that a marker in the archive, in the state, in a request or
twice in the thread is a fact. `benchmarks/fuzz_clients.py` plays many.
"""

import asyncio
import base64
import io
import json
import random
import struct
import traceback
import wave
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.rules.endpoint import Endpoint, serving
from tests.rules.players import MODELS, client, note
from tests.rules.rule import PROVIDERS, Provider
from tests.rules.story import BROKEN, NAMES, ODD, WORDS, Call, Move
from thalweg import ContextMiddleware, ContextPolicy
from thalweg.archive import Archive, ThreadKey
from thalweg.archive.paths import open_archive
from thalweg.archive.threads.thread_history import history
from thalweg.engine.transcript import as_text

WINDOWS = (6_000, 8_000, 12_000, 40_000)
ODD_TEXTS = (
    "\ud83d",
    "\udce9",
    "\x00",
    "\x1b[31m",
    "\ufeff",
    "\u202e",
    "\U0001f600",
    "é́",
    "ﬀ",
    "\r\n",
)
FORMS: dict[Provider, tuple[str, ...]] = {
    "openai-chat": ("image", "file", "image_url", "openai_file"),
    "openai-responses": ("image", "file", "input_image", "input_file"),
    "anthropic": ("image", "file", "anthropic_image", "document"),
    "gemini": ("image", "file", "audio", "media"),
}
"""Forms of media that each plain client sends."""


def png(width: int, height: int, dice: random.Random) -> str:
    """Return an image of these pixels in base64, incompressible."""
    rows = b"".join(b"\0" + dice.randbytes(3 * width) for _ in range(height))

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def pdf(pages: int, dice: random.Random) -> str:
    """Return a document of so many empty pages in base64, with random bytes added."""
    kids = " ".join(f"{3 + n} 0 R" for n in range(pages))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {pages}>>".encode(),
        *[b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"] * pages,
    ]
    noise = dice.randbytes(dice.choice((10, 2_000, 60_000))).replace(b"endstream", b"")
    objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(noise), noise))
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, one in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, one))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1))
    out.write(b"startxref\n%d\n%%%%EOF" % start)
    return base64.b64encode(out.getvalue()).decode()


def wav(milliseconds: int, dice: random.Random) -> str:
    """Return a sound in base64: 8 kHz, 8 bits."""
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 1, 8_000, 0, "NONE", ""))
        sound.writeframes(dice.randbytes(8 * milliseconds))
    return base64.b64encode(out.getvalue()).decode()


def media_block(form: str, dice: random.Random) -> tuple[dict[str, Any], str]:
    """Return a content block in this form, and its base64."""
    forms: dict[str, dict[str, Any]]
    if form in {"audio", "media"}:
        data = wav(dice.choice((50, 2_000, 9_000)), dice)
        if form == "media":
            return {"type": "media", "mime_type": "audio/wav", "data": data}, data
        return {"type": "audio", "base64": data, "mime_type": "audio/wav"}, data
    if form in {"file", "openai_file", "input_file", "document"}:
        data, mime = pdf(dice.choice((1, 2, 9)), dice), "application/pdf"
        name, url = "report.pdf", f"data:{mime};base64,{data}"
        forms = {
            "file": {"type": "file", "base64": data, "mime_type": mime, "filename": name},
            "openai_file": {"type": "file", "file": {"filename": name, "file_data": url}},
            "input_file": {"type": "input_file", "filename": name, "file_data": url},
            "document": {
                "type": "document",
                "source": {"type": "base64", "media_type": mime, "data": data},
            },
        }
        return forms[form], data
    edge = dice.choice((8, 60, 300))
    data, mime = png(edge, edge, dice), "image/png"
    url = f"data:{mime};base64,{data}"
    forms = {
        "image": {"type": "image", "base64": data, "mime_type": mime},
        "image_url": {"type": "image_url", "image_url": {"url": url}},
        "input_image": {"type": "input_image", "image_url": url, "detail": "auto"},
        "anthropic_image": {
            "type": "image",
            "source": {"type": "base64", "media_type": mime, "data": data},
        },
    }
    return forms[form], data


class NarrowedTools(AgentMiddleware[Any, Any]):
    """Other middleware that sends some of the tools."""

    def __init__(self, names: Sequence[str]) -> None:
        """Keep tools of these names."""
        super().__init__()
        self.names = frozenset(names)

    def _narrowed(self, request: Any) -> Any:  # noqa: ANN401 (LangChain's)
        return request.override(
            tools=[one for one in request.tools if getattr(one, "name", "") in self.names]
        )

    def wrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """Send some of the tools."""
        return handler(self._narrowed(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401
        """Send some of the tools."""
        return await handler(self._narrowed(request))


@dataclass(slots=True)
class Figures:
    """What was found, by kind, with an example of each."""

    numbers: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, seed: int, text: str) -> None:
        """Count a fault."""
        self.numbers[kind] += 1
        rule = text.partition(": ")[0] if kind == "refused" else text.partition(":")[0][:60]
        self.examples.setdefault(f"{kind} {rule}", f"seed {seed}: {text}")


@dataclass(slots=True)
class RecordingEndpoint(Endpoint):
    """An endpoint that keeps the bodies it received."""

    bodies: list[str] = field(default_factory=list)

    def answer(self, provider: Provider, model: str, raw: bytes) -> tuple[int, dict[str, Any]]:
        """Keep the body and answer."""
        self.bodies.append(raw.decode("utf-8", "replace"))
        return Endpoint.answer(self, provider, model, raw)


class World:
    """Endpoints, agents, archive and saver of all threads with one window."""

    def __init__(self, window: int, addresses: ExitStack) -> None:
        """Serve one endpoint; agents are built when they are first used."""
        self.window = window
        self.point = RecordingEndpoint(
            window, own=window
        )  # summaries have the window of the policy, too
        self.address = addresses.enter_context(serving(self.point))
        self.archive: Archive = open_archive(":memory:")
        self.saver = InMemorySaver()
        self.results: dict[int, Any] = {}
        self.returned: list[int] = []
        self.middleware: list[ContextMiddleware] = []
        self._agents: dict[tuple[Any, ...], Any] = {}

    def agent(self, provider: Provider, model: str, variant: str, order: str) -> Any:  # noqa: ANN401
        """Return an agent; each is built once."""
        name = provider, model, variant, order
        if name not in self._agents:
            ours = ContextMiddleware(ContextPolicy(window=self.window), archive=self.archive)
            self.middleware.append(ours)
            others: list[Any] = []
            if variant == "narrowed":
                others = [NarrowedTools(["fetch"])]
            middleware = [ours, *others] if order == "first" else [*others, ours]
            tools: list[BaseTool] = [self.fetch(), *([note] if variant != "plain" else [])]
            self._agents[name] = create_agent(
                client(provider, model, self.address),
                tools,
                system_prompt="You are careful." + (" Very." if variant == "prompt" else ""),
                middleware=middleware,
                checkpointer=self.saver,
            )
        return self._agents[name]

    def fetch(self) -> BaseTool:
        """Return the tool that returns the pages of a thread."""

        @tool("fetch")
        def fetch(page: int) -> Any:  # noqa: ANN401 (whatever tools return)
            """Fetch a page."""
            if page not in self.results:
                return "no such page"
            self.returned.append(page)
            return self.results[page]

        return fetch


@dataclass(slots=True)
class Thread:
    """One generated thread."""

    world: World
    seed: int
    provider: Provider
    figures: Figures
    dice: random.Random = field(init=False)
    model: str = ""
    order: str = "last"
    markers: dict[str, str] = field(default_factory=dict)
    """Marker of each text that must be kept, with what it is."""
    gone: set[str] = field(default_factory=set)
    """Markers of removed content."""
    data: list[str] = field(default_factory=list)
    """Base64 of media that reached the thread."""
    pages: dict[str, str] = field(default_factory=dict)
    number: int = 0
    failures: int = 0

    def __post_init__(self) -> None:
        """Seed the generator."""
        self.dice = random.Random(f"{self.provider}{self.seed}")  # noqa: S311 (no secret)
        self.model = self.dice.choice(MODELS[self.provider])
        self.order = self.dice.choice(("first", "last"))

    @property
    def config(self) -> dict[str, Any]:
        """Return the thread's config."""
        name = f"{self.provider}-{self.seed}"
        return {"configurable": {"thread_id": name}, "recursion_limit": 200}

    def marker(self, kind: str) -> str:
        """Return a new marker."""
        self.number += 1
        name = f"Mk{self.provider[:3]}{self.seed}x{self.number}z"
        self.markers[name] = kind
        return name

    def text(self, kind: str, words: int) -> str:
        """Return a text with a marker."""
        parts = [self.marker(kind), *self.dice.choices(WORDS, k=words)]
        if self.dice.random() < 0.15:
            parts.insert(self.dice.randint(1, len(parts)), self.dice.choice(ODD_TEXTS))
        return " ".join(parts)

    def content(self, kind: str, words: int) -> Any:  # noqa: ANN401 (any content)
        """Return a text, a list of strings, blocks, or blocks with media."""
        text, chance = self.text(kind, words), self.dice.random()
        if chance < 0.08:
            return [text, "more"]
        if chance < 0.14:
            return [{"type": "text", "text": text}, "more"]
        if chance < 0.34:
            block, data = media_block(self.dice.choice(FORMS[self.provider]), self.dice)
            self.data.append(data)
            blocks = [{"type": "text", "text": text}, block]
            return blocks if self.dice.random() < 0.7 else blocks[::-1]
        return text

    def result(self) -> int:
        """Make the next page of the tool."""
        page = self.seed * 1_000 + 100 + len(self.pages)
        chance = self.dice.random()
        held = len(self.data)
        most = self.world.window
        content = self.content("result", self.dice.choice((5, 60, most // 12, most // 3)))
        if chance < 0.05:
            content = self.dice.choice(("", " \n", [], {"error": 503}))
        self.world.results[page] = content
        self.pages[str(page)] = json.dumps(content)
        del self.data[held:]  # it counts once the tool returned it
        return page

    def move(self) -> Move:
        """Return an answer of the model with calls."""
        calls = []
        for _ in range(self.dice.choice((1, 1, 1, 2, 5))):
            chance = self.dice.random()
            if chance < 0.06:
                calls.append(Call(self.dice.choice(NAMES), '{"page": 0}'))
            elif chance < 0.12:
                calls.append(Call("fetch", self.dice.choice((*BROKEN, *ODD))))
            else:
                calls.append(Call("fetch", f'{{"page": {self.result()}}}'))
        text = self.text("answer", 8) if self.dice.random() < 0.5 else ""
        return Move(text, tuple(calls), thinks=self.dice.random() < 0.7)

    def play(self) -> None:
        """Play some turns."""
        world = self.world
        before = world.point.requests, len(world.point.refused), len(world.point.over)
        world.returned.clear()
        world.point.written.clear()
        world.results.clear()
        for _ in range(self.dice.randint(3, 9)):
            self.turn()
        self.figures.numbers["threads"] += 1
        self.figures.numbers["requests"] += world.point.requests - before[0]
        for fault in world.point.refused[before[1] :]:
            self.figures.add("refused", self.seed, fault)
        for fault in world.point.over[before[2] :]:
            self.figures.add("over", self.seed, fault)
        if self.failures > 1:
            self.figures.numbers["dead"] += 1
        self.check()

    def turn(self) -> None:
        """Change the thread or the agent perhaps, then send a message."""
        variant, provider, model = "plain", self.provider, self.model
        agent = self.world.agent(provider, model, variant, self.order)
        config, chance = self.config, self.dice.random()
        if chance < 0.12:
            variant = self.dice.choice(("narrowed", "narrowed", "tools", "prompt"))
        elif chance < 0.22:
            model = self.dice.choice(MODELS[provider])
        elif chance < 0.30:
            provider = self.dice.choice(PROVIDERS)
            model = self.dice.choice(MODELS[provider])
        elif chance < 0.55:
            self.rewrite(agent)
        elif chance < 0.62:
            config = self.rewound(agent)
        agent = self.world.agent(provider, model, variant, self.order)
        moves = [self.move() for _ in range(self.dice.choice((0, 1, 1, 2, 4)))]
        moves.append(Move(self.text("answer", 12) if self.dice.random() < 0.9 else ""))
        message = HumanMessage(self.content("request", self.dice.choice((5, 30, 300))))
        self.world.point.play(moves)
        self.world.point.bodies.clear()
        try:
            self.send(agent, message, config)
            self.failures = 0
        except Exception as error:  # noqa: BLE001 (whatever a run may raise)
            self.failures += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
            self.figures.add("failed", self.seed, f"{type(error).__name__} {where}: {error}"[:300])
        for body in self.world.point.bodies:
            for marker in self.gone:
                if marker in body:
                    self.figures.add("removed", self.seed, f"sent: {marker}")

    def send(self, agent: Any, message: HumanMessage, config: dict[str, Any]) -> None:  # noqa: ANN401
        """Run the agent in one of LangGraph's ways."""
        way = self.dice.choice(("invoke", "stream", "ainvoke"))
        given = {"messages": [message]}
        if way == "invoke":
            agent.invoke(given, config)
        elif way == "stream":
            for _ in agent.stream(given, config, stream_mode="updates"):
                pass
        else:
            asyncio.run(agent.ainvoke(given, config))

    def rewrite(self, agent: Any) -> None:  # noqa: ANN401 (a compiled graph)
        """Edit, remove or replace messages of the state, as applications do."""
        held: list[BaseMessage] = agent.get_state(self.config).values.get("messages", [])
        if not held:
            return
        for ours in self.world.middleware:
            ours.flush()  # a summary under way was requested before the removal
        how = self.dice.choice(("edit", "edit-newest", "remove", "remove-newest", "remove-many"))
        people = [m for m in held if isinstance(m, HumanMessage)] or held
        chosen = [people[-1]] if how.endswith("newest") else [self.dice.choice(held)]
        if how == "remove-many":
            first = self.dice.randrange(len(held))
            chosen = held[first : first + self.dice.randint(1, 4)]
        changes: list[BaseMessage] = []
        for one in chosen:
            if how.startswith("edit"):
                changes.append(self.edited(one))
            else:
                changes.append(RemoveMessage(id=str(one.id)))
            text = json.dumps(one.content)
            self.gone |= {marker for marker in self.markers if marker in text}
        agent.update_state(self.config, {"messages": changes}, as_node="model")

    def edited(self, one: BaseMessage) -> BaseMessage:
        """Return a message with other words."""
        text = self.text("edit", 6)
        if isinstance(one, AIMessage):
            return AIMessage(text, id=one.id, tool_calls=one.tool_calls)
        if isinstance(one, ToolMessage):
            return ToolMessage(text, id=one.id, tool_call_id=one.tool_call_id)
        return HumanMessage(text, id=one.id)

    def rewound(self, agent: Any) -> dict[str, Any]:  # noqa: ANN401 (a compiled graph)
        """Return the config of an older checkpoint; what was removed after it is there again."""
        states = [s for s in agent.get_state_history(self.config) if s.next == ()]
        if len(states) < 2:
            return self.config
        chosen = self.dice.choice(states[1:])
        text = json.dumps([m.content for m in chosen.values.get("messages", [])])
        self.gone = {marker for marker in self.gone if marker not in text}
        config: dict[str, Any] = chosen.config | {"recursion_limit": 200}
        return config

    def check(self) -> None:
        """Look for lost and doubled messages in the archive and in the state."""
        world = self.world
        key = ThreadKey("local", self.config["configurable"]["thread_id"])
        kept = "\0".join(as_text(message) for message in world.archive.messages(key))
        agent = world.agent(self.provider, self.model, "plain", self.order)
        states = [s.values.get("messages", []) for s in agent.get_state_history(self.config)]
        held = json.dumps([m.content for messages in states[:1] for m in messages])
        seen = {m.id: m for messages in states for m in messages}
        reached = json.dumps([m.content for m in seen.values()])
        for marker, kind in self.markers.items():
            if marker in reached and marker not in kept and marker not in held:
                self.figures.add("lost", self.seed, f"{kind}: {marker}")
        live = [one.message for one in history(world.archive, key)]
        ids = Counter(message.uid for message in live if message.uid)
        texts = Counter(
            marker for m in live for marker in self.markers if marker in as_text(m)
        )  # recall is never called here: no text quotes another
        for name, times in [*ids.items(), *texts.items()]:
            if times > 1:
                self.figures.add("doubled", self.seed, f"live: {times} times {name}")


def threads(seed: int, figures: dict[Provider, Figures]) -> Iterator[int]:
    """Play threads of all providers in turn, for ever; yields the number of requests so far."""
    with ExitStack() as addresses:
        worlds = {window: World(window, addresses) for window in WINDOWS}
        while True:
            for provider in PROVIDERS:
                world = worlds[WINDOWS[seed % len(WINDOWS)]]
                Thread(world, seed, provider, figures[provider]).play()
            seed += 1
            yield sum(found.numbers["requests"] for found in figures.values())
