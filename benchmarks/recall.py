"""How much of what answers a question does memory bring back? Offline, without a model.

    THALWEG_RECORDED=folder python -m benchmarks.recall [--only locomo] [--misses]

Conversations are kept turn by turn in a memory of its own; their questions are asked. What is
counted is the share of a question's evidence messages among the first 15 items, and inside a
block of so many tokens (o200k, frame and headings included). Questions without evidence are
skipped: there is nothing that could be found. Those that no answer is in the conversation for
(LoCoMo's category 5) do have evidence, and count.

Compared with it, on the same turns: DeerFlow's formula (TF-IDF, refitted for each question;
confidence the same for all, which is best for it) with its own limit of 15 facts and without, in
its own block; and BM25 on whole turns, in plain lines. Both receive the speakers' names as well.
"""

import argparse
import gzip
import json
import math
import os
import statistics
import sys
import time
from collections import Counter as Counted
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thalweg.engine.tokens import exact_counter
from thalweg_memory import Memory, open_memory
from thalweg_memory.facts.recall.ranking import RecallItem, index_words
from thalweg_memory.facts.recall.seeds import MOST, render_system, top_facts
from thalweg_memory.facts.values import Fact, FactId, Profile, Scope, Statement, Trust

FIRST = 15
BUDGETS = (300, 500, 1_000, 2_000)
SETS = Path(__file__).parent / "sets"
SCOPE = Scope("bench")
COUNT = exact_counter()
THREAD = "thread"
OURS = "ours"


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the positions of the turns that answer it."""

    text: str
    evidence: frozenset[int]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A recorded conversation with its questions."""

    name: str
    group: str
    turns: list[Statement]
    cases: list[Case]


# -- reading ---------------------------------------------------------------------------------


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines, packed or not."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in raw.decode().splitlines()]


def read_turns(path: Path) -> list[Statement]:
    """Read a conversation; a turn's position is its line."""
    return [
        Statement(
            THREAD,
            at,
            item["role"],
            item["content"],
            said_at(item["x"]),
            Trust.USER if item["role"] == "user" else Trust.ASSISTANT,
            item.get("name") or "",
            at,
            f"{path.name}#{at}",
        )
        for at, item in enumerate(read_lines(path))
    ]


