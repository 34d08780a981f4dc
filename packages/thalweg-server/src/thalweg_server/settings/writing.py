"""Values as YAML that parses to the same values."""

from typing import Any

from pydantic import SecretStr

from thalweg.engine.sections import SettingsSection
from thalweg_server.settings.fixed import mapped
from thalweg_server.settings.parts import MASK
from thalweg_server.settings.variables import escaped

_WIDE = 10_000


def plain(value: object) -> object:
    """Return a value as JSON has it: the keys of a section that were set, a mask for a secret."""
    return mapped(value, _plain)


def _plain(value: object) -> object:
    if isinstance(value, SettingsSection):
        return {name: plain(getattr(value, name)) for name in sorted(value.model_fields_set)}
    return MASK if isinstance(value, SecretStr) else value


class Reference(str):
    """A text that is a variable: its dollar is not escaped when it is written."""

    __slots__ = ()


def inline(value: object) -> str:
    """Write a plain value in one line of YAML."""
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 (slow; only texts need it)

    given = mapped(value, _escaped)
    dumped: Any = yaml.safe_dump(
        given, default_flow_style=True, allow_unicode=True, width=_WIDE, sort_keys=False
    )
    text = str(dumped).removesuffix("...\n").rstrip("\n")
    if "\n" not in text:
        return text
    quoted: Any = yaml.safe_dump(given, default_style='"', default_flow_style=True, width=_WIDE)
    return str(quoted).rstrip("\n")


def _escaped(value: object) -> object:
    if isinstance(value, Reference):
        return str(value)
    return escaped(value) if isinstance(value, str) else value
