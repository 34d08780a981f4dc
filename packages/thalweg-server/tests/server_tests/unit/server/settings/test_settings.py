"""Settings as a value: frozen, comparable, silent about secrets."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from thalweg.errors import ConfigError, SettingsError
from thalweg_server.settings import (
    AgentSettings,
    GatewaySettings,
    McpServer,
    ModelSettings,
    Settings,
    SubagentsSettings,
    ToolSettings,
    load_settings,
)
from thalweg_server.settings.loading import SettingsReport, examine_text, unset_variables

TWO = b"""\
models:
  - {name: one, provider: openai, api_key: $ONE_KEY}
  - {name: two, provider: openai, api_key: $TWO_KEY, timeout: $PATIENCE}
"""


def test_the_room_is_imported_without_what_it_needs_later() -> None:
    """PyYAML when a file is read; LangChain never."""
    code = (
        "import sys, thalweg_server.settings\n"
        "import thalweg_server.settings.loading as l\n"
        "l.load_settings(environ={})\n"
        "print([m for m in ('yaml', 'langchain', 'langchain_core', 'fastapi') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert run.stdout.strip() == "[]"


def test_without_a_file_everything_is_as_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(environ={}) == Settings()


def test_the_file_is_that_of_the_variable_or_the_one_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("gateway: {port: 1}", encoding="utf-8")
    Path("other.yaml").write_text("gateway: {port: 2}", encoding="utf-8")
    Path("third.yaml").write_text("gateway: {port: 3}", encoding="utf-8")

    named = {"THALWEG_CONFIG": "other.yaml"}
    assert load_settings(environ={}).gateway.port == 1
    assert load_settings(environ=named).gateway.port == 2
    assert load_settings("third.yaml", environ=named).gateway.port == 3


def test_the_home_is_that_of_the_variable_unless_the_file_names_one() -> None:
    home = {"THALWEG_HOME": "/var/lib/thalweg"}
    assert examine_text(b"", "", home).unless_wrong().storage.home == "/var/lib/thalweg"
    text = b"storage: {home: here}"
    assert examine_text(text, "c", home).unless_wrong().storage.home == "here"


def test_settings_do_not_change() -> None:
    settings = Settings(models=(ModelSettings(name="a", options={"stop": ["x"]}),))
    with pytest.raises(ValidationError):
        settings.memory = settings.memory
    with pytest.raises(TypeError, match="settings are immutable"):
        settings.models[0].options["stop"] = 1  # type: ignore[index]
    with pytest.raises(TypeError, match="settings are immutable"):
        settings.mcp_servers.update(a=McpServer(command="x"))  # type: ignore[attr-defined]


def test_parts_may_be_keys_and_survive_copies() -> None:
    """An object made from a part is found again after the file was read again."""
    for part in (
        ModelSettings(name="a", api_key=SecretStr("k"), options={"headers": {"a": ["b"]}}),
        ToolSettings(name="a", use="a:b", options={"limit": 3}),
        McpServer(command="x", env={"A": SecretStr("b")}),
        GatewaySettings(),
        AgentSettings(interrupt_on={"execute": True}),
        SubagentsSettings(),
    ):
        assert {part: 1}[copy.deepcopy(part)] == 1
        assert pickle.loads(pickle.dumps(part)) == part


def test_other_keys_are_arguments_and_slips_of_the_finger_are_not() -> None:
    model = ModelSettings.from_mapping(
        {"name": "a", "options": {"temperature": 0}, "top_p": 1, "user": "ada"}
    )
    assert model.arguments() == {"temperature": 0, "top_p": 1, "user": "ada"}
    for slip in ("windw", "use_", "api-key", "dispaly_name", "namee"):
        with pytest.raises(ConfigError, match=f"there is no setting '{slip}'; did you mean "):
            ModelSettings.from_mapping({"name": "a", slip: "x"})


def test_arguments_have_their_secrets_told_and_nothing_else_has() -> None:
    options = {"gemini_api_key": "hush", "default_headers": {"X-Any": "hush"}, "stop": ["x"]}
    model = ModelSettings(name="a", options=options)
    assert "hush" not in f"{model!r} {model} {model.model_dump()} {model.model_dump_json()}"
    assert model.arguments() == options


def test_a_key_that_is_written_out_is_a_warning() -> None:
    text = b"""\
