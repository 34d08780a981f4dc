"""`thalweg eval`: what it prints and writes, and its exit codes."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from thalweg.errors import ConfigError
from thalweg_evals import PROBES, Score, Trace
from thalweg_evals.cli import Trial, evaluate, pick_cases, report
from thalweg_evals.picture import TokenSeries, token_picture
from thalweg_evals.world import failed, passed, untested

SMALL = ["--probe", "needle/user_aside", "--window", "20000"]
BOTH = [*SMALL, "--policy", "thalweg-middleware,langchain"]
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: str) -> int:
    """Run the command."""
    return evaluate(arguments, prog_name="thalweg eval") or 0


def test_the_list_has_what_each_probe_asks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--list", "--probe", "needle/chin*,work") == 0

    out = capsys.readouterr().out
    assert "needle\n  asks   Can the agent report a detail" in out
    assert "  cases  chinese\n" in out
    assert "  cases  stale_edit, constraint, repeated_work, old_value" in out


def test_agents_are_shown_beside_each_other_with_what_failed_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "tokens.svg"

    assert run(*BOTH, "--svg", str(picture)) == 0

    out = capsys.readouterr().out
    assert out.splitlines()[0].split("  ")[0] == "scripted:searcher"
    assert "thalweg-middleware, 0.25" in out.splitlines()[0]
    assert "1 of 1 (21-100 %)" in out
    assert "0 of 1 (0-79 %)" in out
    assert "beside thalweg-middleware, 0.25: -100 points (-100 to -100), 1 pairs" in out
    assert "failed: needle/user_aside #1, langchain, 0.25, scripted:searcher: the docking" in out
    drawn = ET.fromstring(picture.read_text())  # noqa: S314 (our own)
    assert len(drawn.findall(f"{SVG}polyline")) == 2
    assert drawn.findall(f"{SVG}circle")


def test_json_has_every_conversation_and_a_rate_that_is_not_met_is_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*BOTH, "--fail-under", "0.5", "--json") == 1

    printed = json.loads(capsys.readouterr().out)
    assert [one["score"]["verdict"] for one in printed["trials"]] == ["passed", "failed"]
    assert printed["below"] == ["langchain, 0.25"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--probe", "needel"], "--probe: no probe fits 'needel'; did you mean 'needle'?"),
        (["--model", "scripted:sercher"], "did you mean scripted:searcher?"),
        (["--policy", "langchian"], "there is no 'langchian'; did you mean 'langchain'?"),
        (["--trigger", "never"], "--trigger: 'never' is not a share of the window; pass one"),
        (["--trigger", "10"], "--trigger: '10' is not a share of the window"),
        ([*SMALL, "--svg", "nowhere/page.svg"], "--svg: nowhere/page.svg: it cannot be written"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(arguments: list[str], why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run(*arguments)

    assert why in str(caught.value)


def trial(score: Score, policy: str = "a", number: int = 1) -> Trial:
    """Make a result."""
    return Trial(
        probe="needle",
        case="once",
        number=number,
        model="m",
        policy=policy,
        trigger=None,
        score=score,
        compactions=1,
        tokens=2_000,
    )


def test_the_difference_is_of_the_conversations_that_both_tested() -> None:
    """One that tested nothing is in no rate and in no pair."""
    scores = {
        "a": [passed(""), passed(""), untested("x")],
        "b": [passed(""), failed("y"), failed("z")],
    }
    trials = [
        trial(score, policy, number)
        for policy, of in scores.items()
        for number, score in enumerate(of, 1)
    ]

    lines = list(report(trials))

    assert "a, own trigger" in lines[0]
    assert [" ".join(line.split()) for line in lines[1:3]] == [
        "needle 2 of 2, 1 untested 1 of 3",
        "all 2 of 2 (34-100 %), 1 untested 1 of 3 (6-79 %)",
    ]
    assert any(
        line.startswith("b, own trigger beside a, own trigger: -50 points") for line in lines
    )


def test_patterns_choose_probes_and_cases() -> None:
    assert pick_cases(PROBES, ["needle/chin*", "premature"]) == [
        ("needle", "chinese"),
        ("premature", "2"),
    ]
    assert len(pick_cases(PROBES, [])) == sum(len(one.cases) for one in PROBES.values())


def test_the_largest_drop_and_the_longest_conversation_are_in_colour() -> None:
    """Others are grey; a name is text, not markup; one without requests is left out."""
    series = [
        TokenSeries("a<b", (100, 900, 200), (2,)),
        TokenSeries("long", (1, 2, 3, 4, 3), (4,)),
        TokenSeries("grey", (5, 6), ()),
        TokenSeries("none", (), ()),
    ]

    drawn = ET.fromstring(token_picture(series))  # noqa: S314 (our own)

    colours = [line.get("stroke") for line in drawn.findall(f"{SVG}polyline")]
    texts = [text.text for text in drawn.findall(f"{SVG}text")]
    assert colours[0] == "#c8c8c8"
    assert len(set(colours)) == 3
    assert "a<b, 1 compactions" in texts
    assert "long, 1 compactions" in texts
    assert len(drawn.findall(f"{SVG}circle")) == 2
    assert token_picture([]).startswith("<svg")
    assert Trace().compactions() == []
