"""All named subjects: our agents and the peers, made for a trial and talked with."""

from pathlib import Path

import pytest
from langchain_core.tools import tool

from evals_tests.evals.asking import Asked
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_evals.base import Setting
from thalweg_evals.subjects.named import SUBJECTS, subject_named
from thalweg_evals.subjects.sizes import fitted, kept_tokens, trigger_tokens


@tool
def weigh(crate: int) -> str:
    """Weigh a crate."""
    return f"{crate} kg"


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_subject_keeps_its_threads_apart(name: str, tmp_path: Path) -> None:
    """Probes of memory talk in one thread, then in another; recalled facts are no thread."""
    subject = subject_named(name)
    asked = Asked(subject, tmp_path, tools=(weigh,))

    asked.say("The code is A-1.", "a")
    asked.say("The code is B-2.", "b")
    answer = asked.say("Which codes were there?", "a")
    asked.agent.close()

    assert "A-1" in answer
    assert "memory" in subject.offers or "B-2" not in answer


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_subject_has_the_tools_and_the_instructions_of_the_trial(
    name: str, tmp_path: Path
) -> None:
    asked = Asked(subject_named(name), tmp_path, tools=(weigh,))

    asked.say("Hello.")

    assert "weigh" in asked.trace.requests[0].tools
    assert {"tools", "system_prompt"} <= subject_named(name).offers
    asked.agent.close()


def test_our_agent_is_the_small_one_in_a_small_window(tmp_path: Path) -> None:
    deep = Asked(subject_named("thalweg"), tmp_path / "deep")
    small = Asked(subject_named("thalweg"), tmp_path / "small", window=4_096)

    for one in (deep, small):
        one.say("Hello.")
        one.agent.close()

    assert "task" in deep.trace.requests[0].tools
    assert "task" not in small.trace.requests[0].tools
    assert "recall" in small.trace.requests[0].tools


def test_what_our_agent_learns_it_learns_when_it_is_settled_and_that_is_recorded(
    tmp_path: Path,
) -> None:
    """Nothing is learned in the background of a trial: it would be another time every time."""
    asked = Asked(subject_named("thalweg"), tmp_path, tools=(weigh,))
    asked.say("I live in Utrecht.")
    before = len(asked.trace.requests)

    asked.agent.settle()
    asked.agent.close()

    learning = asked.trace.requests[before:]
    assert [one.kind for one in asked.trace.requests[:before]] == ["agent"]
    assert {one.kind for one in learning} == {"harness"}
    assert any("Utrecht" in one.text() for one in learning)


def test_files_of_our_agent_are_read_from_its_folder(tmp_path: Path) -> None:
    asked = Asked(subject_named("thalweg"), tmp_path)
    (tmp_path / "files" / "notes").mkdir()
    (tmp_path / "files" / "notes" / "a.md").write_text("Remember.", "utf-8")

    assert asked.agent.files() == {"/notes/a.md": "Remember."}
    asked.agent.close()


def test_an_error_of_an_agent_reaches_whoever_speaks(tmp_path: Path) -> None:
    def breaks(_: object) -> str:
        raise ZeroDivisionError

    for name in SUBJECTS:
        folder = tmp_path / name
        setting = Setting(model=ScriptedModel(script=breaks), window=64_000, folder=folder)
        agent = subject_named(name).begin(setting)
        with pytest.raises(ZeroDivisionError):
            agent.send("Hello.", "main", [])
        agent.close()


def test_a_model_is_told_the_window_of_the_trial_and_the_one_given_stays_as_it_is(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(script=lambda _: "Hi.", profile={"max_input_tokens": 200_000})

    told = fitted(Setting(model=model, window=64_000, folder=tmp_path))

    assert (told.profile or {})["max_input_tokens"] == 64_000
    assert (model.profile or {})["max_input_tokens"] == 200_000


def test_a_forced_trigger_is_the_same_for_everybody(tmp_path: Path) -> None:
    model = ScriptedModel(script=lambda _: "Hi.")
    setting = Setting(model=model, window=64_000, folder=tmp_path, trigger=0.25)

    assert trigger_tokens(setting) == 16_000
    assert kept_tokens(setting) == 3_200


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("thalwg", "did you mean 'thalweg'?"),
        ("lang-chain", "did you mean 'langchain'?"),
        ("qwertz", "module:attribute"),
        (":make", "path/to/file.py:attribute"),
        ("", "use langchain"),
    ],
)
def test_a_name_that_nobody_has_is_told_with_what_was_probably_meant(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match="there is no") as told:
        subject_named(name)

    assert says in told.value.fix
