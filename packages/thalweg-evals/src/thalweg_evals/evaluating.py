"""`evaluate`: from names to results."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from thalweg.errors import ConfigError
from thalweg_evals.base import Probe, Subject, Suite
from thalweg_evals.candidates import ModelCandidate, candidate, own_model
from thalweg_evals.judging import Judge, Judges
from thalweg_evals.plan import OWN_MODEL, EvalPlan, pick_cases, trials
from thalweg_evals.probes import PROBES
from thalweg_evals.runner import Played, ResultCallback, play_all
from thalweg_evals.subjects.imported import CompiledSubject, GraphFactory
from thalweg_evals.subjects.named import subject_named
from thalweg_evals.subjects.served import RemoteSubject
from thalweg_evals.trial import Trial
from thalweg_server.models import model_by_name
from thalweg_server.settings import Settings

TRIGGER = 0.25
"""Share of the window: early enough to compact often, late enough to permit work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What to evaluate, and how.

    Example:
        >>> Evaluation(probes=("needle",), triggers=(0.1, None)).trials
        1
    """

    models: tuple[str, ...] = ("scripted:searcher",)
    """`scripted:COMPETENCE`, or a name that `thalweg_server.models.model_by_name` takes."""
    subjects: tuple[str | Subject, ...] = ("thalweg",)
    """Names, import paths or addresses of agents; or subjects of your own."""
    suite: Suite | None = None
    probes: tuple[str | Probe, ...] = ()
    """Names of probes or of cases, or patterns of them; or probes of your own. All by default."""
    triggers: tuple[float | None, ...] = (TRIGGER,)
    """Shares of the window at which a context is compacted; `None`: the subject's own."""
    window: int | None = None
    """In tokens; by default 64,000 for a scripted model, and its own for any other."""
    trials: int = 1
    seed: int = 0
    parallel: int = 1
    budget: float | None = None
    """Dollars, after which no trial is started."""
    out: Path | None = None
    """File for results, one line a trial; trials it contains are not run again."""
    judge: str | Judges = ""
    """A model, as in `models`, that decides if no exact check can; or a judge of your own. Without
    one, cases that need one are not tested."""
    settings: Settings = field(default_factory=Settings)
    """Where names of models and prices are looked up."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An evaluation with all names resolved."""

    trials: tuple[Trial, ...]
    notes: tuple[str, ...]
    """Notes for readers of the results, as sentences."""


def evaluate(
    evaluation: Evaluation | None = None,
    *,
    on_result: ResultCallback = lambda _result, _is_new: None,
) -> Played:
    """Run probes on agents.

    Args:
        evaluation: The evaluation; by default all probes, for our agent with a scripted model.
        on_result: Called with each result as soon as it is available.

    Raises:
        ConfigError: A name does not exist, something cannot be created here, or the file of
            results cannot be continued.

    Example:
        >>> played = evaluate(Evaluation(probes=("needle/user_aside",)))
        >>> [(result.verdict, result.compactions > 0) for result in played.results]
        [('passed', True)]
    """
    requested = evaluation or Evaluation()
    return play(requested, prepare(requested), on_result=on_result)


def play(
    evaluation: Evaluation,
    prepared: Prepared,
    *,
    on_result: ResultCallback = lambda _result, _is_new: None,
) -> Played:
    """Run a prepared evaluation, as `evaluate` does."""
    return play_all(
        prepared.trials,
        parallel=evaluation.parallel,
        budget=evaluation.budget,
        out=evaluation.out,
        settings=common(evaluation),
        on_result=on_result,
    )


def common(evaluation: Evaluation) -> dict[str, str | int | None]:
    """Return the settings that all results of an evaluation share, for its results file."""
    return {
        "--seed": evaluation.seed,
        "--window": evaluation.window,
        "--judge": _named(evaluation.judge),
        "thalweg": version("thalweg"),
    }


def _named(judge: str | Judges) -> str | None:
    return (judge if isinstance(judge, str) else type(judge).__name__) or None


