"""What summaries keep over many compactions, and how much of what is folded they were made from.

    uv run --group bench python -m benchmarks.summaries decay [--png docs/decay.png]
    uv run python -m benchmarks.summaries read
    uv run python -m benchmarks.summaries wait

`decay`: facts from the user, the assistant and tools, twenty compactions, a summarizer that
drops each fact with probability 0.3. Next to it a rolling summary (LangChain's middleware, its
trim off) with the same summarizer at the same points. `read`: the share of the folded messages,
and of their tokens, that the summarizer was shown, for runs of 300 model calls at a 200k window.
Both wait for each summary. `wait`: how much longer a turn with a compaction of many long messages
takes than one without, in calls of a model of fixed latency.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.marked import WORKLOADS, Marked
from thalweg.archive import Archive, ThreadKey, open_archive, recall
from thalweg.archive.threads.journal import page_from_json
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter
from thalweg.engine.wires.langchain import LangChainWire

KEY = ThreadKey("local", "t")
CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}
COMPACTIONS, DROPPED = 20, 0.3
FIRST = [
    "Ada",
    "Bruno",
    "Chloe",
    "Dag",
    "Edda",
    "Femi",
    "Gita",
    "Hugo",
    "Ines",
    "Jarl",
    "Kaja",
    "Liam",
    "Mona",
    "Nils",
    "Olga",
    "Pavel",
]
LAST = [
    "Aas",
    "Berg",
    "Costa",
    "Dahl",
    "Eide",
    "Foss",
    "Grau",
    "Holm",
    "Iyer",
    "Juul",
    "Kvam",
    "Lund",
    "Moe",
    "Nagy",
    "Oja",
    "Paz",
]
COLOURS = [
    "amber",
    "azure",
    "beige",
    "black",
    "brown",
    "coral",
    "green",
    "grey",
    "ivory",
    "olive",
    "ochre",
    "red",
    "teal",
]
BIRDS = [
    "crane",
    "curlew",
    "dipper",
    "eider",
    "finch",
    "godwit",
    "heron",
    "ibis",
    "jackdaw",
    "kite",
    "linnet",
    "merlin",
]
FILLER = "as it was agreed upon earlier, and nothing else of it was changed since then. " * 6


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that can be looked for by its answer."""

    number: int
    text: str
    question: str
    answer: str


def facts() -> Iterator[Fact]:
    """Make facts without end: names, paths, numbers and dates, each of a thing of its own."""
    number = 0
    while True:
        n = number // len(BIRDS)
        who = f"{COLOURS[n % len(COLOURS)]} {BIRDS[number % len(BIRDS)]}"
        who += f" {number // len(BIRDS) // len(COLOURS) + 1}"
        slug = who.replace(" ", "_")
        name = (
            f"{FIRST[number % 16]} {LAST[(number + number // 16) % 16]}-{LAST[number // 16 % 16]}"
        )
        date = f"2027-{number % 12 + 1:02}-{number % 28 + 1:02} {number % 24:02}:{number % 60:02}"
        yield (
            Fact(number, f"The {who} is looked after by {name}.", f"Who looks after {who}?", name),
            Fact(
                number,
                f"The settings of {who} lie in conf/{slug}/v{number}.toml.",
                f"Where are the settings of {who}?",
                f"conf/{slug}/v{number}.toml",
            ),
            Fact(
                number,
                f"The {who} takes at most {10_007 + 31 * number} requests a minute.",
                f"How many requests does {who} take?",
                str(10_007 + 31 * number),
            ),
            Fact(
                number,
                f"The {who} is switched off on {date}.",
                f"When is {who} switched off?",
                date,
            ),
        )[number % 4]
        number += 1


def text_of(messages: Sequence[BaseMessage]) -> str:
    """Write all that a request shows: texts, and the arguments of calls."""
    return "\n".join(
        f"{m.text}\n{json.dumps([c['args'] for c in m.tool_calls], ensure_ascii=False)}"
        if isinstance(m, AIMessage)
        else m.text
        for m in messages
    )


def is_asked(messages: Sequence[BaseMessage]) -> bool:
    """Whether a request is one of ours for a summary."""
    last = messages[-1].text
    return "[This is not the user speaking.]" in last or "<transcript" in last


