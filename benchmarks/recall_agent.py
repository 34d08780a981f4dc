"""How much of what answers a question does an agent bring back from what it captured itself?

    THALWEG_RECORDED=folder python -m benchmarks.recall_agent [--madial FOLDER]
        [--only locomo] [--withheld] [--unsure SHARE]

Nothing is put into the store: an agent with `MemoryMiddleware` and `ContextMiddleware` holds each
conversation, a thread for each of its sessions, and its memory captures the messages. An answer of
the assistant's is scripted. Then a run begins in a new thread, and what is counted is the share of
the evidence among the first 15 items that are recalled for it, and in the block of
`max_injection_tokens` (2,000) that the agent's model receives.

`locomo`: questions about LoCoMo's conversations. `madial`: recall without a question. 160 events
were described in a thread each; a new thread begins with a talk about something else, and the
evidence are the events that its next answer may remember. FOLDER is the folder `data` of
https://github.com/hejunqing/MADial-Bench (MIT). Compared with it, BM25 on whole events, in plain
lines without their days, asked with the same newest turns.

`--withheld` prints each message of which capture omitted something. `--unsure` hides a share of the
user's turns, drawn by lot, as a learner's commit does that refused a statement of theirs for its
confidence: with the answers to them.
"""

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.recall import (
    BUDGETS,
    FIRST,
    THREAD,
    Answer,
    Case,
    Conversation,
    Score,
    bm25,
    locomo,
)
from thalweg import ContextMiddleware
from thalweg.engine.entries import Message, Text
from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryMiddleware, open_memory
from thalweg_memory.facts.values import Hide, Scope, Statement, Trust
from thalweg_memory.middleware.recall import recent
from thalweg_memory.recalling import MESSAGE_TOKENS

BUDGET = BUDGETS[-1]
ASKED_AT = "2024-06-01T10:00:00Z"
"""When MADial's talks are held: after all of its events."""
LANGUAGES = {"en": "en", "zh": "ch"}
"""Of MADial, with their folders."""
_SAID = re.compile(r"<(?P<who>[^<>]+)>\s*[:\uff1a]\s*[\"“]?(?P<text>.*?)[\"”]?\s*", re.DOTALL)
_ASSISTANTS = {"Assistant", "助手"}


@dataclass
class Companion:
    """An agent with a memory, as an application builds it."""

    name: str
    """Which the agent signs its answers with."""
    now: str = ""
    requests: list[Sequence[BaseMessage]] = field(default_factory=list)
    answer: AIMessage = field(default_factory=lambda: AIMessage("All right."))

    def __post_init__(self) -> None:
        """Open the memory, and make the agent."""
        self.store = open_memory(":memory:")
        self.memory = Memory(self.store, Scope("ada"), clock=lambda: self.now)
        self.middleware = MemoryMiddleware(self.memory, learns=False)
        middleware: list[Any] = [self.middleware, ContextMiddleware(archive=":memory:")]
        self.agent: Any = create_agent(
            ScriptedModel(script=self._reply),
            middleware=middleware,
            checkpointer=InMemorySaver(),
            name=self.name or None,
        )

    def _reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.requests.append(list(messages))
        return self.answer

    def run(self, said: Sequence[BaseMessage], answer: AIMessage, thread: str, mode: str) -> None:
        """Run the agent on messages of a thread; the model returns this answer."""
        self.answer = answer
        config = {"configurable": {"thread_id": thread, "memory": mode}}
        self.agent.invoke({"messages": [*said]}, config)

    def hold(self, turns: Sequence[Statement]) -> None:
        """Hold a conversation: a thread for each session, a run for each request in it."""
        for said_at in dict.fromkeys(turn.said_at for turn in turns):
            self.now = said_at
            session = [turn for turn in turns if turn.said_at == said_at]
            for said, answers in _runs(session):
                answer = AIMessage("\n".join(one.text for one in answers) or "All right.")
                answer.id = _ids(answers) or None
                self.run([_message(one) for one in said], answer, f"on {said_at}", "on")

    def hide(self, share: float) -> None:
        """Hide a share of the user's turns, with the answers to them."""
        scope, draw = self.memory.scope, random.Random(40)  # noqa: S311 (a lot, not a secret)
        items = self.store.items(scope, self.store.newest(scope, "", 1_000_000))
        uids = sorted({i.turn.uid for i in items if i.turn and i.turn.role == "user"})
        drawn = tuple(uid for uid in uids if draw.random() < share)
        version = self.store.version(scope)
        changes = [Hide("it was stated with too little confidence", uids=drawn)]
        self.store.commit(scope, changes, expected=version, actor="learned:lot", now=self.now)

    def asked(self, said: Sequence[Message]) -> Answer:
        """Recall for a run that begins a thread with some messages, as the agent does."""
        recalled = self.memory.recall(
            recent(said), budget_tokens=BUDGET - MESSAGE_TOKENS, explain=True
        )
        ranked = [
            at
            for one in recalled.placed
            if (turn := one.ranked.item.turn) is not None
            for at in _positions(turn.uid)
        ]
        shown = {
            at
            for item in recalled.items
            if item.turn is not None
            for at in _positions(item.turn.uid)
        }
        return ranked, {BUDGET: shown}

    def check(self, said: Sequence[Message]) -> None:
        """Raise where a run's request does not hold the very block that `asked` counts."""
        recalled = self.memory.recall(recent(said), budget_tokens=BUDGET - MESSAGE_TOKENS)
        told = [HumanMessage(m.text) if m.role == "user" else AIMessage(m.text) for m in said]
        self.run(told, AIMessage("All right."), "checked", "read_only")
        sent = "\n".join(str(message.text) for message in self.requests[-1])
        if recalled.text not in sent:
            problem = f"the agent was sent another block than\n{recalled.text}"
            raise AssertionError(problem)

    def close(self) -> None:
        """Close the memory."""
        self.middleware.close()
        self.store.close()


