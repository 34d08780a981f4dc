"""`thalweg eval`: its options, and what is done with them."""

from typing import TYPE_CHECKING, get_args

from thalweg.cli.eval.options import (
    ALL,
    BaselineFile,
    Budget,
    Config,
    FailUnder,
    Html,
    JudgeName,
    List,
    Models,
    Out,
    Parallel,
    Policies,
    Probes,
    SaveBaseline,
    Seed,
    Show,
    Subjects,
    Suites,
    Trials,
    Triggers,
    Window,
    as_request,
    as_triggers,
)
from thalweg.cli.printing import AsJson
from thalweg.cli.values import listed, one_of

if TYPE_CHECKING:
    from thalweg.lab.evals.base import Suite


def evaluate(
    *,
    model: Models = None,
    policy: Policies = None,
    subject: Subjects = None,
    suite: Suites = ALL,
    probe: Probes = None,
    trigger: Triggers = None,
    window: Window = None,
    trials: Trials = 1,
    parallel: Parallel = 1,
    seed: Seed = 0,
    judge: JudgeName = "",
    budget: Budget = None,
    out: Out = None,
    html: Html = None,
    baseline: BaselineFile = None,
    save_baseline: SaveBaseline = None,
    fail_under: FailUnder = None,
    config: Config = None,
    is_listing: List = False,
    show: Show = "",
    as_json: AsJson = False,
) -> None:
    """Ask of an agent: does it keep its objective, and find again what left its context?

    Each probe has one conversation with an agent that forces its context to be compacted, and
    looks whether what should stay or be found did. Without a model's name a scripted model
    answers, which does everything right that its context lets it: so what fails is the agent.

    Exit code 1 when --baseline or --fail-under is not met; 2 when something cannot be done.
    """
    # What follows takes seconds to load.
    from thalweg.cli.eval.playing import ResultActions, list_probes, perform, show_request  # noqa: PLC0415
    from thalweg.lab.evals.evaluating import TRIGGER, Evaluation  # noqa: PLC0415
    from thalweg.server.settings.loading import load_settings  # noqa: PLC0415

    if show:
        show_request(*as_request(show), out)
        return
    evaluation = Evaluation(
        models=tuple(model or ("scripted:searcher",)),
        subjects=(*listed(policy or ()), *(subject or ())) or ("thalweg",),
        suite=_suite(suite),
        probes=listed(probe or ()),
        triggers=as_triggers(trigger) or (TRIGGER,),
        window=window,
        trials=trials,
        seed=seed,
        judge=judge,
        parallel=parallel,
        budget=budget,
        out=out,
        settings=load_settings(config),
    )
    if is_listing:
        list_probes(evaluation, as_json=as_json)
        return
    perform(evaluation, ResultActions(html, baseline, save_baseline, fail_under, as_json))


def _suite(name: str) -> "Suite | None":
    from thalweg.lab.evals.base import Suite  # noqa: PLC0415 (see above)

    one_of("--suite", name, (*get_args(Suite), ALL))
    return next((suite for suite in get_args(Suite) if suite == name), None)
