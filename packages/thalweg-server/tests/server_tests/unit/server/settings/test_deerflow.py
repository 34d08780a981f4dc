"""DeerFlow's documented blocks load as they are; its other keys are converted or left out."""

import re
from pathlib import Path
from textwrap import dedent, indent

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.errors import SettingsError
from thalweg_server.cli.config import config
from thalweg_server.settings import Settings, SubagentSettings
from thalweg_server.settings.deerflow import convert
from thalweg_server.settings.loading import SettingNotice, SettingsReport, examine_text

SEEDS = """\
models:
  - name: gpt-4o-mini
    use: langchain_openai:ChatOpenAI
    model: gpt-4o-mini
    api_key: $OPENAI_API_KEY
summarization:
  enabled: true
  model_name: null  # the one in use
  trigger:
    - type: fraction
      value: 0.8
    - type: messages
      value: 50
  keep:
    type: messages
    value: 20
  trim_tokens_to_summarize: 4000
  summary_prompt: null
memory:
  enabled: true
  injection_enabled: true
  storage_path: "backend/.deer-flow/memory.json"
  debounce_seconds: 30
  model_name: null
  max_facts: 100
  fact_confidence_threshold: 0.7
  max_injection_tokens: 2000
"""

WHOLE = """\
config_version: 33
log_level: info
token_usage: {enabled: true}
models:
  - name: own
    display_name: Own
    use: deerflow.models.patched_openai:PatchedChatOpenAI
    model: own/large
    base_url: http://localhost:9000/v1
    api_key: $OWN_KEY
    request_timeout: 600.0
    max_tokens: 4096
    context_window: 128000
    supports_thinking: true
    supports_reasoning_effort: true
    when_thinking_enabled: {extra_body: {thinking: {type: enabled}}}
    pricing: {currency: USD, input_per_million: 2.0, output_per_million: 8.0,
              input_cache_hit_per_million: 0.2}
tool_groups:
  - name: web
  - name: file:read
tools:
  - name: web_search
    group: web
    use: deerflow.community.ddg_search.tools:web_search_tool
    max_results: 5
  - name: read_file
    group: file:read
    use: deerflow.sandbox.tools:read_file_tool
  - name: mine
    group: web
    use: my_tools:search
    max_results: 3
uploads: {max_files: 10, max_file_size: 1000, pdf_converter: auto}
sandbox:
  use: deerflow.sandbox.local:LocalSandboxProvider
  allow_host_bash: true
  environment: {LANG: C}
  bash_command_timeout: 90
subagents:
  timeout_seconds: 1800
  max_total_per_run: 6
  agents:
    general-purpose: {timeout_seconds: 2700, model: inherit}
    bash: {max_turns: 80}
  custom_agents:
    analysis:
      description: Looks at data.
      tools: [read_file]
      model: own
skills:
  path: my/skills
  container_path: /mnt/skills
title: {enabled: true}
summarization:
  trigger: {type: tokens, value: 32000}
  keep: {type: messages, value: 10}
  skill_file_read_tool_names: [read_file]
memory:
  enabled: true
  manager_class: deermem
  mode: middleware
  backend_config:
    storage_path: ""
    max_facts: 50
    token_counting: tiktoken
database:
  backend: postgres
  postgres_url: $DATABASE_URL
  sqlite_dir: .deer-flow/data
  pool_recycle: 300
scheduler: {enabled: false}
"""


SHARED = Path(__file__).parents[8] / "shared"
"""Documents and files of others, which are not part of the project."""
BLOCK = re.compile(r"^(?:summarization|memory|trigger|keep):[ ]*\n(?:[ ]{2,}.*\n)+", re.MULTILINE)
"""A block of YAML in the documents, which are plain text."""


def read(text: str, **environ: str) -> tuple[Settings, SettingsReport]:
    """Read a file that nothing is wrong with."""
    report = examine_text(dedent(text).encode(), "c", environ)
    return report.unless_wrong(), report


def converted(text: str, **environ: str) -> tuple[Settings, dict[str, SettingNotice]]:
    """Convert a file, and return the settings of the result and the notices by their keys."""
    written, notices = convert(dedent(text).encode(), "deerflow.yaml", environ)
    report = examine_text(written.encode(), "c", environ)
    return report.unless_wrong(), {notice.position.key: notice for notice in notices}


def test_a_file_of_the_documents_loads_as_it_is() -> None:
    settings, report = read(SEEDS, OPENAI_API_KEY="k")

    (model,) = settings.models
    assert (model.name, model.use) == ("gpt-4o-mini", "langchain_openai:ChatOpenAI")
    assert model.api_key == SecretStr("k")
    assert settings.summarization.triggers == (
        Threshold(type="fraction", value=0.8),
        Threshold(type="messages", value=50),
    )
    assert settings.summarization.trim_tokens_to_summarize == 4000
    assert settings.memory.max_facts == 100
    assert settings.memory.storage == "json"
    assert settings.memory.storage_path == "backend/.deer-flow/memory.json"
    assert report.notices == ()


