"""Data about providers: their packages, the variables of their keys, their names of settings."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from thalweg.engine.data_files import read_table
from thalweg.engine.extras import extra_of, install_command, install_line
from thalweg.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """One provider of `init_chat_model`."""

    name: str
    package: str
    """What an installer calls it."""
    keys: tuple[str, ...] = ()
    """Variables that may hold its key, the usual one first; none if no key is needed."""
    title: str = ""
    """What people call it."""
    example: str = ""
    """One of its models, as one types it."""
    key_argument: str = "api_key"
    url_argument: str = "base_url"
    output_argument: str = "max_tokens"
    window_argument: str = ""
    """The constructor's names of these settings; empty if it has none."""

    @property
    def module(self) -> str:
        """What Python imports."""
        return self.package.replace("-", "_")

    @property
    def install(self) -> str:
        """The command that brings the package."""
        extra = extra_of(self.module)
        return install_command(extra) if extra else install_line(self.package)


PROVIDERS: Final = tuple(
    ModelProvider(name, **{**row, "keys": tuple(row.get("keys", ()))})
    for name, row in read_table(__package__, "providers.toml").items()
)
"""Providers whose keys are searched. Any other one of LangChain also works by its name."""


def provider(name: str) -> ModelProvider | None:
    """Return the data about a provider; `None` if there is none."""
    return next((one for one in PROVIDERS if one.name == name), None)


def key_of(one: ModelProvider, environ: Mapping[str, str] | None = None) -> str:
    """Return the variable that holds a provider's key; empty if none does."""
    known = os.environ if environ is None else environ
    return next((name for name in one.keys if known.get(name)), "")


def ask_for_key(where: str, one: ModelProvider) -> None:
    """Raise if a model's key is missing.

    Raises:
        ConfigError: None of the variables is set.
    """
    if not one.keys or key_of(one):
        return
    first, *others = one.keys
    names = f"{' and '.join(one.keys)} are" if others else f"{first} is"
    problem = f"{one.title} requires a key, and {names} not set"
    fix = f"export {first}=…, or set api_key: ${first} in the model's section"
    raise ConfigError(where, problem, fix)
