"""`thalweg prices` shows the table."""

import pytest

from core_tests.terminals import terminal
from thalweg.cli.prices import HEADINGS, find_tariff, format_lifetime, prices
from thalweg.engine.pricing.table import MODELS, TARIFFS
from thalweg.errors import ConfigError


def test_without_a_name_every_tariff_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    prices([], prog_name="thalweg prices")
    lines = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines if "  " in line]

    rows = {row.name for rows in MODELS.values() for row in rows} | set(TARIFFS)
    assert sorted({*named} - {*HEADINGS}) == sorted(rows)
    assert {*HEADINGS} - {"name", "block"} <= {*named}  # each has its meaning at the end
    assert max(map(len, lines)) <= 100
    with terminal(80):
        prices([], prog_name="thalweg prices")
    narrow = capsys.readouterr().out.splitlines()
    assert max(map(len, narrow)) <= 80
    assert narrow[1].split() == [*HEADINGS[:-1]]
    assert narrow[narrow.index("OpenAI") - 2] == "Hidden: image."


def test_with_one_all_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    prices(["us.anthropic.claude-haiku-5.5-v1:0"], prog_name="thalweg prices")
    said = capsys.readouterr().out

    assert "name: claude-haiku-5-5\n" in said
    assert "above 100,000: input 5, read 0.5, write 6.25, output 25\n" in said
    assert "source: https://" in said


def test_a_model_is_found_by_any_of_its_names() -> None:
    assert find_tariff("anthropic").name == "anthropic"
    assert find_tariff("claude-opus-5-5-1h").name == "claude-opus-5-5-1h"
    assert find_tariff("openai/gpt-5.4-mini-2026-03-05").name == "gpt-5.4-mini"


@pytest.mark.parametrize(
    ("name", "fix"),
    [("gpt-5.44", "did you mean 'gpt-5.4'?"), ("zzz", "use anthropic, anthropic-1h, openai, ")],
)
def test_what_is_not_known_is_refused_with_what_is(name: str, fix: str) -> None:
    with pytest.raises(ConfigError, match=f"there are no prices of '{name}'; ") as caught:
        find_tariff(name)
    assert fix in str(caught.value)


def test_a_lifetime_is_written_in_hours_or_minutes() -> None:
    assert [format_lifetime(s) for s in (300, 1_800, 3_600, 86_400, None)] == [
        "5 min",
        "30 min",
        "1 h",
        "24 h",
        "-",
    ]
