"""What memory costs the provider's cache, in a run of a hundred turns.

    uv run python -m benchmarks.memory_prefix [--turns 100] [--window 200000] [--tokens 2000]

Real agents with `ContextMiddleware` talk to a scripted model; every request is sent to the
cache simulator (`lab.replay.cache`), by the rules of Anthropic and of OpenAI. One agent has no
memory, one has ours, one has ours in the system prompt (recalled once a run), one has it in a
system prompt rebuilt at each call, as other systems do. The user asks about another of the things
in memory every few turns; every second turn calls a tool. Memory holds facts and
messages of other threads.

`cached`: tokens read from the cache, of all that were sent. `told`: runs that received something
from memory. `memory`: tokens of memory in the last request; `most` in any. The mark: with memory
on, `cached` falls by at most 2 points.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.scripted import turns
from thalweg.archive import open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.request.messages import read_state
from thalweg.context.turn.additions import with_text
from thalweg.engine import ContextPolicy
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.tokens import exact_counter, measure
from thalweg.engine.window.items import WindowItem
from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryStore, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Evidence, Fact, FactId, PutFact, Scope, Statement, Trust
from thalweg_memory.middleware.middleware import MemoryMiddleware
from thalweg_recorder.replay.cache import PrefixCache

MARK = 2.0
"""Points by which the cached share may fall."""
KINDS = ("anthropic", "openai")
SCOPE = Scope("ada")
SYSTEM = "You help with a code base. " * 60
TOPIC_TURNS = 4
THINGS = (
    "bicycle", "violin", "garden", "kitchen", "harbour", "library", "telescope", "sourdough",
    "chess", "pottery", "marathon", "greenhouse", "sailing", "orchestra", "vineyard", "lighthouse",
    "beehive", "canoe", "darkroom", "observatory",
)  # fmt: skip
TELLS = (
    "My {thing} was a present from my sister Clara, who lives in Lisbon.",
    "I spend every Saturday morning on the {thing}, with coffee and the radio.",
    "The {thing} needs repairs that I have put off since last winter.",
    "I prefer to keep notes about the {thing} in a paper notebook.",
    "My neighbour Piet showed me how the {thing} is looked after in the cold months.",
    "I paid far too much for the {thing} at an auction in Ghent, and never regretted it.",
    "I am writing a small book about the {thing}, a chapter for every season.",
    "My doctor said that the {thing} does more for my back than any medicine.",
    "I lent the {thing} to my cousin Anna for the whole of August.",
    "The {thing} won a prize at the village fair, and the ribbon hangs in the hall.",
)
ASKS = (
    "What about my {thing}, and the notes about it?",
    "Who helped me with the {thing} in winter?",
    "Did I tell you what the {thing} cost me, and where I found it?",
    "Before we go on: what is there still to do on the {thing}?",
)
AT = "2026-03-01T10:00:00Z"


@tool
def look(path: str) -> str:
    """Look at a file."""
    return _RESULTS.get(path, path)


_RESULTS: dict[str, str] = {}


def known() -> MemoryStore:
    """Make a memory with facts, and with messages of other threads."""
    store = open_memory(":memory:")
    changes: list[PutFact] = []
    for n, thing in enumerate(THINGS):
        said = [tell.format(thing=thing) for tell in TELLS]
        made = [
            Statement(f"old-{n}", 0, "user", text, AT, Trust.USER, uid=f"old-{n}-{k}")
            for k, text in enumerate(said)
        ]
        store.capture(SCOPE, f"old-{n}", made)
        for k, text in enumerate(said[::2]):
            content = text.replace("My", "The user's").replace("I ", "The user ")
            source = Evidence(f"old-{n}", f"old-{n}-{k}", text, AT, Trust.USER)
            changes.append(
                PutFact(
                    Fact(
                        FactId(f"fact-{n}-{k}"),
                        content,
                        "context",
                        0.9,
                        AT,
                        f"old-{n}",
                        evidence=(source,),
                        observed_at=AT,
                    ),
                    "said",
                )
            )
    version = store.version(SCOPE)
    store.commit(SCOPE, changes, expected=version, actor="learned:bench", now=AT)
    return store


def said(number: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield requests, with the file that is looked at, what it holds, and the answer."""
    for turn in turns():
        if turn.number == number:
            return
        thing = THINGS[turn.number // TOPIC_TURNS % len(THINGS)]
        ask = ASKS[turn.number % len(ASKS)].format(thing=thing)
        request = f"{ask} Then change the module as we said: {turn.path}"
        path = turn.path if turn.number % 2 else ""
        yield request, path, turn.result[:6_000], turn.answer


class Rebuilt(AgentMiddleware[Any, Any, Any]):
    """The way of other systems: recalled before each call, and put into the system prompt."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        self._memory = Memory(store, SCOPE, settings=MemorySettings(retrieval="seeds"))

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Put the contents of memory before the conversation."""
        recent: list[AnyMessage] = [
            message
            for message in request.messages
            if message.type == "human" or (message.type == "ai" and not message.tool_calls)
        ]
        text = self._memory.recall(read_state(recent[-6:])).text
        return handler(with_text(request, text) if text else request)


@dataclass(slots=True)
class Sent:
    """What one agent sent, and what the caches read of it."""

    tokens: int = 0
    cached: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    memory: int = 0
    most: int = 0
    told: int = 0
    breaks: int = 0
    """Requests that do not begin with the one before."""

    def share(self, kind: str) -> float:
        """Return how much was cached, in percent."""
        return 100 * self.cached[kind] / max(1, self.tokens)


def drive(middleware: Sequence[AgentMiddleware[Any, Any, Any]], number: int, window: int) -> Sent:
    """Have an agent talk, and send its requests to the caches."""
    sent, count = Sent(), exact_counter()
    caches = {kind: PrefixCache(TARIFFS[kind]) for kind in KINDS}
    sizes: dict[int, tuple[BaseMessage, int]] = {}
    script: list[AIMessage | str] = []

    def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
        items: list[WindowItem] = []
        for source, message in zip(messages, read_state(messages), strict=True):
            if id(source) not in sizes:
                sizes[id(source)] = source, measure(message, count).tokens
            items.append(WindowItem(message, -1, sizes[id(source)][1]))
        charges = {kind: cache.send(items, overhead=500) for kind, cache in caches.items()}
        sent.tokens += charges["openai"].tokens
        for kind, charge in charges.items():
            sent.cached[kind] += charge.cached
        sent.breaks += charges["openai"].broke_at >= 0
        told = [i for i in items if i.message.kind == "injected" and "<memory" in i.message.text]
        sent.told += bool(told and told[-1] is items[-2])
        sent.memory = sum(item.tokens for item in told)
        sent.most = max(sent.most, sent.memory)
        return script.pop(0)

    with open_archive(":memory:") as archive:
        policy = ContextPolicy(window=window, summarize=False)
        agent: Any = create_agent(
            ScriptedModel(script=answer),
            [look],
            system_prompt=SYSTEM,
            middleware=[*middleware, ContextMiddleware(policy, archive=archive)],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "t"}}
        for n, (request, path, result, answered) in enumerate(said(number)):
            if path:
                _RESULTS[path] = result
                call = {"name": "look", "args": {"path": path}, "id": f"c{n}"}
                script.append(AIMessage("", tool_calls=[call]))
            script.append(answered)
            agent.invoke({"messages": [HumanMessage(request)]}, config)
    return sent