class Speaker(BaseChatModel):
    """A model that answers with a function's result, and counts nothing."""

    says: Callable[[list[BaseMessage]], AIMessage]

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:  # noqa: ANN401
        """See `BaseChatModel.bind_tools`."""
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager, kwargs
        return ChatResult(generations=[ChatGeneration(message=self.says(messages))])


def folds(archive: Archive) -> list[Fold]:
    """List the folds of the thread."""
    pages = [page_from_json(text) for text in archive.turns(KEY)]
    return [edit for page in pages for edit in page.edits if isinstance(edit, Fold)]


@dataclass(slots=True)
class Decay:
    """One thread with facts, our summaries of it and a rolling one."""

    seed: int
    archive: Archive = field(default_factory=lambda: open_archive(":memory:"))
    told: list[Fact] = field(default_factory=list)
    """All facts so far."""
    shares: list[tuple[float, float, float]] = field(default_factory=list)
    """After each compaction: in the context, found by one search, in the rolling summary."""
    source: Iterator[Fact] = field(default_factory=facts)
    asked: int = 0
    seen: int = 0
    """Folds seen."""
    rolled: int = 0
    """Position of the first message that the rolling summary is not of."""
    rolling: list[BaseMessage] = field(default_factory=list)

    def run(self) -> list[tuple[float, float, float]]:
        """Talk until there were enough compactions."""
        agent: Any = create_agent(
            Speaker(says=self.says),
            [StructuredTool.from_function(self.look, name="look", description="Look at a thing.")],
            middleware=[
                ContextMiddleware(
                    ContextPolicy(background=False, window=8_000, max_output=500),
                    archive=self.archive,
                )
            ],
            checkpointer=InMemorySaver(),
            system_prompt="Help to run the services.",
        )
        while len(self.shares) < COMPACTIONS:
            agent.invoke({"messages": [("user", f"{self.fact()} Keep it so, {FILLER}")]}, CONFIG)
        return self.shares

    def fact(self) -> str:
        """Return the next fact."""
        self.told.append(next(self.source))
        return self.told[-1].text

    def look(self, what: str) -> str:
        """Return a page of results with a fact in the middle of it."""
        return f"{what}\n{FILLER}\n{self.fact()}\n{FILLER}"

    def says(self, messages: list[BaseMessage]) -> AIMessage:
        """Write a summary, call the tool or answer."""
        if is_asked(messages):
            return AIMessage(self.summary(text_of(messages)))
        self.measure(text_of(messages))
        if messages[-1].type == "tool":
            return AIMessage(f"{self.fact()} I noted it, {FILLER}")
        call = {"name": "look", "args": {"what": "status"}, "id": f"c{len(self.told)}"}
        return AIMessage("I look.", tool_calls=[call])

    def summary(self, shown: str) -> str:
        """Write each fact that is shown with probability 0.7, in sections."""
        self.asked += 1
        kept = [f for f in self.told if f.answer in shown and self.keeps(f)]
        titles = "Constraints", "State of work", "Decisions"
        return "\n".join(
            f"## {title}\n" + "\n".join(f"- {f.text}" for f in kept if f.number % 3 == k)
            for k, title in enumerate(titles)
        )

    def keeps(self, fact: Fact) -> bool:
        """Throw the dice: again for each request, the same for the same seed."""
        dice = Random(f"{self.seed} {self.asked} {fact.number}")  # noqa: S311 (not a secret)
        return dice.random() >= DROPPED

    def measure(self, shown: str) -> None:
        """Look, in the first request after a compaction, for all facts folded so far."""
        made = folds(self.archive)
        if len(made) == self.seen:
            return
        self.seen, fold = len(made), made[-1]
        log = list(self.archive.messages(KEY, 0, self.archive.length(KEY) - 1))
        old = [m for p, m in enumerate(log) if p <= fold.last and p not in fold.kept]
        past = "\n".join(m.text for m in old)
        gone = [fact for fact in self.told if fact.answer in past]
        rolling = self.roll(log, fold)
        found = [
            sum(fact.answer in where for fact in gone) / len(gone) for where in (shown, rolling)
        ]
        back = sum(f.answer in recall(self.archive, KEY, query=f.question) for f in gone)
        self.shares.append((found[0], back / len(gone), found[1]))

    def roll(self, log: Sequence[Message], fold: Fold) -> str:
        """Let the peer summarize at the same point: its last summary and what came since."""
        kept = [m for p, m in enumerate(log) if p > fold.last or p in fold.kept]
        new = [m for p, m in enumerate(log) if self.rolled <= p <= fold.last and p not in fold.kept]
        self.rolled = fold.last + 1
        wire = LangChainWire()
        tail = wire.write(kept)
        peer = SummarizationMiddleware(
            Speaker(says=lambda messages: AIMessage(self.summary(text_of(messages)))),
            trigger=("messages", 1),
            keep=("messages", len(tail)),
            trim_tokens_to_summarize=None,
        )
        state: Any = {"messages": [*self.rolling, *wire.write(new), *tail]}
        update = peer.before_model(state, None)  # type: ignore[arg-type]  # it has no use for it
        assert update is not None
        self.rolling = [update["messages"][1]]
        return self.rolling[0].text


