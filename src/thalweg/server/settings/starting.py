"""The files that a user starts with: three decisions, or every setting with its default."""

from collections.abc import Iterator
from textwrap import wrap

from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.sections import SettingsSection
from thalweg.server.settings.fields import Field, described
from thalweg.server.settings.sections.agents import SubagentSettings
from thalweg.server.settings.sections.gateway import GatewayKey, OidcSettings
from thalweg.server.settings.sections.models import ModelSettings
from thalweg.server.settings.sections.tools import McpServer, ToolGroup, ToolSettings
from thalweg.server.settings.whole import Settings
from thalweg.server.settings.writing import inline, plain

WIDTH = 100
_HEAD = """\
# Settings of Thalweg. All are optional: each comment below shows the default, or an example if the
# default is an empty list. Remove the # in front of a line to change it.
#
# $NAME, ${NAME} and ${NAME:-default} stand for variables of the environment, $$ for a dollar.
# `thalweg config check` lists errors, `thalweg config show` the effective values.
"""
_EXAMPLES: dict[type[SettingsSection], dict[str, str]] = {
    ModelSettings: {
        "name": "gpt",
        "provider": "openai",
        "model": "gpt-5",
        "api_key": "$OPENAI_API_KEY",
    },
    SubagentSettings: {
        "name": "reader",
        "description": "Reads long files and reports what matters.",
    },
    ToolSettings: {"name": "word_count", "use": "my_tools:word_count"},
    ToolGroup: {"name": "text"},
    McpServer: {"command": "npx", "args": "[-y, '@modelcontextprotocol/server-everything']"},
    GatewayKey: {"key": "$THALWEG_KEY", "owner": "ada"},
    OidcSettings: {"issuer": "https://id.example.com", "audience": "thalweg"},
}
_INLINE = (Threshold,)
"""Sections that are written on one line."""
_NAME = "everything"
"""What the example of a mapping is called."""
SANDBOXES = ("none", "bubblewrap", "docker", "podman", "host")
"""Values of `sandbox.use` that need no other setting."""
_REPEATED = ("pricing.models", "pricing.tiers")
"""Sections whose keys are just above: they have no example."""


_SHORT = """\
# Settings of Thalweg. Check them: thalweg config check; see what works: thalweg doctor
agent:
  model: {model}
sandbox:
  use: {sandbox}  # where commands of the agent run: {places}
memory:
  enabled: {memory}
# Every setting with its default: thalweg config init --all everything.yaml
"""


def short_file(*, model: str, sandbox: str, memory: bool) -> str:
    """Return a configuration with three decisions and nothing else.

    Args:
        model: The model that answers, as `thalweg chat --model` takes it.
        sandbox: Where commands run; one of `SANDBOXES`.
        memory: Whether facts are remembered.
    """
    return _SHORT.format(
        model=inline(model),
        sandbox=sandbox,
        places=", ".join(SANDBOXES),
        memory="true" if memory else "false",
    )


def starting_file() -> str:
    """Write it."""
    return "\n".join((_HEAD, *_blocks())).rstrip("\n") + "\n"


def _blocks() -> Iterator[str]:
    for field in described(Settings):
        yield from (f"# {line}" for line in wrap(field.told, WIDTH - 2))
        yield from (f"#{line}" for line in _field(field, "", ""))
        yield ""


def _field(field: Field, indent: str, above: str) -> Iterator[str]:
    """Write one setting; the lines of a section below its name."""
    path = f"{above}.{field.name}".removeprefix(".")
    inner = field.section
    if inner is None or inner in _INLINE or path.endswith(_REPEATED):
        yield f"{indent}{field.name}: {inline(plain(field.default))}"
        return
    yield f"{indent}{field.name}:"
    match field.holds:
        case "one":
            yield from _section(inner, f"{indent}  ", path)
        case "list":
            first, *rest = _section(inner, f"{indent}    ", path, told_first=False)
            yield f"{indent}  - {first.strip()}"
            yield from rest
        case "mapping":
            yield f"{indent}  {_NAME}:"
            yield from _section(inner, f"{indent}    ", path)


def _section(
    section: type[SettingsSection], indent: str, path: str, *, told_first: bool = True
) -> Iterator[str]:
    examples = _EXAMPLES.get(section, {})
    for number, field in enumerate(described(section)):
        if number or told_first:
            choices = f" One of {', '.join(field.choices)}." if field.choices else ""
            told = f"{field.told}{choices}".strip()
            yield from (f"{indent}# {line}" for line in wrap(told, WIDTH - len(indent) - 3))
        if field.name in examples:
            yield f"{indent}{field.name}: {examples[field.name]}"
        else:
            yield from _field(field, indent, path)