def said_at(notes: dict[str, Any]) -> str:
    """Read the time of a message: LoCoMo has the minute, MemoryBank the day."""
    if "date" in notes:
        return f"{notes['date']}T12:00:00Z"
    told = datetime.strptime(notes["date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    return told.strftime("%Y-%m-%dT%H:%M:%SZ")


def locomo(recorded: Path) -> Iterator[Conversation]:
    """Yield LoCoMo's conversations."""
    cases: dict[str, list[Case]] = {}
    for item in read_lines(recorded / "nc" / "locomo_qa.jsonl"):
        case = Case(item["question"], frozenset(item["message_index"]), str(item["category"]))
        cases.setdefault(item["trajectory"], []).append(case)
    for name, asked in cases.items():
        path = next((recorded / "nc" / "trajectories").glob(f"{name}.jsonl*"))
        yield Conversation(name, "locomo", read_turns(path), [one for one in asked if one.evidence])


def memorybank(recorded: Path) -> Iterator[Conversation]:
    """Yield MemoryBank's conversations, with the evidence that was labelled for them."""
    questions: dict[str, list[str]] = {}
    for item in read_lines(recorded / "memorybank_questions.jsonl"):
        questions.setdefault(item["trajectory"], []).append(item["question"])
    cases: dict[str, list[Case]] = {}
    for item in json.loads((SETS / "memorybank_evidence.json").read_text()):
        name = item["trajectory"]
        case = Case(questions[name][item["question"]], frozenset(item["messages"]))
        cases.setdefault(name, []).append(case)
    for name, asked in cases.items():
        turns = read_turns(recorded / "trajectories" / f"{name}.jsonl")
        yield Conversation(name, f"memorybank-{name[-2:]}", turns, asked)


# -- contestants -----------------------------------------------------------------------------

Answer = tuple[list[int], dict[int, set[int]]]
"""Positions of turns, best first; and by budget those inside a block."""
Contestant = Callable[[Case], Answer]


def seeds(conversation: Conversation, most: int | None) -> Contestant:
    """DeerFlow's formula, in its block."""
    facts = [
        Fact(FactId(str(turn.position)), named(turn), "context", 1.0, turn.said_at, THREAD)
        for turn in conversation.turns
    ]

    def answer(case: Case) -> Answer:
        ranked = [fact for _, fact in top_facts(facts, case.text, most=most)]
        inside = {}
        for budget in BUDGETS:
            inside[budget] = {int(fact.id) for fact in ranked[: how_many(ranked, budget)]}
        return [int(fact.id) for fact in ranked], inside

    return answer


def seeds_block(facts: Sequence[Fact]) -> str:
    """Write DeerFlow's block between its tags."""
    return f"<memory>\n{render_system(Profile(), facts, 1_000_000, COUNT)}\n</memory>"


def how_many(ranked: Sequence[Fact], budget: int) -> int:
    """Count the facts, from the best, that fit into DeerFlow's block."""
    low, high = 0, min(len(ranked), 200)
    while low < high:
        middle = (low + high + 1) // 2
        fits = COUNT(seeds_block(ranked[:middle])) <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def bm25(conversation: Conversation) -> Contestant:
    """BM25 on whole turns, all words of the question alike."""
    turns = conversation.turns
    words = [Counted(index_words(named(turn))) for turn in turns]
    among = Counted(word for one in words for word in one)
    mean = statistics.mean(one.total() for one in words)
    costs = [COUNT(f"- {named(turn)}\n") for turn in turns]

    def answer(case: Case) -> Answer:
        scores = [0.0] * len(turns)
        for word in dict.fromkeys(index_words(case.text)):
            rare = math.log(1 + (len(turns) - among[word] + 0.5) / (among[word] + 0.5))
            for at, one in enumerate(words):
                if often := one[word]:
                    norm = 1.2 * (0.25 + 0.75 * one.total() / mean)
                    scores[at] += rare * often * 2.2 / (often + norm)
        order = sorted(
            (at for at in range(len(turns)) if scores[at]), key=lambda at: (-scores[at], -at)
        )
        inside: dict[int, set[int]] = {}
        for budget in BUDGETS:
            left = budget - COUNT("<memory>\n</memory>")
            inside[budget] = set()
            for at in order:
                if costs[at] <= left:
                    left -= costs[at]
                    inside[budget].add(at)
        return order, inside

    return answer


def named(turn: Statement) -> str:
    """Write a turn with its speaker's name, if it has one."""
    return f"{turn.author}: {turn.text}" if turn.author else turn.text


@dataclass(slots=True)
class Ours:
    """Thalweg's memory: what an application calls, on its SQLite store."""

    memory: Memory
    times_ms: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, conversation: Conversation) -> "Ours":
        """Keep a conversation. Its questions are asked on the day of its last turn."""
        store = open_memory(":memory:")
        store.capture(SCOPE, THREAD, conversation.turns)
        return cls(Memory(store, SCOPE, clock=lambda: conversation.turns[-1].said_at))

    def __call__(self, case: Case) -> Answer:
        """Ask it."""
        start = time.process_time()
        whole = self.memory.recall(case.text, budget_tokens=BUDGETS[-1])
        self.times_ms.append((time.process_time() - start) * 1_000)
        blocks = {
            budget: self.memory.recall(case.text, budget_tokens=budget) for budget in BUDGETS[:-1]
        }
        blocks[BUDGETS[-1]] = whole
        assert all(COUNT(block.text) <= budget for budget, block in blocks.items())
        ranked = [one.ranked.item for one in self.memory.explain(case.text).placed]
        inside = {budget: set(positions(block.items)) for budget, block in blocks.items()}
        return positions(ranked), inside


def positions(items: Iterable[RecallItem]) -> list[int]:
    """List the positions of turns."""
    return [item.turn.position for item in items if item.turn is not None]


# -- running ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Score:
    """What came of the questions: for each, shares of evidence found."""

    rows: list[tuple[str, str, list[float]]] = field(default_factory=list)
    """Conversation, category, and the shares."""

    def add(
        self,
        conversation: Conversation,
        case: Case,
        answer: Answer,
        budgets: Sequence[int] = BUDGETS,
    ) -> list[float]:
        """Take an answer in, with the blocks of some budgets."""
        ranked, inside = answer
        shares = [
            len(case.evidence.intersection(found)) / len(case.evidence)
            for found in (ranked[:FIRST], *(inside[budget] for budget in budgets))
        ]
        self.rows.append((conversation.name, case.category, shares))
        return shares

    def mean(self, name: str = "", category: str = "") -> list[float]:
        """Average over questions: all, or those of one conversation or category."""
        rows = [
            shares for of, kind, shares in self.rows if name in {"", of} and category in {"", kind}
        ]
        return [statistics.mean(column) for column in zip(*rows, strict=True)]


def run(
    conversations: Sequence[Conversation], *, misses: bool
) -> tuple[dict[str, Score], list[float]]:
    """Ask every question of everybody."""
    scores: dict[str, Score] = {}
    times: list[float] = []
    for conversation in conversations:
        contestants: dict[str, Contestant] = {
            "DeerFlow's formula, top 15": seeds(conversation, MOST),
            "DeerFlow's formula, filling": seeds(conversation, None),
            "BM25": bm25(conversation),
            OURS: Ours.of(conversation),
        }
        for name, contestant in contestants.items():
            score = scores.setdefault(name, Score())
            for case in conversation.cases:
                shares = score.add(conversation, case, contestant(case))
                if misses and name == OURS and shares[-1] < 1:
                    print(f"  missed: {conversation.name}: {case.text} {sorted(case.evidence)}")
            if isinstance(contestant, Ours):
                times += contestant.times_ms if name == OURS else []
                contestant.memory.store.close()
    return scores, times


def tell(group: str, scores: dict[str, Score], times: list[float]) -> None:
    """Print the tables of one group."""
    asked = next(iter(scores.values())).rows
    names = list(dict.fromkeys(name for name, *_ in asked))
    print(f"\n## {group}: {len(asked)} questions, {len(names)} conversations\n")
    print(f"| | first {FIRST} | {' | '.join(f'{budget:,} tokens' for budget in BUDGETS)} |")
    print(f"| --- {'| --- ' * (len(BUDGETS) + 1)}|")
    for name, score in scores.items():
        print(f"| {name} | {' | '.join(f'{share:.3f}' for share in score.mean())} |")
    print("\nby conversation, ours (first 15 / 2,000 tokens):")
    for name in names:
        found = scores[OURS].mean(name=name)
        print(f"  {name}: {found[0]:.3f} / {found[-1]:.3f}")
    for category in sorted({category for _, category, _ in asked} - {""}):
        found = scores[OURS].mean(category=category)
        print(f"  category {category}: {found[0]:.3f} / {found[-1]:.3f}")
    ordered = sorted(times)
    late = ordered[int(len(ordered) * 0.95)]
    print(f"CPU for a recall, packed: {statistics.median(ordered):.1f} ms, p95 {late:.1f} ms")


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--misses", action="store_true", help="name what 2,000 tokens do not hold")
    parser.add_argument("--only", default="", help="only groups whose name has this in it")
    options = parser.parse_args()
    recorded = Path(os.environ.get("THALWEG_RECORDED", ""))
    if not (recorded / "memorybank_questions.jsonl").is_file():
        print("set THALWEG_RECORDED to a folder of recorded threads", file=sys.stderr)
        return 0
    found = [*locomo(recorded), *memorybank(recorded)]
    for group in dict.fromkeys(one.group for one in found):
        if options.only in group:
            of_group = [one for one in found if one.group == group]
            tell(group, *run(of_group, misses=options.misses))
    return 0


if __name__ == "__main__":
    sys.exit(main())
