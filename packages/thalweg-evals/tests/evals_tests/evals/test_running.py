"""Trials are played: what an agent does wrong is its failure, money is counted, nothing is lost."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evals_tests.evals.tiny import Echo, Parrot, parrot, scripted, trials_of
from thalweg.engine.pricing.matching import tariff_for
from thalweg.engine.pricing.usage import Usage
from thalweg.errors import ConfigError
from thalweg_evals import Agent, Evaluation, Result, Setting, Trace, evaluate
from thalweg_evals.judging import Judgement
from thalweg_evals.runner import play_all
from thalweg_evals.subjects.named import Unmanaged

NEEDLES = Evaluation(
    subjects=("thalweg-middleware",), probes=("needle/user_aside",), trials=4, window=16_000
)


def fails(text: str) -> str:
    """Be an agent that dies."""
    msg = f"no answer to {text!r}"
    raise ZeroDivisionError(msg)


def test_what_an_agent_raises_is_its_failure() -> None:
    """In its words; it is closed all the same."""
    subject = Echo(answer=fails)

    result = trials_of(subject)[0].play()

    assert result.verdict == "failed"
    assert result.why.startswith("the agent raised ZeroDivisionError: no answer to 'Please")
    assert result.error in result.why
    assert subject.closed == 1


def test_who_interrupts_is_no_agent() -> None:
    """Ctrl-C ends the evaluation, and is nobody's failure."""

    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    subject = Echo(answer=interrupted)

    with pytest.raises(KeyboardInterrupt):
        trials_of(subject)[0].play()

    assert subject.closed == 1


def test_what_is_not_offered_is_not_tried() -> None:
    """The result names what is not offered."""
    subject = Echo(offers=frozenset({"tools"}))
    probe = parrot(needs=frozenset({"tools", "memory", "system_prompt"}))

    result = trials_of(subject, probe=probe)[0].play()

    assert (result.verdict, result.why) == ("not offered", "not offered: memory, system prompt")
    assert subject.began == []


def test_an_agent_gets_what_it_offers_to_take_in_a_folder_of_its_own() -> None:
    """The folder is removed afterwards."""
    bare, able = Echo(), Echo(offers=frozenset({"tools"}))

    assert [trials_of(one)[0].play().verdict for one in (bare, able)] == ["passed", "passed"]

    assert bare.began[0].tools == ()
    assert [tool.name for tool in able.began[0].tools] == ["read_page"]
    assert bare.began[0].folder != able.began[0].folder
    assert not bare.began[0].folder.exists()


def test_several_at_once_come_to_the_same() -> None:
    """Each trial is independent of the others that run at the same time."""
    one, several = evaluate(NEEDLES), evaluate(replace(NEEDLES, parallel=3))

    assert [_told(result) for result in several.results] == [_told(each) for each in one.results]
    assert {result.verdict for result in one.results} == {"passed"}


def _told(result: Result) -> object:
    """Return all but the values of handles, which are drawn again in every archive."""
    told = [(one.turn, one.kind, len(one.messages)) for one in result.trace.requests]
    return result.key, result.seed, result.verdict, result.why, result.compactions, told


def test_trials_are_under_way_at_once() -> None:
    """As many as were asked for: each waits for the other here."""
    meeting = threading.Barrier(2, timeout=20)

    def meets(text: str) -> str:
        meeting.wait()
        return text

    played = play_all(trials_of(Echo(answer=meets), 4), parallel=2)

    assert [result.verdict for result in played.results] == ["passed"] * 4


def test_an_interruption_in_a_thread_ends_all() -> None:
    """No trial is begun after it."""
    begun: list[str] = []

    def interrupted(text: str) -> str:
        begun.append(text)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_all(trials_of(Echo(answer=interrupted), 50), parallel=2)

    assert len(begun) <= 2


