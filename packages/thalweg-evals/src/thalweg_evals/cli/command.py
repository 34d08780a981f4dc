"""The command `thalweg eval`: its options, and their validation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from thalweg.cli.shared_options import AsJson, Config, bounded, single_command
from thalweg.cli.values import one_of, parse_names
from thalweg.errors import ConfigError

if TYPE_CHECKING:
    from thalweg_evals.base import Suite

OWN_TRIGGER = "default"
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model: scripted:searcher (the default), scripted:literal or "
        "scripted:forgetful, which need no key; ollama:NAME, provider:model, "
        "openai:NAME@http://host/v1, or a name in the settings' models. May be repeated.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAMES",
        help="The agent: thalweg (the default), thalweg-careful, thalweg-frugal, "
        "thalweg-middleware, langchain or none. May be repeated, or separated by commas.",
    ),
]
Subjects = Annotated[
    list[str] | None,
    typer.Option(
        "--subject",
        metavar="PATH",
        help="An agent of yours: module:attribute or path/to/file.py:attribute of a graph of "
        "LangGraph's or of a function that makes one; or http://host/v1, or "
        "NAME@http://host/v1, of a server that speaks OpenAI's API. May be repeated.",
    ),
]
SuiteName = Annotated[
    str,
    typer.Option("--suite", metavar="NAME", help="The suite: context, memory, subagents or all."),
]
Probes = Annotated[
    list[str] | None,
    typer.Option(
        "--probe",
        metavar="NAMES",
        help="Only these: a probe, a PROBE/VARIANT, or a pattern such as 'memory_*'. May be "
        "repeated, or separated by commas. --list shows them.",
    ),
]
Triggers = Annotated[
    list[str] | None,
    typer.Option(
        "--trigger",
        metavar="SHARES",
        help="Share of the window at which a context is compacted. Default: 0.25. "
        f"`{OWN_TRIGGER}` uses the agent's own trigger. May be repeated, or separated by "
        "commas.",
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        metavar="TOKENS",
        help="What the model accepts. 64,000 for a scripted model, and its own for any other, "
        "when not given.",
        min=1_000,
        callback=bounded,
    ),
]
Trials = Annotated[
    int,
    typer.Option(metavar="N", help="Repetitions of each case, with other names and numbers."),
]
Parallel = Annotated[int, typer.Option(metavar="N", help="Number of concurrent trials.")]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Seed of all names and numbers; the same for every agent, model and trigger.",
        callback=bounded,
    ),
]
Judge = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="MODEL",
        help="The model that grades answers without an exact check. Default: skip such cases.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(metavar="USD", help="Start no further trial when this amount is spent."),
]
Results = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Keep results, with every request, one line a trial (JSON Lines). What is in it "
        "is not repeated.",
    ),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report for a browser.")]
Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Compare with saved results; exit code 1 if something is worse.",
    ),
]
NewBaseline = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the verdicts to a small file that can be committed."),
]
LeastRate = Annotated[
    float | None,
    typer.Option(
        metavar="RATE",
        help="Exit code 1 if a smaller share of an agent's tested trials passes, such as 0.9.",
    ),
]
IsListing = Annotated[
    bool, typer.Option("--list", help="List the probes, their questions and requirements.")
]
ShownRequest = Annotated[
    str,
    typer.Option(
        metavar="ID",
        help="Print the request that shows why a trial of --out ended as it did; ID:N prints "
        "its request number N.",
    ),
]
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
        subjects=(*parse_names(policy or ()), *(subject or ())) or ("thalweg",),
        suite=_suite(suite),
        probes=parse_names(probe or ()),
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
    return tuple(map(_trigger, parse_names(values or ())))


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
