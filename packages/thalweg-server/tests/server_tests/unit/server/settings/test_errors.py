"""Every error message about a file: where, what, how to fix it."""

import pickle
import re
from textwrap import dedent

import pytest

from thalweg.errors import ConfigError, SettingsError
from thalweg_server.settings import Settings
from thalweg_server.settings.loading import examine_text, load_settings


def said(text: str, **environ: str) -> list[str]:
    """Return the errors of a file, without its name and their columns."""
    report = examine_text(dedent(text).encode(), "c", environ)
    return [re.sub(r"^c:(\d+):\d+: ", r"\1: ", str(problem)) for problem in report.problems]


YAML = [
    ("a: [1", "1: it is not YAML: ", "close the bracket, or put a comma"),
    ("agent:\n\tmodel: x", "2: it is not YAML: ", "indent with spaces, not with"),
    ("agent: x: y", "1: it is not YAML: ", "put a text with a colon in quotes"),
    ("agent:\n  model: 'x", "2: it is not YAML: ", "close the quote"),
    ("a: 1\n b: 2", "2: it is not YAML: ", "or correct the indentation"),
    ("a: *b", "1: it is not YAML: found undefined alias; ", "&name first"),
    ("a: @b", "1: it is not YAML: ", "begins with such a character in quotes"),
    ("a: 1\n---\nb: 2", "2: it is not YAML: ", "one file is one configuration"),
    ('a: "\\q"', "1: it is not YAML: ", "use single quotes around a text with"),
    ("a: {b: 1", "1: it is not YAML: ", "close the bracket, or put a comma"),
    ("a\nb: 1", "2: it is not YAML: ", "correct the indentation"),
    ("- a", "1: it is not a mapping; begin with a section", "such as `models:`"),
    ("models", "1: it is not a mapping; begin with a section", "such as `models:`"),
    ("a: " + "[" * 5_000, "1: it is nested too deep, or contains itself; nest it less", ""),
]


@pytest.mark.parametrize(("text", "begin", "fix"), YAML)
def test_what_is_no_yaml_is_told_with_line_and_column(text: str, begin: str, fix: str) -> None:
    (told,) = said(text)
    assert told.startswith(begin)
    assert fix in told


def test_a_file_in_another_encoding_is_told_the_line() -> None:
    report = examine_text("agent:\n  system_prompt: Grüße".encode("latin-1"), "c", {})
    assert [str(p) for p in report.problems] == [
        "c:2:20: byte 0xfc is not UTF-8; save the file as UTF-8"
    ]


def test_a_byte_order_mark_does_no_harm() -> None:
    assert examine_text("\ufeffagent: {profile: full}".encode(), "c", {}).problems == ()


