"""Replays as a table on a terminal, or as lines in a pipe."""

from collections.abc import Sequence
from dataclasses import replace

from thalweg.cli.printing import Column, Row, styled, table, terminal_width
from thalweg_recorder.replay.figures import figures_of
from thalweg_recorder.replay.fleet import totals
from thalweg_recorder.replay.results import ReplayRun

_RANKED = "lost, rejected, vs. all, steps, details, compactions, changes, largest, calls, cached"
RANKS = {name: rank for rank, name in enumerate(_RANKED.split(", "), 1)}
"""Columns that a narrow terminal omits, those of the highest rank first; `--json` has them."""
_RED, _BOLD = 31, 1


def as_lines(runs: Sequence[ReplayRun]) -> list[str]:
    """Lay out runs, one line each, with a line of totals per policy when there are several.

    On a terminal the name of a thread precedes the lines of its policies; in a pipe every line
    begins with it. Under several tariffs, each line names its own.

    Returns:
        The table, an empty line, and the meaning of its columns, one line each.
    """
    figures = figures_of(runs)
    is_piped, above, rows = terminal_width() is None, "", list[Row]()
    parts = [("", run.policy, run.tariff, [run]) for run in runs]
    if len({run.trajectory for run in runs}) > 1:
        once = len({(run.trajectory, run.policy) for run in runs}) == len(runs)
        summed = [replace(run, tariff="") for run in runs] if once else runs
        for (policy, tariff), group in totals(summed).items():
            parts.append((f"all {len(group)} threads", policy, tariff, group))
    heads = ["thread", "policy", *(["prices"] if len({run.tariff for run in runs}) > 1 else [])]
    columns = [
        *map(Column, heads),
        *(Column(one.name, is_number=True, rank=RANKS.get(one.name, 0)) for one in figures),
    ]
    for total, policy, tariff, group in parts:
        title = not is_piped and group[0].project and group[0].title
        text = total or title or group[0].trajectory
        name = "".join(c if c.isprintable() else "?" for c in text)
        cells = [name, policy, tariff][: len(heads)]
        for figure in figures:
            code = _RED if figure.is_bad(group) else 0
            cells.append(styled(figure.text(group), code))
        heading = "" if name == above or is_piped else styled(name, _BOLD)
        rows.append(Row(cells if is_piped else cells[1:], above=heading))
        above = name
    columns = columns if is_piped else columns[1:]
    return table(rows, columns, [(figure.name, figure.about) for figure in figures])
