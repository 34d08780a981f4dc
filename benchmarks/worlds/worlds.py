"""The worlds: sources, steps over them, tools, and the rule that decides success.

A world is a list of *steps*. A step is a line of text: it reads sources, or it uses the values of
records of some sources with a tool. The lines are content of tools' results, as everything else is,
except the user's request. The order of the steps is what differs between the worlds:

- `gather`: reads all sources, then uses records of all. The lines are one early result.
- `incremental`: each step opens the source whose code is a value in the source before.
- `revisit`: uses one record at a time, mostly of sources that were used before.
- `compare`: reads one half of the sources, then compares each with one of the other half.
- `edit`: reads all files, then replaces lines in them, some of them twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.worlds.sources import FORMS, Source, number, read_values, sources

BATCH = 3
"""Most sources that one step reads, and most records that one step uses."""
AHEAD = 0.6
"""Share of the steps of `revisit` that use one of the newest sources."""
NEWEST = 3
READ_TASK = "read_task"


@dataclass(slots=True)
class World:
    """A task with its tools and its final state."""

    name: str
    request: str
    """The user's message."""
    tools: Mapping[str, Callable[..., str]]
    """Functions by their names; their docstrings are what a model is shown."""
    wrong: Callable[[], str]
    """Returns what is wrong in the final state; empty if the task is done."""
    later: Sequence[str] = ()
    """The user's further messages; each one follows an answer."""
    calls: list[str] = field(default_factory=list)
    """Names of the tools that were called, in order."""

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Call a tool, and return its result; an error in the arguments is one, too."""
        self.calls.append(name)
        try:
            return self.tools[name](**arguments)
        except (TypeError, KeyError) as error:
            return f"Error: {error!r}"


@dataclass(slots=True)
class _State:
    """What tools read and change."""

    sources: list[Source]
    lines: list[str] = field(default_factory=list)
    """The steps, each one a line, without its number."""
    early: int = 0
    """How many of them `read_task` returns at once; later ones arrive one by one."""
    rows: dict[str, int] = field(default_factory=dict)
    """The report: values by ids, or by pairs of ids."""

    def line(self, step: int) -> str:
        """Return a step with its number and the number of all steps."""
        last = len(self.lines)
        return f"{step}/{last}. {self.lines[step - 1]}." if 1 <= step <= last else "No more steps."

    def done(self, step: int) -> str:
        """Return the result of a step: the next one, where it arrives alone."""
        return f"Done. {self.line(step + 1)}" if step >= self.early else "Done."

    def named(self, name: str) -> Source:
        return next(one for one in self.sources if one.name == name)


def _reads(chosen: Sequence[Source]) -> str:
    return "read: " + "; ".join(f"{one.name} by {one.tool}" for one in chosen)


def _uses(tool: str, chosen: Sequence[tuple[str, Source]]) -> str:
    return f"{tool}: " + "; ".join(f"{one} in {s.name} by {s.tool}" for one, s in chosen)


def _records(dice: Random, source: Source, most: int = 1) -> list[tuple[str, Source]]:
    ids = dice.sample(list(source.values), min(most, len(source.values)))
    return [(one, source) for one in ids]


def _batches(dice: Random, chosen: Sequence[Source]) -> list[Sequence[Source]]:
    parts, at = [], 0
    while at < len(chosen):
        size = dice.randint(1, BATCH)
        parts.append(chosen[at : at + size])
        at += size
    return parts


def _gather(dice: Random, state: _State) -> Mapping[str, int]:
    batches = _batches(dice, state.sources)
    state.lines = [_reads(batch) for batch in batches]
    expected: dict[str, int] = {}
    for batch in batches:
        chosen = [pair for one in batch for pair in _records(dice, one, dice.randint(1, 2))]
        state.lines.append(_uses("add_rows", chosen))
        expected |= {one: source.values[one] for one, source in chosen}
    state.early = len(state.lines)
    return expected


def _incremental(dice: Random, state: _State) -> Mapping[str, int]:
    state.lines = [f"open_code: {_code(state.sources[0])}"]
    for source, following in zip(state.sources, state.sources[1:], strict=False):
        ((one, _),) = _records(dice, source)
        _set(source, one, _code(following))
        state.lines.append(_uses("open_code", [(one, source)]))
    last = state.sources[-1]
    ((one, _),) = _records(dice, last)
    state.lines.append(_uses("add_rows", [(one, last)]))
    state.early = 1
    return {one: last.values[one]}


def _revisit(dice: Random, state: _State) -> Mapping[str, int]:
    expected: dict[str, int] = {}
    order = [k for k in range(len(state.sources)) for _ in range(2)]
    for turn, newest in enumerate(order):
        first = max(0, newest - NEWEST) if dice.random() < AHEAD else 0
        at = newest if turn % 2 == 0 else dice.randint(first, newest)
        chosen = _records(dice, state.sources[at])
        state.lines.append(_uses("add_rows", chosen))
        expected |= {one: source.values[one] for one, source in chosen}
    return expected


def _compare(dice: Random, state: _State) -> Mapping[str, int]:
    half = (len(state.sources) + 1) // 2
    first, second = state.sources[:half], state.sources[half:]
    state.lines = [_reads(batch) for batch in _batches(dice, first)]
    expected: dict[str, int] = {}
    for one, other in zip(first, second, strict=False):
        pairs = [*_records(dice, one), *_records(dice, other)]
        state.lines.append(_uses("add_difference", pairs))
        (a, b) = (source.values[record] for record, source in pairs)
        expected[" ".join(record for record, _ in pairs)] = a - b
    state.early = len(state.lines)
    return expected


def _edit(dice: Random, state: _State) -> Mapping[str, int]:
    state.lines = [_reads(batch) for batch in _batches(dice, state.sources)]
    state.early = len(state.lines)
    expected: dict[str, int] = {}
    for _ in range(len(state.sources)):
        ((one, source),) = _records(dice, dice.choice(state.sources))
        if expected and dice.random() < SECOND_EDIT:
            one = dice.choice(list(expected))
            source = next(found for found in state.sources if one in found.values)
        expected[one] = number(dice)
        state.lines.append(_uses(f"replace with {expected[one]:,}", [(one, source)]))
    return expected


SECOND_EDIT = 0.2
"""Share of the edits that change a record that was changed before."""
_BUILDERS: dict[str, Callable[[Random, _State], Mapping[str, int]]] = {
    "gather": _gather,
    "incremental": _incremental,
    "revisit": _revisit,
    "compare": _compare,
    "edit": _edit,
}
WORLDS = tuple(_BUILDERS)


def _code(source: Source) -> int:
    return 100_000 + int(source.name[-3:])


def _set(source: Source, record: str, value: int) -> None:
    """Change the value of a record in the text of a source."""
    before = source.text.index(record)
    old = str(source.values[record])
    at = source.text.index(old, before)
    source.text = source.text[:at] + str(value) + source.text[at + len(old) :]
    source.values[record] = value


def make_world(
    name: str,
    seed: int,
    window: int,
    load: float,
    *,
    share: float | None = None,
    forms: tuple[str, ...] = FORMS,
) -> World:
    """Return a world.

    Args:
        name: One of `WORLDS`.
        seed: Of all names and numbers.
        window: Tokens that the model accepts.
        load: Tokens of all sources, as a share of the window: with 0.5 the task fits.
        share: Most of the window that one source fills; by default `sources.SHARE`.
        forms: Names of the forms of the sources.
    """
    dice = Random(f"{name} {seed}")  # noqa: S311 (not a secret)
    size = {} if share is None else {"share": share}
    state = _State(sources(dice, int(load * window), window, forms=forms, **size))
    expected = _BUILDERS[name](dice, state)

    def wrong() -> str:
        if name == "edit":
            now = {key: v for one in state.sources for key, v in read_values(one.text).items()}
            found: Mapping[str, int] = {key: now[key] for key in expected if key in now}
        else:
            found = state.rows
        bad = [key for key in expected if found.get(key) != expected[key]]
        extra = [key for key in found if key not in expected]
        if not bad and not extra:
            return ""
        return f"{len(bad)} of {len(expected)} results are missing or wrong, {len(extra)} too many"

    return World(name, _request(len(state.lines)), _tools(name, state), wrong)


def _request(steps: int) -> str:
    return (
        f"TASK: perform all {steps} steps of the plan in their order, beginning with step 1. "
        f"{READ_TASK} shows the plan. Use the values of the records as the sources have them, and "
        "report each one once. If you do not see a value any more, look it up; do not guess. "
        "Number each step in what you write."
    )


def _reader(state: _State, tool: str) -> Callable[[str], str]:
    def reader(name: str) -> str:
        """Read a source by its name."""
        found = next((s for s in state.sources if (s.name, s.tool) == (name, tool)), None)
        return found.text if found else f"Error: {tool} has no {name!r}."

    return reader


def _tools(name: str, state: _State) -> Mapping[str, Callable[..., str]]:
    def read_task(step: int) -> str:
        """Show a step of the plan, with all others that are fixed from the beginning."""
        if step <= state.early:
            return "\n".join(state.line(k) for k in range(1, state.early + 1))
        return state.line(step)

    def open_code(code: int) -> str:
        """Open the source that has a code."""
        at = next((k for k, one in enumerate(state.sources) if _code(one) == code), None)
        if at is None:
            return f"Error: no source has the code {code}."
        return f"{state.line(at + 2)}\n\n{state.sources[at].text}"

    def add_rows(step: int, rows: list[dict[str, object]]) -> str:
        """Add rows to the report: each has `id` and `value`."""
        state.rows |= {str(row["id"]): int(str(row["value"])) for row in rows}
        return state.done(step)

    def add_difference(step: int, first: str, second: str, difference: int) -> str:
        """Add the difference of the values of two records to the report."""
        state.rows[f"{first} {second}"] = difference
        return state.done(step)

    def replace_text(step: int, name: str, old: str, new: str) -> str:
        """Replace a text in a source; it must be there exactly once."""
        source = state.named(name)
        if source.text.count(old) != 1:
            return f"Error: {name} has this text {source.text.count(old)} times."
        source.text = source.text.replace(old, new)
        return state.done(step)

    found: dict[str, Callable[..., str]] = {READ_TASK: read_task}
    found |= {one.tool: _reader(state, one.tool) for one in state.sources}
    own: dict[str, dict[str, Callable[..., str]]] = {
        "incremental": {"open_code": open_code, "add_rows": add_rows},
        "compare": {"add_difference": add_difference},
        "edit": {"replace_text": replace_text},
    }
    return found | own.get(name, {"add_rows": add_rows})