@pytest.mark.parametrize("parallel", [1, 2])
def test_no_trial_is_begun_when_the_budget_is_spent(parallel: int) -> None:
    """What was not begun is counted; what is under way is played to its end."""
    dear = replace(scripted(), priced=tariff_for("anthropic", "claude-opus-5"))
    costs: list[float | None] = []

    def ask(budget: float | None) -> tuple[int, int]:
        subject = _Asking()
        trials = trials_of(subject, 6, candidate=dear)
        played = play_all(trials, parallel=parallel, budget=budget)
        costs.extend(result.cost for result in played.results)
        return len(played.results), played.unplayed

    assert ask(None) == (6, 0)
    one = costs[0] or 0.0
    assert one > 0
    begun, unplayed = ask(2.5 * one)
    assert begun + unplayed == 6
    assert 3 <= begun <= 3 + (parallel - 1)


class _Asking(Echo):
    """Asks the model, as an agent does."""

    def begin(self, setting: Setting) -> Agent:
        """See `Subject.begin`."""
        return Unmanaged().begin(setting)


def test_a_price_that_is_not_known_is_no_price() -> None:
    """A model of unknown price is not free."""
    unknown = replace(scripted(), priced=tariff_for("", "somebody:something"))

    assert unknown.cost_of(Usage(1_000, output=10)) is None
    assert not unknown.has_price
    assert scripted().cost_of(Usage(1_000, output=10)) == 0.0


def test_cached_tokens_cost_what_the_tariff_says() -> None:
    """Opus 5: 5 dollars a million read, a tenth of it from the cache, 25 for what is written."""
    opus = replace(scripted(), priced=tariff_for("anthropic", "claude-opus-5"))
    priced = opus.priced
    assert priced is not None
    base = priced.tariff.base
    assert base is not None

    cost = opus.cost_of(Usage(1_000_000, 900_000, output=100_000))

    units = 100_000 + 900_000 * priced.tariff.read + 100_000 * priced.tariff.output
    assert cost == pytest.approx(units * base / 1e6)


def test_what_was_played_is_not_played_again(tmp_path: Path) -> None:
    """Further trials, agents or triggers are played in addition to it."""
    out, subject = tmp_path / "out.jsonl", Echo()
    first = play_all(trials_of(subject, 2), out=out)
    more = play_all(trials_of(subject, 3), out=out)

    assert (first.again, more.again) == (0, 2)
    assert len(subject.began) == 3
    assert [result.key.number for result in more.results] == [1, 2, 3]
    assert [result.why for result in more.results] == ["it was repeated"] * 3


def test_a_probe_and_an_agent_of_ones_own_are_evaluated() -> None:
    """As a test of one's own would do it."""
    played = evaluate(Evaluation(subjects=(Echo(),), probes=(parrot(),)))

    assert [(one.key.case, one.verdict) for one in played.results] == [("parrot/once", "passed")]


def test_settings_that_cannot_be_are_nobodys_failure() -> None:
    """All trials would fail alike: the evaluation ends."""

    def wrong(_: str) -> str:
        raise ConfigError("key", "it is missing", "set it")

    with pytest.raises(ConfigError, match="key: it is missing; set it"):
        play_all(trials_of(Echo(answer=wrong), 3), parallel=2)


def test_a_judge_that_cannot_be_reached_says_nothing_of_the_agent() -> None:
    """The trial is untested, and the others are played."""

    class Away:
        def verdict(self, question: str, texts: Sequence[str]) -> Judgement:
            del question, texts
            msg = "no answer"
            raise TimeoutError(msg)

    judged = replace(parrot(), make=lambda _, dice: _Judged(dice.randrange(9)))

    result = trials_of(Echo(), probe=judged, judge=Away())[0].play()

    assert (result.verdict, result.judged) == ("untested", True)
    assert "TimeoutError: no answer" in result.why


class _Judged(Parrot):
    """A judge has the last word."""

    rubric = "Is it repeated?"

    def evidence(self, trace: Trace) -> Sequence[str]:
        """See `Rubric.evidence`."""
        return [trace.answer]
