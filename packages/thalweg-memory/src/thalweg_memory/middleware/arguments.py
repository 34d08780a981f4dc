"""Validation of the arguments of `MemoryMiddleware`, before any run."""

from collections.abc import Mapping

from langchain_core.language_models import BaseChatModel

from thalweg.context.arguments import only_model, short_value
from thalweg.errors import ConfigError
from thalweg_memory.facts.settings import MemorySettings


def as_learner(given: object, settings: MemorySettings) -> BaseChatModel | None:
    """Find the model that learns; `None` for the agent's own.

    Raises:
        ConfigError: There is no such model, or two are named.
    """
    return only_model(given, "model", settings.model_name, "the settings name")


def as_memory_settings(given: object) -> MemorySettings | None:
    """Return settings of memory; a mapping is parsed with `MemorySettings.from_mapping`.

    Raises:
        ConfigError: It is neither, or the mapping is invalid.
    """
    if given is None or isinstance(given, MemorySettings):
        return given
    if isinstance(given, Mapping):
        return MemorySettings.from_mapping(given, where="memory")
    fix = "pass MemorySettings, or a mapping with its settings"
    raise ConfigError("settings", f"it is {short_value(given)}", fix)
