"""The models that a run may use: those of the settings, the same for all owners."""

from collections.abc import Callable

from thalweg.errors import ConfigError, NoSuchModelError
from thalweg_server.api.catalogue import Model, Models
from thalweg_server.settings.sections import ModelSettings, Settings


def named_model(settings: Settings, name: str | None = None, *, any_model: bool = False) -> str:
    """Return the name of a model that a run may use.

    Args:
        settings: The current settings.
        name: The requested model; the settings' default if `None`.
        any_model: Whether a model outside of the settings is allowed. An HTTP caller may not be the
            one who pays, nor be allowed to make this process connect to any address.

    Raises:
        NoSuchModelError: The settings have no such model.
        ConfigError: They have no model at all.
    """
    default = settings.default_model
    if name is None:
        if default is None:
            fix = "add one to models:, or set agent.model"
            raise ConfigError("models", "no model is configured", fix)
        return default
    if name != default and settings.model_named(name) is None and not any_model:
        raise NoSuchModelError(name, tuple(model.name for model in settings.models))
    return name


class TenantModels:
    """The models of the settings; they are the same for all owners."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    async def list(self) -> Models:
        """List all models, the default first."""
        settings = self._settings()
        named = [_shown(model, settings) for model in settings.models]
        default = settings.default_model
        if default is not None and settings.model_named(default) is None:
            provider, _, model = default.rpartition(":")
            named.insert(0, Model(name=default, provider=provider, model=model, is_default=True))
        return Models(items=tuple(sorted(named, key=lambda model: not model.is_default)))

    async def get(self, name: str) -> Model:
        """Return one model.

        Raises:
            NoSuchModelError: There is none.
        """
        found = (await self.list()).items
        for model in found:
            if model.name == name:
                return model
        raise NoSuchModelError(name, tuple(model.name for model in found))


def _shown(model: ModelSettings, settings: Settings) -> Model:
    return Model(
        name=model.name,
        display_name=model.display_name or model.name,
        description=model.description,
        provider=model.provider or (model.use or "").partition(":")[0],
        model=model.model,
        window=model.window,
        max_output=model.max_output,
        supports_thinking=model.supports_thinking,
        supports_vision=model.supports_vision,
        is_default=model.name == settings.default_model,
    )
