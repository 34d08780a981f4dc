"""The table fits its terminal, and hides nothing in a pipe."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.terminals import terminal
from recorder_tests.unit.lab.replay.runs import a_run
from thalweg.cli.printing import cell_width
from thalweg_recorder.cli.replay_table import as_lines
from thalweg_recorder.replay.figures import figures_of
from thalweg_recorder.replay.results import NeedleRecall, ReplayRun

LEAST = 55
"""Cells of a terminal below which a table is in two parts."""


def lines_of(runs: list[ReplayRun], width: int | None = None) -> list[str]:
    """Return the lines of the table of some runs."""
    return split(runs, width)[0]


def split(runs: list[ReplayRun], width: int | None = None) -> tuple[list[str], list[str]]:
    """Return the lines of the table of some runs, and those of its legend."""
    with terminal(width):
        lines = as_lines(runs)
    return lines[: lines.index("")], lines[lines.index("") + 1 :]


RUNS = [
    a_run(policy, trajectory)
    for trajectory in ("a-thread", "0b3c9a4e-aaaa-bbbb-cccc-1234567890ab")
    for policy in ("thalweg", "deepagents")
]

NAMES = [figure.name for figure in figures_of(RUNS)]


def cells_of(run: ReplayRun) -> dict[str, str]:
    """Return the columns of a run by their names."""
    return {figure.name: figure.text([run]) for figure in figures_of([run])}


def test_in_a_pipe_every_line_names_its_thread_and_has_every_column() -> None:
    """So that it can be searched and cut."""
    head, *rows = lines_of(RUNS)

    assert all(title in head for title in NAMES)
    assert [row.split()[0] for row in rows[:4]] == [run.trajectory for run in RUNS]
    assert len({len(row.split()) for row in rows[:4]}) == 1


def test_several_threads_are_added_up_by_policy() -> None:
    """One alone is not."""
    rows = lines_of(RUNS)

    assert [row.split()[:4] for row in rows[-2:]] == [
        ["all", "2", "threads", "thalweg"],
        ["all", "2", "threads", "deepagents"],
    ]
    assert rows[-1].split()[4] == "30,000"
    assert len(lines_of(RUNS[:2])) == 3


def test_on_a_terminal_a_name_is_a_line_before_its_policies() -> None:
    rows = lines_of(RUNS, width=200)

    assert [row.split()[0] for row in rows[1:4]] == ["a-thread", "thalweg", "deepagents"]
    assert rows[4] == "0b3c9a4e-aaaa-bbbb-cccc-1234567890ab"


@given(
    width=st.integers(LEAST, 250),
    names=st.lists(st.text(min_size=1, max_size=50), min_size=1, max_size=4),
)
def test_no_line_is_wider_than_the_terminal(width: int, names: list[str]) -> None:
    """For any names; and the figures of every run are one line."""
    runs = [a_run(policy, name) for name in names for policy in ("thalweg", "deepagents")]
    lines = lines_of(runs, width)

    names_alone = {line for line in lines if line.split()[:1] not in (["thalweg"], ["deepagents"])}
    assert all(cell_width(line) <= width for line in lines if line not in names_alone)
    assert cell_width(lines[0]) <= width
    assert sum(line.startswith(("thalweg ", "deepagents ")) for line in lines) >= len(runs)


def test_a_narrow_terminal_drops_columns_and_says_which() -> None:
    """The cost and the lost goals are never dropped."""
    table, legend = split(RUNS, 40)

    assert table[0].split("  ")[0] == "policy"
    assert "cost of input" in table[0]
    assert "goals out" in table[0]
    hidden = " ".join(legend).partition("Hidden: ")[2]
    assert all(title in hidden for title in NAMES if title not in table[0])
    titles = [line.split("  ")[0] for line in legend if not line.startswith(" ")]
    assert titles[:2] == ["cost of input", "goals out"]


def test_columns_in_a_second_table_are_not_hidden_and_have_a_legend() -> None:
    """Its rows name their threads, too."""
    policies = [replace(run, policy=f"{run.policy}-of-a-long-name") for run in RUNS]
    with terminal(36):
        lines = as_lines(policies)
    first, second, legend = "\n".join(lines).split("\n\n")
    hidden = legend.partition("Hidden: ")[2]

    assert "goals out" in second.splitlines()[0]
    assert "goals out" not in first + hidden
    assert "\ngoals out  " in legend
    assert second.splitlines()[1] == first.splitlines()[1] == "a-thread"


def test_at_eighty_columns_cost_and_losses_are_shown() -> None:
    """The terminal that everybody has."""
    head = lines_of(RUNS, width=80)[0]

    shown = ("cost of input", "vs. all", "lost", "goals out", "rejected")
    assert all(title in head for title in shown)


def test_the_legend_fits_eighty_columns() -> None:
    """A line each."""
    _, legend = split(RUNS)

    assert all(len(line) <= 80 for line in legend)
    assert len(legend) == len(NAMES)


@pytest.mark.parametrize("name", ["[bold]x[/]", "[red]", "a\nb", "\x1b[31mred", "\ud800", "漢字"])
def test_any_name_is_shown_as_text_on_one_line(name: str) -> None:
    """Neither markup nor a control character does anything."""
    lines = lines_of([a_run("thalweg", name)])

    assert len(lines) == 2
    assert all(c.isprintable() for c in lines[1])
    shown = "".join(c if c.isprintable() else "?" for c in name)
    assert lines[1].startswith(shown)


def test_what_was_not_asked_is_no_figure() -> None:
    """No needles and no goals are not the same as none lost."""
    quiet = cells_of(replace(a_run(), recall=NeedleRecall(), goals_verbatim=0, goals_lost=0))
    full = cells_of(a_run())

    assert (quiet["details"], quiet["goals out"]) == ("-", "-")
    assert (full["details"], full["goals out"]) == ("1/2/0", "0 of 3")


def test_changes_and_compactions_are_two_figures() -> None:
    """A preview of a large result is neither; a cleared result is a change only."""
    run = a_run()
    cleared = replace(
        run.calls[2], edits=(replace(run.calls[1].edits[0], reason="a trigger of the policy"),)
    )
    more = replace(run, calls=(*run.calls[:2], cleared, *run.calls[3:]))

    assert (cells_of(run)["compactions"], cells_of(run)["changes"]) == ("1", "1")
    assert (cells_of(more)["compactions"], cells_of(more)["changes"]) == ("1", "2")


def test_a_cost_has_the_name_of_what_its_bill_has() -> None:
    """Where some logs state usage, both are columns, and the sum of the whole is none."""
    whole = replace(a_run(), is_whole=True)
    mixed = figures_of([whole, a_run()])

    assert [f.name for f in figures_of([whole])][:2] == ["cost", "vs. all"]
    assert [f.name for f in mixed][:3] == ["cost of input", "cost", "vs. all"]
    assert [mixed[1].text(runs) for runs in ([whole], [a_run()], [whole, a_run()])] == [
        "15,000",
        "-",
        "-",
    ]


def test_text_out_of_reach_is_a_size() -> None:
    """With a unit, and 0 without one."""
    assert cells_of(replace(a_run(), unrecoverable_bytes=7))["lost"] == "7 bytes"
    assert cells_of(a_run())["lost"] == "0"


def test_a_thread_without_calls_has_no_shares() -> None:
    """Nothing is divided by nothing."""
    empty = replace(a_run(), calls=(), outlines=(), cost_with_steps=0.0, cost_unmanaged=0.0)
    cells = cells_of(empty)

    assert [cells[name] for name in ("calls", "largest", "cost of input", "vs. all", "cached")] == [
        "0",
        "0",
        "0",
        "-",
        "-",
    ]
