"""`thalweg record list`: the imported sessions, at a glance."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from shutil import get_terminal_size
from typing import Annotated

import typer

from thalweg.archive import open_existing
from thalweg.cli.printing import count, one_line, print_result
from thalweg.cli.shared_options import AsJson, single_command
from thalweg.engine.transcript import printable
from thalweg_recorder.cli.options import Owner, Place
from thalweg_recorder.place import recorder_place
from thalweg_recorder.searching import SearchFilter
from thalweg_recorder.sessions import RecordedSession, TotalCost, list_sessions, total_cost

_HEAD = "newest            agent        compactions     cost  title"


@single_command
def sessions(
    *,
    project: Annotated[
        str, typer.Option(metavar="PATH", help="Only sessions in this folder, or below it.")
    ] = "",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="Only of this agent: claude-code, codex, …")
    ] = "",
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """List imported sessions, the newest last: title, project, agent, compactions, cost.

    The cost is the agent's reported usage, each answer at today's prices of its model; `-` if it
    did not report or a price is unknown. In the total an answer that a forked session repeats
    counts once. `thalweg thread history ID` prints a session.
    """
    only = SearchFilter(project=project, agent=agent)
    with open_existing(archive or recorder_place()) as opened:
        found = only.select(list_sessions(opened, owner))
        total = total_cost(opened, found, owner)
    found.sort(key=lambda pair: pair[1].ended_at)
    plain = [{"thread": name, **asdict(one), "cost": one.cost} for name, one in found]
    nothing = "There are no such sessions; `thalweg record import` reads them in."
    print_result(
        _lines(found, total) if found else (),
        {"sessions": plain, "total": asdict(total)},
        as_json=as_json,
        empty_message=nothing,
    )


def _lines(found: Iterable[tuple[str, RecordedSession]], total: TotalCost) -> Iterator[str]:
    yield _HEAD
    for thread, session in found:
        when = session.ended_at[:16].replace("T", " ") or "-"
        cost = "-" if session.cost is None else f"${session.cost:,.2f}"
        room = max(20, get_terminal_size((120, 24)).columns - 53)
        title = one_line(session.title, room) or "(no title)"
        yield f"{when:<16}  {session.agent:<12} {session.compactions:>11}  {cost:>7}  {title}"
        yield from (f"  {printable(line)}" for line in (session.project, thread) if line)
    repeated = f"; ${total.repeated:,.2f} of answers that forks repeat count once"
    unpriced = f"; {count(total.unpriced, 'session')} without a price"
    notes = (repeated if total.repeated else "") + (unpriced if total.unpriced else "")
    yield f"Total: ${total.dollars:,.2f}{notes}"