SENTENCES = [
    # keys
    ("gatway: {}", "1: gatway: there is no setting 'gatway'; did you mean 'gateway'?"),
    (
        "agent: {recursion: 3}",
        "1: agent.recursion: there is no setting 'recursion'; did you mean 'recursion_limit'?",
    ),
    (
        "models:\n- name: a\n  windw: 3",
        "3: models[0].windw: there is no setting 'windw'; did you mean 'window'?",
    ),
    (
        "memory:\n  max_facts: 1\n  max_facts: 2",
        ("3: memory.max_facts: 'max_facts' is repeated; keep one of them; the first is in line 2"),
    ),
    ("? [a]\n: b", "1: a key is not text; write keys as plain words"),
    (
        "agent: !!python/name:os.system x",
        ("1: agent: tags are not supported; remove it, or quote a text that begins with !"),
    ),
    (
        "agent:\n  <<: 3",
        (
            "2: it is not YAML: while constructing a mapping: expected a mapping or list of "
            "mappings for merging, but found scalar; use an anchor of a mapping"
        ),
    ),
    # values
    ("agent: 3", "1: agent: '3' cannot be used; it should be keys and values"),
    (
        "gateway: {port: 99999}",
        ("1: gateway.port: '99999' cannot be used; it should be less than or equal to 65535"),
    ),
    (
        "agent: {profile: big}",
        ("1: agent.profile: 'big' cannot be used; it should be 'auto', 'full' or 'small'"),
    ),
    ("models: [{provider: openai}]", "1: models[0].name: it is missing; add it"),
    (
        "models: [{name: a, use: foo}]",
        (
            "1: models[0].use: 'foo' is not an importable name; write "
            "module:attribute, such as json:dumps"
        ),
    ),
    ("tools: [{name: a}]", "1: tools[0].use: it is missing; add it"),
    (
        "storage: {url: 'mysql://h/d'}",
        (
            "1: storage.url: it is not the address of a PostgreSQL server; "
            "write postgresql://user:password@host/name, or null for SQLite in storage.home"
        ),
    ),
    ("models: [{name: a, api_key: 123}]", "1: models[0].api_key: it is no text; put it in quotes"),
    (
        "models: [{name: a, api_key: ' '}]",
        ("1: models[0].api_key: it is empty; write it, or a variable such as $MY_KEY"),
    ),
    (
        "models: [{name: a, api_key: '********'}]",
        (
            "1: models[0].api_key: it is the mask that "
            "replaces a secret in output; write the secret itself"
        ),
    ),
    (
        "summarization: {trigger: {type: fraction, value: 80}}",
        ("1: summarization.trigger: a fraction of 80 is outside 0..1; write 0.8 for 80 %"),
    ),
    (
        "subagents: {agents: {reader: {description: ' '}}}",
        (
            "1: subagents.agents.reader.description: "
            "subagent 'reader' has no description; describe when the agent should use it"
        ),
    ),
    (
        "mcp_servers: {a: {}}",
        ("1: mcp_servers.a: it has neither a command nor an address; write command: or url:"),
    ),
    # contradictions
    (
        "summarization:\n  trigger: {type: messages, value: 5}\n  keep: {type: messages, value: 9}",
        (
            "3: summarization.keep: 9 messages to keep is not less than the trigger's 5 "
            "(summarization.trigger is in line 2); keep less than 5, or raise the trigger"
        ),
    ),
    (
        "summarization:\n  trigger: {type: messages, value: 5}",
        (
            "1: summarization.keep: 20 messages to keep is not less than the trigger's 5 "
            "(summarization.trigger is in line 2); keep less than 5, or raise the trigger"
        ),
    ),
    (
        "summarization:\n  window: 5000\n  max_output: 4999",
        (
            "2: summarization.window: 5000 less 4999 for the answer leaves 1 tokens "
            "(summarization.max_output is in line 3); keep at least 1000"
        ),
    ),
    (
        "offload: {result_tokens: 3}\nsummarization:\n  offload: {result_tokens: 4}",
        "1: offload: summarization.offload in line 3 has the same meaning; remove one of the two",
    ),
    (
        "summarization:\n  pricing: {read: 0.1}\npricing: {read: 0.1}",
        "3: pricing: summarization.pricing in line 2 has the same meaning; remove one of the two",
    ),
    (
        "models:\n- name: a\n  window: 10\n  max_output: 10",
        (
            "4: models[0].max_output: an answer of 10 tokens fills the window of 10 "
            "(models[0].window "
            "is in line 3); write less than 10, or a larger window"
        ),
    ),
    (
        "models:\n- name: a\n  max_tokens: 10\n  max_output: 11",
        (
            "3: models[0].max_tokens: it is 10 and max_output is 11 (models[0].max_output is in "
            "line 4); remove one of the two"
        ),
    ),
    (
        "models:\n- name: a\n  provider: openai\n  use: x:Y",
        (
            "4: models[0].use: it is defined by x:Y and by the provider openai "
            "(models[0].provider is in "
            "line 3); leave one out"
        ),
    ),
    (
        "models:\n- name: a\n- name: b\n- name: a",
        (
            "4: models[2].name: the name 'a' is used twice (models[0].name is in line 2); use "
            "a different name for each"
        ),
    ),
    (
        "models:\n- name: gpt\nagent:\n  model: gtp",
        "4: agent.model: there is no model 'gtp' in models:; did you mean 'gpt'?",
    ),
    (
        "memory: {model_name: mini}",
        (
            "1: memory.model_name: there is no model 'mini' in models:; add it to models:, "
            "or write "
            "provider:model, such as openai:mini"
        ),
    ),
    (
        "models: [{name: a}]\nsubagents:\n  agents:\n  - {name: r, description: d, model: zz}",
        (
            "4: subagents.agents[0].model: there is no model 'zz' in models:; use a; or add it to "
            "models:, or write provider:model, such as openai:zz"
        ),
    ),
    (
        "gateway:\n  host: 0.0.0.0",
        (
            "2: gateway.host: other machines reach 0.0.0.0, and no authentication "
            "is configured; add "
            "gateway.keys or gateway.oidc, or use 127.0.0.1"
        ),
    ),
    (
        "gateway:\n  keys:\n  - {key: abc, owner: a}\n  - {key: abc, owner: b}",
        (
            "4: gateway.keys[1].key: the key is used twice (gateway.keys[0].key is in line 3); "
            "use a separate key for each owner"
        ),
    ),
    (
        "mcp_servers:\n  a:\n    command: x\n    url: http://y",
        (
            "4: mcp_servers.a.url: it has a command and an address (mcp_servers.a.command "
            "is in line "
            "3); leave one out"
        ),
    ),
    (
        "mcp_servers:\n  a:\n    command: x\n    transport: sse",
        (
            "4: mcp_servers.a.transport: sse does not reach a command (mcp_servers.a.command is "
            "in line 3); use stdio"
        ),
    ),
    (
        "mcp_servers:\n  a:\n    url: http://y\n    transport: stdio",
        (
            "4: mcp_servers.a.transport: stdio does not reach an address "
            "(mcp_servers.a.url is in line "
            "3); use streamable_http, sse, websocket"
        ),
    ),
    # variables
    (
        "agent:\n  system_prompt: Hello $NOBODY",
        (
            "2: agent.system_prompt: the variable NOBODY is not set; set it, or write "
            "${NOBODY:-default}"
        ),
    ),
    (
        "gateway: {keys: [{key: $MY_KEY, owner: a}]}",
        "1: gateway.keys[0].key: the variable MY_KEY is not set; set it",
    ),
    (
        "models: [{name: $NAME}]",
        "1: models[0].name: the variable NAME is not set; set it, or write ${NAME:-default}",
    ),
    (
        "agent: {system_prompt: 'a ${b c} d'}",
        (
            "1: agent.system_prompt: '${b c}' is no variable; write ${NAME} or "
            "${NAME:-default}, and "
            "$$ for a dollar"
        ),
    ),
]


