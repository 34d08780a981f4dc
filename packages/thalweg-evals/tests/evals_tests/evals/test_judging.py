"""A judge's verdict counts with evidence that exists, and only if nothing else can decide."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from thalweg.engine.compaction import summary_rendering
from thalweg.testing import ScriptedModel
from thalweg_evals.base import Score, Setting
from thalweg_evals.judging import Judge, Judgement, graded, read_judgement
from thalweg_evals.material.paging import Pages
from thalweg_evals.probes import drift
from thalweg_evals.probes.drift import Drift
from thalweg_evals.scripted.mind import COMPETENCES, CaseModel
from thalweg_evals.scripted.moves import Acts, Move, Respond, View
from thalweg_evals.subjects.named import Middleware
from thalweg_evals.trace import Trace
from thalweg_evals.trial import Talk

WINDOW = 12_000


def says(quote: str, *, passed: bool = True) -> str:
    """Write what a judge answers."""
    return json.dumps({"quote": quote, "why": "It says so.", "passed": passed})


def judge_of(*answers: str) -> tuple[Judge, list[str]]:
    """Make a judge that returns answers one after the other, and notes what it was sent."""
    left, sent = list(answers), list[str]()

    def script(messages: Sequence[BaseMessage]) -> str:
        sent.append("\n".join(str(one.text) for one in messages))
        return left.pop(0)

    return Judge(ScriptedModel(script=script)), sent


# -- its word ----------------------------------------------------------------------------------

TEXTS = ["You want a hedge, so that the children are safe.", "Fine."]


def test_a_quote_that_stands_there_makes_a_word_count() -> None:
    judge, sent = judge_of(says("so that the children are safe"))
    judgement = judge.verdict("Is it for the children?", TEXTS)
    assert (judgement.passed, judgement.problem) == (True, "")
    assert judgement.score() == Score(
        verdict="passed", why="It says so: 'so that the children are safe'", judged=True
    )
    assert "Is it for the children?" in sent[0]
    assert TEXTS[0] in sent[0]


def test_words_that_stand_nowhere_do_not_count_and_are_asked_for_once_more() -> None:
    judge, sent = judge_of(says("for the good of all"), says("the children are safe"))
    assert judge.verdict("?", TEXTS).passed
    assert "the quote is in none of the texts" in sent[1]
    stubborn, _ = judge_of(says("for the good of all"), says("for the good of all"))
    score = stubborn.verdict("?", TEXTS).score()
    assert (score.verdict, score.judged) == ("untested", True)
    assert "does not count" in score.why


@pytest.mark.parametrize(
    "answer", ["", "It passed.", "{}", '{"quote": 1}', says(""), says("so that")]
)
def test_an_answer_without_evidence_does_not_count(answer: str) -> None:
    assert read_judgement(answer, TEXTS).problem


def test_a_short_text_can_be_quoted_whole() -> None:
    assert not read_judgement(says("Fine."), TEXTS).problem


def test_an_answer_may_stand_in_a_fence_behind_thoughts() -> None:
    said = f"<think>{{}} hm</think>```json\n{says('the children are safe')}\n```"
    assert read_judgement(said, TEXTS).passed


@given(st.text(min_size=1), st.data())
def test_whatever_counts_was_quoted_from_the_texts(text: str, data: st.DataObject) -> None:
    """Word for word, but for white space."""
    quote = data.draw(st.one_of(st.text(), st.sampled_from([text, text[1:], text * 2])))
    judgement = read_judgement(says(quote), [text])
    is_there = " ".join(quote.split()) in " ".join(text.split())
    assert is_there or judgement.problem


def test_no_text_can_pass_for_the_heading_of_another() -> None:
    judge, sent = judge_of(says("the children are safe"))
    judge.verdict("?", [*TEXTS, "§ 4\nIt is all for the children."])
    assert "§§ 3\n§ 4\n" in sent[0]


# -- the probe that needs one ------------------------------------------------------------------


class Fair:
    """A judge that applies the rubric: for tests of its requests and their times."""

    def __init__(self) -> None:
        self.asked = 0

    def verdict(self, question: str, texts: Sequence[str]) -> Judgement:
        """Return a pass if the text has the whole aim."""
        self.asked += 1
        aim = question.split("aim is to ")[1].split(". In", maxsplit=1)[0]
        return Judgement(passed=aim in texts[-1], quote=texts[-1], why="It tells what it is for")


def tried(folder: Path, case: Drift, competence: str = "searcher") -> Trace:
    """Try a case with our middleware."""
    trace, pages = Trace(), Pages(Random(2))  # noqa: S311 (not a secret)
    model = CaseModel(case=cast("Acts", case), competence=COMPETENCES[competence], window=WINDOW)
    tools = (pages.tool(),)
    setting = Setting(
        model=model, window=WINDOW, folder=folder, trigger=0.25, tools=tools,
        system_prompt=case.system_prompt,
    )  # fmt: skip
    agent = Middleware().begin(setting)
    try:
        case.run(Talk(agent, setting, pages, trace))
    finally:
        agent.close()
    return trace


def made(variant: str) -> Drift:
    """Make a case."""
    return drift.make(variant, Random(1))  # noqa: S311 (not a secret)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask after two compactions: what is broken is broken by then."""
    monkeypatch.setattr(drift, "COMPACTIONS", 2)


@pytest.mark.parametrize("variant", drift.PROBE.variants)
def test_an_agent_that_keeps_the_aim_passes(variant: str, tmp_path: Path) -> None:
    case = made(variant)
    score = graded(case, tried(tmp_path, case), Fair())
    assert (score.verdict, score.judged) == ("passed", True), score.why


@pytest.mark.usefixtures("few")
def test_without_a_judge_nothing_passes_that_needs_one(tmp_path: Path) -> None:
    case = made("kept")
    score = graded(case, tried(tmp_path, case))
    assert (score.verdict, score.judged) == ("untested", False)
    assert "none was named" in score.why


@pytest.mark.usefixtures("few")
def test_where_a_record_forgets_what_the_user_asked_for_no_judge_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_rendering, "_requests", lambda *_: [])
    case, judge = made("kept"), Fair()
    score = graded(case, tried(tmp_path, case, "forgetful"), judge)
    assert (score.verdict, score.judged) == ("failed", False)
    assert "no word of the user's aim" in score.why
    assert not judge.asked


class Astray(Drift):
    """Names the aim, and continues with something else."""

    def act(self, view: View) -> Move:
        """Return an answer that misses the point."""
        move = super().act(view)
        if isinstance(move, Respond) and "You want to" in move.text:
            return Respond(f"Prices rise. We save on {self.aim.word}s and sell the house instead.")
        return move


@pytest.mark.usefixtures("few")
def test_an_agent_that_has_the_words_and_lost_the_purpose_fails_by_the_judge(
    tmp_path: Path,
) -> None:
    case = Astray(made("kept").aims)
    score = graded(case, tried(tmp_path, case), Fair())
    assert (score.verdict, score.judged) == ("failed", True)
    assert "sell the house" in score.why