models: [{name: a, api_key: swordfish}, {name: b, api_key: $KEY}]
gateway: {keys: [{key: swordfish, owner: ada}]}
"""
    report = examine_text(text, "c", {"KEY": "k"})
    assert [notice.position.key for notice in report.notices] == [
        "models[0].api_key",
        "gateway.keys[0].key",
    ]
    assert "such as $MY_KEY" in report.notices[0].message
    assert "swordfish" not in str(report.notices)


def test_a_variable_is_missed_when_its_model_is_used() -> None:
    settings = examine_text(TWO, "c", {"ONE_KEY": "k"}).unless_wrong()
    one, two = settings.models

    assert one.ready() is one
    with pytest.raises(SettingsError) as caught:
        two.ready()
    assert str(caught.value) == (
        "c:3:35: models[1].api_key: the variable TWO_KEY is not set; set it\n"
        "c:3:54: models[1].timeout: the variable PATIENCE is not set; set it, or write "
        "${PATIENCE:-default}"
    )
    used, unused = unset_variables(settings)
    assert (used, len(unused)) == ([], 2)


def test_what_names_a_model_uses_it() -> None:
    for more in (
        b"agent: {model: two}",
        b"memory: {model_name: two}",
        b"summarization: {model_name: two}",
        b"subagents: {agents: [{name: a, description: b, model: two}]}",
    ):
        settings = examine_text(TWO + more, "c", {"ONE_KEY": "k", "PATIENCE": "1"}).unless_wrong()
        assert [error.key for error in unset_variables(settings)[0]] == ["models[1].api_key"]


def test_the_servers_and_tools_that_are_on_are_used() -> None:
    text = b"""\
tools: [{name: a, use: 'a:b', token: $TOKEN}]
mcp_servers:
  on: {command: x, args: [$A]}
  off: {enabled: false, command: x, env: {B: $B}}
