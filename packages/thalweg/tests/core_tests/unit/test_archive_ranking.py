"""Ranking by named features, and packing: each feature decides when all else is equal."""

import os
import subprocess
import sys
from collections.abc import Sequence

from core_tests.forking import PYTHON_PATH
from thalweg.archive import Passage, render_passages
from thalweg.archive.search.across import by_score, pack_excerpts
from thalweg.archive.search.index import Hits, PassageRow, words_of
from thalweg.archive.search.question import SearchQuery, ask
from thalweg.archive.search.ranking import FINALISTS, rank, surroundings
from thalweg.engine.tokens import exact_counter


def found(question: SearchQuery, rows: Sequence[PassageRow]) -> Hits:
    """Look words up as an index does, in a thread of a hundred passages."""
    listed = {row.id: set(words_of(row.speaker, row.text).split()) for row in rows}
    masks = {
        row: sum(1 << bit for bit, word in enumerate(question.words) if word in have)
        for row, have in listed.items()
    }
    counts = [sum(word in have for have in listed.values()) for word in question.words]
    return Hits({row: mask for row, mask in masks.items() if mask}, tuple(counts), 100)


def row(
    number: int, text: str, *, about: int = 0, speaker: str = "tool", start: int = 0
) -> PassageRow:
    """Make a passage that is a message of its own; ids have gaps between messages."""
    return PassageRow(number * 10, number, start, about, speaker, text)


def order(query: str, *rows: PassageRow) -> list[int]:
    """Rank passages; return their positions."""
    question = ask(query)
    by_id = {one.id: one for one in rows}
    return [one.row.position for one in rank(question, found(question, rows), by_id)]


def chosen(query: str, rows: Sequence[PassageRow], max_tokens: int = 2_000) -> list[Passage]:
    """Choose passages."""
    question = ask(query)
    by_id = {one.id: one for one in rows}
    ranked = by_score(rank(question, found(question, rows), by_id))
    return [passage for _, passage in pack_excerpts(ranked, by_id, max_tokens, exact_counter())]


def test_a_rare_word_outweighs_common_ones() -> None:
    """What is everywhere carries no information."""
    noise = [row(n, "the gateway restarts slowly") for n in range(2, 40)]

    assert order("gateway restarts quokka", row(1, "a quokka"), *noise)[0] == 1


def test_of_equals_what_a_person_or_the_agent_wrote_comes_before_results_of_tools() -> None:
    """More words of the question outweigh that."""
    rows = [
        row(1, "the proxy timeout", speaker="assistant"),
        row(2, "a proxy timeout", speaker="tool Read"),
        row(3, "its proxy timeout", speaker="user"),
        row(4, "the proxy timeout of quokka", speaker="tool Read"),
        row(5, "any proxy timeout", speaker="user ada"),
        row(6, "one proxy timeout", speaker="user (injected)"),
    ]

    assert [one.position for one in chosen("proxy timeout quokka", rows)] == [4, 5, 3, 1, 2, 6]


def test_words_that_stand_together_beat_the_same_words_far_apart() -> None:
    """The answer is where the words meet."""
    apart = "the proxy\n" + "filler line\n" * 8 + "the timeout"
    together = "the proxy timeout\n" + "filler line\n" * 9

    assert order("proxy timeout", row(1, apart), row(2, together), row(3, apart)) == [2, 3, 1]


def test_words_next_to_each_other_beat_those_in_one_line() -> None:
    """In any order, or within one name."""
    apart, next_to = "the proxy had a long and slow timeout", "the timeout_proxy is long and slow"

    assert order("proxy timeout", row(1, next_to), row(2, apart)) == [1, 2]


def test_the_call_a_result_answers_counts_for_it() -> None:
    """A bare number has no meaning without its question."""
    call = PassageRow(19, 2, -1, 19, "tool", "wc -l ledger.csv")

    assert order("lines of ledger.csv", call, row(1, "lines"), row(2, "4711", about=19))[0] == 2


def test_a_word_in_the_passage_beside_counts_a_little() -> None:
    """Between equals, the one near the other words is likelier."""
    near = PassageRow(21, 3, 0, 0, "user", "and the invoice?")

    assert order("ledger invoice", row(1, "ledger"), row(2, "ledger"), near)[:2] == [3, 2]


def test_a_word_in_the_passage_beside_decides_which_passages_are_read() -> None:
    """Only so many are; of equal ones the newest."""
    near = PassageRow(9, 0, 0, 0, "user", "of the audit")
    rows = [row(n, "ledger") for n in range(1, FINALISTS + 2)]

    assert 1 in order("audit ledger", near, *rows)
    assert 1 not in order("audit ledger", *rows)


