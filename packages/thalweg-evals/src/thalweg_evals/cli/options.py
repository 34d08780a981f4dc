"""The options of `thalweg eval`."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.shared_options import bounded

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
