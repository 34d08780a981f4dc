"""Trials are planned so that all compared subjects get the same."""

import pytest

from evals_tests.evals.tiny import Echo, parrot
from thalweg.errors import ConfigError
from thalweg_evals import PROBES, Evaluation, TrialKey
from thalweg_evals.evaluating import prepare
from thalweg_evals.plan import OWN_MODEL, EvalPlan, missing, pick_cases, seed_of, trials

PLAN = EvalPlan(
    models=("m", "n"),
    subjects=("a", "b"),
    cases=(("p", "v"), ("q", "v")),
    triggers=(0.1, 0.85),
    trials=2,
)


def test_every_trial_is_planned_once() -> None:
    """Models, subjects, cases, triggers and numbers, each with each."""
    keys = list(trials(PLAN))

    assert len(keys) == len(set(keys)) == 2 * 2 * 2 * 2 * 2


def test_who_is_compared_stands_together_and_second_trials_come_last() -> None:
    """What was played when the money runs out can be compared."""
    keys = list(trials(PLAN))

    assert [key.number for key in keys] == sorted(key.number for key in keys)
    for first, second in zip(keys[::2], keys[1::2], strict=True):
        assert (first.subject, second.subject) == ("a", "b")
        assert (first.case, first.trigger, first.model) == (
            second.case,
            second.trigger,
            second.model,
        )


def test_an_agent_whose_trigger_cannot_be_forced_is_played_once() -> None:
    """Its trials at several triggers would be the same."""
    plan = EvalPlan(
        models=("m",), subjects=("a",), unforced=frozenset("a"), cases=(("p", "v"),),
        triggers=(0.1, 0.85),
    )  # fmt: skip

    assert [key.trigger for key in trials(plan)] == [None]


def test_an_agent_with_a_model_of_its_own_is_played_once() -> None:
    """An agent's own model is played once, even if there are other models."""
    plan = EvalPlan(
        models=("m", "n"), subjects=("a", "b"), with_own_model=frozenset("a"),
        cases=(("p", "v"),), triggers=(0.1,),
    )  # fmt: skip

    assert [(key.subject, key.model) for key in trials(plan)] == [
        ("a", OWN_MODEL),
        ("b", "m"),
        ("b", "n"),
    ]


def test_dice_are_those_of_the_case_and_the_number() -> None:
    """Model, subject and trigger change nothing; everything else does."""
    keys = list(trials(PLAN))
    dice = {(key.case, key.number): seed_of(0, key) for key in keys}

    assert all(seed_of(0, key) == dice[key.case, key.number] for key in keys)
    assert len(set(dice.values())) == len(dice)
    assert seed_of(1, keys[0]) != seed_of(0, keys[0])


def test_an_id_names_one_trial() -> None:
    """Of all that the probes here can be put to."""
    cases = pick_cases(list(PROBES.values()), None, ())
    plan = EvalPlan(
        models=("m", "n"), subjects=("a", "b"), cases=cases, triggers=(0.1, None), trials=5
    )
    keys = list(trials(plan))

    assert len({key.id for key in keys}) == len(keys)


@pytest.mark.parametrize(
    ("wanted", "cases"),
    [
        ((), ["parrot/once", "parrot/twice"]),
        (("parrot",), ["parrot/once", "parrot/twice"]),
        (("parrot/twice",), ["parrot/twice"]),
        (("*/on*",), ["parrot/once"]),
        (("p*", "parrot/once"), ["parrot/once", "parrot/twice"]),
    ],
)
def test_cases_are_chosen_by_name_or_pattern(wanted: tuple[str, ...], cases: list[str]) -> None:
    """Each once, in their order."""
    probes = [parrot(variants=("once", "twice"))]

    assert ["/".join(case) for case in pick_cases(probes, None, wanted)] == cases


@pytest.mark.parametrize(
    ("wanted", "suite", "fix"),
    [
        ("parot", None, "did you mean 'parrot'?"),
        ("parrot/onc", None, "did you mean 'parrot/once'?"),
        ("parrot", "memory", "--list shows the probes of the suite memory"),
    ],
)
def test_a_name_that_fits_no_probe_is_refused(wanted: str, suite: object, fix: str) -> None:
    """With the one that was probably meant."""
    with pytest.raises(ConfigError) as refused:
        pick_cases([parrot()], suite, [wanted])  # type: ignore[arg-type]

    assert refused.value.fix == fix


def test_a_trigger_is_needed_only_where_one_is_forced() -> None:
    """An agent whose own trigger acts needs no other."""
    needs = frozenset({"trigger", "files"})

    assert missing(needs, frozenset({"files"}), None) == []  # type: ignore[arg-type]
    assert missing(needs, frozenset({"files"}), 0.1) == ["trigger"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        (Evaluation(models=("scripted:perfect",)), "--model: there is no 'scripted:perfect'"),
        (Evaluation(triggers=(1.5,)), "--trigger: 1.5 is not a share of the window"),
        (Evaluation(triggers=(0.0,)), "--trigger: 0 is not a share of the window"),
        (Evaluation(trials=0), "--trials: 0 is too few"),
        (Evaluation(parallel=0), "--parallel: 0 is too few"),
        (Evaluation(budget=-1.0), "--budget: -1 buys nothing"),
        (Evaluation(subjects=("langchian",)), "there is no 'langchian'; did you mean 'langchain'"),
        (
            Evaluation(models=("openai:mine@http://127.0.0.1:9/v1",), budget=1.0),
            "--budget: the prices of openai:mine@http://127.0.0.1:9/v1 are unknown",
        ),
        (
            Evaluation(subjects=(Echo("a"), Echo("a"))),
            "there are two agents of the name 'a'",
        ),
    ],
)
def test_what_cannot_be_is_said_before_the_first_trial(wanted: Evaluation, what: str) -> None:
    """With the option, the value, and what to do."""
    with pytest.raises(ConfigError) as refused:
        prepare(wanted)

    assert what in str(refused.value)


def test_what_is_assumed_of_a_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The notes name an unknown window and unknown prices."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    notes = prepare(Evaluation(models=("openai:mine@http://127.0.0.1:9/v1",))).notes

    assert [note.partition(" are unknown")[0].partition(" is unknown")[0] for note in notes] == [
        "the window of self-hosted:mine",
        "the prices of openai:mine@http://127.0.0.1:9/v1",
    ]


def test_a_case_that_no_scripted_model_knows_is_refused() -> None:
    """A probe of one's own may be for live models alone."""
    key = TrialKey("scripted:searcher", "echo", None, "parrot", "once", 1)
    [trial] = prepare(Evaluation(subjects=(Echo(),), probes=(parrot(),))).trials
    assert trial.key == key

    with pytest.raises(ConfigError, match="does not define what a scripted model does"):
        trial.candidate.make(object())  # type: ignore[arg-type]