@pytest.mark.parametrize(("text", "told"), SENTENCES)
def test_what_is_wrong_is_one_sentence_with_its_line(text: str, told: str) -> None:
    assert said(text) == [told]


REMEDIES = [
    ("port: 80", "1: port: there is no setting 'port'; did you mean gateway.port.$"),
    ("gateway: {allowed_uploads: [pdf]}", "1: gateway.allowed_uploads[0]: 'pdf' .* such as .pdf$"),
    ("summarization: {keep: 20}", "1: summarization.keep: '20' .* {type: messages, value: 20}$"),
    (
        "models:\n  gpt: {provider: openai}",
        "1: models: a mapping cannot be used; it should be a list",
    ),
    (
        "models: openai:gpt-5",
        "1: models: 'openai:gpt-5' cannot be used; it should be a list; write",
    ),
    (
        "models: [{name: a, window: 128k}]",
        "1: models[0].window: '128k' cannot be used; .*; write 128000",
    ),
    ("models: [{name: a, window: '2e'}]", "1: models[0].window: '2e' cannot be .* a whole number$"),
    ("models: [{name: a, options: [1]}]", "1: models[0].options: a list .* keys and values$"),
    ("gateway: {port: '8,001'}", "1: gateway.port: .*; write 8001$"),
    (
        "gateway: {keys: {ada: swordfish}}",
        "1: gateway.keys: this value cannot be .* be a list;",
    ),
    ("memory: {enabled: yess}", "1: memory.enabled: 'yess' cannot .* should be true or false$"),
    ("memory:\n  maxFacts: 10", "2: memory.maxFacts: there is no setting .* mean 'max_facts'.$"),
    ("memory: {storage: jsn}", "1: memory.storage: .* 'database' or 'json'; did you mean 'json'.$"),
    ("subagents: {max_concurrent: 2.5}", "1: subagents.max_concurrent: .* be a whole number$"),
    ("sandbox: {use: true}", "1: sandbox.use: 'true' cannot be used; it should be 'none', "),
    ("sandbox: {use: bwrap}", "1: sandbox.use: 'bwrap' .*; did you mean 'bubblewrap'.$"),
    ("skills: {paths: skills}", "1: skills.paths: 'skills' cannot be used; it should be a list;"),
    ("skills: [a, b]", "1: skills: a list cannot be used; it should be keys and values$"),
    ("mcp_servers: [{name: a}]", "1: mcp_servers: a list cannot .* should be keys and values$"),
    (
        "summarization: {pricing: {read: x}}",
        "1: summarization.pricing.read: .* a number, such as 0.8$",
    ),
    (
        "summarization: {keep: {type: message, value: 2}}",
        "1: summarization.keep.type: .*'messages'.$",
    ),
    ("tools: [{name: a, use: my/tools.py}]", "1: tools[0].use: .* write module:attribute, such as"),
]


