"""Rows 149 to 158: the evals of Deep Agents, with `thalweg eval`, `thalweg replay` and `thalweg thread`."""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from rows import row, seen
from world import calls, gateway, script

PROBES = "needle/once,objective/5,drift/changed,clarification/said_once,premature/2"


def thalweg(*arguments: str, folder: Path | None = None) -> str:
    """Run the command `thalweg`; return its output."""
    command = [str(Path(sys.executable).with_name("thalweg")), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    return ended.stdout


@cache
def trials(policy: str = "thalweg", probes: str = PROBES) -> list[dict[str, Any]]:
    """Try an agent with probes at 10 and 25 % of the window; return the trials and the picture."""
    with tempfile.TemporaryDirectory() as name:
        picture = Path(name) / "tokens.svg"
        options = ("--policy", policy, "--trigger", "0.1,0.25", "--probe", probes)
        found = json.loads(thalweg("eval", *options, "--svg", str(picture), "--json"))
        made: list[dict[str, Any]] = found["trials"]
        return [{**one, "svg": picture.read_text()} for one in made]


def passed(probe: str) -> None:
    """Show how many trials of a probe passed."""
    own = [one for one in trials() if one["probe"] == probe]
    good = sum(one["score"]["verdict"] == "passed" for one in own)
    print("    conversations:", [(one["case"], one["trigger"]) for one in own])
    seen("passed", f"{good} of {len(own)}", f"{len(own)} of {len(own)}")
    seen("compactions in each", all(one["compactions"] > 0 for one in own))


@row(149, "compaction forced at 10 to 25 %", "as written: `thalweg eval --trigger 0.1,0.25`")
def forced() -> None:
    few, many = (
        sum(one["compactions"] for one in trials() if one["trigger"] == share)
        for share in (0.25, 0.1)
    )
    print(f"    compactions at 25 %: {few}; at 10 %: {many}")
    seen("each conversation was compacted", all(one["compactions"] for one in trials()))


@row(150, "configurations beside each other", "as written: `thalweg eval --policy A,B`")
def configurations() -> None:
    both = trials("thalweg,thalweg-careful", "needle/once")
    seen("policies", {one["policy"] for one in both}, {"thalweg", "thalweg-careful"})


@row(151, "the objective is kept", "as written: `thalweg eval --probe objective`")
def objective() -> None:
    passed("objective")


@row(152, "a needle is recovered", "as written: `thalweg eval --probe needle`")
def needle() -> None:
    passed("needle")


@row(
    153,
    "it does not ask again after a compaction",
    "as written: `thalweg eval --probe clarification`",
)
def clarification() -> None:
    passed("clarification")


@row(154, "it does not end too early", "as written: `thalweg eval --probe premature`")
def premature() -> None:
    passed("premature")


@row(
    155,
    "the goal does not drift",
    "as written: `thalweg eval --probe drift,clarification,premature --trigger 0.1`",
)
def drift() -> None:
    for probe in ("drift", "clarification", "premature"):
        passed(probe)


@row(156, "tokens over time with events", "as written: `thalweg eval --svg FILE`")
def svg() -> None:
    picture = trials()[0]["svg"]
    seen("a picture", picture.lstrip().startswith("<svg"))
    seen("with lines", picture.count("<polyline") + picture.count("<path") > 0)


@row(
    157,
    "a benchmark of real tasks",
    "different: recorded sessions (`thalweg replay`) and probes of work need no key; as written, with "
    "containers and a model, by `inspect eval TASK --solver thalweg_evals/task_agent`: any benchmark "
    "that Inspect runs, under any policy",
)
def benchmark() -> None:
    with tempfile.TemporaryDirectory() as name:
        command = [
            str(Path(sys.executable).with_name("thalweg")),
            "replay",
            "--policy",
            "thalweg,deepagents",
        ]
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            cwd=name,
            env={**os.environ, "HOME": name},
        )
    print("   ", ended.stdout.replace("\n", "\n    ")[:600])
    seen("both policies in the account", "deepagents" in ended.stdout and "thalweg" in ended.stdout)


@row(158, "a trace is looked at", "as written: `thalweg thread show ID --context`")
def trace() -> None:
    answer = script(calls("write_file", file_path="/a.txt", content="one"), "Written.")
    with gateway("memory: {enabled: false}", agent=answer) as world:
        world.chat("Write a file.")
        text = thalweg("thread", "show", "t1", "--context", folder=world.folder)
    print("   ", *text.splitlines()[:3], sep="\n    ")
    seen("the request, with its calls", "Write a file." in text and "write_file" in text)