def documented_blocks() -> list[tuple[str, str]]:
    """Return every block of YAML in the documents, and the document it is from."""
    files = sorted((SHARED / "seeds").glob("*.txt")) if (SHARED / "seeds").is_dir() else []
    return [
        (file.name[:3], block)
        for file in files
        for block in BLOCK.findall(file.read_text(encoding="utf-8"))
    ]


def test_every_block_of_the_documents_loads_word_for_word() -> None:
    blocks = documented_blocks()
    if not blocks:
        pytest.skip(f"{SHARED / 'seeds'} is not here")
    assert len(blocks) == 21

    for document, block in blocks:
        text = block
        if block.startswith(("trigger", "keep")):  # shown without the section they belong to
            text = f"summarization:\n{indent(block, '  ')}"
        text += "models: [{name: gpt-4o-mini, provider: openai}]\n"
        report = examine_text(text.encode(), f"{document}.yaml", {})
        assert report.problems == (), block
        for key in re.findall(r"^  (\w+):", text, re.MULTILINE):
            section = text.partition(":")[0]
            node = report.root.find(section, key)
            assert node is not None
            given = getattr(getattr(report.settings, section), key)
            if isinstance(node.value, bool | int | float | str):
                assert given == node.value


def test_a_key_with_a_counterpart_becomes_it() -> None:
    settings, notices = converted(WHOLE, OWN_KEY="k", DATABASE_URL="postgresql://h/d")

    (model,) = settings.models
    assert model.use == "langchain_openai:ChatOpenAI"
    assert (model.window, model.max_output) == (128_000, 4_096)
    assert model.arguments() == {"request_timeout": 600.0, "max_tokens": 4096}
    prices = settings.summarization.pricing.models["own/large"]
    assert (prices.base, prices.output, prices.read) == (2.0, 4.0, 0.1)
    assert [(t.name, t.use, t.arguments()) for t in settings.tools] == [
        ("mine", "my_tools:search", {"max_results": 3})
    ]
    assert settings.gateway.max_upload_bytes == 1000
    assert not settings.sandbox.is_on
    assert settings.sandbox.variables == {"LANG": "C"}
    assert settings.sandbox.timeout_seconds == 90
    assert settings.subagents.timeout_seconds == 1800
    assert settings.subagents.agents == (
        SubagentSettings(name="general-purpose", timeout_seconds=2700),
        SubagentSettings(
            name="analysis", description="Looks at data.", tools=("read_file",), model="own"
        ),
    )
    assert settings.skills.paths == ("my/skills",)
    assert settings.memory.max_facts == 50
    assert settings.memory.mode == "inject"
    assert settings.storage.address == "postgresql://h/d"
    assert settings.storage.home == ".thalweg"
    assert not settings.gateway.local_token
    assert {key: n.message for key, n in notices.items() if n.kind == "changed"} == {
        "": "gateway.local_token: false was added, as its routes need no token",
        "models[0].pricing": "became summarization.pricing.models['own/large']",
        "models[0].use": "became langchain_openai:ChatOpenAI",
        "tools[1]": "is the agent's own read_file",
        "uploads.max_file_size": "became gateway.max_upload_bytes",
        "sandbox.bash_command_timeout": "became sandbox.timeout_seconds",
        "sandbox.environment": "became sandbox.env",
        "skills.path": "became skills.paths",
        "database.postgres_url": "became storage.url",
    }


def test_a_key_without_one_is_left_out_with_its_line_and_the_reason() -> None:
    _, notices = converted(WHOLE, OWN_KEY="k", DATABASE_URL="postgresql://h/d")
    left_out = {key: notice for key, notice in notices.items() if notice.kind == "left out"}

    assert set(left_out) == {
        "config_version",
        "database.pool_recycle",
        "database.sqlite_dir",
        "log_level",
        "memory.backend_config.token_counting",
        "memory.manager_class",
        "models[0].supports_reasoning_effort",
        "models[0].when_thinking_enabled",
        "sandbox.allow_host_bash",
        "sandbox.use",
        "scheduler",
        "skills.container_path",
        "subagents.agents.bash",
        "summarization.skill_file_read_tool_names",
        "title",
        "token_usage",
        "tools[0]",
        "uploads.max_files",
        "uploads.pdf_converter",
    }
    assert str(left_out["title"].position) == "deerflow.yaml:54:1"
    assert left_out["memory.backend_config.token_counting"].message == (
        "has no counterpart here: tokens are counted exactly"
    )
    assert "DeerFlow's own" in left_out["tools[0]"].message


