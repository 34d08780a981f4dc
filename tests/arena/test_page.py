"""The page of the arena: rows that survive an interruption, totals, verdicts, tables, charts."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from benchmarks.arena import tables
from benchmarks.arena.page import PAGE, fill, write_page
from benchmarks.arena.policies import ORACLE
from benchmarks.arena.rows import DEEPAGENTS, FIXED, OURS, RECORDED, BillParts, Row, Shelf
from benchmarks.arena.runs import measure, policies_here
from benchmarks.arena.totals import BOTH, DEAR, LONG, TEST, Cell, totals_of
from benchmarks.arena.verdicts import best_fixed, best_trigger, verdicts

MIXED = "scripted:mixed"


def a_row(policy: str = OURS, cost: float = 50.0, group: str = MIXED, **more: object) -> Row:
    """Make a row of a thread that is its own group, or one of the recorded ones."""
    row = Row(
        group=group,
        trajectory=group,
        policy=policy,
        window=200_000,
        tariff="anthropic",
        whole_tokens=250_000,
        calls=3,
        cost=cost,
        cost_with_steps=cost,
        cost_with_faults=cost,
        inline=1,
        search=9,
        by_call=(1.0, 2.0, 3.0) if group == MIXED else (),
    )
    return replace(row, **more)  # type: ignore[arg-type] # each test names fields that exist


def a_field(peer: float = 160.0, best: float = 49.0) -> list[Row]:
    """Make rows in which ours costs 50: under a third of the peer's, two percent above the best."""
    fixed = [a_row(name, best + k) for k, name in enumerate(FIXED)]
    oracle = a_row(ORACLE, 40.0, sets=25.0)
    return [a_row(), a_row(DEEPAGENTS, peer), a_row(f"{DEEPAGENTS}@0.25", 70.0), oracle, *fixed]


def missed(rows: list[Row]) -> list[str]:
    """List what is missed."""
    return [str(verdict) for verdict in verdicts(totals_of(rows)) if not verdict.is_met]


def test_a_field_that_shows_everything_misses_nothing() -> None:
    """Each rule is judged, though."""
    rules = {verdict.rule.partition(" (")[0] for verdict in verdicts(totals_of(a_field()))}

    assert missed(a_field()) == []
    assert len(rules) >= 7


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (a_field(peer=90.0), "cost against deepagents is 0.5556, at most 0.35, 0.2056 too much"),
        (a_field(best=40.0), f"our best threshold ({FIXED[0]}) is 1.25, at most 1.05"),
        ([*a_field(), a_row(f"{DEEPAGENTS}@0.5", 45.0)], "its best trigger"),
        ([*a_field(), a_row("peer:strands", inline=2, search=9)], ""),
        ([*a_field(), a_row("thalweg-record", over=1)], "requests over the window, thalweg-record"),
        ([*a_field(), a_row("thalweg-record", invalid=2)], "invalid requests, thalweg-record"),
        ([*a_field(), a_row("thalweg-record", failed="no")], "threads without figures"),
    ],
)
def test_what_is_missed_is_told_with_by_how_much(rows: list[Row], told: str) -> None:
    """An empty sentence: nothing is missed."""
    found = missed(rows)

    assert [told in sentence for sentence in found] == ([True] if told else [])


def test_recall_below_a_peer_is_missed() -> None:
    """By the share of needles."""
    [ours, *others] = a_field()
    [told, *_] = missed([replace(ours, lost=10), *others])

    assert told.endswith("recall of peer:deepagents less ours is 0.5, at most 0, 0.5000 too much")


def test_where_reading_costs_nearly_nothing_more_is_enough() -> None:
    """Only at those prices."""
    dear = a_field(peer=90.0)

    assert len(missed(dear)) == 1
    assert missed([replace(row, tariff="deepseek") for row in dear]) == []


def test_a_fixed_part_brings_the_costs_together() -> None:
    """It is written by the call that finds nothing in the cache, and read by the others."""
    rows = [a_row(cold=1, cost=10_000.0), a_row(DEEPAGENTS, 100_000.0, cold=1)]
    [policies] = totals_of(rows).values()

    assert policies[OURS].fixed_part(12_000) == pytest.approx(12_000 * (1.25 + 2 * 0.1))
    assert tables.with_fixed_part(totals_of(rows)).endswith("| mixed, 200k | 0.10 | 0.23 | 0.34 |")


def test_threads_that_cost_more_than_sending_everything_are_counted() -> None:
    """With the largest share; half a percent more is the same."""
    rows = [
        a_row(group=RECORDED, trajectory=name, cost_with_steps=cost, cost_unmanaged=100.0)
        for name, cost in {"a": 40.0, "b": 112.0, "c": 103.0, "d": 100.4}.items()
    ]

    told = tables.compared_with_everything(totals_of(rows))
    assert "| recorded, 200k | 0.89; 2 of 4 dearer, up to 1.12 |" in told
    assert "dearer" not in tables.compared_with_everything(totals_of(rows[:1]))


