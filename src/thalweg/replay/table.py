"""Replays as a table on a terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from thalweg.replay.fleet import totals
from thalweg.replay.results import Run

LEGEND = (
    "cost: input of all calls and summaries, in units of one uncached input token; ÷whole: "
    "against sending every call whole; faults: later uses of what was removed (+lost ones), "
    "each paid as one more turn that fetches it; edits: folds/evictions/elisions/superseded; "
    "needles: in the context/by one recall/lost; wrong: requests over the window/invalid/"
    "bytes out of reach."
)
"""What the columns mean, in one paragraph."""


def as_table(runs: Sequence[Run]) -> Table:
    """Lay out runs, one line each, with a line of totals per policy when there are several."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("thread", overflow="ellipsis", no_wrap=True, max_width=34)
    table.add_column("policy", no_wrap=True)
    for title in (
        "calls",
        "peak",
        "cost",
        "÷whole",
        "cached",
        "faults",
        "with faults",
        "edits",
        "needles",
        "goals lost",
        "wrong",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    last = ""
    for run in runs:
        table.add_row(run.trajectory if run.trajectory != last else "", *_cells([run]))
        last = run.trajectory
    if len({run.trajectory for run in runs}) > 1:
        table.add_section()
        for k, group in enumerate(totals(runs).values()):
            title = f"all {len(group)} threads" if k == 0 else ""
            table.add_row(title, *_cells(group), style="bold")
    return table


def _cells(runs: Sequence[Run]) -> list[str | Text]:
    rows = [run.to_json(timing=False) for run in runs]

    def total(field: str) -> float:
        return float(sum(row[field] for row in rows))

    def of(field: str, key: str) -> int:
        return sum(row[field][key] for row in rows)

    whole, read = total("cost_unmanaged"), total("input_tokens")
    kinds = (of("edits", kind) for kind in ("fold", "evict", "elide", "supersede"))
    wrong = [total(f) for f in ("over_window", "invalid_requests", "unrecoverable_bytes")]
    lost_faults = of("faults", "lost")
    goals = of("goals", "lost")
    return [
        runs[0].policy,
        f"{total('calls'):,.0f}",
        f"{max(row['peak_tokens'] for row in rows):,}",
        f"{total('cost'):,.0f}",
        f"{total('cost') / whole:.2f}" if whole else "-",
        f"{total('cached_tokens') / read:.0%}" if read else "-",
        f"{of('faults', 'recoverable') + lost_faults}" + (f" +{lost_faults}" * (lost_faults > 0)),
        f"{total('cost_with_faults'):,.0f}",
        "/".join(map(str, kinds)),
        "/".join(str(of("recall", key)) for key in ("inline", "search", "lost")),
        Text(f"{goals}", style="red" if goals else "green"),
        Text(_wrong(wrong), style="red" if any(wrong) else "green"),
    ]


def _wrong(wrong: Sequence[float]) -> str:
    return "/".join(f"{n:,.0f}" for n in wrong) if any(wrong) else "0"
