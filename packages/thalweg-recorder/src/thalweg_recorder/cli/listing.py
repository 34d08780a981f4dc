"""The imported sessions, at a glance: `thalweg record search` without words."""

from collections.abc import Iterable
from dataclasses import asdict

from thalweg.archive import Archive
from thalweg.cli.printing import Column, Row, count, fold, one_line, print_result, table
from thalweg.engine.transcript import printable
from thalweg_recorder.searching import SearchFilter
from thalweg_recorder.sessions import RecordedSession, TotalCost, list_sessions, total_cost

_TITLE_CHARS = 200
_COLUMNS = [
    *map(Column, ("newest", "agent")),
    Column("compactions", is_number=True, rank=1),
    Column("cost", is_number=True),
    Column("title"),
]


def print_sessions(archive: Archive, only: SearchFilter, owner: str, *, as_json: bool) -> None:
    """List imported sessions, the newest last: title, project, agent, compactions, cost.

    The cost is the agent's reported usage, each answer at today's prices of its model; `-` if it
    did not report or a price is unknown. In the total an answer that a forked session repeats
    counts once.
    """
    found = only.select(list_sessions(archive, owner))
    total = total_cost(archive, found, owner)
    found.sort(key=lambda pair: pair[1].ended_at)
    plain = [{"thread": name, **asdict(one), "cost": one.cost} for name, one in found]
    nothing = "There are no such sessions; `thalweg record import` reads them in."
    print_result(
        session_lines(found, total) if found else (),
        {"sessions": plain, "total": asdict(total)},
        as_json=as_json,
        empty_message=nothing,
    )


def session_lines(found: Iterable[tuple[str, RecordedSession]], total: TotalCost) -> list[str]:
    """Return a table of sessions by thread, with their sum."""
    rows = []
    for thread, session in found:
        when = session.ended_at[:16].replace("T", " ") or "-"
        cost = "-" if session.cost is None else f"${session.cost:,.2f}"
        title = one_line(session.title, _TITLE_CHARS) or "(no title)"
        below = [f"  {printable(line)}" for line in (session.project, thread) if line]
        cells = (when, session.agent, f"{session.compactions}", cost, title)
        rows.append(Row(cells, below=below))
    repeated = f"; ${total.repeated:,.2f} of answers that forks repeat count once"
    unpriced = f"; {count(total.unpriced, 'session')} without a price"
    notes = (repeated if total.repeated else "") + (unpriced if total.unpriced else "")
    return [*table(rows, _COLUMNS), *fold(f"Total: ${total.dollars:,.2f}{notes}")]
