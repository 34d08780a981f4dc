"""Which model is asked for, whoever asks: a section of the settings, or a name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from thalweg.errors import ConfigError
from thalweg.settings import ModelSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A model, as it was asked for."""

    where: str
    """Where it was asked for, for errors: `models.fast`, or the name as it was typed."""
    model: str
    """What its provider calls it; a file, where it is local."""
    provider: str = ""
    use: str = ""
    api_key: SecretStr | None = None
    base_url: str = ""
    window: int | None = None
    max_output: int | None = None
    options: Mapping[str, object] = field(default_factory=dict)


LOCAL = "local"
"""The provider of models in files."""
COMPATIBLE = "openai"
"""The provider whose API others speak, and who is meant where only an address is given."""


def from_settings(settings: ModelSettings) -> Wanted:
    """Read one of `models:`."""
    where = f"models.{settings.name}"
    model, provider = settings.model, settings.provider or ""
    if not provider and not settings.use:
        provider, model = _split(model, known=not settings.base_url)
    return Wanted(
        where=where,
        model=model,
        provider=provider or (COMPATIBLE if settings.base_url and not settings.use else ""),
        use=settings.use or "",
        api_key=settings.api_key,
        base_url=settings.base_url or "",
        window=settings.window,
        max_output=settings.max_output,
        options=settings.arguments(),
    )


def from_name(name: str, settings: Settings) -> Wanted:
    """Read a name as people type it.

    Args:
        name: One of `models:`, `local:PATH.gguf`, `provider:model`, or
            `openai:NAME@http://host/v1` for whatever speaks that API at an address.
        settings: Where names are looked up.

    Raises:
        ConfigError: The name is empty, or its address is none.
    """
    for one in settings.models:
        if one.name == name:
            return from_settings(one)
    provider, model = _split(name, known=True)
    address = ""
    if provider not in {"", LOCAL} and "@http" in model:
        model, _, address = model.rpartition("@")
    if not model:
        called = ", ".join(one.name for one in settings.models)
        mend = f"write provider:model{f', or one of {called}' if called else ''}"
        raise ConfigError("model", f"{name!r} names no model", mend)
    return Wanted(where=name, model=model, provider=provider, base_url=address)


def _split(name: str, *, known: bool) -> tuple[str, str]:
    """Part a provider from its model; a colon may belong to the model (`qwen3:4b`)."""
    provider, colon, model = name.partition(":")
    if not colon or not known or not provider.isidentifier():
        return "", name
    return provider.lower(), model
