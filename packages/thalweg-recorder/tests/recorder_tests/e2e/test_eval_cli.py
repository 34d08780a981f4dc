"""`thalweg eval`, run as people run it: what it prints, what it writes, how it ends."""

import json
from pathlib import Path

import pytest

from recorder_tests.e2e.test_cli import in_turn

SMALL = ("eval", "--probe", "needle/user_aside", "--window", "20000")
OWN = ("--policy", "thalweg-middleware")
PEER = ("--policy", "langchain")
AGENT = """
from langchain.agents import create_agent

def make(model, tools, system_prompt):
    return create_agent(model, tools, system_prompt=system_prompt)
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """Run the commands one after another in one folder; return how each ended."""
    folder = tmp_path_factory.mktemp("evals")
    (folder / "agent.py").write_text(AGENT)
    (folder / "broken.json").write_text("{}")
    both = (*SMALL, *OWN, *PEER, "--trigger", "0.25,default")
    commands = {
        "list": ("eval", "--list"),
        "list one": ("eval", "--list", "--probe", "needle/chin*", "--json"),
        "play": (*both, "--out", "out.jsonl", "--html", "page.html", "--save-baseline", "b.json"),
        "again": (*both, "--out", "out.jsonl", "--parallel", "2"),
        "json": (*both, "--out", "out.jsonl", "--json"),
        "as good": (*both, "--out", "out.jsonl", "--baseline", "b.json"),
        "fail under": (*both, "--out", "out.jsonl", "--fail-under", "0.5"),
        "own agent": (*SMALL, "--subject", "agent.py:make"),
        "no probe": ("eval", "--probe", "needel"),
        "no suite": ("eval", "--suite", "contexts"),
        "no model": ("eval", "--model", "scripted:sercher"),
        "no policy": ("eval", "--policy", "langchian"),
        "no trigger": ("eval", "--trigger", "never"),
        "no share": ("eval", "--trigger", "10"),
        "no file": ("eval", "--show", "abc"),
        "other seed": (*both, "--out", "out.jsonl", "--seed", "1"),
        "other dice": (*both, "--baseline", "b.json", "--seed", "1"),
        "no baseline": (*both, "--baseline", "broken.json"),
        "none in common": (*SMALL, "--trigger", "0.5", *OWN, "--baseline", "b.json"),
        "over itself": (*both, "--out", "out.jsonl", "--html", "out.jsonl"),
        "no page": (*both, "--html", "nowhere/page.html"),
        "unknown id": ("eval", "--show", "zzz", "--out", "out.jsonl"),
    }
    ends = in_turn([list(command) for command in commands.values()], folder)
    found = {
        name: (end.returncode, end.stdout, end.stderr)
        for name, end in zip(commands, ends, strict=True)
    }
    found["folder"] = (0, str(folder), "")
    return found


Ends = dict[str, tuple[int, str, str]]


@pytest.mark.slow
def test_the_list_says_what_each_probe_asks_and_needs(done: Ends) -> None:
    """Of all, or of those that are named."""
    code, out, _ = done["list"]
    [needle] = json.loads(done["list one"][1])["probes"]

    assert code == 0
    assert "memory_recall  (memory)\n  asks " in out
    assert "  needs     memory\n" in out
    assert (needle["name"], needle["variants"]) == ("needle", ["chinese"])


def test_a_table_shows_agents_beside_each_other(done: Ends) -> None:
    """With intervals; then what failed and why, and how to see the request."""
    code, out, _ = done["play"]

    assert code == 0
    assert "thalweg-middleware" in out.splitlines()[0]
    assert "2 of 2 (34-100 %)" in out
    assert "0 of 2 (0-66 %)" in out
    assert "at its own trigger" in out
    assert "Failed:\n" in out
    assert "See a request: thalweg eval --out out.jsonl --show " in out
    assert "4 trials in " in out


def test_failures_cost_no_exit_code_unless_one_is_asked_for(done: Ends) -> None:
    """A peer next to ours may fail."""
    code, out, _ = done["fail under"]

    assert done["play"][0] == 0
    assert code == 1
    assert "\nWorse:\n  langchain, scripted:searcher: 0.0% of 2 passed, not 50.0%\n" in out


def test_what_was_played_is_not_played_again(done: Ends) -> None:
    """The same table comes of it."""
    first, again = done["play"][1], done["again"][1]

    assert "0 trials in " in again
    assert "4 were played before" in again
    assert again.split("\n0 trials")[0] == first.split("\n4 trials")[0]


def test_json_has_every_trial(done: Ends) -> None:
    """Without what happened in it: that is in the file of results."""
    told = json.loads(done["json"][1])

    assert [one["verdict"] for one in told["results"]].count("passed") == 2
    assert "trace" not in told["results"][0]
    assert (told["unplayed"], told["worse"]) == (0, [])


def test_a_request_that_shows_a_failure_is_printed(done: Ends) -> None:
    """Whole, as the model was sent it."""
    folder = Path(done["folder"][1])
    failed = next(
        one for one in json.loads(done["json"][1])["results"] if one["verdict"] == "failed"
    )
    shown, first, none = in_turn(
        [
            ["eval", "--out", "out.jsonl", "--show", f"{failed['id']}{number}"]
            for number in ("", ":0", ":999")
        ],
        folder,
    )

    assert f"{failed['id']}  needle/user_aside #1: scripted:searcher, langchain" in shown.stdout
    assert failed["why"] in shown.stdout
    assert "What is the docking code" in shown.stdout
    assert "request 0 of " in first.stdout
    assert "none of them is number 999" in none.stdout


def test_a_baseline_that_is_met_is_no_failure(done: Ends) -> None:
    """What failed then may fail now."""
    assert done["as good"][0] == 0


def test_a_baseline_that_is_not_met_is_told(done: Ends) -> None:
    """With the trials that passed then."""
    folder = Path(done["folder"][1])
    better = (folder / "b.json").read_text().replace("failed", "passed")
    (folder / "better.json").write_text(better)
    command = [*SMALL, *PEER, "--out", "out.jsonl", "--baseline", "better.json"]

    [end] = in_turn([command], folder)

    assert end.returncode == 1
    assert "needle: scripted:searcher, langchain, at 0.25 of the window: -100% of 1 trials" in (
        end.stdout
    )


def test_a_report_is_written(done: Ends) -> None:
    """A page of its own."""
    page = (Path(done["folder"][1]) / "page.html").read_text()

    assert "<html" in page
    assert "needle" in page


def test_a_strangers_agent_is_evaluated_by_its_path(done: Ends) -> None:
    """One that keeps everything exceeds its window, and that is reported."""
    code, out, err = done["own agent"]

    assert (code, err) == (0, "")
    assert "agent.py:make" in out
    assert "Failed:" in out or "Untested:" in out


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no probe", "--probe: no probe fits 'needel'; did you mean 'needle'?"),
        ("no suite", "--suite: there is no 'contexts'; did you mean context? use context, memory"),
        ("no model", "--model: there is no 'scripted:sercher'; did you mean scripted:searcher?"),
        ("no policy", "there is no 'langchian'; did you mean 'langchain'?"),
        ("no trigger", "--trigger: 'never' is not a share of the window; pass a share such as 0.1"),
        ("no share", "--trigger: 10 is not a share of the window; pass one above 0 and up to 1"),
        ("no file", "--show: no file of results is named; add --out FILE"),
        ("other seed", "--out out.jsonl: its results were made with --seed 0 and not 1; use"),
        ("other dice", "--baseline b.json: it was made with --seed 0, and these results with 1"),
        ("no baseline", "--baseline broken.json: it is no baseline; name a file that"),
        ("none in common", "--baseline: it has none of these trials; play trials that it has"),
        ("over itself", "--html out.jsonl: the report cannot be written: it is another file"),
        ("no page", "--html nowhere/page.html: the report cannot be written: no such file"),
        ("unknown id", "--show: no trials of out.jsonl have an id that begins with 'zzz'; copy"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(done: Ends, command: str, told: str) -> None:
    """And exit code 2."""
    code, _, err = done[command]

    assert code == 2
    assert err.startswith("thalweg: ")
    assert told in err
    assert err.count("\n") == 1