def _runs(session: Sequence[Statement]) -> Iterator[tuple[list[Statement], list[Statement]]]:
    """Divide a session into runs: what is new in its thread, and the answers in a row."""
    said: list[Statement] = []
    answers: list[Statement] = []
    for turn in session:
        if turn.role == "user" and answers:
            yield said, answers
            said, answers = [], []
        if turn.role == "user" or not any(one.role == "user" for one in said):
            said.append(turn)
        else:
            answers.append(turn)
    if said:
        yield said, answers


def _message(turn: Statement) -> BaseMessage:
    if turn.role == "user":
        return HumanMessage(turn.text, id=_ids([turn]), name=turn.author or None)
    return AIMessage(turn.text, id=_ids([turn]), name=turn.author or None)


def _ids(turns: Sequence[Statement]) -> str:
    """Name a message by the positions of the turns it was made of."""
    return "+".join(str(turn.position) for turn in turns)


def _positions(uid: str) -> list[int]:
    return [int(one) for one in uid.split("+") if one.isdigit()]


# -- MADial ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Talk:
    """A talk that begins a thread, with the events that it may recall."""

    said: tuple[Message, ...]
    evidence: frozenset[int]


def events(folder: Path, language: str) -> list[Statement]:
    """Read what happened: each event was described on its day."""
    path = folder / LANGUAGES[language] / f"MADial-Bench-{language}-memory.json"
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        for number, event in json.loads(line).items():
            at = f"{event['time']}T12:00:{int(number) % 60:02}Z"
            turn = Statement(THREAD, 0, "user", event["event"], at, Trust.USER, "", int(number))
            found.append(turn)
    return sorted(found, key=lambda turn: turn.said_at)


def talks(folder: Path, language: str) -> list[Talk]:
    """Read the talks, up to the answer that remembers something."""
    path = folder / LANGUAGES[language] / f"MADial-Bench-{language}-dialogue.json"
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        talk = json.loads(line)
        said = []
        for at, text in enumerate(talk["dialogue"][: talk["test-turn"][0]]):
            if parsed := _SAID.fullmatch(text.strip()):
                speaks = parsed["who"] in _ASSISTANTS
                role: Literal["assistant", "user"] = "assistant" if speaks else "user"
                said.append(Message(role, (Text(parsed["text"]),), uid=f"said-{at}"))
        found.append(Talk(tuple(said), frozenset(map(int, talk["relevant-id"]))))
    return found


# -- running ---------------------------------------------------------------------------------


