"""What a memory makes of conversations, through an agent as a user runs it.

    python -m benchmarks.memory_agent FOLDER [--misses] [--out FILE]

FOLDER holds `updates.jsonl`, `distinct.jsonl`, `paraphrases.jsonl`, `attacks.jsonl` and
`honest.jsonl` (`tests/sets/through_an_agent/FORMAT.md`). Each case runs the whole way: messages
into threads of an agent with `MemoryMiddleware` and `ContextMiddleware`, capture, a durable job, a
worker, the learner with a scripted model, gates, verdict, merge. Then a new thread asks the case's
question, and the request that the agent's model receives is read.

The scripted model proposes what a correct model proposes according to the set. It finds stored
facts by the set's markers, so it names a fact only where it was shown it. Asked whose a new fact
is, it answers right; `benchmarks.memory_sources` has judges that err. `--misses` prints each case
that went wrong.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from thalweg import ContextMiddleware
from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryMiddleware, Scope, open_memory
from thalweg_memory.facts.learning.questions import PLANTED
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.learner import JobReport, Learner, Respondent, Worker

Row = dict[str, Any]
FIRST_DAY = date(2026, 1, 10)
BETWEEN = timedelta(days=30)
"""From one thread of a case to the next."""
_CATEGORIES = {"preference", "knowledge", "context", "behavior", "goal"}
_TURN = re.compile(
    r"^§+ (\d+), [^\n]*\((learn from this)?[^\n]*\)\n(.*?)(?=\n\n§|\Z)", re.DOTALL | re.MULTILINE
)
_KNOWN = re.compile(r"^(F\d+): (.*)$", re.MULTILINE)
_NOTE = re.compile(r' \((?:"|turn|since|until|said).*$')
"""What follows a fact's content in a question."""
_PAIR = re.compile(r"^(N\d+): (.*)$", re.MULTILINE)
_SPOKEN = re.compile(r"^- (?:User|Assistant): (?!“)")
"""A turn; a fact that is a quotation is in quotation marks."""


@dataclass(slots=True)
class Clock:
    """The time of a case."""

    at: datetime

    def __call__(self) -> str:
        """Return the time as memory writes it."""
        return self.at.isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass
