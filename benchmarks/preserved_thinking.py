"""Preserved thinking: is any request refused, how much reasoning is valid, how often is it cut?

    python -m benchmarks.preserved_thinking endpoint [--requests 10000] [--seed 1]
    python -m benchmarks.preserved_thinking steps [--turns 30] [--strategy provider] [--model NAME]
    python -m benchmarks.preserved_thinking sessions [--window 200000] [--tariff claude-fable-5-2]

`endpoint` drives real agents (`create_agent`, `ContextMiddleware`, `ChatAnthropic`) against the
strict provider, which binds signed reasoning as Claude's newest models do. Between the runs of a
thread its person compacts, rewinds, undoes, pins, forks, switches the model, changes the tools or
the system prompt, has memory inserted before a message, loads a skill, and restarts the process.

`sessions` replays recorded sessions of Claude Code (`THALWEG_RECORDED`) as such a model would have
had them: what they cost with the reasoning priced that edits discard (of the exchange under way,
and of all), next to the same policy without that price, and next to deepagents.

`steps` is a thread of twelve calls a turn, each result about 5,000 tokens, in a window of 128,000.
"""

import argparse
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from benchmarks.arena.sources import read_thread
from strict_llm import Answer, Request, StrictProvider
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads import compact, pin, rewind, undo
from thalweg.archive.threads.journal import count_turns
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.additions import with_inserts
from thalweg.engine.additions import MEMORY, Addition
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.edits import Edit, Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Thinking
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import is_signed
from thalweg.errors import ArchiveError, PinError
from thalweg_recorder.replay.account import Account
from thalweg_recorder.replay.harm import Harm
from thalweg_recorder.replay.ours import ThalwegContestant
from thalweg_recorder.replay.policies import contestant_named
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.subject import subject_of, terms_of

MODELS = ("claude-fable-5-2", "claude-opus-5-5", "claude-opus-4-8")
"""Two that bind reasoning, and one that does not."""
OWNER = "local"
WINDOW = 16_000
TOLD, ACTS = 0.2, 0.4
"""Share of messages before which memory is inserted; of steps at which anything else happens."""
WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in ("an", "er", "il", "on") for c in "mstx"]


@dataclass(slots=True)
class Cut:
    """A request that changed what the one before it had."""

    before: int
    """Tokens, about, of reasoning in the request before."""
    after: int
    """Tokens of it in this one."""


@dataclass(slots=True)
class Watch:
    """What the provider saw, thread by thread."""

    requests: int = 0
    cuts: list[Cut] = field(default_factory=list)
    _last: dict[str, tuple[list[int], dict[str, int]]] = field(default_factory=dict)

    def see(self, thread: str, body: dict[str, Any]) -> None:
        """Compare a request with the last one of its thread."""
        self.requests += 1
        beside = _unmarked([body.get("system"), body.get("tools")])
        said, thoughts = [hash(str(beside))], dict[str, int]()
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in blocks:
                if block["type"] == "thinking":
                    thoughts[block["signature"]] = len(block["thinking"]) // 4
            left = [_unmarked(block) for block in blocks if block["type"] != "thinking"]
            said.append(hash(str((message["role"], left))))
        before, had = self._last.get(thread, ([], {}))
        if before and said[: len(before)] != before:
            kept = sum(size for signature, size in had.items() if signature in thoughts)
            self.cuts.append(Cut(sum(had.values()), kept))
        self._last[thread] = said, thoughts

    @property
    def kept(self) -> float:
        """Share of the tokens of reasoning that was still valid after the cuts."""
        before = sum(cut.before for cut in self.cuts)
        return sum(cut.after for cut in self.cuts) / before if before else 1.0


def _unmarked(value: object) -> object:
    """Remove marks for the provider's cache: they may move."""
    match value:
        case dict():
            return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
        case list():
            return [_unmarked(one) for one in value]
        case _:
            return value


class Told(AgentMiddleware[Any, Any, Any]):
    """Memory that is inserted before some messages of the user, and may change."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Put the contents of memory before the messages they were inserted at."""
        additions = [Addition(MEMORY, text, before=uid) for uid, text in self.texts.items()]
        return handler(with_inserts(request, additions)[0])


def dice_of(seed: int) -> random.Random:
    """Make dice that fall the same way each time."""
    return random.Random(seed)  # noqa: S311 (made-up work)


def words(dice: random.Random, number: int) -> str:
    """Make up some words."""
    return " ".join(dice.choice(WORDS) for _ in range(number))


