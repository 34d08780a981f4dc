"""What a model learns from conversations, through the whole pipeline, verbatim.

    python -m benchmarks.learning http://127.0.0.1:18081/v1 [--short]

Two of ten messages each or, with `--short`, ten of one or two; those without a profile.

Any service that implements OpenAI's chat API will do. The turns are captured, learned from, gated,
dated and merged as in an agent; what the model proposed is printed next to what became of it.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from thalweg.engine.entries import Message, Text
from thalweg.engine.tokens import exact_counter
from thalweg_memory.facts.learning.questions import Item, Kind, LearnerRequest
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import open_memory
from thalweg_memory.jobs.learner import JobReport, Learner, Respondent, StructuredAnswer, Worker
from thalweg_memory.middleware.capture import captured_turns
from thalweg_memory.store.tables import MemoryStore

CONVERSATIONS = Path(__file__).parent / "conversations.json"
SHORT = Path(__file__).parent / "short_conversations.json"
Said = list[tuple[str, str]]
"""When, and what."""


@dataclass(slots=True)
class Recorded(Respondent):
    """Keeps what a model proposed."""

    proposed: list[BaseModel] = field(default_factory=list)

    def ask(self, question: LearnerRequest, kind: Kind) -> StructuredAnswer:
        """Ask, and note the answer."""
        told = Respondent.ask(self, question, kind)
        self.proposed += told.answer.items
        return told


def talk(store: MemoryStore, scope: Scope, said: Said) -> None:
    """Have a user send messages, each answered with a word."""
    messages: list[Message] = []
    for at, text in said:
        messages.append(Message("user", (Text(text),), at=at, uid=f"u{len(messages)}"))
        messages.append(Message("assistant", (Text("Sure."),), at=at, uid=f"a{len(messages)}"))
    turns = captured_turns(enumerate(messages), thread="t", now=said[-1][0])
    store.capture(scope, "t", turns, upto=len(messages))
    store.note(scope, "t", now=said[-1][0], debounce_s=0, max_wait_s=0)


def learn(
    store: MemoryStore, scope: Scope, model: ChatOpenAI, settings: MemorySettings
) -> Iterator[str]:
    """Learn from the messages; yield what came of it, line by line."""
    count = exact_counter()
    respondent = Recorded(model, count)
    reports: list[JobReport] = []
    learner = Learner(store, respondent, settings, count=count, emit=reports.append)
    begun = time.monotonic()
    Worker(store, learner.learn).run_due()
    spent = time.monotonic() - begun
    yield "| proposed (quote) | category | subject / attribute / value |"
    yield "|---|---|---|"
    for one in respondent.proposed:
        if isinstance(one, Item):
            key = f"{one.subject} / {one.attribute} / {one.value}"
            update = f" ({one.relation} {one.known})" if one.relation != "new" else ""
            yield f"| {one.content} (“{one.quote}”) | {one.category}{update} | {key} |"
    yield ""
    yield "| in memory | status | since / until | trust |"
    yield "|---|---|---|---|"
    for fact in store.facts(scope, statuses=None):
        times = f"{fact.valid_from[:10]} / {fact.valid_to[:10]}"
        again = f" (also: {'; '.join(fact.aliases)})" if fact.aliases else ""
        yield f"| {fact.content}{again} | {fact.status} | {times} | {fact.trust.name} |"
    yield ""
    for section in store.profile(scope).sections:
        yield f"- {section.name}: {section.text}"
    for report in reports:
        refused = ", ".join(f"{n} it {why}" for why, n in report.refused.items()) or "nothing"
        yield ""
        yield (
            f"{report.turns} turns, {report.spent.calls} calls, {report.spent.input} tokens in "
            f"({report.spent.cached} cached), {report.spent.output} out, {spent:.0f} s; refused: "
            f"{refused}{f'; failed: {report.failed}' if report.failed else ''}"
        )


def main() -> None:
    """Run the conversations and print what was learned."""
    reading = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reading.add_argument("url", help="of the service, with /v1")
    reading.add_argument("--model", default="local")
    reading.add_argument("--short", action="store_true", help="ten short conversations")
    reading.add_argument("--turns", type=int, default=1, help="turns to learn from at once")
    given = reading.parse_args()
    model = ChatOpenAI(
        base_url=given.url,
        api_key=SecretStr("none"),  # a service of one's own asks for none
        model=given.model,
        temperature=0,
        max_completion_tokens=900,
        timeout=1_800,
        extra_body={"repeat_penalty": 1.05},
    )
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m.db") as store:
        file = SHORT if given.short else CONVERSATIONS
        told: dict[str, Said] = json.loads(file.read_text(encoding="utf-8"))
        settings = MemorySettings(learn_turns=given.turns, overlap_turns=1, profile=not given.short)
        for name, said in told.items():
            scope = Scope(name)
            talk(store, scope, said)
            print(f"\n### {name}\n", flush=True)
            for line in learn(store, scope, model, settings):
                print(line, flush=True)


if __name__ == "__main__":
    main()