def prepare(evaluation: Evaluation) -> Prepared:
    """Resolve all names, before the first trial.

    Raises:
        ConfigError: A name does not exist or cannot be used.
    """
    _check(evaluation)
    probes, names = _probes(evaluation)
    cases = pick_cases(list(probes.values()), evaluation.suite, names)
    subjects = list(_subjects(evaluation))
    plan = EvalPlan(
        models=tuple(dict.fromkeys(evaluation.models)),
        subjects=tuple(one.name for one in subjects),
        unforced=frozenset(one.name for one in subjects if "trigger" not in one.offers),
        with_own_model=frozenset(one.name for one in subjects if _has_own_model(one)),
        cases=cases,
        triggers=evaluation.triggers,
        trials=evaluation.trials,
        seed=evaluation.seed,
    )
    keys = list(trials(plan))
    candidates = {name: _candidate(name, evaluation) for name in {key.model: None for key in keys}}
    named = {one.name: one for one in subjects}
    judge = _judge(evaluation)
    made = (
        Trial(
            key=key,
            candidate=candidates[key.model],
            subject=named[key.subject],
            probe=probes[key.probe],
            seed=plan.seed,
            judge=judge,
        )
        for key in keys
    )
    return Prepared(tuple(made), tuple(_notes(candidates.values(), evaluation.budget)))


def _subjects(evaluation: Evaluation) -> Iterator[Subject]:
    names: set[str] = set()
    for entry in dict.fromkeys(evaluation.subjects):
        subject = subject_named(entry) if isinstance(entry, str) else entry
        if subject.name in names:
            problem = f"there are two agents of the name {subject.name!r}"
            raise ConfigError("subjects", problem, "use a different name for each")
        names.add(subject.name)
        yield subject


def _judge(evaluation: Evaluation) -> Judges | None:
    """Create the judge; no request is sent to it yet."""
    named = evaluation.judge
    if not isinstance(named, str):
        return named
    return Judge(model_by_name(named, evaluation.settings)) if named else None


def _candidate(name: str, evaluation: Evaluation) -> ModelCandidate:
    if name == OWN_MODEL:
        return own_model(evaluation.window)
    return candidate(name, evaluation.window, evaluation.settings)


def _has_own_model(subject: Subject) -> bool:
    if isinstance(subject, GraphFactory):
        return "model" not in subject.names
    return isinstance(subject, CompiledSubject | RemoteSubject)


def _notes(candidates: Iterable[ModelCandidate], budget: float | None) -> Iterator[str]:
    for one in candidates:
        if one.note:
            yield one.note
        if one.has_price:
            continue
        called = "an agent's own model" if one.name == OWN_MODEL else one.name
        if budget is not None:
            problem = f"the prices of {called} are unknown"
            fix = "set them in summarization.pricing, or pass no budget"
            raise ConfigError("--budget", problem, fix)
        yield f"the prices of {called} are unknown: no cost is shown"


def _check(evaluation: Evaluation) -> None:
    for trigger in evaluation.triggers:
        if trigger is not None and not 0 < trigger <= 1:
            problem = f"{trigger:g} is not a share of the window"
            raise ConfigError("--trigger", problem, "pass one above 0 and up to 1, or `default`")
    for option, value in (("--trials", evaluation.trials), ("--parallel", evaluation.parallel)):
        if value < 1:
            raise ConfigError(option, f"{value} is too few", "give 1 or more")
    if evaluation.budget is not None and evaluation.budget <= 0:
        raise ConfigError("--budget", f"{evaluation.budget:g} buys nothing", "give dollars above 0")


def _probes(evaluation: Evaluation) -> tuple[dict[str, Probe], Sequence[str]]:
    own = [one for one in evaluation.probes if isinstance(one, Probe)]
    names = [one for one in evaluation.probes if isinstance(one, str)]
    known = {**PROBES, **{one.name: one for one in own}}
    return known, [*names, *(one.name for one in own)]