def tools_of(dice: random.Random) -> list[BaseTool]:
    """Make the tools of a thread; one of them may change."""

    @tool
    def fetch(page: int) -> str:
        """Fetch a page."""
        return f"page {page}: {words(dice, dice.choice((20, 200, 900)))}"

    @tool
    def read_file(file_path: str) -> str:
        """Read a file."""
        return f"---\nname: brief\ndescription: be brief\n---\n{file_path}\n{words(dice, 120)}"

    return [fetch, read_file]


@dataclass(slots=True)
class World:
    """Threads at work with one archive, and what may happen to them."""

    provider: StrictProvider
    place: Path
    dice: random.Random
    watch: Watch = field(default_factory=Watch)
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    told: Told = field(default_factory=Told)
    model: str = MODELS[0]
    system: str = "You fetch pages."
    number: int = 0
    """Of the thread that is worked on."""
    left: int = 0
    """Calls that the model still makes before it answers."""
    skill: bool = False
    extra: int = 0
    """Which of the optional tools there are."""
    happened: dict[str, int] = field(default_factory=dict)
    _context: ContextMiddleware | None = None
    _agent: Any = None

    @property
    def thread(self) -> str:
        """Name of the thread that is worked on."""
        return f"t{self.number}"

    @property
    def key(self) -> ThreadKey:
        """Where the thread is in the archive."""
        return ThreadKey(OWNER, self.thread)

    @property
    def config(self) -> Any:  # noqa: ANN401 (LangChain's own)
        """Where the thread is in the saver."""
        return {"configurable": {"thread_id": self.thread}, "recursion_limit": 200}

    def answer(self, request: Request) -> Answer:
        """Answer as the model: think, and call tools as often as was rolled."""
        self.watch.see(self.thread, request.body)
        offered = {tool.name for tool in request.tools}
        if "fetch" not in offered:  # a summary is asked for
            return Answer("<summary>The user has pages fetched.</summary>")
        thought = words(self.dice, self.dice.choice((10, 60, 150)))
        if self.left <= 0:
            return Answer(words(self.dice, 12), thinking=thought)
        self.left -= 1
        if self.skill:
            self.skill = False
            path = {"file_path": "/skills/brief/SKILL.md"}
            return Answer("", calls=(("read_file", path),), thinking=thought)
        number = self.dice.choice((1, 1, 1, 2, 3))
        calls = tuple(("fetch", {"page": self.dice.randrange(10_000)}) for _ in range(number))
        return Answer(self.dice.choice(("", "Next.")), calls=calls, thinking=thought)

    @property
    def context(self) -> ContextMiddleware:
        """The middleware of this process."""
        if self._context is None:
            policy = ContextPolicy(window=WINDOW, summarize=False)
            self._context = ContextMiddleware(policy, archive=self.place, owner=OWNER)
        return self._context

    @property
    def agent(self) -> Any:  # noqa: ANN401 (LangGraph's own type has four)
        """The agent of this process, as it is set up now."""
        if self._agent is None:
            model = ChatAnthropic(
                model_name=self.model,
                base_url=self.provider.anthropic_url,
                api_key=SecretStr("x"),
                max_tokens_to_sample=1_000,
                max_retries=0,
                timeout=60,
                stop=None,
                thinking={"type": "adaptive"},
            )
            self._agent = create_agent(
                model,
                [*tools_of(self.dice)[: 1 + self.extra % 2], *_more(self.extra)],
                system_prompt=self.system,
                middleware=[self.told, self.context],
                checkpointer=self.saver,
            )
        return self._agent

    def say(self) -> None:
        """Let the person send a message, and the model work."""
        self.left = self.dice.choice((0, 1, 2, 4, 8, 12))
        message = HumanMessage(
            f"{self.thread}: {words(self.dice, 8)}", id=f"u{self.watch.requests}"
        )
        if self.dice.random() < TOLD:
            self.told.texts[message.id or ""] = f"It is known that {words(self.dice, 10)}."
        self.agent.invoke({"messages": [message]}, self.config)

    def compact(self) -> None:
        """Compact by hand."""
        compact(self.context.archive, self.key)

    def undo(self) -> None:
        """Undo the newest compaction."""
        undo(self.context.archive, self.key)

    def rewind(self) -> None:
        """Go back some turns."""
        count = count_turns(self.context.archive, self.key)
        if count > 1:
            rewind(
                self.context.archive, self.key, self.dice.randrange(max(1, count - 8), count + 1)
            )

    def pin(self) -> None:
        """Pin words of the person."""
        archive = self.context.archive
        spoken = [
            (p, m.text)
            for p, m in enumerate(archive.messages(self.key, 0, archive.length(self.key) - 1))
            if m.is_request and m.text
        ]
        if spoken:
            position, text = self.dice.choice(spoken)
            pin(archive, self.key, position, text[:20])

    def fork(self) -> None:
        """Go on from an older checkpoint, as time travel does."""
        states = list(self.agent.get_state_history(self.config, limit=12))
        resting = [state for state in states if not state.next]
        if resting:
            self.left = self.dice.choice((0, 2))
            config = {**self.dice.choice(resting).config, "recursion_limit": 200}
            message = HumanMessage(words(self.dice, 6), id=f"f{self.watch.requests}")
            self.agent.invoke({"messages": [message]}, config)

    def switch_model(self) -> None:
        """Ask another model from now on."""
        self.model, self._agent = self.dice.choice(MODELS), None

    def change_tools(self) -> None:
        """Offer other tools from now on."""
        self.extra, self._agent = self.extra + 1, None

    def change_system(self) -> None:
        """Instruct the model otherwise from now on."""
        self.system, self._agent = f"You fetch pages. {words(self.dice, 5)}.", None

    def change_memory(self) -> None:
        """Change or forget something that was inserted."""
        if self.told.texts:
            uid = self.dice.choice([*self.told.texts])
            if self.dice.choice((True, False)):
                del self.told.texts[uid]
            else:
                self.told.texts[uid] = f"It is known that {words(self.dice, 10)}."

    def load_skill(self) -> None:
        """Have the model read a skill."""
        if self.extra % 2:
            self.skill = True
            self.say()

    def restart(self) -> None:
        """Begin in a new process: nothing remains but the archive and the saver."""
        if self._context is not None:
            self._context.close()
        self._context = self._agent = None

    def begin(self) -> None:
        """Begin another thread."""
        self.number += 1
        self.told.texts.clear()

    def step(self) -> None:
        """Let something happen, and let the person send a message."""
        acts = (
            (self.compact, 3), (self.undo, 3), (self.rewind, 3), (self.pin, 2), (self.fork, 3),
            (self.switch_model, 3), (self.change_tools, 2), (self.change_system, 1),
            (self.change_memory, 2), (self.load_skill, 3), (self.restart, 2), (self.begin, 1),
        )  # fmt: skip
        weights = [weight for _, weight in acts]
        act = self.dice.choices([act for act, _ in acts], weights)[0]
        if self.dice.random() < ACTS:
            with suppress(ArchiveError, PinError):
                act()
                self.happened[act.__name__] = self.happened.get(act.__name__, 0) + 1
        self.say()