def test_what_was_said_before_a_call_counts_for_its_result() -> None:
    """Also for a piece far down in it: a table of results does not state what it is of."""
    call = PassageRow(19, 2, -1, 19, "tool", "sh run.sh")
    plan = PassageRow(18, 1, 0, 0, "assistant", "now the whole audit of invoices")
    result = PassageRow(25, 2, 900, 19, "tool", "ledger 4711")

    assert order("ledger in the audit of invoices", row(9, "ledger"), plan, call, result) == [
        1,
        2,
        9,
    ]


def test_hits_are_shown_the_wider_the_better_they_are() -> None:
    """The first two have the same width."""
    filler = "\n".join(f"line {n} of what is told around it here" for n in range(30))
    rows = [row(n, f"gateway {n}\n{filler} {n}".replace("line", f"line{n}")) for n in range(1, 12)]

    shown = [len(passage.text) for passage in chosen("gateway", rows, 8_000)]

    assert min(shown[:2]) > 600
    assert max(shown[2:]) < 300


def test_the_name_of_the_speaker_is_a_word_like_any_other() -> None:
    """In a conversation of several, the name is in no text."""
    rows = [row(n, "painted a sunrise", speaker=f"user {name}") for n, name in enumerate("abc")]
    rows.append(row(7, "painted a sunrise", speaker="user Melanie"))

    assert order("What has Melanie painted?", *reversed(rows))[0] == 7


def test_the_first_hits_are_of_different_messages() -> None:
    """The others of a message follow, even if they are better than those of other messages."""
    best = [
        PassageRow(100 + n, 9, 700 * n, 0, "tool", f"gateway proxy {n}") for n in range(0, 9, 3)
    ]
    rows = [*best, *(row(n, f"gateway {n}") for n in range(1, 5))]

    shown = [passage.position for passage in chosen("gateway proxy", rows)]

    assert shown[:5] == [9, 4, 3, 2, 1]
    assert shown[5:] == [9, 9]


def test_one_text_read_twice_is_shown_once() -> None:
    """Line numbers apart, so that more different hits fit."""
    rows = [
        row(1, "    1→func main() {\n    2→    deploy()\n"),
        row(2, "   11→func main() {\n   12→    deploy()\n"),
        row(3, "deploy() is called in main"),
    ]

    assert sorted(p.position for p in chosen("deploy main", rows)) == [2, 3]


def test_an_excerpt_goes_on_into_the_passages_beside_it() -> None:
    """Where a passage was cut is no reason to stop."""
    rows = [
        PassageRow(10, 4, 0, 0, "tool", "line one\nline two\n"),
        PassageRow(11, 4, 18, 0, "tool", "the wombat\n"),
        PassageRow(12, 4, 29, 0, "tool", "line four\n"),
        PassageRow(13, 5, 0, 0, "tool", "another message"),
    ]

    (passage,) = chosen("wombat", rows)

    assert passage == Passage(4, "tool", "line one\nline two\nthe wombat\nline four", 0)


def test_what_does_not_fit_is_left_out_and_smaller_hits_take_its_place() -> None:
    """The budget holds over what is shown, counted exactly."""
    rows = [row(1, "wombat quokka " + "漢字" * 300), row(2, "wombat"), row(3, "quokka")]

    passages = chosen("wombat quokka", rows, max_tokens=60)

    assert {p.position for p in passages} == {2, 3}
    assert exact_counter()(render_passages(passages)) <= 60


def test_results_of_a_call_that_was_found_are_read_too() -> None:
    """And neighbours of a passage, and its call."""
    call = PassageRow(19, 2, -1, 19, "tool", "wc -l")
    hits = Hits({19: 1, 45: 1, 60: 1}, (3.0,), 100)

    assert surroundings([call], hits) == {20, 21, 22, 45}
    assert surroundings([row(3, "x", about=19)], hits) == {19, 29, 31}


SCORES = """
from core_tests.unit.test_archive_ranking import found, row
from thalweg.archive.search.question import ask
from thalweg.archive.search.ranking import rank
question = ask("How many lines has it, which version, which url, what size, which commit?")
looks = ["7", "line 3", "1.25", "https://x", "12 bytes", "abc1234"]
rows = [row(n, "commit " + " ".join(looks[: n % 7] + looks[n % 5 :])) for n in range(1, 90)]
ranked = rank(question, found(question, rows), {one.id: one for one in rows})
print(*(one.features.score.hex() for one in ranked))
"""


def test_every_process_gives_the_same_scores() -> None:
    """Sets have another order in each, and floats another sum in another order."""
    told = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCORES],
            env={**os.environ, "PYTHONPATH": PYTHON_PATH, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in range(4)
    }

    assert len(told) == 1