def test_the_best_trigger_is_the_cheapest_that_recalls_as_much() -> None:
    """One that forgets is no rival."""
    rows = [*a_field(), a_row(f"{DEEPAGENTS}@0.5", 10.0, lost=5)]
    [policies] = totals_of(rows).values()

    assert best_trigger(policies) == f"{DEEPAGENTS}@0.25"
    assert best_fixed(policies) == FIXED[0]


def test_recorded_threads_are_added_up_and_the_long_ones_apart() -> None:
    """Long ones are larger than the window."""
    rows = [
        a_row(group=RECORDED, trajectory="a", cost_with_steps=10.0),
        a_row(group=RECORDED, trajectory="b", cost_with_steps=5.0, whole_tokens=1_000),
    ]
    totals = totals_of(rows)

    assert totals[Cell(RECORDED, 200_000, "anthropic")][OURS].dear == 15.0
    assert totals[Cell(LONG, 200_000, "anthropic")][OURS].dear == 10.0


def test_only_threads_that_all_policies_have_are_added_up() -> None:
    """An interrupted run compares the same threads."""
    rows = [
        a_row(group=RECORDED, trajectory="a"),
        a_row(DEEPAGENTS, group=RECORDED, trajectory="a"),
        a_row(group=RECORDED, trajectory="b"),
    ]
    policies = totals_of(rows)[Cell(RECORDED, 200_000, "anthropic")]

    assert [row.trajectory for row in policies[OURS].rows] == ["a"]


def test_a_thread_that_one_failed_on_is_left_out_of_their_ratio() -> None:
    """And no other is."""
    mine = [a_row(group=RECORDED, trajectory=name, cost_with_steps=10.0) for name in "ab"]
    its = [replace(row, policy=DEEPAGENTS, cost_with_steps=40.0) for row in mine]
    its[1] = replace(its[1], cost_with_steps=0.0, failed="it raised")
    policies = totals_of([*mine, *its])[Cell(RECORDED, 200_000, "anthropic")]

    assert policies[OURS].ratio_to(policies[DEEPAGENTS], DEAR) == 0.25


def both_act() -> list[Row]:
    """Make rows of four threads: from three of them both policies remove content."""
    return [
        a_row(
            policy,
            cost,
            RECORDED,
            trajectory=name,
            steps=1,
            evicted=int(name != "d"),
            bill=BillParts(reads=cost, output=10.0),
        )
        for policy, cost in ((OURS, 50.0), (DEEPAGENTS, 160.0), (FIXED[0], 60.0))
        for name in "abcd"
    ]


def test_threads_where_both_act_are_apart_and_every_second_is_the_test_half() -> None:
    """Their whole bill is judged; `d` keeps everything."""
    totals = totals_of(both_act())

    def names(group: str) -> list[str]:
        return [row.trajectory for row in totals[Cell(group, 200_000, "anthropic")][OURS].rows]

    assert (names(BOTH), names(TEST)) == (["a", "b", "c"], ["b"])
    at_128k = totals_of([replace(row, window=128_000) for row in both_act()])
    [judged] = [one for one in verdicts(at_128k) if "whole bill" in one.rule]
    assert judged.figure == pytest.approx(60 / 170)


def test_the_parts_of_a_bill_are_in_one_table_and_their_sum_beside_the_peers() -> None:
    """In millions; a policy without figures has no row."""
    rows = [replace(row, bill=BillParts(writes=2e6, steps=1e6)) for row in both_act()]
    rows += [a_row("peer:strands", group=RECORDED, trajectory=name, failed="no") for name in "abcd"]
    table = tables.whole_bill(totals_of(rows), RECORDED, 200_000).splitlines()

    assert "| `thalweg` | 0.00 | 0.00 | 8.00 |" in table[2]
    assert table[2].endswith("| 4.00 | 12.00 | 1.00 | 0.31 |")
    assert len(table) == 5


def test_readme_has_the_whole_bill() -> None:
    """Its table and one sentence are generated."""
    text = tables.in_short(totals_of(both_act()), 200_000)

    assert "| **thalweg** | 0.0 |" in text
    assert "On the 3 sessions where both remove content" in text
    assert "0.35 of deepagents', and 0.31 of input alone, with 33.3 and 33.3 steps" in text