def _more(extra: int) -> Iterator[BaseTool]:
    @tool
    def count(text: str) -> int:
        """Count the words of a text."""
        return len(text.split())

    if extra % 3 == 1:
        yield count


def drive(requests: int, seed: int) -> tuple[StrictProvider, World]:
    """Drive a world until so many requests were sent; what the provider saw is in both."""
    provider = StrictProvider(window=1_000_000, keep_bodies=False)
    with provider, TemporaryDirectory() as folder:
        world = World(provider, Path(folder) / "archive.db", dice_of(seed))
        provider.answer = world.answer
        while len(provider.requests) < requests:
            world.step()
        world.restart()
    return provider, world


STRATEGIES: dict[str, dict[str, Any]] = {
    "ours": {},
    "clearing": {"clear_on_server": True},
    "provider": {"compaction": "provider"},
    "deepagents": {},
}
"""Settings of the policy by strategy; `deepagents` is the peer as it is installed."""
SUMMARY_WORDS = 2_200
"""Of the provider's summary: about 3,500 tokens, as in Anthropic's documentation."""


def steps(turns: int, strategy: str, model: str = MODELS[0]) -> tuple[StrictProvider, Watch, Watch]:
    """Run the thread of twelve calls a turn.

    Returns:
        The provider, what it was sent, and what the model saw of that.
    """
    sent, seen, calls = Watch(), Watch(), [0]

    @tool
    def fetch(page: int) -> str:
        """Fetch a page."""
        dice = dice_of(page)
        return "\n".join(words(dice, 12) for _ in range(250))

    def answer(request: Request) -> Answer:
        if "fetch" not in {tool.name for tool in request.tools}:  # a summary is asked for
            return Answer(f"<summary>{words(dice_of(0), SUMMARY_WORDS)}</summary>")
        shown = [item for item in request.items if item["role"] != "system"]
        sent.see("steps", request.body)
        seen.see("steps", {**request.body, "messages": shown})
        calls[0] += 1
        thought = f"Call {calls[0]}: {words(dice_of(calls[0]), 120)}"
        if calls[0] % 12 == 0:
            return Answer("That is done.", thinking=thought)
        return Answer("", calls=(("fetch", {"page": calls[0]}),), thinking=thought)

    provider = StrictProvider(window=128_000, keep_bodies=False, answer=answer)
    provider.summarize = lambda _: words(dice_of(0), SUMMARY_WORDS)
    with provider:
        chat = ChatAnthropic(
            model_name=model,
            base_url=provider.anthropic_url,
            api_key=SecretStr("x"),
            max_tokens_to_sample=2_000,
            max_retries=0,
            timeout=60,
            stop=None,
            thinking={"type": "adaptive"},
            profile={"max_input_tokens": 128_000},
        )
        agent = _agent_of(strategy, chat, fetch)
        config: Any = {"configurable": {"thread_id": "steps"}, "recursion_limit": 100}
        for turn in range(turns):
            agent.invoke({"messages": [HumanMessage(f"Do step {turn}.")]}, config)
    return provider, sent, seen


