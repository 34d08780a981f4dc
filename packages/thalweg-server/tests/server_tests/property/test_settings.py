"""Laws of configuration: what is shown is read again, slips are named, secrets never are."""

import json
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from scripts.configuration_page import Field, described
from thalweg.engine.sections import SettingsSection
from thalweg_server.cli.config import config
from thalweg_server.settings import Settings
from thalweg_server.settings.fields import Open, nearly, one_edit_apart
from thalweg_server.settings.loading import examine_text
from thalweg_server.settings.nodes import escaped, filled, read
from thalweg_server.settings.showing import nested, shown, yaml_lines

texts = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=20
)
words = st.text(string.ascii_lowercase, min_size=3, max_size=8)
scalars = st.one_of(st.booleans(), st.integers(-9, 10**6), st.floats(0, 1), texts, st.none())
options = st.dictionaries(
    words.map(lambda word: f"opt_{word}"),
    st.one_of(scalars, st.lists(scalars, max_size=3), st.dictionaries(words, scalars, max_size=2)),
    max_size=3,
)


def some(needed: Mapping[str, st.SearchStrategy[Any]], /, **may: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401
    """Make mappings with some keys of those that may be there."""
    return st.fixed_dictionaries(dict(needed), optional=may)


models = st.lists(
    st.tuples(
        some(
            {"name": words},
            display_name=texts,
            provider=st.sampled_from(["openai", "anthropic"]),
            window=st.integers(10_000, 10**6),
            max_output=st.integers(1, 9_999),
            supports_vision=st.booleans(),
            base_url=st.just("http://localhost:1/v1"),
            api_key=st.sampled_from(["$A_KEY", "${B_KEY}"]),
        ),
        options,
    ).map(lambda pair: {**pair[1], **pair[0]}),
    max_size=3,
    unique_by=lambda model: model["name"],
)
sizes = st.one_of(
    st.fixed_dictionaries({"type": st.just("fraction"), "value": st.floats(0.01, 1)}),
    st.fixed_dictionaries({"type": st.just("messages"), "value": st.integers(30, 99)}),
)
files = some(
    {},
    models=models,
    agent=some(
        {},
        system_prompt=texts,
        shell=st.booleans(),
        interrupt_on=st.dictionaries(words, st.booleans(), max_size=2),
    ),
    summarization=some(
        {},
        enabled=st.booleans(),
        trigger=st.one_of(sizes, st.lists(sizes, max_size=2)),
        offload=some({}, result_tokens=st.integers(1, 10**6)),
        pricing=some(
            {},
            read=st.floats(0, 1),
            models=st.dictionaries(words, some({"read": st.floats(0, 1)})),
        ),
    ),
    memory=some(
        {},
        max_facts=st.integers(1, 999),
        web_tools=st.lists(texts, max_size=3),
        learn_from=st.lists(st.sampled_from(["tool", "web"]), max_size=2),
    ),
    subagents=some(
        {},
        max_turns=st.integers(1, 99),
        agents=st.lists(
            some({"name": words, "description": words}, tools=st.lists(words, max_size=2)),
            max_size=2,
            unique_by=lambda agent: agent["name"],
        ),
    ),
    tools=st.lists(
        st.tuples(some({"name": words, "use": st.just("json:dumps")}), options).map(
            lambda pair: {**pair[1], **pair[0]}
        ),
        max_size=2,
        unique_by=lambda tool: tool["name"],
    ),
    mcp_servers=st.dictionaries(
        words,
        some(
            {"command": words},
            args=st.lists(texts.filter(lambda text: "-" not in text), max_size=2),
            env=st.dictionaries(words, st.just("$A_KEY"), max_size=2),
        ),
        max_size=2,
    ),
    storage=some({}, home=words, url=st.just("$DATABASE_URL")),
    gateway=some({}, port=st.integers(0, 65_535), cors_origins=st.lists(words, max_size=2)),
)
ENVIRON = {
    "A_KEY": "sk-aaaaaaaaaa",
    "B_KEY": "sk-bbbbbbbbbb",
    "DATABASE_URL": "postgresql://ada:pw@h/d",
}


def with_dollars(value: Any) -> Any:  # noqa: ANN401 (what YAML has)
    """Escape the dollars of texts that are no variables."""
    if isinstance(value, str) and value not in {"$A_KEY", "${B_KEY}", "$DATABASE_URL"}:
        return escaped(value)
    if isinstance(value, dict):
        return {key: with_dollars(each) for key, each in value.items()}
    return [with_dollars(each) for each in value] if isinstance(value, list) else value


def loaded(text: str, environ: Mapping[str, str] = ENVIRON) -> Settings:
    """Read a file that nothing is wrong with."""
    return examine_text(text.encode(), "c", environ).unless_wrong()


@given(files, st.booleans())
def test_what_is_shown_is_read_again_as_the_same(file: dict[str, Any], defaults: bool) -> None:  # noqa: FBT001
    text = yaml.safe_dump(with_dollars(file), allow_unicode=True)
    report = examine_text(text.encode(), "c", ENVIRON)
    settings = report.unless_wrong()
    rows = [row for row in shown(settings, report.root) if defaults or row.is_given]
    origins = {row.path: row.origin for row in rows}
    again = "\n".join(f"{text}  # {origins.get(path)}" for path, text in yaml_lines(rows))

    assert loaded(again) == settings
    for row in rows:  # where it says that a value stands, it does
        if row.is_given and isinstance(row.path[-1], str):
            line = int(row.origin.partition(":")[2].partition(",")[0])
            assert str(row.path[-1]) in text.splitlines()[line - 1]


@given(files)
def test_the_object_for_programs_has_what_the_lines_have(file: dict[str, Any]) -> None:
    report = examine_text(yaml.safe_dump(with_dollars(file)).encode(), "c", ENVIRON)
    settings = report.unless_wrong()
    rows = [row for row in shown(settings, report.root) if row.is_given]
    plain = yaml.safe_load("\n".join(text for _, text in yaml_lines(rows))) or {}
    assert with_dollars(json.loads(json.dumps(nested(rows)))) == plain


def keys() -> Iterator[tuple[tuple[str, ...], Field, type[SettingsSection]]]:
    """Yield every key of every section, with the sections above it."""

    def below(section: type[SettingsSection], path: tuple[str, ...]) -> Iterator[Any]:
        for field in described(section).values():
            yield path, field, section
            if field.section is not None and field.section is not section and len(path) < 3:
                step = {"one": "", "list": "[]", "mapping": ".x"}[field.holds]
                yield from below(field.section, (*path, field.name + step))

    yield from below(Settings, ())


EVERY_KEY = list(keys())


def with_slip(name: str, place: int, letter: str, kind: str) -> str:
    """Change a name by one edit."""
    at = place % len(name)
    match kind:
        case "left out":
            return name[:at] + name[at + 1 :]
        case "more":
            return name[:at] + letter + name[at:]
        case "other":
            return name[:at] + letter + name[at + 1 :]
        case _:
            return name[:at] + name[at : at + 2][::-1] + name[at + 2 :]


slips = st.tuples(
    st.integers(0, 40),
    st.sampled_from(string.ascii_lowercase + "_"),
    st.sampled_from(["left out", "more", "other", "in turn"]),
)
NEEDED = {"name": "abc", "use": "json:dumps", "description": "d", "command": "c", "key": "k" * 20}
NEEDED |= {"owner": "ada", "issuer": "i", "audience": "a", "type": "messages", "value": "20"}
NEEDED |= {"above": "1", "input": "1", "read": "1", "write": "1", "output": "1", "graph": "a:b"}


def file_with(
    path: tuple[str, ...], section: type[SettingsSection], key: str
) -> tuple[list[str], int]:
    """Write a file with one key in a section.

    Returns:
        Its lines, and the number of the one with the key.
    """
    lines, indent = ["# a remark"], ""
    for step in path:
        name, is_list, _ = step.partition("[]")
        name, is_mapping, _ = name.partition(".x")
        lines.append(f"{indent}{name}:")
        indent += "  "
        if is_mapping:
            lines.append(f"{indent}entry:")
            indent += "  "
        if is_list:
            lines.append(f"{indent}-")
            indent += "  "
    needed = {field.name for field in described(section).values() if field.is_needed}
    lines += [f"{indent}{name}: {NEEDED[name]}" for name in sorted(needed)]
    lines.append(f"{indent}{key}: 1")
    return lines, len(lines)


@given(st.sampled_from(EVERY_KEY), slips)
def test_a_slip_of_the_finger_is_named_with_the_right_key_and_line(
    which: tuple[tuple[str, ...], Field, type[SettingsSection]], slip: tuple[int, str, str]
) -> None:
    """At the top, in every section, in lists and mappings of sections."""
    path, field, section = which
    wrong = with_slip(field.name, *slip)
    known = set(described(section))
    # `skills.path` is DeerFlow's.
    theirs = section.KNOWN_KEYS if issubclass(section, Open) else frozenset()
    if (
        wrong == "path"
        or wrong in known
        or wrong in theirs
        or not wrong
        or nearly(wrong, known - {field.name})
    ):
        return
    lines, number = file_with(path, section, wrong)
    report = examine_text("\n".join(lines).encode(), "c", {})
    told = [p for p in report.problems if p.problem == f"there is no setting {wrong!r}"]

    assert [p.line for p in told] == [number], (lines, report.problems)
    assert repr(field.name) in told[0].fix
    assert told[0].key.endswith(wrong)


@given(words, slips)
def test_one_edit_is_one_edit(word: str, slip: tuple[int, str, str]) -> None:
    other = with_slip(word, *slip)
    assert one_edit_apart(word, other) == (word != other)
    assert one_edit_apart(other, word) == (word != other)
    assert not one_edit_apart(word, f"{word}xy")


secrets = st.text(string.ascii_letters + string.digits, min_size=10, max_size=20).map(
    lambda text: f"zq{text}"
)
PLACES = (
    "models: [{name: a, api_key: '{}'}]",
    "models: [{name: a, api_key: '{}', windw: 3}]",
    "models: [{name: a, api_key: ['{}']}]",
    "models: [{name: a, api_key: {'{}': 1}}]",
    "models: [{name: a, gemini_api_key: '{}'}]",
    "models: [{name: a, default_headers: {X-A: '{}'}}]",
    "models: [{name: a, extra: {deep: {token: '{}'}}}]",
    "models: [{name: a, base_url: 'http://ada:{}@h/v1'}]",
    "models: [{name: a, api_key: !{} x}]",
    "models: [{name: a, api_key: *{}}]",
    "models: [{name: a, use: '$SECRET'}]",
    "models: [{name: a, max_output: '$SECRET'}]",
    "models: [{name: a, api_key: 'x$SECRET'}]",
    "models: [{name: a, api_key: '${NO:-{}}'}]",
    "models: [{name: a, extra: ['$SECRET_TOKEN']}]",
    "models: [{name: a, api_key: '{}}",
    "tools: [{name: a, use: 'a:b', password: '{}'}]",
    "mcp_servers: {a: {command: x, env: {ANY: '{}'}}}",
    "mcp_servers: {a: {command: x, env: {ANY: ['{}']}}}",
    "mcp_servers: {a: {command: x, env: '{}'}}",
    "mcp_servers: {a: {command: x, args: [--api-key, '{}', --token={}]}}",
    "mcp_servers: {a: {url: 'http://h/?api_key={}', headers: {Any: '{}'}}}",
    "storage: {url: 'postgresql://ada:{}@h/d?password={}'}",
    "storage: {url: 'mysql://ada:{}@h/d'}",
    "storage: {url: ['postgresql://ada:{}@h/d']}",
    "database: {backend: postgres, postgres_url: 'mysql://a:{}@h'}",
    "gateway: {keys: [{key: '{}', owner: a}, {key: '{}', owner: b}]}",
    "gateway: {keys: [{key: '{}', ownr: a}]}",
    "gateway: {keys: ['{}']}",
    "gateway: {keys: '{}'}",
    "channels: {slack: {bot_token: '{}'}}",
)


@given(st.sampled_from(PLACES), secrets)
def test_no_secret_is_ever_told(place: str, secret: str) -> None:
    """In no error, in no line that a command prints, in nothing that is written of an object."""
    environ = {"SECRET": secret, "SECRET_TOKEN": secret}
    text = place.replace("{}", secret)
    report = examine_text(text.encode(), "config.yaml", environ)
    told = [str(report.problems), str(report.notices), repr(report.problems)]
    if report.settings is not None:
        told += [repr(report.settings), repr(nested(shown(report.settings, report.root)))]
    with TemporaryDirectory() as folder:
        file = Path(folder, "config.yaml")
        file.write_text(text, encoding="utf-8")
        for command in (["show"], ["show", "--json"]):
            ended = CliRunner().invoke(config, [*command, str(file)], env=environ)
            told += [ended.output, str(ended.exception)]
    assert secret not in "\n".join(told)


@given(st.text(max_size=40), st.dictionaries(st.sampled_from(["A", "B_2"]), texts))
def test_a_text_with_its_dollars_doubled_is_read_as_it_is(
    text: str, environ: dict[str, str]
) -> None:
    assert filled(escaped(text), environ).text == text


@given(st.binary(max_size=60) | st.text("ab:-[]{}&*!|>'\"%@`#,?$\n\t 0\u00e9", max_size=60))
def test_whatever_is_in_a_file_ends_in_settings_or_in_errors_with_lines(text: bytes | str) -> None:
    raw = text.encode() if isinstance(text, str) else text
    report = examine_text(raw, "c", {})
    assert (report.settings is not None) or report.problems
    for problem in report.problems:
        assert 1 <= problem.line <= raw.count(b"\n") + raw.count(b"\r") + 2
        assert re.match(r"c:\d+:\d+: ", str(problem))


@given(files)
def test_every_value_is_read_as_yaml_reads_it(file: dict[str, Any]) -> None:
    text = yaml.safe_dump(file, allow_unicode=True)
    root, problems = read(text.encode(), "c")
    assert problems == []
    assert root.plain() == yaml.safe_load(text)