def test_a_value_that_cannot_be_used_is_an_error_in_the_line_of_the_original() -> None:
    text = "uploads: {max_file_size: -1}\nmemory: {backend_config: {max_facts: 0}}\n"
    text += "skills: {path: ''}\nsandbox: {environment: {A: b}, env: {A: c}}\n"
    with pytest.raises(SettingsError) as caught:
        convert(text.encode(), "c", {})
    problems = (caught.value, *caught.value.others)

    assert [f"{p.line}:{p.column}: {p.key}" for p in problems] == [
        "1:11: uploads.max_file_size",
        "2:27: memory.backend_config.max_facts",
        "3:10: skills.path",
        "4:11: sandbox.environment",
    ]


def test_a_model_of_a_class_that_only_deerflow_has_is_left_out() -> None:
    text = "models: [{name: a, use: 'deerflow.models.own:Unknown'}, {name: b, provider: openai}]"
    settings, notices = converted(text)
    assert [model.name for model in settings.models] == ["b"]
    assert notices["models[0]"].message.endswith(
        "deerflow.models.own:Unknown is DeerFlow's own; name another class"
    )


def test_a_checkpointer_on_postgres_is_the_storage() -> None:
    settings, _ = converted("checkpointer: {type: postgres, connection_string: postgresql://h/d}")
    assert settings.storage.address == "postgresql://h/d"

    _, notices = converted("checkpointer: {type: sqlite, connection_string: checkpoints.db}")
    assert notices["checkpointer.connection_string"].message.endswith("see storage")


def test_prices_in_another_currency_are_ratios_without_a_base() -> None:
    text = (
        "models: [{name: a, pricing: {currency: CNY, input_per_million: 4, output_per_million: 8}}]"
    )
    settings, _ = converted(text)
    prices = settings.summarization.pricing.models["a"]
    assert (prices.base, prices.output) == (None, 2.0)


def test_a_text_is_one_variable_or_none_as_in_deerflow() -> None:
    text = "models: [{name: a, api_key: $KEY, organization: 'a $5 bill, $HOME'}]"
    settings, _ = converted(text, KEY="k", HOME="/root")
    assert settings.models[0].api_key == SecretStr("k")
    assert settings.models[0].arguments() == {"organization": "a $5 bill, $HOME"}


def test_the_result_keeps_the_names_of_variables_that_are_not_set() -> None:
    text = b"models: [{name: a, api_key: $KEY}]\ndatabase: {backend: postgres, postgres_url: $DB}"
    written, _ = convert(text, "c", {})
    assert "api_key: $KEY" in written
    assert "url: $DB" in written


def test_a_memory_folder_is_imported_instead() -> None:
    settings, notices = converted("memory: {backend_config: {storage_path: .deer-flow}}")
    assert settings.memory.storage == "database"
    assert "thalweg memory import" in notices["memory.backend_config.storage_path"].message


def test_a_live_file_of_deerflow_is_one_error_that_names_the_converter() -> None:
    (problem,) = examine_text(
        b"title: {}\nconfig_version: 33\nscheduler: {}", "c.yaml", {}
    ).problems
    assert str(problem) == (
        "c.yaml:2:1: config_version: this is a configuration of DeerFlow; "
        "convert it: thalweg config init thalweg.yaml --from c.yaml"
    )
    (problem,) = examine_text(b"scheduler: {}", "c.yaml", {}).problems
    hint = "for a file of DeerFlow: thalweg config init thalweg.yaml --from FILE"
    assert problem.fix.endswith(hint)


@pytest.mark.parametrize("name", ["config.v2.0.0.yaml", "config.2026-08-22.yaml"])
def test_deerflow_s_own_example_is_converted(name: str, tmp_path: Path) -> None:
    file = SHARED / "peers" / "deerflow" / name
    if not file.exists():
        pytest.skip(f"{file} is not here")

    ours = tmp_path / "thalweg.yaml"
    ended = CliRunner().invoke(config, ["init", str(ours), "--from", str(file)])
    assert ended.exit_code == 0, ended.output
    assert ended.output.count(": left out: ") >= 30
    report = examine_text(ours.read_bytes(), "thalweg.yaml", {})
    assert (report.problems, report.notices) == ((), ())


def test_a_group_that_is_not_listed_is_a_warning() -> None:
    _, report = read("tool_groups: [{name: web}]\ntools: [{name: a, group: wbe, use: 'a:b'}]")
    assert [(n.kind, n.message) for n in report.notices] == [
        ("warning", "there is no group 'wbe' in tool_groups (web)")
    ]


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        (
            "memory: {similarity_weight: 0.7}",
            "memory.similarity_weight",
            "has no effect unless memory.retrieval is seeds",
        ),
        (
            "summarization: {keep: {type: messages, value: 5}}",
            "summarization.keep",
            "has no effect without summarization.trigger",
        ),
        (
            "memory: {storage: database, storage_path: m.json}",
            "memory.storage_path",
            "has no effect unless memory.storage is json",
        ),
    ],
)
def test_a_setting_that_has_no_effect_is_named(text: str, key: str, message: str) -> None:
    _, report = read(text)
    assert [(n.position.key, n.message) for n in report.notices] == [(key, message)]
