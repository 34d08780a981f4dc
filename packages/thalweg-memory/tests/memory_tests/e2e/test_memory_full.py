"""A memory of the default size keeps who its user is, regardless of what else it learns."""

import json
import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from memory_tests.learning import Clock, learner, say
from thalweg_memory import Memory, Scope, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.learner import Worker

ADA = Scope("ada")
_TURN = re.compile(r"^§+ (\d+), [^\n]*\(learn from this\)\n(.*)", re.MULTILINE)
LASTING = (
    "I live in Gdynia.",
    "My daughter is called Odile.",
    "I have coeliac disease.",
    "I work as a tram driver.",
)


def learned(messages: Sequence[BaseMessage]) -> str:
    """Propose each turn as a fact, as the prompt asks: what the user is matters most."""
    turns = _TURN.findall(str(messages[-1].content))
    facts = [
        {
            "turn": int(number),
            "quote": text,
            "content": f"The user said: {text}",
            "category": "context",
            "confidence": 0.95,
            "importance": 3 if text in LASTING else 1 + int(number) % 2,
        }
        for number, text in turns
    ]
    return json.dumps({"facts": facts})


def test_trifles_push_out_neither_home_family_health_nor_work() -> None:
    """They were stated once, a year before; so was what the user entered by hand."""
    settings = MemorySettings(profile=False, debounce_seconds=0)
    clock = Clock("2025-03-01T10:00:00+00:00")
    with open_memory(":memory:") as store:
        memory = Memory(store, ADA, settings=settings, clock=clock)
        worker = Worker(store, learner(store, clock, script=learned).learn, clock=clock)
        by_hand = memory.remember("User's blood group is AB").content
        say(store, ADA, *LASTING, clock=clock, settings=settings)
        worker.run_due()
        clock.forward(365 * 86_400)
        for week in range(2):
            trifles = [f"I bought {week}{n} screws for {n}{week} shelves." for n in range(10, 65)]
            say(store, ADA, *trifles, clock=clock, thread=f"w{week}", settings=settings)
            worker.run_due()
            clock.forward(7 * 86_400)

        held = [fact.content for fact in memory.facts()]
        assert len(held) <= settings.max_facts
        assert sum("screws" in content for content in held) > 80
        assert by_hand in held
        for said in LASTING:
            assert any(said.rstrip(".") in content for content in held), said
