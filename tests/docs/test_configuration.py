"""The page of configuration matches the settings."""

import re

from scripts.configuration_page import FIRST, PAGE, STARTING, starting_file, written
from thalweg_server.settings.loading import examine_text

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_today() -> None:
    """`python -m scripts.configuration_page` writes them."""
    assert written(TEXT) == TEXT


def test_the_file_with_every_setting_is_that_of_today() -> None:
    """`thalweg config init --all` copies it."""
    assert STARTING.read_text(encoding="utf-8") == starting_file()


def test_twenty_keys_come_first() -> None:
    keys = re.findall(r"^\| `([\w.\[\]]+)` \|", TEXT, re.MULTILINE)
    assert (keys[:20], len(set(FIRST))) == ([*FIRST], 20)


def test_every_setting_says_what_it_is_for() -> None:
    assert re.findall(r"^\| `\w+` \| .* \|  \|$", TEXT, re.MULTILINE) == []


def test_the_example_can_be_used_as_it_stands() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    report = examine_text(example.encode(), "c", {"ANTHROPIC_API_KEY": "k", "ADAS_KEY": "a"})
    settings = report.unless_wrong()
    assert report.notices == ()
    assert settings.models[1].arguments() == {"temperature": 0.2}
    assert settings.default_model == "claude"


def test_the_errors_are_those_that_are_told() -> None:
    for told in re.findall(r"^config\.yaml:\d+: error: (\S+: .*)$", TEXT, re.MULTILINE):
        text = (
            "models:\n- name: a\n  windw: 3\n"
            "summarization:\n  trigger: {type: messages, value: 50}\n"
            "  keep: {type: messages, value: 60}\n"
        )
        said = [
            f"{p.key}: {p.problem}; {p.fix}" for p in examine_text(text.encode(), "c", {}).problems
        ]
        assert told.replace("line 7", "line 5") in said