def _agent_of(strategy: str, chat: ChatAnthropic, fetch: BaseTool) -> Any:  # noqa: ANN401 (LangGraph's)
    """Make the agent of a strategy."""
    if strategy == "deepagents":
        from deepagents import create_deep_agent  # noqa: PLC0415 (a peer, where it is installed)

        return create_deep_agent(chat, tools=[fetch], checkpointer=InMemorySaver())
    policy = ContextPolicy(window=128_000, summarize=False, **STRATEGIES[strategy])
    middleware = [ContextMiddleware(policy, archive=":memory:")]
    return create_agent(chat, [fetch], middleware=middleware, checkpointer=InMemorySaver())


def cost_of(provider: StrictProvider, model: str) -> float:
    """Return what input and compactions cost, in uncached input tokens."""
    prices = NAMED_TARIFFS[model].prices(0)
    total = 0.0
    for one in provider.requests:
        other = one.tokens - one.cached_tokens - one.written_tokens
        total += prices.read * one.cached_tokens + prices.write * one.written_tokens
        total += prices.input * other
        if (done := one.compaction) is not None:
            written = done.written_5m + done.written_1h
            total += prices.read * done.cached + prices.write * written
            total += prices.input * (done.input - done.cached - written)
            total += prices.output * done.output
    return total


@dataclass(slots=True)
class Tally:
    """What one policy made of the sessions."""

    calls: int = 0
    edits: int = 0
    """Requests that changed what the one before had."""
    folds: int = 0
    cost: float = 0.0
    """In uncached input tokens, faults and summaries included."""
    discarded: int = 0
    """Tokens of reasoning that edits took out of the view."""
    current: int = 0
    """Of them, those of an exchange still under way."""
    before: int = 0
    """Tokens of reasoning in the requests before each edit."""

    def row(self, name: str, output: float) -> str:
        """Write it as a line of the table."""
        whole = self.cost + output * self.discarded
        current = self.cost + output * self.current
        kept = 1 - self.discarded / self.before if self.before else 1.0
        numbers = (
            f"{100 * self.edits / self.calls:9.1f} {100 * self.folds / self.calls:9.1f}"
            f" {kept:9.1%} {self.cost / 1e6:9.3f} {current / 1e6:9.3f} {whole / 1e6:9.3f}"
        )
        return f"{name:28}{numbers}"


def signed(message: Message, position: int) -> Message:
    """Sign the reasoning of a recorded answer."""
    if message.role != "assistant":
        return message
    parts = (
        replace(part, signature=f"{position}.{k}") if isinstance(part, Thinking) else part
        for k, part in enumerate(message.parts)
    )
    return replace(message, parts=tuple(parts), origin=None)


