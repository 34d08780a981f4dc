"""Every code block of README and documentation runs, or a comment before it has the reason."""

import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from scripts.tutorial_cost import provider_variables
from server_tests.e2e.chat_gateway import Gateway, served
from server_tests.e2e.talkers import SETTINGS
from strict_llm import StrictProvider
from tests.docs.commands import command_lines, find_mistake
from tests.docs.pages import Block, blocks
from thalweg_server.settings.loading import examine_text

LANGUAGES = {"python", "yaml", "json", "sh", "text", "sql"}
GATEWAY = "http://127.0.0.1:8001"
_DATABASE = r"postgresql://\w+:\w+@host/\w+"


def test_every_block_names_a_language_that_is_tested() -> None:
    """`text` is output; a block that a reader would copy has another language."""
    assert [block.place for block in blocks() if block.language not in LANGUAGES] == []
    copied = [
        b.place for b in blocks("text") if re.search(r"^(?:uv|pip|thalweg) ", b.code, re.MULTILINE)
    ]
    assert copied == []
    assert blocks("sql") == [], "SQL is run by nothing: mark it"


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # a page closes no model's client
@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.place)
def test_python_runs_and_prints_what_it_says(
    block: Block,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """In an empty folder, asserts included; a client finds a gateway, a model its provider."""
    monkeypatch.chdir(tmp_path)
    code = block.code
    with ExitStack() as stack:
        if block.page.startswith(("docs/models", "docs/frameworks")):
            url = stack.enter_context(StrictProvider(window=1_000_000)).anthropic_url
            for name, value in provider_variables(url).items():
                monkeypatch.setenv(name, value)
            code = re.sub(r"https?://[\w.:]+/v1", f"{url}/v1", code)
        if re.search(_DATABASE, code):
            code = re.sub(_DATABASE, request.getfixturevalue("postgres_url"), code)
        if "ThalwegClient\n" in code:
            Path("config.yaml").write_text(SETTINGS)
            code = code.replace(GATEWAY, stack.enter_context(served(Gateway(pace_s=0.0))))
        exec(compile(code, block.place, "exec"), {"__name__": "block"})  # noqa: S102 (our own page)
    printed = capsys.readouterr().out.splitlines()
    assert printed or "print(" not in code
    if expected := re.findall(r"print\(.*\)  # (.+)", code):
        assert printed == expected


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: block.place)
def test_yaml_is_a_configuration_without_problems(block: Block) -> None:
    environ = dict.fromkeys(re.findall(r"\$(\w+)", block.code), "k" * 32)
    environ |= {name: "postgresql://host/name" for name in environ if name.endswith("_URL")}
    report = examine_text(block.code.encode(), block.place, environ)
    report.unless_wrong()
    assert report.notices == ()


@pytest.mark.parametrize("block", blocks("json"), ids=lambda block: block.place)
def test_json_is_valid(block: Block) -> None:
    assert json.loads(block.code)


@pytest.mark.parametrize("block", blocks("sh"), ids=lambda block: block.place)
def test_commands_have_the_options_of_the_program(block: Block) -> None:
    calls = list(command_lines(block.code))
    assert [(words, wrong) for words in calls if (wrong := find_mistake(words))] == []


@pytest.mark.parametrize(
    "line",
    [
        "thalweg replai x",
        "echo a | thalweg chat --modl x",
        "thalweg thread undo",
        "thalweg thread undo a b",
        "uv run --no-dev thalweg thread show t1 --turn",
    ],
)
def test_a_wrong_command_line_is_found(line: str) -> None:
    (call,) = command_lines(line)
    assert find_mistake(call)
