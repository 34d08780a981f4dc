"""What came of runs whose gateways were killed: streams, histories, effects, memory."""

import asyncio
import json
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server_tests.e2e.gateways_world import Told, World
from thalweg_server.api.threads import Message
from thalweg_server.client import AsyncThalwegClient

_MEMORY_S = 300.0
"""How long memory may take: a killed process holds its lease for 20 s, and failures back off."""
_TOKEN = re.compile(r"\b([0-9a-f]{8})\b")
STEPS = 2
"""Calls of the model in a run."""


@dataclass
class Findings:
    """What came of it."""

    problems: list[str] = field(default_factory=list)
    runs: int = 0
    events: int = 0
    attempts: Counter[int] = field(default_factory=Counter)
    withdrawn: int = 0
    """Messages that were streamed in part, and withdrawn."""
    asked_again: int = 0
    """Calls of the model whose answer was never kept, and which were made again."""
    repeated_effects: int = 0
    """Calls of the tool whose process was killed before their result was kept."""
    hops: int = 0
    facts: int = 0
    memory_s: float = 0.0
    """Until memory had learned everything, after the last run ended."""


async def findings(made: World) -> Findings:
    """Check every run, through any gateway that answers."""
    found = Findings(runs=len(made.runs), hops=sum(told.hops for told in made.runs.values()))
    found.problems += made.errors
    found.problems += [f"{t.run}: no end was seen" for t in made.runs.values() if not t.is_ended]
    calls, effects = _lines(made.folder / "calls"), _lines(made.folder / "effects")
    began = time.monotonic()
    for owner in made.owners:
        mine = [told for told in made.runs.values() if told.owner == owner]
        urls = [gateway.url for gateway in made.gateways]
        async with AsyncThalwegClient(urls, key=f"key-of-{owner}") as client:
            await _facts(client, owner, mine, found)
            found.memory_s = time.monotonic() - began
            for thread in dict.fromkeys(told.thread for told in mine):
                of_thread = [told for told in mine if told.thread == thread]
                await _thread(client, thread, of_thread, calls, effects, found)
    for gateway in made.gateways:
        found.problems += [
            f"{gateway.name} logged: {line}"
            for line in gateway.log().splitlines()
            if "Traceback" in line or " ERROR " in line
        ]
    return found


def _lines(path: Path) -> dict[tuple[Any, ...], list[str]]:
    """Read tokens by what they belong to."""
    found: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    if path.exists():
        for line in path.read_text().splitlines():
            *whose, token = json.loads(line)
            found[tuple(whose)].append(token)
    return found


async def _facts(client: AsyncThalwegClient, owner: str, runs: list[Told], found: Findings) -> None:
    """Wait until memory has the facts of all runs, and check that it has each once."""
    wanted = Counter(told.fact for told in runs)
    end = time.monotonic() + _MEMORY_S
    while True:
        known = Counter(fact.content for fact in (await client.list_facts()).items)
        if known == wanted or time.monotonic() > end:
            break
        await asyncio.sleep(0.3)
    found.facts += known.total()
    if known != wanted:
        lost, more = wanted - known, known - wanted
        found.problems.append(f"{owner}: memory lost {dict(lost)}, has too much {dict(more)}")


async def _thread(
    client: AsyncThalwegClient,
    thread: str,
    runs: list[Told],
    calls: dict[tuple[Any, ...], list[str]],
    effects: dict[tuple[Any, ...], list[str]],
    found: Findings,
) -> None:
    history = [item.message for item in (await client.get_history(thread, limit=200)).items]
    roles = [message.role for message in history]
    if roles != ["user", "assistant", "tool", "assistant"] * len(runs):
        found.problems.append(f"{thread}: its history is {roles}")
        return
    known = {run.id: run for run in (await client.list_runs(thread)).items}
    if list(reversed(known)) != [told.run for told in runs]:
        found.problems.append(f"{thread}: its runs are {list(known)}")
    for number, told in enumerate(runs):
        messages = history[4 * number : 4 * number + 4]
        if messages[0].text != told.text:
            found.problems.append(f"{told.run}: the user said {messages[0].text!r}")
        if (status := known[told.run].status) != "completed":
            found.problems.append(f"{told.run}: it is {status}")
        fresh = client.join_stream(thread, told.run)
        read = [(one.seq, one.event.model_dump(mode="json")) async for one in fresh]
        if read != told.events:
            found.problems.append(f"{told.run}: the journal has other events than were streamed")
        _stream(told, messages, found)
        attempts = known[told.run].attempts
        found.attempts[attempts] += 1
        _effects(told, messages, attempts, calls, effects, found)


def _stream(told: Told, messages: list[Message], found: Findings) -> None:
    """Look at the events of a run."""
    events = [event for _, event in told.events]
    found.events += len(events)
    numbers = [seq for seq, _ in told.events]
    if numbers != list(range(1, len(numbers) + 1)):
        found.problems.append(f"{told.run}: numbers {numbers}")
    ends = [e["type"] for e in events if e["type"] in _ENDS]
    if ends != ["run.completed"] or events[-1]["type"] != "run.completed":
        found.problems.append(f"{told.run}: ends {ends}")
        return
    texts, withdrawn = _texts(events)
    found.withdrawn += withdrawn
    said = [message.text for message in messages if message.role == "assistant"]
    if list(texts.values()) != said:
        found.problems.append(f"{told.run}: told {list(texts.values())} and kept {said}")
    if events[-1]["text"] != said[-1]:
        found.problems.append(f"{told.run}: the final text is not the last message")
    tools = [e for e in events if e["type"] == "tool.completed"]
    if [e["text"] for e in tools] != [m.text for m in messages if m.role == "tool"]:
        found.problems.append(f"{told.run}: tools told {tools}")


_ENDS = {"run.completed", "run.failed", "run.cancelled", "run.interrupted"}


def _texts(events: list[dict[str, Any]]) -> tuple[dict[str, str], int]:
    """Put the deltas of each message together; what was withdrawn is forgotten."""
    texts: dict[str, str] = {}
    withdrawn = 0
    for event in events:
        match event["type"]:
            case "message.started":
                texts[event["message"]] = ""
            case "message.delta":
                texts[event["message"]] += event["text"]
            case "message.withdrawn":
                del texts[event["message"]]
                withdrawn += 1
            case "message.completed":
                assert texts[event["message"]] == event["text"], event
    return texts, withdrawn


def _effects(
    told: Told,
    messages: list[Message],
    attempts: int,
    calls: dict[tuple[Any, ...], list[str]],
    effects: dict[tuple[Any, ...], list[str]],
    found: Findings,
) -> None:
    """See that nothing was done again that had been kept."""
    answers = [message for message in messages if message.role == "assistant"]
    again = 0
    for step in range(STEPS):
        asked = calls[told.run, step]
        if set(_TOKEN.findall(answers[step].text)) != {asked[-1]}:
            found.problems.append(f"{told.run}: step {step} was asked again though it was kept")
        again += len(asked) - 1
    done = effects[told.run,]
    if _TOKEN.findall(messages[2].text) != done[-1:]:
        found.problems.append(f"{told.run}: its tool was called again though its result was kept")
    if again + len(done) - 1 > 2 * (attempts - 1) or (again and attempts == 1):
        found.problems.append(f"{told.run}: {again} steps were begun again in {attempts} attempts")
    found.asked_again += again
    found.repeated_effects += len(done) - 1