def replayed(path: Path, name: str, budget: Budget, tariff: Tariff, tally: Tally) -> None:
    """Replay a recording as a model that binds its reasoning would have had it."""
    recording = read_thread(path)
    messages = tuple(signed(message, k) for k, message in enumerate(recording.messages))
    subject = subject_of(replace(recording, messages=messages), Questions())
    terms = terms_of(subject, tariff)
    with closing(open_archive(":memory:")) as archive:
        key = ThreadKey("replay", name)
        base = name.partition(" ")[0]
        contestant = contestant_named(base, budget, tariff, archive, key)
        assert isinstance(contestant, ThalwegContestant)
        engine = contestant.engine
        engine.binds = True
        if base != name and isinstance(engine.policy, RentOrBuy):
            contestant.policy = engine.policy = Unpriced(tariff, engine.policy.summarizes)
        account, harm = Account(subject, terms, name, budget), Harm(subject)
        shown: dict[int, int] = {}
        for position, message in enumerate(messages):
            if message.role == "assistant":
                request = contestant.request(cold=position in terms.cold)
                steps = harm.take(position, request, contestant)
                account.take(position, request, contestant, steps)
                shown = counted(engine, shown, tally)
            contestant.receive(message)
        run = account.close(contestant.request(cold=False), contestant)
    tally.calls += len(run.calls)
    tally.edits += sum(call.broke_at >= 0 for call in run.calls)
    tally.folds += sum(any(isinstance(e, Fold) for e in call.edits) for call in run.calls)
    tally.cost += run.cost_with_steps


class Unpriced(RentOrBuy):
    """The same policy, blind to the reasoning that its edits discard."""

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """See `Policy.prepare`."""
        yield from super().prepare(replace(context, binds=False), cold=cold)


def counted(engine: Engine, before: dict[int, int], tally: Tally) -> dict[int, int]:
    """Count the reasoning that the newest request shows, and what it lost."""
    window = engine.window
    shown = {
        item.position: window.entries[item.position].thinking
        for item in window.items
        if is_signed(item.message)
    }
    if lost := before.keys() - shown.keys():
        requests = (e.position for e in window.entries.values() if e.is_request)
        began = max(requests, default=-1)
        tally.discarded += sum(before[p] for p in lost)
        tally.current += sum(before[p] for p in lost if p > began)
        tally.before += sum(before.values())
    return shown


POLICIES = ("thalweg", "thalweg (not priced)", "deepagents")


def sessions(window: int, tariff: Tariff, most: int) -> None:
    """Print what the recorded sessions cost under each policy."""
    recorded = Path(os.environ["THALWEG_RECORDED"]) / "trajectories"
    paths = sorted((p for p in recorded.glob("cc*")), key=lambda p: -p.stat().st_size)[:most]
    budget = Budget(window=window)
    heads = ("edits/100", "folds/100", "kept", "cost", "+ current", "+ all")
    print(f"{len(paths)} sessions, window {window:,}, {tariff.name}; costs in million input tokens")
    print(f"{'policy':28}" + " ".join(f"{head:>9}" for head in heads))
    for name in POLICIES:
        tally = Tally()
        for path in paths:
            replayed(path, name, budget, tariff, tally)
        print(tally.row(name, tariff.output), flush=True)


def report(provider: StrictProvider, watch: Watch) -> int:
    """Print what became of the requests; return how many were refused."""
    seen = provider.requests
    refused = [request for request in seen if request.status != 200]  # noqa: PLR2004 (HTTP)
    print(f"requests {len(seen)}, refused {len(refused)}")
    for request in refused[:5]:
        print(f"  {request.model}: {request.problems[0][:300]}")
    print(f"prefix edits {len(watch.cuts)}, {100 * len(watch.cuts) / len(seen):.1f} per 100 calls")
    print(f"reasoning still valid after an edit: {watch.kept:.1%} of its tokens")
    return len(refused)


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for; 1 where a request was refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("endpoint", "sessions", "steps"))
    parser.add_argument("--strategy", choices=sorted(STRATEGIES), default="ours")
    parser.add_argument("--model", choices=MODELS, default=MODELS[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--window", type=int, default=200_000)
    parser.add_argument("--tariff", default="claude-fable-5-2", choices=sorted(NAMED_TARIFFS))
    parser.add_argument("--most", type=int, default=8, help="how many sessions, the largest first")
    asked = parser.parse_args(arguments)
    if asked.what == "sessions":
        sessions(asked.window, NAMED_TARIFFS[asked.tariff], asked.most)
        return 0
    if asked.what == "steps":
        provider, sent, seen = steps(asked.turns, asked.strategy, asked.model)
        refused = report(provider, sent)
        done = sum(one.compaction is not None for one in provider.requests)
        print(f"reasoning the model still sees after a change of its view: {seen.kept:.1%}")
        print(f"changes of its view {len(seen.cuts)}, compactions by the provider {done}")
        print(f"cost in uncached input tokens {cost_of(provider, asked.model):,.0f}")
        return bool(refused)
    provider, world = drive(asked.requests, asked.seed)
    refused = report(provider, world.watch)
    print(", ".join(f"{name} {times}" for name, times in sorted(world.happened.items())))
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
