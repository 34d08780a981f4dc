"""Which model a run may use."""

from thalweg.errors import ConfigError, NoSuchModelError
from thalweg_server.settings.whole import Settings


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