def decay(seeds: int, png: Path | None) -> bool:
    """Print the shares after each compaction, the mean of some seeds; draw them."""
    runs = [Decay(seed).run() for seed in range(seeds)]
    mean = [
        [sum(run[k][column] for run in runs) / seeds for column in range(3)]
        for k in range(COMPACTIONS)
    ]
    names = "in the context", "found by one recall", "in a rolling summary"
    print("| after compaction | " + " | ".join(names) + " |\n| --- | --- | --- | --- |")
    for k, row in enumerate(mean, 1):
        print(f"| {k} | " + " | ".join(f"{share:.1%}" for share in row) + " |")
    if png is not None:
        _draw(mean, names, png)
    return mean[-1][1] >= mean[0][1]


def _draw(mean: Sequence[Sequence[float]], names: Sequence[str], png: Path) -> None:
    from matplotlib import pyplot as plt  # noqa: PLC0415 (of the bench group)

    figure, axes = plt.subplots(figsize=(7.2, 4.0), dpi=150)
    at = range(1, COMPACTIONS + 1)
    ours, found, rolling = ([row[k] for row in mean] for k in range(3))
    axes.plot(at, found, color="#0b6e4f", marker="o", markersize=4, label=f"thalweg: {names[1]}")
    axes.plot(at, ours, color="#3d85c6", marker="s", markersize=4, label=f"thalweg: {names[0]}")
    axes.plot(at, rolling, color="#c0392b", marker="^", markersize=4, label=names[2])
    axes.set(xlabel="compactions", ylabel="share of the facts folded so far", ylim=(0, 1.05))
    axes.set_xticks(range(1, COMPACTIONS + 1, 1), minor=True)
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center right")
    axes.set_title("A summarizer that drops three facts in ten, each time", fontsize=11, loc="left")
    figure.tight_layout()
    figure.savefig(png, metadata={"Software": None})


WINDOW = 200_000
POLICIES = {
    "default": {},
    "trigger 0.85": {"trigger": ("fraction", 0.85)},
    "DeerFlow's example": {
        "trigger": [("fraction", 0.8), ("messages", 50)],
        "keep": ("messages", 20),
        "trim_tokens_to_summarize": 4_000,
    },
    "trim 4,000": {"trim_tokens_to_summarize": 4_000},
}


