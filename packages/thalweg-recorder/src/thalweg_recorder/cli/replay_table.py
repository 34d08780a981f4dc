"""Replays as a table on a terminal, or as lines in a pipe."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from thalweg_recorder.replay.fleet import totals
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.verdict import amount

LEGEND: dict[str, str] = {
    "calls": "model calls",
    "largest": "tokens of the largest request",
    "cost": "of all calls and summaries, in $ or uncached input tokens",
    "vs. all": "cost, divided by that of sending every call whole",
    "cached": "share of the input that the provider's cache held",
    "steps": "calls to have removed content again where it is used/lost",
    "with steps": "cost, each step a whole call that adds to later ones",
    "re-reads": "the former steps: uses of removed results, readable/lost",
    "with re-reads": "cost, each re-read a call that adds to no later one",
    "edits": "compactions/cleared results/cleared arguments/stale reads",
    "details": "answers in the final context/found by one search/neither",
    "goals lost": "quotes of goals and constraints not in the final context",
    "wrong": "requests over the window/invalid/bytes beyond any reference",
}
"""The columns after thread and policy, in order, and their meaning."""
DROPPED_FIRST = (
    "edits",
    "cached",
    "with re-reads",
    "re-reads",
    "calls",
    "with steps",
    "cost",
    "largest",
    "steps",
    "details",
)
"""Columns that a narrow terminal omits, the first first; `--json` has everything."""
SHORT_NAME = 14
"""Cells of a thread's name before a column is dropped for it."""
LONG_NAME = 36
"""Most cells of a thread's name on a terminal: an id of 36 characters is whole."""
GAP = 2
"""Cells between two columns."""


@dataclass(frozen=True, slots=True)
class _TableRow:
    name: str
    policy: str
    tariff: str
    cells: dict[str, Text]
    is_total: bool = False


def as_table(runs: Sequence[ReplayRun], width: int | None = None) -> tuple[Table, str]:
    """Lay out runs, one line each, with a line of totals per policy when there are several.

    Under several tariffs, each line names its own.

    Args:
        runs: The runs to show.
        width: Cells of the terminal: names are shortened and columns dropped until the table
            fits. Without it nothing is, and every line names its thread.

    Returns:
        The table, of fixed width, and the meaning of its columns, one line each.
    """
    rows = [
        _TableRow(_printable(_name(run, width)), run.policy, run.tariff, _cells([run]))
        for run in runs
    ]
    if len({run.trajectory for run in runs}) > 1:
        once = len({(run.trajectory, run.policy) for run in runs}) == len(runs)
        summed = [replace(run, tariff="") for run in runs] if once else runs
        for (policy, tariff), group in totals(summed).items():
            name = f"all {len(group)} threads"
            rows.append(_TableRow(name, policy, tariff, _cells(group), is_total=True))
    if not (priced := len({run.tariff for run in runs}) > 1):
        rows = [replace(row, tariff="") for row in rows]
    room, titles = _fitting(rows, width)
    table = _empty_table(titles, priced=priced)
    above = ""
    for row in rows:
        name = "" if width and row.name == above else _shortened(row.name, room)
        cells = (row.cells[title] for title in titles)
        style = "bold" if row.is_total else ""
        under = (Text(row.tariff),) if priced else ()
        table.add_row(Text(name), Text(row.policy), *under, *cells, style=style)
        above = row.name
    table.width = _width(rows, room, titles)
    return table, _legend(titles)


def _empty_table(titles: Sequence[str], *, priced: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for title in ("thread", "policy", *(("prices",) if priced else ())):
        table.add_column(title, no_wrap=True)
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _name(run: ReplayRun, width: int | None) -> str:
    """Return the title of an agent's session on a terminal; in a pipe, its unique name."""
    return run.title if width and run.project and run.title else run.trajectory


def _fitting(rows: Sequence[_TableRow], width: int | None) -> tuple[int, list[str]]:
    """Choose how long a name may be, and which columns are shown."""
    titles = list(LEGEND)
    longest = max((cell_len(row.name) for row in rows), default=0)
    if width is None:
        return longest, titles
    longest = min(longest, LONG_NAME)
    unwanted = iter(DROPPED_FIRST)
    while _width(rows, min(longest, SHORT_NAME), titles) > width:
        if (title := next(unwanted, "")) == "":
            break
        titles.remove(title)
    spare = width - _width(rows, 0, titles)
    return min(longest, max(SHORT_NAME, spare)), titles


def _width(rows: Sequence[_TableRow], room: int, titles: Sequence[str]) -> int:
    policy = max(cell_len("policy"), *(cell_len(row.policy) for row in rows))
    if any(row.tariff for row in rows):
        policy += GAP + max(cell_len("prices"), *(cell_len(row.tariff) for row in rows))
    widths = [
        max(cell_len(title), *(row.cells[title].cell_len for row in rows)) for title in titles
    ]
    return max(room, cell_len("thread")) + policy + sum(widths) + GAP * (1 + len(titles))


def _legend(titles: Sequence[str]) -> str:
    longest = max(map(len, titles))
    lines = [f"{title:<{longest}}  {LEGEND[title]}" for title in titles]
    if left_out := [title for title in LEGEND if title not in titles]:
        lines.append(f"Hidden: {', '.join(left_out)}.")
    return "\n".join(lines)


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)


def _shortened(name: str, room: int) -> str:
    """Omit the middle: logs are distinguished by how their names begin or how they end."""
    if cell_len(name) <= room:
        return name
    head, tail = list(name), list[str]()
    while head and cell_len("".join((*head, "..", *tail))) > room:
        if len(head) > len(tail) + 1 and len(tail) < room // 2 - 1:
            tail = list(name[-len(tail) - 1 :])
        else:
            head.pop()
    return "".join((*head, "..", *tail))


def _cells(runs: Sequence[ReplayRun]) -> dict[str, Text]:
    rows = [run.to_json(timing=False) for run in runs]

    def total(field: str) -> float:
        return sum(float(row[field]) for row in rows)

    def of(field: str, *keys: str) -> list[int]:
        return [sum(row[field][key] for row in rows) for key in keys]

    whole, read = total("cost_unmanaged"), total("input_tokens")
    wrong = [total(f) for f in ("over_window", "invalid_requests", "unrecoverable_bytes")]
    needles = of("recall", "inline", "search", "lost")
    verbatim, lost = of("goals", "verbatim", "lost")
    return {
        "calls": Text(f"{total('calls'):,.0f}"),
        "largest": Text(f"{max(row['peak_tokens'] for row in rows):,}"),
        "cost": Text(amount(runs)),
        "vs. all": Text(f"{total('cost') / whole:.2f}" if whole else "-"),
        "cached": Text(f"{total('cached_tokens') / read:.0%}" if read else "-"),
        "steps": Text(_each(of("steps", "needed", "lost"))),
        "with steps": Text(amount(runs, "cost_with_steps")),
        "re-reads": Text(_each(of("faults", "recoverable", "lost"))),
        "with re-reads": Text(amount(runs, "cost_with_faults")),
        "edits": Text(_each(of("edits", "fold", "evict", "elide", "supersede"))),
        "details": Text(_each(needles) if any(needles) else "-"),
        "goals lost": _good_or_bad(f"{lost}", bad=lost > 0) if verbatim + lost else Text("-"),
        "wrong": _good_or_bad(_each(wrong) if any(wrong) else "0", bad=any(wrong)),
    }


def _each(numbers: Sequence[float]) -> str:
    return "/".join(f"{n:,.0f}" for n in numbers)


def _good_or_bad(text: str, *, bad: bool) -> Text:
    return Text(text, style="red" if bad else "green")
