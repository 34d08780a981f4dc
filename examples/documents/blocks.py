"""The blocks of YAML in the documents, word for word: each key, and another value, have another effect.

    uv run python examples/documents --blocks ../shared/seeds 8000

For each key of each block a value is changed, and what it decides is observed with the block as it
is and with the change, for models of one window.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from memory import document, proposal
from summaries import answer
from world import LOG, Request, facts, gateway, is_learning, model, wait

from thalweg import ContextMiddleware, ContextPolicy
from thalweg.engine.tokens import exact_counter
from thalweg_server.settings import Settings

BLOCK = re.compile(r"^(?:summarization|memory|trigger|keep):[ ]*\n(?:[ ]{2,}.*\n)+", re.MULTILINE)
Section = dict[str, Any]
count = exact_counter()


def blocks(folder: Path) -> list[tuple[str, str]]:
    """Return the document and the text of each block, as a `config.yaml` has it."""
    found = []
    for file in sorted(folder.glob("*.txt")):
        for text in BLOCK.findall(file.read_text(encoding="utf-8")):
            whole = text
            if text.startswith(("trigger", "keep")):  # shown without the section they belong to
                whole = "summarization:\n" + "".join(f"  {line}\n" for line in text.splitlines())
            found.append((file.name[:3], whole))
    return found


def _read(sections: Section) -> Settings:
    return Settings.from_mapping({**sections, "models": [{"name": "gpt-4o-mini"}]})


def _policy(section: Section) -> ContextPolicy:
    return _read({"summarization": section}).summarization


@cache
def _chat(text: str, window: int, turn: int, most: int) -> tuple[Request, ...]:
    """Chat with a section until a compaction; return the requests."""
    LOG.clear()
    middleware = ContextMiddleware(_policy(json.loads(text)), summarizer=model("summary", answer))
    agent = create_agent(model("agent", answer, window), middleware=[middleware])
    history: list[BaseMessage] = []
    before = 0
    for n in range(most):
        state = {"messages": [*history, HumanMessage(f"Question {n} " + "why " * turn)]}
        history = agent.invoke(state, {"configurable": {"thread_id": "t"}})["messages"]
        size = len([r for r in LOG if r.model == "agent"][-1].messages)
        if size < before:
            break
        before = size
    return tuple(LOG)


def chat(section: Section, window: int, turn: int = 20, most: int = 52) -> list[Request]:
    """Return the requests of a chat to its first compaction."""
    return list(_chat(json.dumps(section), window, turn, most))


def _sizes(requests: list[Request]) -> list[int]:
    return [len(r.messages) for r in requests if r.model == "agent"]


def fires(section: Section, window: int) -> object:
    """Return the turn of the first compaction, for turns that suit each trigger."""
    section = {"keep": {"type": "messages", "value": 4}, **section}
    listed = section["trigger"]
    triggers = listed if isinstance(listed, list) else [listed]
    turns = {"messages": 20, "tokens": 300, "fraction": max(window // 20, 300)}
    found = []
    for one in triggers:
        sizes = _sizes(chat(section, window, turns[one["type"]]))
        is_compacted = len(sizes) > 1 and sizes[-1] < sizes[-2]
        found.append((one["type"], len(sizes) if is_compacted else None))
    return found


def stays(section: Section, window: int) -> object:
    """Count the messages that the first compaction keeps."""
    kind = section["keep"]["type"]
    section = {"trigger": {"type": "messages", "value": 40}, **section}
    turn = {"messages": 20, "tokens": 200, "fraction": window // 30}[kind]
    return _sizes(chat(section, window, turn))[-1] - 1


FORCED = {"trigger": {"type": "messages", "value": 20}, "keep": {"type": "messages", "value": 4}}


def summaries(section: Section, window: int) -> object:
    """Return the sizes of the requests for a summary, and whether it has the section's prompt."""
    section = {**section, **FORCED}
    requests = chat(section, window, min(window // 25, 1_200))
    asked = [r for r in requests if r.model == "summary"]
    return len(asked), any("Name the rivers." in r.whole for r in asked)


def compacts(section: Section, window: int) -> object:
    """Return whether twelve turns are compacted."""
    sizes = _sizes(chat({**section, **FORCED}, window, 20, 14))
    return len(sizes) > 1 and sizes[-1] < sizes[-2]


@cache
def _named(text: str, window: int) -> object:
    section = {"summarization": {**json.loads(text), **FORCED}}
    others = {"agent": answer, "gpt_4o_mini": answer}
    with gateway(
        yaml.safe_dump(section), window=window, more="memory: {enabled: false}", **others
    ) as world:
        for n in range(12):
            world.chat(f"Question {n} " + "why " * 120)
        asked = [r for r in LOG if not str(r.messages[-1].text).startswith("Question")]
        return sorted({r.model for r in asked})


def named(section: Section, window: int) -> object:
    """Return the models that get requests for summaries."""
    return _named(json.dumps(section), window)


FACTS = document(*(f"User likes the long river number {n} and its {n} bridges" for n in range(300)))


@cache
def _told(text: str, window: int) -> tuple[int, str, bool]:
    section = json.loads(text)
    place = section.get("storage_path", "memory.json")
    section = {"storage_path": place, **section}
    with gateway(yaml.safe_dump({"memory": section}), window=window, files={place: FACTS}) as world:
        world.chat("Which rivers with bridges do I like?")
        memory = world.requests()[-1].memory
        exists = (world.folder / "backend/.deer-flow/memory.json").exists()
        return count(memory), memory, exists


def told(section: Section, window: int) -> object:
    """Return how many tokens of memory a request has."""
    return _told(json.dumps(section), window)[0]


def kept_at(section: Section, window: int) -> object:
    """Return whether the document is at the path that the documents name."""
    place = section["storage_path"]
    with gateway(yaml.safe_dump({"memory": section}), window=window) as world:
        if section.get("enabled", True):
            world.client.add_fact("User likes tea")
        return (world.folder / ".deer-flow/memory.json").exists() or (
            (world.folder / "backend/.deer-flow/memory.json").exists() and "backend" in place
        )


def order(section: Section, window: int) -> object:
    """Return the order of facts with `retrieval: seeds`."""
    rows = json.loads(document("Likes pytest for tests", "Grows tomatoes", "Uses Docker"))
    for one, sure in zip(rows["facts"], (0.6, 0.95, 0.8), strict=True):
        one["confidence"] = sure
    section = {**section, "retrieval": "seeds", "storage_path": "m.json"}
    with gateway(
        yaml.safe_dump({"memory": section}), window=window, files={"m.json": json.dumps(rows)}
    ) as world:
        world.chat("How do I write tests with pytest?")
        return [
            line[:8] for line in world.requests()[-1].memory.splitlines() if line.startswith("- ")
        ]


@cache
def _learned(text: str, window: int, seconds: float) -> tuple[list[str], list[float]]:
    section = {"profile": False, **json.loads(text)}
    quotes = {"I like the Rhine.": 0.95, "I like the Elbe.": 0.78, "I like the Oder.": 0.6}
    learner = facts(*(proposal(quote, confidence=sure) for quote, sure in quotes.items()))
    learners = {"agent": learner, "gpt_4o_mini": learner}
    with gateway(yaml.safe_dump({"memory": section}), window=window, **learners) as world:
        world.chat(" ".join(quotes))
        if wait(lambda: any(map(is_learning, LOG)), seconds):
            wait(lambda: len(world.client.get_memory()["facts"]) >= 2, 1.5)
        stored = [float(one["confidence"]) for one in world.client.get_memory()["facts"]]
        return sorted({r.model for r in LOG if is_learning(r)}), sorted(stored)


def learned(section: Section, window: int) -> object:
    """Return who learns, and the confidences that are stored, without a pause."""
    return _learned(json.dumps({**section, "debounce_seconds": 0}), window, 12)


def waits(section: Section, window: int) -> object:
    """Return whether nothing is learned within eight seconds."""
    return (
        _learned(json.dumps({"debounce_seconds": section["debounce_seconds"]}), window, 8)[0] == []
    )


def _smaller(value: Any) -> Any:
    """Take seven tenths of the sizes of a trigger or of `keep`."""
    if isinstance(value, list):
        return [_smaller(one) for one in value]
    less = round(value["value"] * 0.7, 2)
    return {**value, "value": less if value["type"] == "fraction" else int(less)}


Observe = Callable[[Section, int], object]
KEYS: Mapping[str, tuple[Callable[[Any], Any], Observe]] = {
    "summarization.enabled": (lambda value: not value, compacts),
    "summarization.model_name": (lambda value: None if value else "gpt-4o-mini", named),
    "summarization.trigger": (_smaller, fires),
    "summarization.keep": (_smaller, stays),
    "summarization.trim_tokens_to_summarize": (lambda value: value // 8, summaries),
    "summarization.summary_prompt": (lambda value: "Name the rivers.", summaries),
    "memory.enabled": (lambda value: not value, told),
    "memory.injection_enabled": (lambda value: not value, told),
    "memory.storage_path": (lambda value: "elsewhere.json", kept_at),
    "memory.debounce_seconds": (lambda value: 0, waits),
    "memory.model_name": (lambda value: "gpt-4o-mini", learned),
    "memory.max_facts": (lambda value: 1, learned),
    "memory.fact_confidence_threshold": (lambda value: 0.5, learned),
    "memory.max_injection_tokens": (lambda value: value // 4, told),
    "memory.similarity_weight": (lambda value: 0.0, order),
    "memory.confidence_weight": (lambda value: 1.0, order),
}
"""For each key another value, and what it decides."""


def effects(folder: Path, window: int) -> int:
    """Print each key of each block with its effect; return how many have none."""
    without = keys = 0
    began = time.perf_counter()
    found = blocks(folder)
    for number, (name, text) in enumerate(found, start=1):
        ((top, section),) = yaml.safe_load(text).items()
        _read({top: section})  # raises for a key or a value that there is not
        for key, value in section.items():
            change, observe = KEYS[f"{top}.{key}"]
            other = change(value)
            here, there = observe(section, window), observe({**section, key: other}, window)
            keys += 1
            without += here == there
            verdict = "NO EFFECT" if here == there else "so"
            print(
                f"{number}. {name} {top}.{key}: {value!r}: {here}; {other!r}: {there}; {verdict}",
                flush=True,
            )
    seconds = time.perf_counter() - began
    print(
        f"{len(found)} blocks, {keys} keys, window {window:,}: {keys - without} have their effect ({seconds:.0f} s)"
    )
    return without