@pytest.mark.parametrize(("text", "told"), REMEDIES)
def test_one_mistake_is_one_error_that_says_what_to_write(text: str, told: str) -> None:
    (sentence,) = said(text)
    assert re.match(told.replace("[0]", re.escape("[0]")), sentence), sentence
    assert "swordfish" not in sentence


MISTAKES = {
    "an unknown key": (
        "agent:\n  model: openai:x\n  colour: red\n",
        "3:3: agent.colour: there is no setting 'colour'; use system_prompt, model, ",
    ),
    "a misspelt key": (
        "models:\n  - name: a\n    windw: 3\n",
        "3:5: models[0].windw: there is no setting 'windw'; did you mean 'window'?",
    ),
    "a value of another type": (
        "memory:\n  max_facts: many\n",
        "2:3: memory.max_facts: 'many' cannot be used; it should be a whole number",
    ),
    "wrong nesting": (
        "models:\n  name: a\n  provider: openai\n",
        "1:1: models: a mapping cannot be used; it should be a list; write [a, b], or a line",
    ),
    "a repeated key": (
        "gateway:\n  port: 1\n  host: localhost\n  port: 2\n",
        "4:3: gateway.port: 'port' is repeated; keep one of them; the first is in line 2",
    ),
    "a tab": (
        "agent:\n\tmodel: openai:x\n",
        (
            "2:1: it is not YAML: while scanning for the next token: found character '\\t' that "
            "cannot start any token; indent with spaces, not with tabs"
        ),
    ),
    "a missing value": (
        "tools:\n  - name: search\n",
        "2:5: tools[0].use: it is missing; add it",
    ),
    "a word that is none of those": (
        "sandbox:\n  use: bublewrap\n",
        (
            "2:3: sandbox.use: 'bublewrap' cannot be used; it should be 'none', 'bubblewrap', "
            "'docker', 'podman', 'custom' or 'host'; did you mean 'bubblewrap'?"
        ),
    ),
    "an address of another kind": (
        "storage:\n  url: mysql://h/d\n",
        "2:3: storage.url: it is not the address of a PostgreSQL server; write postgresql://",
    ),
    "a negative number": (
        "subagents:\n  max_turns: -3\n",
        "2:3: subagents.max_turns: '-3' cannot be used; it should be greater than 0",
    ),
    "a secret that the environment does not have": (
        "gateway:\n  keys:\n    - {key: $ADAS_KEY, owner: ada}\n",
        "3:8: gateway.keys[0].key: the variable ADAS_KEY is not set; set it",
    ),
    "an alias without an anchor": (
        "models:\n  - <<: *base\n    name: a\n",
        "2:9: it is not YAML: found undefined alias; define it with &name first, or put a text",
    ),
    "a key of another section": (
        "max_facts: 3\n",
        "1:1: max_facts: there is no setting 'max_facts'; did you mean memory.max_facts?",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_line_and_column_and_a_remedy(mistake: str) -> None:
    text, begin = MISTAKES[mistake]
    problems = examine_text(text.encode(), "c", {}).problems
    assert [str(problem)[: len(begin) + 2] for problem in problems] == [f"c:{begin}"]
    assert all(problem.fix for problem in problems)


@pytest.mark.parametrize(
    "parts",
    [
        {"models": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
        {"tool_groups": [{"name": "a"}, {"name": "a"}]},
        {"gateway": {"keys": [{"key": "k", "owner": "a"}, {"key": "k", "owner": "b"}]}},
        {"agent": {"model": "a"}},
    ],
)
def test_settings_made_in_python_agree_as_those_of_a_file_do(parts: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"is used twice|there is no model 'a'"):
        Settings.from_mapping(parts)


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_lines() -> None:
    text = """\
        models:
          - name: a
            windw: 1
          - window: 2
        agent:
          profile: big
          recursion_limit: 0
        gateway:
          prt: 3
          port: -1
        """
    assert [line.partition(": ")[2].partition(":")[0] for line in said(text)] == [
        "models[0].windw",
        "models[1].name",
        "agent.profile",
        "agent.recursion_limit",
        "gateway.prt",
        "gateway.port",
    ]


def test_null_stands_for_what_is_not_given() -> None:
    """As where every line below a key is a comment."""
    text = "models:\ntools:\nsubagents:\n  agents:\ngateway:\n  keys:\n  port:\nuploads:\ntitle:\n"
    report = examine_text(text.encode(), "c", {})
    assert (report.problems, report.notices) == ((), ())


def test_what_stands_inside_itself_is_told() -> None:
    assert said("agent: &a\n  interrupt_on: *a") == [
        "1: it is nested too deep, or contains itself; nest it less"
    ]


def test_aliases_that_multiply_are_told_before_they_fill_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (told,) = said("\n".join(lines))
    assert "it has more than 50,000 values, aliases included; write fewer" in told


def test_merged_keys_are_read_and_ones_own_go_before_them() -> None:
    text = """\
        models:
          - &base {name: a, provider: openai, temperature: 0}
          - <<: *base
            name: b
        """
    report = examine_text(dedent(text).encode(), "c", {})
    assert report.problems == ()
    assert report.settings is not None
    assert report.settings.models[1].provider == "openai"
    assert [model.name for model in report.settings.models] == ["a", "b"]


def test_an_error_carries_all_the_others_and_survives_pickling() -> None:
    report = examine_text(b"agnt: {}\nmemry: {}", "c", {})
    with pytest.raises(SettingsError) as caught:
        report.unless_wrong()
    error = caught.value

    assert isinstance(error, ConfigError)
    assert (error.file, error.line, error.key, error.what) == ("c", 1, "agnt", "c:1:1: agnt")
    assert [other.line for other in error.others] == [2]
    assert str(error).count("\n") == 1
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, type(again)) == (str(error), 1, SettingsError)


def test_a_file_that_cannot_be_read_is_told(tmp_path: object) -> None:
    with pytest.raises(
        SettingsError, match=r"^nowhere\.yaml: the file does not exist; name another"
    ):
        load_settings("nowhere.yaml")
    with pytest.raises(SettingsError, match="it cannot be read: is a directory; name another file"):
        load_settings(str(tmp_path))
    with pytest.raises(
        SettingsError, match="THALWEG_CONFIG names a file that is not there; correct"
    ):
        load_settings(environ={"THALWEG_CONFIG": "nowhere.yaml"})