def print_withheld(companion: Companion, turns: Sequence[Statement]) -> None:
    """Print each message of which memory keeps less than its text."""
    kept: dict[int, str] = {}
    for said_at in dict.fromkeys(turn.said_at for turn in turns):
        for turn in companion.store.turns(companion.memory.scope, f"on {said_at}"):
            kept |= dict.fromkeys(_positions(turn.uid), turn.text)
    for turn in turns:
        if turn.text.strip() not in (text := kept.get(turn.position, "")):
            print(f"  withheld: {turn.text.strip()}\n        kept: {text}")


def run_locomo(conversations: Sequence[Conversation], *, withheld: bool, unsure: float) -> Score:
    """Hold every conversation, and ask its questions on the day of its last turn."""
    score = Score()
    for conversation in conversations:
        names = [turn.author for turn in conversation.turns if turn.role == "assistant"]
        companion = Companion(names[0])
        companion.hold(conversation.turns)
        if withheld:
            print_withheld(companion, conversation.turns)
        if unsure:
            companion.hide(unsure)
        for case in conversation.cases:
            asked = (Message("user", (Text(case.text),), uid="asked"),)
            if case is conversation.cases[0]:
                companion.check(asked)
            score.add(conversation, case, companion.asked(asked), budgets=(BUDGET,))
        companion.close()
    return score


def run_madial(folder: Path, language: str) -> dict[str, Score]:
    """Describe the events to an agent, begin the talks; the same with BM25."""
    told, begun = events(folder, language), talks(folder, language)
    conversation = Conversation(f"madial-{language}", "madial", told, [])
    places = [turn.position for turn in told]
    numbered = [replace(turn, position=at) for at, turn in enumerate(told)]
    plain = bm25(Conversation(conversation.name, "madial", numbered, []))
    companion = Companion("")
    companion.hold(told)
    companion.now = ASKED_AT
    companion.check(begun[0].said)
    scores = {"BM25": Score(), "ours": Score()}
    for talk in begun:
        asked = " ".join(message.text for message in recent(talk.said))
        ranked, inside = plain(Case(asked, frozenset()))
        found = [places[at] for at in ranked], {BUDGET: {places[at] for at in inside[BUDGET]}}
        case = Case(asked, talk.evidence)
        scores["BM25"].add(conversation, case, found, budgets=(BUDGET,))
        scores["ours"].add(conversation, case, companion.asked(talk.said), budgets=(BUDGET,))
    companion.close()
    return scores


def print_scores(title: str, scores: dict[str, Score]) -> None:
    """Print a table, and ours by conversation and category."""
    rows = scores["ours"].rows
    print(f"\n## {title}: {len(rows)} cases\n\n| | first {FIRST} | {BUDGET:,} tokens |")
    print("| --- | --- | --- |")
    for name, score in scores.items():
        print(f"| {name} | {' | '.join(f'{share:.3f}' for share in score.mean())} |")
    for name in dict.fromkeys(name for name, *_ in rows):
        found = scores["ours"].mean(name=name)
        print(f"  {name}: {found[0]:.3f} / {found[-1]:.3f}")
    for category in sorted({category for _, category, _ in rows} - {""}):
        found = scores["ours"].mean(category=category)
        print(f"  category {category}: {found[0]:.3f} / {found[-1]:.3f}")
    sys.stdout.flush()


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--madial", type=Path, help="the folder `data` of MADial-Bench")
    parser.add_argument("--only", default="", help="`locomo` or `madial`")
    parser.add_argument("--withheld", action="store_true", help="print what capture leaves out")
    parser.add_argument("--unsure", type=float, default=0.0, help="share of turns to hide")
    options = parser.parse_args()
    recorded = Path(os.environ.get("THALWEG_RECORDED", ""))
    if options.only in "locomo" and (recorded / "nc" / "locomo_qa.jsonl").is_file():
        found = run_locomo([*locomo(recorded)], withheld=options.withheld, unsure=options.unsure)
        print_scores("LoCoMo", {"ours": found})
    if options.only in "madial" and options.madial is not None:
        for language in LANGUAGES:
            scores = run_madial(options.madial, language)
            print_scores(f"MADial, {language}, without a question", scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
