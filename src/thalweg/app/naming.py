"""Which model a run may use."""

from thalweg.errors import ConfigError, NoSuchModelError
from thalweg.settings.whole import Settings


def named_model(settings: Settings, name: str | None = None, *, any_model: bool = False) -> str:
    """Find the name of a model that a run may use.

    Args:
        settings: As they are now.
        name: What a run asks for; the settings' default where it is not given.
        any_model: Whether it may be one that the settings do not name. Whoever asks over HTTP may
            not be who pays, nor one who may have this process connect to anywhere.

    Raises:
        NoSuchModelError: The settings name no such model.
        ConfigError: They name none at all.
    """
    default = settings.default_model
    if name is None:
        if default is None:
            mend = "add one to models:, or set agent.model"
            raise ConfigError("models", "no model is configured", mend)
        return default
    if name != default and settings.model_named(name) is None and not any_model:
        raise NoSuchModelError(name, tuple(model.name for model in settings.models))
    return name