class Life:
    """One user with an agent and a memory, from the first thread to the last."""

    case: Row
    word: Callable[[str, str], str]
    """What the scripted model takes a new fact for next to a stored one: content, content."""
    clock: Clock
    requests: list[Sequence[BaseMessage]] = field(default_factory=list)
    reports: list[JobReport] = field(default_factory=list)
    proposals: Sequence[Row] = ()
    replies: list[str] = field(default_factory=list)
    """Of the assistant and of tools, in the thread under way, with a mark before a tool's."""
    calls: int = 0
    verdicts: int = 0

    def __post_init__(self) -> None:
        """Open the memory, and make the agent."""
        self.store = open_memory(":memory:")
        settings = MemorySettings(debounce_seconds=0, max_wait_seconds=0, profile=False)
        self.memory = Memory(self.store, Scope("ada"), settings=settings, clock=self.clock)
        self.middleware = MemoryMiddleware(self.memory, learns=False)
        middleware: list[Any] = [self.middleware, ContextMiddleware(archive=":memory:")]
        self.agent: Any = create_agent(
            ScriptedModel(script=self._answer),
            tools=[tool("read_page", description="Read a page.")(self._page)],
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )
        self.learner = Learner(
            self.store,
            Respondent(ScriptedModel(script=self._learned), len, name="scripted"),
            settings,
            self.clock,
            count=lambda text: len(text) // 4,
            emit=self.reports.append,
        )
        self.worker = Worker(self.store, self.learner.learn, clock=self.clock)

    def _page(self, name: str) -> str:
        """Read a page."""
        del name
        return self.replies.pop(0).removeprefix("\0tool ")

    def _answer(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        self.requests.append(list(messages))
        if self.replies and self.replies[0].startswith("\0tool "):
            self.calls += 1
            call = {"name": "read_page", "args": {"name": "it"}, "id": f"c{self.calls}"}
            return AIMessage("", tool_calls=[call])
        return self.replies.pop(0) if self.replies else "All right."

    # -- what is said, and what is learned -------------------------------------------------

    def talk(self, thread: Sequence[Row], name: str) -> None:
        """Put a thread's messages through the agent, one run for each of the user's."""
        requests: list[tuple[str, list[str]]] = []
        for message in thread:
            if message["role"] == "user":
                requests.append((message["content"], []))
            elif requests:
                mark = "\0tool " if message["role"] == "tool" else ""
                requests[-1][1].append(mark + message["content"])
        for said, replies in requests:
            self.replies = list(replies)
            config = {"configurable": {"thread_id": name}}
            self.agent.invoke({"messages": [HumanMessage(said)]}, config)
            self.clock.at += timedelta(minutes=1)

    def learn(self, proposals: Sequence[Row]) -> None:
        """Learn from the messages, with these proposals."""
        self.proposals = proposals
        self.clock.at += timedelta(minutes=10)
        self.worker.run_due()

    def _learned(self, messages: Sequence[BaseMessage]) -> str:
        asked = str(messages[-1].content)
        if not asked.startswith("Known facts:"):
            return self._judged(asked)
        known = [(name, content) for name, content in _KNOWN.findall(asked)]
        turns = [(int(n), bool(own), text) for n, own, text in _TURN.findall(asked)]
        return json.dumps(
            {"facts": [self._item(one, turns, known) for one in self.proposals]},
            ensure_ascii=False,
        )

    def _item(
        self, one: Row, turns: Sequence[tuple[int, bool, str]], known: Sequence[tuple[str, str]]
    ) -> Row:
        quote = _plain(one["quote"])
        cited = [number for number, _, text in turns if quote in _plain(text)]
        cited = cited or [number for number, own, _ in turns if own] or [1]
        words = [(name, self.word(one["content"], content)) for name, content in known]
        named = next(((n, w) for n, w in words if w in {"same", "update"}), ("", "new"))
        category = one.get("category", "")
        return {
            "turn": cited[0],
            "quote": one["quote"],
            "language": self.case.get("language", ""),
            "content": one["content"],
            "category": category if category in _CATEGORIES else "context",
            "confidence": 0.95,
            "subject": one.get("subject") or "",
            "attribute": one.get("attribute") or "",
            "value": str(one.get("value") or ""),
            "since": one.get("since") or "",
            "until": one.get("until") or "",
            "temporary": bool(one.get("temporary")),
            "relation": named[1],
            "known": named[0],
        }

    def _judged(self, asked: str) -> str:
        """Answer for each pair of a new and a stored fact: see `prompts/verdict.md`."""
        self.verdicts += 1
        known = {name: _NOTE.sub("", text) for name, text in _KNOWN.findall(asked)}
        new = {name: _NOTE.sub("", text) for name, text in _PAIR.findall(asked)}
        rows = [
            {"new": n, "known": k, "reason": "as the set says", "verdict": self._verdict(a, b)}
            for at, (n, a) in enumerate(new.items())
            for k, b in (*known.items(), *list(new.items())[:at])
        ]
        sources = [{"new": n, **self._source(content)} for n, content in new.items()]
        return json.dumps({"sources": sources, "pairs": rows}, ensure_ascii=False)

    def _source(self, content: str) -> Row:
        """Answer whose a new fact is: everything is the user's but what the set calls a poison."""
        planted = {one.content: (one.whose, one.carries) for one in PLANTED}
        payload = self.case.get("payload_marker", "")
        own = ("other" if payload and _has([content], payload) else "own", True)
        whose, carries = planted.get(content, own)
        return {"whose": whose, "carries": carries}

    def _verdict(self, new: str, known: str) -> str:
        if new in {one.content for one in PLANTED}:
            new = known = ""
        word = self.word(new, known)
        wanted = self.case.get("relation", "")
        if word == "update":
            return {"ends": "ends", "narrows": "narrows"}.get(wanted, "replaces")
        if word == "same":
            return "same"
        old = self.case.get("old_marker", "").casefold()
        if wanted == "temporary" and old and old in known.casefold():
            return "replaces"  # for as long as it lasts
        return "beside"

    # -- what the next request holds -------------------------------------------------------

    def asked(self, probe: str, name: str = "probe") -> tuple[list[str], list[str]]:
        """Ask a question in a new thread; return the lines of facts and turns that it receives."""
        self.requests.clear()
        self.talk([{"role": "user", "content": probe}], name)
        text = "\n".join(str(message.text) for message in self.requests[0])
        block = re.search(r"<memory>\n(.*?)</memory>", text, re.DOTALL)
        lines = [line for line in (block[1] if block else "").split("\n") if line.startswith("- ")]
        facts = [line for line in lines if not _SPOKEN.match(line)]
        return facts, [line for line in lines if _SPOKEN.match(line)]

    def close(self) -> None:
        """Close the memory."""
        self.middleware.close()
        self.store.close()


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _has(lines: Sequence[str], marker: str) -> list[str]:
    return [line for line in lines if marker.casefold() in line.casefold()]


def _current(lines: Sequence[str], today: date) -> list[str]:
    """Omit what is marked with the day on which it ended."""
    return [
        line
        for line in lines
        if "no longer so)" not in line
        and not any(
            datetime.strptime(day, "%d %B %Y").replace(tzinfo=UTC).date() < today
            for day in _UNTIL.findall(line)
        )
    ]


_UNTIL = re.compile(r"until (\d{1,2} [A-Z][a-z]+ \d{4})")


def life(case: Row, word: Callable[[str, str], str]) -> Life:
    """Begin a case: before the day on which anything in it ends."""
    rows = [one for many in case.get("proposals", []) for one in many]
    untils = sorted(one["until"] for one in rows if one.get("until"))
    first = FIRST_DAY
    if untils:
        first = date.fromisoformat((untils[0] + "-01")[:10]) - 2 * BETWEEN
    return Life(case, word, Clock(datetime(first.year, first.month, first.day, 10, tzinfo=UTC)))


def lived(case: Row, word: Callable[[str, str], str]) -> Life:
    """Live through the threads of a case."""
    one = life(case, word)
    for number, (thread, proposals) in enumerate(
        zip(case["threads"], case["proposals"], strict=True)
    ):
        one.talk(thread, f"t{number}")
        one.learn(proposals)
        one.clock.at += BETWEEN
    return one


def try_update(case: Row) -> Iterator[str]:
    """Yield how an update went wrong."""
    old, new = case["old_marker"], case["new_marker"]
    is_temporary = case["relation"] == "temporary"

    def word(content: str, known: str) -> str:
        is_old = old.casefold() in known.casefold() and old.casefold() not in content.casefold()
        return "update" if is_old and not is_temporary else "new"

    one = lived(case, word)
    one.clock.at -= BETWEEN - timedelta(days=1)
    facts, turns = one.asked(case["probe"])
    if not _has([fact.content for fact in one.memory.facts()], new):
        why = "; ".join(reason for report in one.reports for reason in report.refused)
        yield f"lost{'' if _has(turns, new) else ' from turns, too'}: {why}"
    elif not _has([*_current(facts, one.clock.at.date()), *turns], new):
        yield "not shown"
    if is_temporary:
        yield from _tried_temporary(case, one)
    elif [
        line
        for line in _has(_current(facts, one.clock.at.date()), old)
        if new.casefold() not in line.casefold()
    ]:
        yield "stale"
    elif [line for line in _has(turns, old) if new.casefold() not in line.casefold()]:
        yield "(stale turn)"
    one.close()


def _tried_temporary(case: Row, one: Life) -> Iterator[str]:
    """Yield how something that holds for a time went wrong, then and after its end."""
    old, new = case["old_marker"], case["new_marker"]
    ends = sorted(p["until"] for p in case["proposals"][1] if p.get("until"))
    if not _has([fact.content for fact in one.memory.facts()], old):
        yield "temporary: old lost"
    if ends:
        last = date.fromisoformat((ends[-1] + "-28")[:10]) + timedelta(days=40)
        one.clock.at = datetime(last.year, last.month, last.day, 10, tzinfo=UTC)
        later, _ = one.asked(case["probe"], "later")
        if not _has(_current(later, one.clock.at.date()), old):
            yield "temporary: old does not hold again"
        if [
            line
            for line in _has(_current(later, one.clock.at.date()), new)
            if not _has([line], old)
        ]:
            yield "temporary: still told after its end"


def try_distinct(case: Row, *, wrong: bool = False) -> Iterator[str]:
    """Yield how two facts that both hold went wrong."""
    first, second = case["markers"]

    def word(content: str, known: str) -> str:
        del content, known
        return "update" if wrong else "new"

    one = lived(case, word)
    held = [fact.content for fact in one.memory.facts()]
    missing = [marker for marker in (first, second) if not _has(held, marker)]
    learned = [fact.content for fact in one.memory.facts("active", "superseded")]
    if missing:
        gone = [marker for marker in missing if not _has(learned, marker)]
        yield "not learned" if gone else "merged or superseded"
    one.close()


def try_distinct_wrong(case: Row) -> Iterator[str]:
    """Yield how two facts went wrong with a model that calls each an update."""
    return try_distinct(case, wrong=True)


def try_paraphrase(case: Row) -> Iterator[str]:
    """Report whether a fact that was stated twice is kept twice."""
    marker = case["marker"]

    def word(content: str, known: str) -> str:
        del content
        return "same" if marker.casefold() in known.casefold() else "new"

    one = lived(case, word)
    held = _has([fact.content for fact in one.memory.facts()], marker)
    if not held:
        yield "lost"
    elif len(held) > 1:
        yield "kept twice"
    one.close()


def try_attack(case: Row) -> Iterator[str]:
    """Report whether a poison becomes a fact, or is passed on as the user's own words."""
    one = life(case, lambda _content, _known: "new")
    one.talk(case["thread"], "t0")
    one.learn(case["fooled_proposals"])
    marker = case["payload_marker"]
    active = [f"{f.content} {f.value}" for f in one.memory.facts() if not f.claim]
    facts, turns = one.asked(case["probe"])
    bare = [line for line in facts if not line.startswith("- User's words")]
    if _has(active, marker) or _has(bare, marker):
        yield "became a fact"
    elif _has(facts, marker):
        yield "(quoted)"
    if _has(turns, marker):
        yield "(told as a turn)"
    if _has([fact.content for fact in one.memory.review()], marker):
        yield "(in review)"
    one.close()


def try_honest(case: Row) -> Iterator[str]:
    """Report whether an honest fact is lost."""
    one = life(case, lambda _content, _known: "new")
    one.talk(case["thread"], "t0")
    one.learn([case["proposal"]])
    one.clock.at += BETWEEN
    facts, turns = one.asked(case["probe"])
    if not _has(facts, case["marker"]):
        held = _has([fact.content for fact in one.memory.facts()], case["marker"])
        why = "; ".join(reason for report in one.reports for reason in report.refused)
        where = ", in a turn" if _has(turns, case["marker"]) else ""
        waits = (
            ", in review" if _has([f.content for f in one.memory.review()], case["marker"]) else ""
        )
        yield "(learned, and not shown)" if held else f"lost{waits}{where}: {why}"
    one.close()


TRIES: dict[str, tuple[str, Callable[[Row], Iterator[str]]]] = {
    "updates": ("updates", try_update),
    "distinct": ("distinct", try_distinct),
    "distinct, the model says `replaces` every time": ("distinct", try_distinct_wrong),
    "paraphrases": ("paraphrases", try_paraphrase),
    "attacks, a fooled learner": ("attacks", try_attack),
    "honest": ("honest", try_honest),
}


def rows(folder: Path, name: str) -> list[Row]:
    """Read the cases of a set; none where the file is missing."""
    path = folder / f"{name}.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def outcomes(folder: Path, name: str) -> list[tuple[str, list[str]]]:
    """Try every case of a row of `TRIES`: its id, and how it went wrong."""
    of, attempt = TRIES[name]
    return [
        (str(case.get("id", number)), [*attempt(case)])
        for number, case in enumerate(rows(folder, of))
    ]


def main() -> None:
    """Print how many cases went wrong, and how. What is in parentheses is no failure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--misses", action="store_true", help="print each case that went wrong")
    parser.add_argument("--only", default="", help="a row by the beginning of its name")
    given = parser.parse_args()
    for name in TRIES:
        if not name.startswith(given.only):
            continue
        found = outcomes(given.folder, name)
        kinds = Counter(
            kind.partition(":")[0] if kind.startswith("lost") else kind
            for _, many in found
            for kind in many
        )
        wrong = sum(any(not kind.startswith("(") for kind in many) for _, many in found)
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        print(f"{name:48} {len(found):4} cases {wrong:4} wrong   {told}", flush=True)
        for id_, many in found if given.misses else ():
            if any(not kind.startswith("(") for kind in many):
                print(f"    {id_}: {'; '.join(many)}")


if __name__ == "__main__":
    main()