def read(calls: int) -> bool:
    """Print how much of the folded messages the summarizer was shown."""
    print(
        "| thread | policy | folds | requests | tokens read | messages seen | seen whole |"
        " tokens seen |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    good = True
    for name, make in WORKLOADS.items():
        for policy, settings in POLICIES.items():
            good &= _read(Marked(make, calls), name, policy, settings)
    return good


def _read(thread: Marked, name: str, policy: str, settings: dict[str, Any]) -> bool:
    asked: list[str] = []

    def says(messages: list[BaseMessage]) -> AIMessage:
        if is_asked(messages):
            asked.append(text_of(messages))
            return AIMessage("## State of work\n- The work went on as it was asked for.")
        return thread.answer()

    archive = open_archive(":memory:")
    agent: Any = create_agent(
        Speaker(says=says),
        [StructuredTool.from_function(thread.look, name="look", description="Look.")],
        middleware=[
            ContextMiddleware(
                ContextPolicy.from_mapping({"background": False, "window": WINDOW, **settings}),
                archive=archive,
            )
        ],
        checkpointer=InMemorySaver(),
    )
    while thread.calls < thread.most:
        agent.invoke({"messages": [("user", thread.request())]}, CONFIG)
    made = folds(archive)
    gone = [
        message
        for position, message in enumerate(archive.messages(KEY, 0, made[-1].last))
        if position not in made[-1].kept
    ]
    seen = thread.seen(gone, "\n".join(asked))
    tokens = sum(map(exact_counter(), asked))
    print(
        f"| {name} | {policy} | {len(made)} | {len(asked)} | {tokens:,} | {seen.at_all:.1%} |"
        f" {seen.whole:.1%} | {seen.tokens:.1%} |",
        flush=True,
    )
    return seen.at_all == 1


LONG, LATENCY_S = 3_000, 2.0
"""Tokens of a message, and what each call of the model takes."""
TRIM = 4_000
"""Tokens that one request for a summary holds."""
WAYS: dict[str, dict[str, Any]] = {
    "beside the run": {"background": True},  # with a trigger, the default is in the turn
    "in the turn": {"background": False},
    "none": {"summarize": False},
}


@dataclass(slots=True)
class Waiting:
    """One thread of long messages, and what each of its turns took."""

    messages: int
    """How many there are when it is compacted."""
    way: Mapping[str, Any]
    """How its summary is written; see `WAYS`."""
    took: list[float] = field(default_factory=list)
    requests: int = 0
    """For summaries."""
    before: int = 0
    """Requests that were answered before the turn called its model."""
    archive: Archive = field(default_factory=lambda: open_archive(":memory:"))

    def run(self) -> float:
        """Return how many calls longer the turn with a compaction took than the one before."""
        policy = ContextPolicy(
            window=1_000_000,
            trigger=("messages", self.messages),
            keep=("messages", 2),
            trim_tokens_to_summarize=TRIM,
            **self.way,
        )
        middleware = ContextMiddleware(policy, archive=self.archive)
        agent: Any = create_agent(
            Speaker(says=self.says), middleware=[middleware], checkpointer=InMemorySaver()
        )
        words = iter(range(1_000_000))

        def long() -> str:
            return " ".join(f"shelf{next(words)}" for _ in range(LONG // 3))

        begun = [("user" if n % 2 == 0 else "assistant", long()) for n in range(self.messages - 4)]
        agent.invoke({"messages": [*begun, ("user", long())]}, CONFIG)
        while not folds(self.archive):
            start = time.perf_counter()
            agent.invoke({"messages": [("user", long())]}, CONFIG)
            self.took.append(time.perf_counter() - start)
        middleware.flush()
        return (self.took[-1] - self.took[-2]) / LATENCY_S

    def says(self, messages: list[BaseMessage]) -> AIMessage:
        """Answer after a while."""
        if not is_asked(messages):
            self.before = self.requests
            time.sleep(LATENCY_S)
            return AIMessage("It is noted.")
        time.sleep(LATENCY_S)
        self.requests += 1
        return AIMessage("## State of work\n- The shelves are listed.")


def wait() -> bool:
    """Print how much longer a turn with a compaction takes."""
    print("| long messages | summary | requests for it | before the answer | calls longer |")
    print("| --- | --- | --- | --- | --- |")
    good = True
    for messages in (16, 60):
        for name, way in WAYS.items():
            thread = Waiting(messages, way)
            longer = thread.run()
            counts = f"{thread.requests} | {thread.before}"
            print(f"| {messages} | {name} | {counts} | {longer:.1f} |", flush=True)
            good &= longer < (2 if name == "in the turn" else 1)
    return good


def main() -> int:
    """Measure and print; fail when a figure is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("decay", "read", "wait"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--png", type=Path)
    options = parser.parse_args()
    match options.what:
        case "decay":
            good = decay(options.seeds, options.png)
        case "read":
            good = read(options.calls)
        case _:
            good = wait()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
