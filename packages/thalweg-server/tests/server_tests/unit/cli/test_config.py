"""`thalweg config`: what it prints, and how it ends."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from scripts.configuration_page import STARTING
from thalweg.errors import ConfigError
from thalweg_server.cli.config import SANDBOXES, config
from thalweg_server.settings import Settings
from thalweg_server.settings.loading import examine_text

GOOD = """\
models:
  - name: gpt
    provider: openai
    api_key: $MY_KEY
    base_url: http://ada:hush@localhost/v1
    default_headers: {X-Who: hush}
gateway:
  port: ${MY_PORT:-0}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, and no variables that would affect it."""
    monkeypatch.chdir(tmp_path)
    for name in ("THALWEG_CONFIG", "THALWEG_HOME", "MY_KEY", "MY_PORT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*words: str) -> Result:
    """Run `thalweg config …`."""
    return CliRunner().invoke(config, words)


def write(text: str, name: str = "config.yaml") -> None:
    """Write a file."""
    Path(name).write_text(text, encoding="utf-8")


def test_a_good_file_ends_with_a_line_of_what_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", "hush")
    write(GOOD)
    ended = run("show")
    assert ended.exit_code == 0
    assert ended.stdout.endswith(
        "\n# config.yaml is good: 1 model, gpt answers, memory on, SQLite in .thalweg, "
        "gateway on 127.0.0.1:0 with the token of this machine\n"
    )


def test_without_a_file_the_defaults_hold() -> None:
    ended = run("show")
    assert ended.exit_code == 0
    assert ended.stdout.startswith(
        "# no config.yaml here, the defaults apply: no models, memory on"
    )
    assert ended.stdout.endswith("# `thalweg config init` writes an initial one\n")


def test_everything_wrong_has_a_line_and_ends_with_1() -> None:
    write("models: [{name: a, windw: 1}]\nmemry: {}\nagent: {shell: true}\n")
    ended = run("show")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        (
            "config.yaml:1:20: error: models[0].windw: there is no setting 'windw'; "
            "did you mean 'window'?"
        ),
        "config.yaml:2:1: error: memry: there is no setting 'memry'; did you mean 'memory'?",
        (
            "config.yaml:3:9: note: agent.shell has no effect: commands are disabled until "
            "sandbox.use names a sandbox"
        ),
        "config.yaml: 2 errors",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("offload: {listing_tokens: 2000}\n", "1:11: note: offload"),
        ("summarization: {offload: {listing_tokens: 9, result_tokens: 9000}}\n", "1:27: note: sum"),
    ],
)
def test_a_key_of_a_former_version_is_a_note(text: str, place: str) -> None:
    write(text)
    ended = run("show")
    assert ended.exit_code == 0
    assert f"config.yaml:{place}" in ended.stdout
    assert "has no effect: its size alone decides whether a result is offloaded" in ended.stdout


def test_the_same_is_told_to_programs() -> None:
    write("memry: {}\nagent: {shell: true}\n")
    ended = run("show", "--json")
    assert ended.exit_code == 1
    told = json.loads(ended.stdout)
    assert told["problems"] == [
        {
            "file": "config.yaml",
            "line": 1,
            "column": 1,
            "key": "memry",
            "problem": "there is no setting 'memry'",
            "fix": "did you mean 'memory'?",
        }
    ]
    (notice,) = told["notices"]
    assert (notice["line"], notice["column"], notice["key"]) == (2, 9, "agent.shell")
    assert (notice["kind"], notice["message"][:13]) == ("no effect", "has no effect")


def test_a_variable_is_missed_where_it_is_used_and_warned_of_where_it_may_be() -> None:
    write(
        "models:\n- {name: a, provider: openai, api_key: $MY_KEY}\n"
        "- {name: b, provider: openai, api_key: $NO_KEY}\ngateway: {port: 0}\n"
    )
    ended = run("show")
    assert ended.exit_code == 1
    assert ended.stdout.splitlines()[-3:-1] == [
        "# config.yaml:2:31: error: models[0].api_key: the variable MY_KEY is not set; set it",
        (
            "# config.yaml:3:31: warning: models[1].api_key: the variable NO_KEY is not set; "
            "set it before you use it"
        ),
    ]


def test_a_package_that_is_not_here_is_a_warning() -> None:
    write("tools: [{name: a, use: 'no_such_thing.tools:a'}]\ngateway: {port: 0}\n")
    ended = run("show")
    assert ended.exit_code == 0
    assert ended.stdout.splitlines()[-2] == (
        "# config.yaml:1:19: warning: tools[0].use: package 'no_such_thing' is not installed; "
        "install it before you use it"
    )


def test_what_holds_is_shown_with_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "hush")
    write(GOOD)
    ended = run("show")
    assert ended.exit_code == 0
    assert [re.sub(" {2,}# ", " # ", line) for line in ended.stdout.splitlines()] == [
        "models:",
        "  - name: gpt # config.yaml:2",
        "    provider: openai # config.yaml:3",
        "    api_key: $MY_KEY # config.yaml:4, $MY_KEY",
        "    base_url: http://********@localhost/v1 # config.yaml:5",
        "    default_headers: {X-Who: '********'} # config.yaml:6",
        "gateway:",
        "  port: 0 # config.yaml:8, $MY_PORT",
        (
            "# config.yaml is good: 1 model, gpt answers, memory on, SQLite in .thalweg, "
            "gateway on 127.0.0.1:0 with the token of this machine"
        ),
    ]


def test_what_holds_is_shown_to_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_HOME", "/there")
    write(GOOD)
    told = json.loads(run("show", "--json").stdout)
    assert told["settings"]["models"][0]["api_key"] == "$MY_KEY"
    assert told["origins"]["models[0].api_key"] == "config.yaml:4, $MY_KEY (not set)"
    assert told["origins"]["storage.home"] == "$THALWEG_HOME"
    assert "hush" not in json.dumps(told)


def test_the_defaults_are_shown_with_an_option_and_can_be_read_again() -> None:
    shown = run("show", "--defaults").stdout
    assert "  port: 8001 " in shown
    assert examine_text(shown.encode(), "c", {}).unless_wrong() == Settings()


def test_a_file_to_start_with_is_written_once() -> None:
    ended = run("init", "--all")
    assert ended.stdout == "config.yaml: written; edit it, then run: thalweg config show\n"
    assert run("show").exit_code == 0
    assert "config.yaml is good" in run("show").stdout

    write("memory: {max_facts: 3}")
    again = run("init", "--all")
    assert isinstance(again.exception, ConfigError)
    assert str(again.exception) == (
        "config.yaml: the file exists already; name another file, or overwrite it with --force"
    )
    assert Path("config.yaml").read_text(encoding="utf-8") == "memory: {max_facts: 3}"
    assert run("init", "--all", "--force").exit_code == 0
    assert Path("config.yaml").read_text(encoding="utf-8") == STARTING.read_text(encoding="utf-8")


def test_a_file_of_deerflow_is_never_overwritten() -> None:
    """Neither by the default name nor with --force or another name of the same file."""
    deerflow = "config_version: 1\nmemory: {enabled: false}\n"
    write(deerflow)
    ended = run("init", "--from", "config.yaml")
    assert ended.exit_code == 0, ended.output
    next_steps = "thalweg config show thalweg.yaml && thalweg serve thalweg.yaml\n"
    assert ended.stdout.endswith(next_steps)
    assert "enabled: false" in Path("thalweg.yaml").read_text(encoding="utf-8")
    Path("link.yaml").symlink_to("config.yaml")
    for name in ("config.yaml", "link.yaml"):
        refused = run("init", name, "--from", "config.yaml", "--force")
        assert str(refused.exception) == (
            f"{name}: --from reads this file; name another file to write"
        )
    assert Path("config.yaml").read_text(encoding="utf-8") == deerflow


@pytest.mark.parametrize(
    ("options", "unused"),
    [
        ("--from d.yaml --all", "--all: it has no effect with --from"),
        ("--from d.yaml --model a:b", "--model: it has no effect with --from"),
        ("--from d.yaml --sandbox host", "--sandbox: it has no effect with --from"),
        ("--from d.yaml --no-memory", "--memory: it has no effect with --from"),
        ("--all --model a:b", "--model: it has no effect with --all"),
    ],
)
def test_an_answer_without_effect_is_refused(options: str, unused: str) -> None:
    write("memory: {enabled: false}", "d.yaml")
    ended = run("init", *options.split())
    assert str(ended.exception) == f"{unused}; leave it out"
    assert [path.name for path in Path().iterdir()] == ["d.yaml"]


@pytest.mark.parametrize(
    "model", ["anthropic:claude-sonnet-4-6", "openai:a b@http://h:1/v1", "ollama:#x"]
)
@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize("memory", [True, False])
def test_ten_lines_hold_three_decisions(model: str, sandbox: str, *, memory: bool) -> None:
    flag = "--memory" if memory else "--no-memory"
    assert run("init", "--model", model, "--sandbox", sandbox, flag).exit_code == 0
    text = Path("config.yaml").read_text(encoding="utf-8")
    assert text.count("\n") <= 10

    settings = examine_text(text.encode(), "c", {}).unless_wrong()
    assert settings.default_model == model
    assert (settings.sandbox.use, settings.memory.enabled) == (sandbox, memory)


def test_without_a_terminal_nothing_is_asked() -> None:
    ended = run("init")
    assert isinstance(ended.exception, ConfigError)
    assert "pass --model" in str(ended.exception)
    assert not Path("config.yaml").exists()

    ended = run("init", "--model", "openai:x", "--sandbox", "bublewrap")
    assert "did you mean 'bubblewrap'" in str(ended.exception)

    ended = run("init", "--model", "qwen")
    assert "there is no model 'qwen'" in str(ended.exception)
    assert not Path("config.yaml").exists()

    ended = run("init", "--model", "nobody:x", "--no-memory")
    assert ended.exit_code == 0
    assert "first: " in ended.stdout
    assert "memory off" in run("show").stdout


def test_a_file_to_start_with_changes_nothing_and_every_line_of_it_may_be_used() -> None:
    text = STARTING.read_text(encoding="utf-8")
    assert examine_text(text.encode(), "c", {}).unless_wrong() == Settings()

    used = re.sub(r"^#(?! \S)", "", text, flags=re.MULTILINE)
    report = examine_text(used.encode(), "c", {"OPENAI_API_KEY": "k", "THALWEG_KEY": "k"})
    settings = report.unless_wrong()
    assert report.notices == ()
    for name in ("agent", "summarization", "memory", "skills", "storage"):
        assert getattr(settings, name) == getattr(Settings(), name), name
    assert settings.subagents.agents[0].name == "reader"
    assert settings.gateway.keys[0].owner == "ada"


def test_a_file_to_start_with_has_every_setting() -> None:
    text = STARTING.read_text(encoding="utf-8")
    for name, field in Settings.model_fields.items():
        assert f"\n#{name}:" in text
        for inner in getattr(field.annotation, "model_fields", {}):
            assert re.search(rf"^#  {inner}:", text, re.MULTILINE), inner