def main() -> int:
    """Print a table; fail where the mark is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--window", type=int, default=200_000)
    parser.add_argument("--tokens", type=int, default=2_000, help="`max_injection_tokens`")
    asked = parser.parse_args()

    def ours(placement: str = "tail") -> MemoryMiddleware:
        settings = {"placement": placement, "max_injection_tokens": asked.tokens}
        return MemoryMiddleware(known(), owner=SCOPE.owner, settings=settings, learns=False)

    contestants: dict[str, Callable[[], list[AgentMiddleware[Any, Any, Any]]]] = {
        "no memory": list,
        "memory": lambda: [ours()],
        "system prompt, once a run": lambda: [ours(placement="system_prompt")],
        "system prompt, rebuilt each call": lambda: [Rebuilt(known())],
    }
    print(f"{asked.turns} turns, window {asked.window:,}")
    columns = "".join(f"{kind:>11}" for kind in KINDS)
    print(f"{'':<34}{columns}  {'breaks':>6} {'told':>5} {'memory':>7} {'most':>6} {'tokens':>12}")
    shares: dict[str, Sent] = {}
    for name, made in contestants.items():
        sent = shares[name] = drive(made(), asked.turns, asked.window)
        cached = "".join(f"{sent.share(kind):>10.1f}%" for kind in KINDS)
        row = f"{sent.breaks:>6} {sent.told:>5} {sent.memory:>7,} {sent.most:>6,}"
        print(f"{name:<34}{cached}  {row} {sent.tokens:>12,}", flush=True)
    lost = {kind: shares["no memory"].share(kind) - shares["memory"].share(kind) for kind in KINDS}
    told = ", ".join(f"{kind} {points:+.2f}" for kind, points in lost.items())
    print(f"points that memory costs: {told} (at most {MARK})")
    return int(max(lost.values()) > MARK)


if __name__ == "__main__":
    sys.exit(main())
