"""`thalweg eval`: the handling of its options."""

from typing import TYPE_CHECKING, get_args

from thalweg.cli.shared_options import AsJson, Config, single_command
from thalweg.cli.values import listed, one_of
from thalweg.errors import ConfigError
from thalweg_evals.cli.options import (
    OWN_TRIGGER,
    Baseline,
    Budget,
    IsListing,
    Judge,
    LeastRate,
    Models,
    NewBaseline,
    Parallel,
    Policies,
    Probes,
    Report,
    Results,
    Seed,
    ShownRequest,
    Subjects,
    SuiteName,
    Trials,
    Triggers,
    Window,
)

if TYPE_CHECKING:
    from thalweg_evals.base import Suite

ALL = "all"
"""Of the suites."""


@single_command
def evaluate(
    *,
    model: Models = None,
    policy: Policies = None,
    subject: Subjects = None,
    suite: SuiteName = ALL,
    probe: Probes = None,
    trigger: Triggers = None,
    window: Window = None,
    trials: Trials = 1,
    parallel: Parallel = 1,
    seed: Seed = 0,
    judge: Judge = "",
    budget: Budget = None,
    out: Results = None,
    html: Report = None,
    baseline: Baseline = None,
    save_baseline: NewBaseline = None,
    fail_under: LeastRate = None,
    config: Config = None,
    is_listing: IsListing = False,
    show: ShownRequest = "",
    as_json: AsJson = False,
) -> None:
    """Ask of an agent: does it keep its objective, and find again content removed from its context?

    Each probe has one conversation with an agent that forces its context to be compacted, and
    checks whether the content that should be kept or found was. Without a model's name a scripted
    model answers, which does everything right that its context lets it: so any failure is the
    agent's.

    Exit code 1 when --baseline or --fail-under is not met; 2 when something cannot be done.
    """
    # What follows takes seconds to load.
    from thalweg_evals.cli.playing import (  # noqa: PLC0415
        ResultActions,
        list_probes,
        perform,
        show_request,
    )
    from thalweg_evals.evaluating import TRIGGER, Evaluation  # noqa: PLC0415
    from thalweg_server.settings.loading import load_settings  # noqa: PLC0415

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
    from thalweg_evals.base import Suite  # noqa: PLC0415 (see above)

    one_of("--suite", name, (*get_args(Suite), ALL))
    return next((suite for suite in get_args(Suite) if suite == name), None)


def as_triggers(values: list[str] | None) -> tuple[float | None, ...]:
    """Read shares of the window.

    Raises:
        ConfigError: One is no number.

    Example:
        >>> as_triggers(["0.1,default"])
        (0.1, None)
    """
    return tuple(map(_trigger, listed(values or ())))


def _trigger(text: str) -> float | None:
    if text == OWN_TRIGGER:
        return None
    try:
        return float(text)
    except ValueError:
        fix = f"pass a share such as 0.1, or `{OWN_TRIGGER}`"
        raise ConfigError("--trigger", f"{text!r} is not a share of the window", fix) from None


def as_request(text: str) -> tuple[str, int | None]:
    """Read ID or ID:N.

    Raises:
        ConfigError: N is no number.

    Example:
        >>> as_request("efa9236"), as_request("efa9236:4")
        (('efa9236', None), ('efa9236', 4))
    """
    name, colon, number = text.partition(":")
    if colon and not (number.isascii() and number.isdigit()):
        raise ConfigError(
            "--show", f"{number!r} is not the number of a request", "write ID or ID:N"
        )
    return name, int(number) if colon else None
