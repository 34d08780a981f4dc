"""The driver: it performs the steps of a world from the content of its request alone.

It has no memory. What it did is in its own words and calls, what it found is in results, and both
may be removed from a request or be in a summary. It looks up what is missing with its own tools, or
in the mode `recall` first with those of its context, so each removed value costs calls.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal

from benchmarks.worlds.sources import ID, read_records
from benchmarks.worlds.worlds import READ_TASK
from thalweg_evals.moves import Respond, Use, View
from thalweg_evals.scripted import attempts
from thalweg_evals.trace import written

Mode = Literal["own", "recall"]
"""How missing content is looked up."""
GIST = (r"TASK: [^\n]*", r"(?:Before step|Step) \d+ [^\n]*")
"""Patterns of the lines that a requested summary keeps: the task, and what was done. It keeps no
values, except those that the driver wrote down."""
SEARCHES = 2
"""Searches for a value before the driver calls its own tool."""
_GOAL = "TASK: perform all"
_EVENT = re.compile(r"\bStep (\d+) (?:of (\d+)|(failed))")
_LINE = re.compile(r"(?m)(?<![\d/])(\d+)/(\d+)\. ([^:\n]+): ([^\n]*)\.$")
"""A line of the plan. One that a preview cut has no full stop, or not the form of `_WHOLE`: it is
missing."""
_USED = re.compile(rf"({ID.pattern}) in ([\w-]+) by (\w+)")
_READ = re.compile(r"([\w-]+) by (\w+)")
_WHOLE = re.compile(
    rf"\d+|(?:{ID.pattern} in )?[\w-]+ by \w+(?:; (?:{ID.pattern} in )?[\w-]+ by \w+)*"
)
_HANDLE = re.compile(r"recall\(handle=[\"']([0-9a-z_]+(?:#\d+(?:-\d+)?)?)")


@dataclass(frozen=True, slots=True)
class _Step:
    number: int
    last: int
    action: str
    rest: str

    @property
    def label(self) -> str:
        return f"Step {self.number} of {self.last}"


def decide(view: View, mode: Mode = "own") -> Respond | Use:
    """Return the driver's move for a request.

    Args:
        view: The request.
        mode: How missing content is looked up.
    """
    texts = [written(message) for message in view.messages]
    if not any(_GOAL in text for text in texts):
        return Respond("I do not see what I have to do.")
    done, last = progress(texts)
    failed = _failed(view)
    number = done if failed and done else done + 1
    if last and number > last:
        return Respond(f"All {last} steps are done.")
    step = _step(texts, number)
    if step is None:
        use = Use(READ_TASK, {"step": number})
        return lookup(view, [(use, f"{number}/")], mode, f"Before step {number} I need its line.")
    found = _values(texts, step)
    needed = {one: Use(tool, {"name": name}) for one, name, tool in _USED.findall(step.rest)}
    if failed:
        own = [(use, one) for one, use in needed.items()]
        return lookup(view, own, "own", f"Step {number} failed: I read the source again.")
    if missing := [(use, one) for one, use in needed.items() if one not in found]:
        have = "".join(f" {one} is {_value(text)}." for one, text in found.items())
        sought = ", ".join(one for _, one in missing)
        text = f"Before step {number} of {step.last}:{have} I look up {sought}"
        return lookup(view, missing, mode, text + " where the plan names it.")
    return _act(step, {one: found[one] for one in needed})


def progress(texts: Sequence[str]) -> tuple[int, int]:
    """Return the number of the last step that was done, and that of all steps; 0 if unknown."""
    events: dict[int, bool] = {}
    last = 0
    for text in texts:
        for number, total in _events(text):
            events[number] = total > 0
            last = total or last
    newest = max(events, default=0)
    return newest if events.get(newest, True) else newest - 1, last


@lru_cache(maxsize=20_000)
def _events(text: str) -> list[tuple[int, int]]:
    """Return the steps that a text names, with the number of all steps; 0 for one that failed."""
    return [(int(event[1]), int(event[2] or 0)) for event in _EVENT.finditer(text)]


def _failed(view: View) -> bool:
    """Return whether the newest call changed nothing, because its text was not in the source."""
    newest = view.messages[-1]
    return newest.role == "tool" and newest.text.startswith("Error: ") and "times" in newest.text


def _step(texts: Sequence[str], number: int) -> _Step | None:
    for text in reversed(texts):
        if (step := _lines(text).get(number)) is not None:
            return step
    return None


@lru_cache(maxsize=20_000)
def _lines(text: str) -> dict[int, _Step]:
    """Return the lines of the plan in a text, by their numbers."""
    found = (line.groups() for line in _LINE.finditer(text))
    return {
        int(number): _Step(int(number), int(last), action, rest)
        for number, last, action, rest in found
        if _WHOLE.fullmatch(rest)
    }


def _values(texts: Sequence[str], step: _Step) -> dict[str, str]:
    """Return the newest visible passages with the values that a step needs."""
    found: dict[str, str] = {}
    for one, _, _ in _USED.findall(step.rest):
        for text in reversed(texts):
            if (passage := read_records(text).get(one)) is not None:
                found[one] = passage
                break
    return found


def _value(passage: str) -> int:
    return int(passage[-6:])


def _act(step: _Step, found: dict[str, str]) -> Use:
    number, values = step.number, {one: _value(text) for one, text in found.items()}
    if step.action == "read":
        uses = [Use(tool, {"name": name}) for name, tool in _READ.findall(step.rest)]
        names = ", ".join(str(use.arguments["name"]) for use in uses)
        return joined(uses, f"{step.label}: I read {names}.")
    results = ", ".join(f"{one} = {value}" for one, value in values.items())
    if step.action == "open_code":
        code = next(iter(values.values()), 0) or int(step.rest)
        return Use("open_code", {"code": code}, f"{step.label}: the next code is {code}.")
    if step.action == "add_rows":
        rows = [{"id": one, "value": value} for one, value in values.items()]
        return Use("add_rows", {"step": number, "rows": rows}, f"{step.label}: {results}.")
    if step.action == "add_difference":
        (first, a), (second, b) = values.items()
        arguments = {"step": number, "first": first, "second": second, "difference": a - b}
        return Use("add_difference", arguments, f"{step.label}: I compare {results}.")
    value = step.action.removeprefix("replace with ").replace(",", "")
    ((_, old),) = found.items()
    used = _USED.search(step.rest)
    name = used[2] if used else ""
    edit = {"step": number, "name": name, "old": old, "new": old[:-6] + value}
    return Use("replace_text", edit, f"{step.label}: I change {name}.")


def joined(uses: Sequence[Use], text: str) -> Use:
    """Return one move with all of these calls, each once, and a text."""
    unique = [use for k, use in enumerate(uses) if use not in uses[:k]]
    return replace(unique[0], text=text, siblings=tuple(unique[1:]))


# --- how missing content is looked up


def lookup(view: View, missing: Sequence[tuple[Use, str]], mode: Mode, text: str) -> Use:
    """Return a call for each missing content, given as the own tool's call and a word in it."""
    if mode == "own":
        return joined([use for use, _ in missing], text)
    return joined([_search(view, use, word) for use, word in missing], text)


def _search(view: View, use: Use, word: str) -> Use:
    """Return the first search of the context that was not tried, else the own tool's call."""
    tries = [*_inside(view, use, word), *islice(attempts(view, word), SEARCHES)]
    return next((one for one in tries if not view.has_used(one)), use)


def _inside(view: View, use: Use, word: str) -> Iterator[Use]:
    """Yield a search inside the newest result of this very call that has a reference."""
    if "recall" not in view.tools:
        return
    calls = {c.id for m in view.messages for c in m.calls if _is_call(use, c.name, c.arguments)}
    for message in reversed(view.messages):
        if message.answers in calls and (place := _HANDLE.search(message.text)):
            yield Use("recall", {"handle": place[1], "query": word})
            return


def _is_call(use: Use, name: str, arguments: object) -> bool:
    return (name, arguments) == (use.tool, use.arguments)
