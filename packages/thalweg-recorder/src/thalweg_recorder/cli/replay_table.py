"""Replays as a table on a terminal, or as lines in a pipe."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from thalweg_recorder.replay.figures import Figure, figures_of
from thalweg_recorder.replay.fleet import totals
from thalweg_recorder.replay.results import ReplayRun

DROPPED_FIRST = (
    "cached",
    "calls",
    "largest",
    "changes",
    "compactions",
    "details",
    "steps",
    "vs. all",
    "rejected",
    "lost",
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
    figures = figures_of(runs)
    rows = [
        _TableRow(_printable(_name(run, width)), run.policy, run.tariff, _cells([run], figures))
        for run in runs
    ]
    if len({run.trajectory for run in runs}) > 1:
        once = len({(run.trajectory, run.policy) for run in runs}) == len(runs)
        summed = [replace(run, tariff="") for run in runs] if once else runs
        for (policy, tariff), group in totals(summed).items():
            name = f"all {len(group)} threads"
            rows.append(_TableRow(name, policy, tariff, _cells(group, figures), is_total=True))
    if not (priced := len({run.tariff for run in runs}) > 1):
        rows = [replace(row, tariff="") for row in rows]
    room, titles = _fitting(rows, [figure.name for figure in figures], width)
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
    return table, _legend(figures, titles)


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


def _fitting(
    rows: Sequence[_TableRow], names: Sequence[str], width: int | None
) -> tuple[int, list[str]]:
    """Choose how long a name may be, and which columns are shown."""
    titles = list(names)
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


def _legend(figures: Sequence[Figure], titles: Sequence[str]) -> str:
    longest = max(map(len, titles))
    lines = [f"{f.name:<{longest}}  {f.about}" for f in figures if f.name in titles]
    if left_out := [f.name for f in figures if f.name not in titles]:
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


def _cells(runs: Sequence[ReplayRun], figures: Sequence[Figure]) -> dict[str, Text]:
    return {f.name: Text(f.text(runs), style="red" if f.is_bad(runs) else "") for f in figures}
