"""A file of DeerFlow's shape loads unchanged, and reports keys that have no effect here."""

from pathlib import Path
from textwrap import dedent

import pytest
from pydantic import SecretStr

from thalweg.engine.compaction.thresholds import Threshold
from thalweg_server.settings import Settings, SubagentSettings
from thalweg_server.settings.loading import SettingsReport, examine_text

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


def read(text: str, **environ: str) -> tuple[Settings, SettingsReport]:
    """Read a file that nothing is wrong with."""
    report = examine_text(dedent(text).encode(), "c", environ)
    return report.unless_wrong(), report


def test_a_file_of_the_seeds_loads_as_it_is() -> None:
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
    assert [(str(n.place), n.place.key, n.message) for n in report.notices] == [
        ("c:22", "memory.storage_path", "is taken as the document of memory.storage: json")
    ]
    assert settings.memory.storage == "json"


def test_what_has_an_equivalent_is_moved_there() -> None:
    settings, _ = read(WHOLE, OWN_KEY="k", DATABASE_URL="postgresql://h/d")

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


def test_what_has_none_is_told() -> None:
    _, report = read(WHOLE, OWN_KEY="k", DATABASE_URL="postgresql://h/d")
    idle = {n.place.key for n in report.notices if n.kind == "no effect"}

    assert idle == {
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
    taken = {n.place.key: n.message for n in report.notices if n.kind == "taken as"}
    assert taken["tools[1]"] == "is taken as the agent's own read_file"
    assert taken["database.postgres_url"] == "is taken as storage.url"


def test_errors_name_the_keys_that_stand_in_the_file() -> None:
    text = "offload:\n  result_tokens: 0\nuploads: {max_file_size: -1}\n"
    text += "memory: {backend_config: {max_facts: 0}}\nskills: {path: ''}\n"
    report = examine_text(text.encode(), "c", {})

    assert [f"{p.line}: {p.key}" for p in report.problems] == [
        "2: offload.result_tokens",
        "3: uploads.max_file_size",
        "4: memory.backend_config.max_facts",
        "5: skills.path",
    ]


def test_a_checkpointer_on_postgres_is_the_storage() -> None:
    settings, _ = read("checkpointer: {type: postgres, connection_string: postgresql://h/d}")
    assert settings.storage.address == "postgresql://h/d"

    _, report = read("checkpointer: {type: sqlite, connection_string: checkpoints.db}")
    assert [n.message for n in report.notices] == ["has no effect here: see storage"]


def test_prices_in_another_currency_are_ratios_without_a_base() -> None:
    text = (
        "models: [{name: a, pricing: {currency: CNY, input_per_million: 4, output_per_million: 8}}]"
    )
    settings, _ = read(text)
    prices = settings.summarization.pricing.models["a"]
    assert (prices.base, prices.output) == (None, 2.0)


def test_a_group_that_is_not_listed_is_a_warning() -> None:
    _, report = read("tool_groups: [{name: web}]\ntools: [{name: a, group: wbe, use: 'a:b'}]")
    assert [(n.kind, n.message) for n in report.notices] == [
        ("warning", "there is no group 'wbe' in tool_groups (web)")
    ]


EXAMPLES = Path(__file__).parents[8] / "shared" / "peers" / "deerflow"
"""DeerFlow's own `config.example.yaml` of several releases; they are not part of the project."""


@pytest.mark.parametrize("name", ["config.v2.0.0.yaml", "config.2026-08-22.yaml"])
def test_deerflows_own_example_loads_as_it_is(name: str) -> None:
    file = EXAMPLES / name
    if not file.exists():
        pytest.skip(f"{file} is not here")

    report = examine_text(file.read_bytes(), name, {})

    assert report.problems == ()
    assert report.settings is not None
    assert len([n for n in report.notices if n.kind == "no effect"]) > 20


def test_a_key_that_only_deerflow_has_is_a_notice_whatever_it_is_called() -> None:
    """Below a section of both, in any file; at the top, in a file that is DeerFlow's."""
    below = "memory: {fact_eviction_policy: lru, tomorrows_key: 1}"
    _, report = read(below)
    assert [(n.place.key, n.message) for n in report.notices] == [
        (
            "memory.fact_eviction_policy",
            "has no effect here: memory.max_facts keeps the most valuable facts",
        ),
        ("memory.tomorrows_key", "has no effect here"),
    ]
    _, report = read("config_version: 40\ntomorrows_section: {a: 1}")
    assert [n.place.key for n in report.notices] == ["config_version", "tomorrows_section"]
    assert examine_text(b"tomorrows_section: {a: 1}", "c", {}).problems


def test_a_slip_of_the_finger_is_an_error_unless_the_file_is_deerflows() -> None:
    slip = "memory: {max_fact: 3}"
    (problem,) = examine_text(slip.encode(), "c", {}).problems
    assert problem.fix == "did you mean 'max_facts'?"

    _, report = read(f"config_version: 33\n{slip}")
    assert [n.place.key for n in report.notices] == ["config_version", "memory.max_fact"]


@pytest.mark.parametrize(
    ("text", "key", "told"),
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
            "memory: {storage_path: .deer-flow}",
            "memory.storage_path",
            "has no effect here: import its documents with `thalweg memory import FILE`",
        ),
    ],
)
def test_a_setting_that_has_no_effect_is_named(text: str, key: str, told: str) -> None:
    _, report = read(text)
    assert [(n.place.key, n.message) for n in report.notices] == [(key, told)]
