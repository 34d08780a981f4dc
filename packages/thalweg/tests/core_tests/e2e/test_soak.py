"""Hundreds of turns of one agent against a provider that refuses what the real ones refuse."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.soak_world import HANDLE, Witness, World, signed
from core_tests.strict_requests import messages_of
from strict_llm import FaultName, Model, Seen, StrictProvider, WireName
from strict_llm_tests.chat_models import chat_model
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.turn import ATTEMPTS
from thalweg.engine.entries import Text
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.transcript import as_text

TURNS = int(os.environ.get("THALWEG_SOAK_TURNS", "100"))
SEED = int(os.environ.get("THALWEG_SOAK_SEED", "7"))
KEY = ThreadKey("local", "soak")
WIRES: dict[str, WireName] = {
    "gpt-soak": "openai-chat",
    "gpt-soak-r": "openai-responses",
    "claude-soak-a": "anthropic",
    "claude-soak-b": "anthropic",
}
OF_PROVIDERS = {"openai", "anthropic", "httpx", "httpx2", "langchain_openai", "langchain_anthropic"}
"""Whose errors a user answers by asking again."""
SUMMARIZED = 0.15
"""Share of the turns in which a model is asked for summaries."""
FAULTS: tuple[FaultName, ...] = ("rate_limit", "overloaded", "server", "cut", "cut")


@dataclass(frozen=True)
class Setting:
    """What holds from a share of the turns on."""

    since: float
    window: int
    inflation: float
    untold: tuple[str, ...] = ()
    """Models whose clients still believe the limits they were configured with before."""


SETTINGS = (
    Setting(0.0, 200_000, 1.0),
    Setting(0.15, 200_000, 1.3),
    Setting(0.3, 200_000, 1.6),
    Setting(0.4, 16_000, 1.6, untold=("gpt-soak-r", "claude-soak-a")),
    Setting(0.6, 16_000, 1.0),
    Setting(0.7, 48_000, 1.0),
    Setting(0.8, 16_000, 1.3, untold=("gpt-soak",)),
    Setting(0.9, 16_000, 1.6),
)


class Arrived(list[Seen]):
    """Requests, of whose bodies only is kept whether they are the agent's."""

    def append(self, seen: Seen) -> None:
        """Keep what is looked at."""
        body = seen.body or {}
        newest = str((body.get("messages") or body.get("input") or [""])[-1])
        agents = bool(body.get("tools")) and "This is not the user speaking" not in newest
        super().append(replace(seen, body={"agents": agents}))