def test_an_answer_costs_what_its_log_states_and_at_least_its_length(tmp_path: Path) -> None:
    """With the system prompt that the usage shows; a log without usage has no such part."""
    answer = {"role": "assistant", "content": "yes " * 100}
    thread = tmp_path / "a.jsonl"
    thread.write_text("\n".join(map(json.dumps, [{"role": "user", "content": "hi"}, answer])))
    [row] = measure(Shelf(tmp_path / "r"), [str(thread)], [OURS], [200_000], ["anthropic"])

    assert row.bill.output == pytest.approx(5 * 103, rel=0.05)
    assert row.bill.system == pytest.approx(0.0)
    assert row.bill.plain + row.bill.reads + row.bill.writes == pytest.approx(row.cost)
    assert row.whole_bill == pytest.approx(row.cost + row.bill.output)


def test_rows_survive_an_interruption(tmp_path: Path) -> None:
    """A line that was being written is measured again; the others are not."""
    file = tmp_path / "rows.jsonl"
    shelf = Shelf(file)
    shelf.add([a_row(), a_row(DEEPAGENTS)])
    file.write_text(file.read_text()[:-20])

    again = Shelf(file)

    assert [*again.rows.values()] == [a_row()]
    assert again.missing(MIXED, OURS, 200_000, ["anthropic", "openai"]) == ["openai"]
    assert again.missing(MIXED, DEEPAGENTS, 200_000, ["anthropic"]) == ["anthropic"]


def test_rows_that_are_only_noted_are_measured_by_the_next_run(tmp_path: Path) -> None:
    """A crash may have been the machine's."""
    shelf = Shelf(tmp_path / "rows.jsonl")
    shelf.note([a_row(failed="MemoryError")])

    assert not shelf.missing(MIXED, OURS, 200_000, ["anthropic"])
    assert Shelf(tmp_path / "rows.jsonl").missing(MIXED, OURS, 200_000, ["anthropic"])


def test_rows_of_other_code_are_measured_again(tmp_path: Path) -> None:
    """But those of peers, if that is chosen: ours change more often."""
    file = tmp_path / "rows.jsonl"
    Shelf(file).add([a_row(), a_row(DEEPAGENTS)])
    file.write_text(file.read_text().replace('"code": "', '"code": "0'))

    assert not Shelf(file).rows
    assert [row.policy for row in Shelf(file, any_code=True).rows.values()] == [DEEPAGENTS]


def test_what_is_kept_is_not_measured_twice(tmp_path: Path) -> None:
    """A thread is driven under what is missing, and returned with the earlier rows."""
    thread = tmp_path / "a.jsonl"
    thread.write_text('{"role":"user","content":"hi"}\n{"role":"assistant","content":"yes"}\n')
    shelf = Shelf(tmp_path / "rows.jsonl")
    known = a_row(group=RECORDED, trajectory="a")
    shelf.add([known])

    rows = measure(shelf, [str(thread)], [OURS, ORACLE], [200_000], ["anthropic"])

    assert rows[0] == known
    assert [(row.policy, row.cost > 0, row.failed) for row in rows[1:]] == [(ORACLE, True, "")]


def test_a_policy_that_cannot_run_here_is_left_out_and_named() -> None:
    """With what would install it, or the like."""
    here, absent = policies_here([OURS, "peer:nobody", ORACLE])

    assert here == [OURS, ORACLE]
    assert ["peer:nobody" in why for why in absent] == [True]


def test_every_marker_of_the_page_has_figures(tmp_path: Path) -> None:
    """All text between is by hand, and is kept."""
    totals = totals_of(rows := a_field())
    page = tmp_path / "arena.md"
    write_page(page, totals, rows, verdicts(totals), date(2026, 11, 22))
    before, after = PAGE.read_text(encoding="utf-8"), page.read_text(encoding="utf-8")

    assert "Measured on 22 November 2026" in after
    assert "| mixed, 200k | 0.31 to 0.31 |" in after
    assert [line for line in before.splitlines() if line.startswith("#")] == [
        line for line in after.splitlines() if line.startswith("#")
    ]
    with pytest.raises(KeyError):
        fill("<!-- figures: none -->\n<!-- end -->", {})


def test_a_table_tells_a_policy_that_gave_no_figures() -> None:
    """In place of its figures."""
    rows = [*a_field(), a_row("peer:strands", failed="it raised")]

    assert "no figures for 1 threads" in tables.in_full(totals_of(rows), MIXED, 200_000)


def test_the_chart_is_drawn_of_what_there_is(tmp_path: Path) -> None:
    """A file that is a picture; nothing without figures of recorded threads."""
    pytest.importorskip("matplotlib")
    from benchmarks.arena.charts import draw_all  # noqa: PLC0415 (needs matplotlib)

    (path,) = draw_all(totals_of(both_act()), tmp_path, 200_000)

    assert path.read_bytes()[:4] == b"\x89PNG"
    assert draw_all(totals_of(a_field()), tmp_path) == []