"""
    settings = examine_text(text, "c", {}).unless_wrong()
    assert [error.key for error in unset_variables(settings)[0]] == [
        "tools[0].token",
        "mcp_servers.on.args[0]",
    ]
    with pytest.raises(SettingsError):
        settings.mcp_servers["off"].ready()


def test_a_line_more_above_changes_no_settings() -> None:
    assert examine_text(TWO, "c", {}).settings == examine_text(b"# more\n" + TWO, "c", {}).settings


def test_the_model_that_answers_is_the_first_unless_another_is_named() -> None:
    one, two = ModelSettings(name="one"), ModelSettings(name="two")
    assert Settings().default_model is None
    assert Settings(models=(one, two)).default_model == "one"
    settings = Settings(models=(one, two), agent=AgentSettings(model="two"))
    assert settings.default_model == "two"
    assert settings.model_named("two") is two
    assert settings.model_named("three") is None


def test_numbers_and_switches_may_be_variables() -> None:
    text = b"gateway: {port: $PORT}\nagent: {recursion_limit: $N}\nsandbox: {network: '${ON:-yes}'}"
    settings = examine_text(text, "c", {"PORT": "80", "N": "7"}).unless_wrong()
    assert (settings.gateway.port, settings.sandbox.network) == (80, True)
    assert settings.agent.recursion_limit == 7


TWO_OWNERS = "gateway: {keys: [{key: k1, owner: ada}, {key: k2, owner: bob}]}"
TOKENS = "gateway: {oidc: {issuer: 'https://id.example', audience: a}}"


@pytest.mark.parametrize("gateway", [TWO_OWNERS, TOKENS])
def test_a_shell_on_the_host_is_refused_with_more_than_one_owner(gateway: str) -> None:
    report = examine_text(f"{gateway}\nsandbox: {{use: host}}".encode(), "c", {})
    (problem,) = report.problems
    assert "every owner's files" in str(problem)
    assert "bubblewrap" in str(problem)
    assert examine_text(f"{gateway}\nsandbox: {{use: bubblewrap}}".encode(), "c", {}).problems == ()


@pytest.mark.parametrize("text", ["{}", "gateway: {keys: [{key: k1, owner: ada}]}"])
def test_a_shell_on_the_host_takes_an_explicit_word(text: str) -> None:
    assert examine_text(text.encode(), "c", {}).unless_wrong().sandbox.use == "none"
    more = f"{text if text != '{}' else ''}\nsandbox: {{use: host}}"
    assert examine_text(more.encode(), "c", {}).unless_wrong().sandbox.use == "host"


def test_a_key_that_allowed_a_shell_in_a_former_version_is_a_note() -> None:
    report = examine_text(b"agent: {shell: true}", "c", {})
    assert report.unless_wrong().sandbox.use == "none"
    assert "sandbox.use" in str(report.notices[0])


def test_values_of_the_sandbox_s_environment_are_secret() -> None:
    text = b"sandbox: {use: bubblewrap, env: {MODE: swordfish}}"
    settings = examine_text(text, "c", {}).unless_wrong()
    assert settings.sandbox.variables == {"MODE": "swordfish"}
    assert "swordfish" not in repr(settings)


OIDC = "gateway: {keys: [{key: k1, owner: OWNER}], oidc: {issuer: i, audience: aMORE}}"


def test_owners_of_keys_and_of_tokens_are_not_the_same() -> None:
    def examined(owner: str, more: str = "") -> SettingsReport:
        text = OIDC.replace("OWNER", owner).replace("MORE", more)
        return examine_text(text.encode(), "c", {})

    assert examined("ada").unless_wrong().gateway.oidc is not None
    (problem,) = examined("'oidc:ada'").problems
    assert "a token could be" in str(problem)
    shared = examined("ada", ", owner_prefix: ''")
    assert shared.problems == ()
    assert "has the rights of that key" in str(shared.notices[0])
    assert examined("ada", ", owner_prefix: ' '").problems


SMALL = "models: [{name: mini, provider: openai, window: 8000}]\n"


@pytest.mark.parametrize(
    ("more", "lacking"),
    [
        ("", "skills, summaries by a model, learning of facts"),
        ("summarization: {trigger: {type: messages, value: 50}}", "skills, learning of facts"),
        ("summarization: {model_name: mini}", "skills, learning of facts"),
        ("memory: {max_facts: 9}", "skills, summaries by a model"),
    ],
)
def test_a_small_window_is_a_notice_with_what_the_agent_lacks(more: str, lacking: str) -> None:
    report = examine_text(f"{SMALL}{more}".encode(), "c", {})
    (notice,) = report.notices
    assert (notice.position.key, notice.kind) == ("models[0].window", "small agent")
    assert f"subagents, to-do lists, {lacking}; agent.profile: full has them" in notice.message


@pytest.mark.parametrize(
    "more",
    [
        "agent: {profile: full}",
        "agent: {profile: small}",
        "sandbox: {use: bubblewrap}",
        "subagents: {max_turns: 9}",
        "skills: {paths: [mine]}",
    ],
)
def test_a_setting_that_names_what_a_small_agent_lacks_takes_the_full_one(more: str) -> None:
    report = examine_text(f"{SMALL}{more}".encode(), "c", {})
    assert report.notices == ()
    assert report.unless_wrong().has_small_agent(8_000) == ("small" in more)


def test_the_formula_of_the_documents_comes_with_their_place() -> None:
    def placement(text: str) -> str:
        return examine_text(text.encode(), "c", {}).unless_wrong().memory.placement

    assert placement("memory: {retrieval: seeds}") == "system_prompt"
    assert placement("memory: {retrieval: seeds, placement: tail}") == "tail"
    assert placement("memory: {retrieval: ranked}") == "tail"


def test_weights_without_an_effect_are_a_notice_even_if_they_are_the_defaults() -> None:
    text = b"memory: {similarity_weight: 0.6, confidence_weight: 0.4}"
    notices = examine_text(text, "c", {}).notices
    assert [n.position.key for n in notices] == [
        "memory.similarity_weight",
        "memory.confidence_weight",
    ]
    assert (
        examine_text(b"memory: {retrieval: seeds, similarity_weight: 0.6}", "c", {}).notices == ()
    )