@dataclass
class Soak:
    """One long talk and everything that takes part in it."""

    provider: StrictProvider
    archive: Archive
    world: World
    models: dict[str, BaseChatModel]
    agents: dict[tuple[str, bool], Any] = field(init=False)
    failed: Counter[str] = field(default_factory=Counter)
    epochs: list[int] = field(default_factory=list)
    """How many requests had arrived when a setting began to hold."""
    modes: Counter[str] = field(default_factory=Counter)
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def __post_init__(self) -> None:
        self.agents = {}
        saver, witness = InMemorySaver(), Witness(self.world)
        for summarizes in (True, False):
            policy = ContextPolicy(summarize=summarizes, background=False)  # one order of requests
            middleware = ContextMiddleware(policy, archive=self.archive)
            for name, model in self.models.items():
                self.agents[name, summarizes] = create_agent(
                    model,
                    self.world.tools(),
                    system_prompt="You look after the modules of a large product.",
                    middleware=[middleware, witness],
                    checkpointer=saver,
                )

    def run(self) -> None:
        """Talk until the turns are over."""
        waiting, rng = list(SETTINGS), self.world.rng
        name = "gpt-soak"
        while self.world.turns < TURNS:
            if waiting and self.world.turns >= waiting[0].since * TURNS:
                self._set(waiting.pop(0))
            if rng.random() < 0.3:
                name = rng.choice(tuple(self.models))
            self.world.mangles = rng.random() < 0.5
            if rng.random() < 0.08:
                self.provider.fail_next(rng.choice(FAULTS), wire=WIRES[name])
            elif self.failed["stalls"] < 3 and rng.random() < 0.02:
                self.failed["stalls"] += 1
                self.provider.fail_next("stall", wire=WIRES[name])
            self._talk(name, self.world.request())

    def _talk(self, name: str, said: HumanMessage | None) -> None:
        rng = self.world.rng
        while True:
            given = None if said is None else {"messages": [said]}
            try:
                self._invoke(name, given)
            except Exception as error:  # whatever a provider's client raises
                if type(error).__module__.partition(".")[0] not in OF_PROVIDERS:
                    raise
                self.failed[type(error).__name__] += 1
                name = rng.choice(tuple(self.models)) if rng.random() < 0.3 else name
                said = None if rng.random() < 0.5 else self.world.request()
            else:
                return

    def _invoke(self, name: str, given: dict[str, Any] | None) -> None:
        agent = self.agents[name, self.world.turns < SUMMARIZED * TURNS]
        config = {"configurable": {"thread_id": "soak"}, "recursion_limit": 200}
        mode = self.world.rng.choice(("sync", "async", "stream", "astream"))
        self.modes[mode] += 1
        match mode:
            case "sync":
                agent.invoke(given, config)
            case "async":
                self.runner.run(agent.ainvoke(given, config))
            case "stream":
                for _ in agent.stream(given, config, stream_mode=["messages", "custom"]):
                    pass
            case _:
                self.runner.run(_drained(agent, given, config))

    def _set(self, setting: Setting) -> None:
        self.epochs.append(len(self.provider.requests))
        for name, model in self.models.items():
            self.provider.models[name] = Model(setting.window, setting.inflation)
            if name not in setting.untold:
                model.profile = {"max_input_tokens": setting.window}

    def close(self) -> None:
        """Close the event loop and what the models opened in it."""
        for model in self.models.values():
            if isinstance(model, ChatAnthropic):
                self.runner.run(model._async_client.close())  # noqa: SLF001 (it has no other)
            else:
                self.runner.run(model.root_async_client.close())  # type: ignore[attr-defined]
        self.runner.close()


async def _drained(agent: Any, given: Any, config: Any) -> None:  # noqa: ANN401 (LangGraph's)
    async for _ in agent.astream(given, config, stream_mode=["messages", "updates"]):
        pass


@pytest.fixture(scope="module")
def soak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soak]:
    """Talk once; every test looks at what came of it."""
    path: Path = tmp_path_factory.mktemp("soak") / "thalweg.db"
    world = World(SEED)
    with ExitStack() as stack:
        provider = stack.enter_context(StrictProvider(answer=world.answer))
        provider.requests = Arrived()
        archive = stack.enter_context(open_archive(path))
        models = {
            name: stack.enter_context(chat_model(provider, wire, timeout_s=5.0, model=name))
            for name, wire in WIRES.items()
        }
        for name in ("claude-soak-a", "claude-soak-b"):
            models[name].thinking = {"type": "enabled", "budget_tokens": 1_024}  # type: ignore[attr-defined]
            models[name].max_tokens = 2_000  # type: ignore[attr-defined]
        soak = Soak(provider, archive, world, models)
        began = time.process_time()
        try:
            soak.run()
        finally:
            soak.close()
        print(figures(soak, time.process_time() - began))  # noqa: T201 (seen with -s)
        yield soak


def refused(seen: Seen) -> bool:
    """Return whether a request was refused for its length."""
    text = " ".join(seen.problems)
    return seen.status == 400 and any(
        words in text for words in ("context length", "too long", "context window", "context limit")
    )


def figures(soak: Soak, seconds: float) -> str:
    """Print what happened, for anyone who runs this by hand."""
    world, seen = soak.world, soak.provider.requests
    kinds = Counter(type(e).__name__ for e in edits(soak))
    return (
        f"turns {world.turns}, runs {len(world.said)}, requests {len(seen)}, "
        f"refused for length {sum(map(refused, seen))}, summaries {world.summaries}, "
        f"edits {dict(kinds)}, log {soak.archive.length(KEY)}, rules {len(world.rules)}, "
        f"faults {dict(soak.failed)}, modes {dict(soak.modes)}, "
        f"chains {[(c[0].model, [seen.tokens for seen in c]) for c in chains(soak)]}, "
        f"median request {sorted(world.requests)[len(world.requests) // 2]}, "
        f"cpu {seconds:.0f} s"
    )


pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(1_800)]


def edits(soak: Soak) -> list[Any]:
    """List every edit of the journal."""
    from thalweg.archive.threads.journal import page_from_json  # noqa: PLC0415

    return [e for text in soak.archive.turns(KEY) for e in page_from_json(text).edits]


def test_the_latest_words_and_every_constraint_are_in_every_request(soak: Soak) -> None:
    """Word for word, from the first time they were sent to the last request."""
    assert soak.world.lacking == []


def chains(soak: Soak) -> list[list[Seen]]:
    """List every refusal for length with the requests that followed, up to one that was taken."""
    found: list[list[Seen]] = []
    open_chain: list[Seen] = []
    for seen in soak.provider.requests:
        if not (seen.body and seen.body["agents"]) or (seen.fault and seen.status != 200):
            continue
        if refused(seen):
            open_chain.append(seen)
        elif open_chain:
            found.append([*open_chain, seen])
            open_chain = []
    return found + ([open_chain] if open_chain else [])


def test_no_request_is_refused_as_invalid(soak: Soak) -> None:
    """Regardless of what was switched, cut or fetched: 400 means length, and nothing else."""
    odd = [s for s in soak.provider.requests if s.status in {400, 404} and not refused(s)]

    assert [(s.wire, s.problems) for s in odd] == []
    assert soak.world.turns >= TURNS


def test_every_refusal_is_answered_by_smaller_requests_until_one_is_taken(soak: Soak) -> None:
    """Never the same again, and not more often than is stated."""
    for chain in chains(soak):
        sizes = [seen.tokens for seen in chain]
        assert chain[-1].status == 200, sizes
        assert sizes == sorted(set(sizes), reverse=True)
        assert len(sizes) <= ATTEMPTS


def test_a_client_that_was_told_its_window_is_not_refused(soak: Soak) -> None:
    """Only an undeclared window, or a provider that begins to count more, is found by refusals."""
    told = Counter[tuple[int, str]]()
    for chain in chains(soak):
        at = next(n for n, seen in enumerate(soak.provider.requests) if seen is chain[0])
        told[sum(since <= at for since in soak.epochs) - 1, chain[0].model] += 1

    for (epoch, model), times in told.items():
        now, before = SETTINGS[epoch], SETTINGS[max(0, epoch - 1)]
        assert model in now.untold or now.inflation > before.inflation, (epoch, model)
        # The refusals of Responses name no number: there the window has to be searched for.
        assert times <= (ATTEMPTS if WIRES[model] == "openai-responses" else 1), (epoch, model)


def test_nothing_that_was_said_is_lost(soak: Soak) -> None:
    """Every message is in the log once, byte for byte: words, arguments, results, pictures."""
    log = soak.archive.messages(KEY)

    assert [m.text for m in log if m.role == "user"] == soak.world.said
    assert Counter(signed(m) for m in log if m.role != "user") == soak.world.seen


def test_the_last_request_leads_to_everything(soak: Soak) -> None:
    """What it does not show, it names a handle for, and the handle reads back byte for byte."""
    assert soak.world.last is not None
    shown = "\n".join(message.text for message in messages_of(soak.world.last))
    log = soak.archive.messages(KEY)
    reached: set[int] = set()
    for handle in dict.fromkeys(HANDLE.findall(shown)):
        span = soak.archive.span(KEY, handle)
        for position in {*range(span.first, span.last + 1)} - reached:
            read = soak.archive.read(KEY, f"{handle}#{position}", chars=(0, 10**7), max_chars=10**7)
            assert read.text == as_text(log[position])
            reached.add(position)

    for position in {*range(len(log) - 1)} - reached:  # the last is the answer to that request
        for part in log[position].parts:
            if isinstance(part, Text):
                assert part.text in shown
