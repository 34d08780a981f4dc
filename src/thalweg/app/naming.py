"""Which model a run may use."""

from thalweg.errors import ConfigError, NoSuchModelError
from thalweg.settings.whole import Settings


def named_model(settings: Settings, name: str | None = None) -> str:
    """Find the name of a model that a run may use: one of the settings'.

    Whoever asks for a run may not be who pays for it: no other model can be asked for.

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
    if name != default and settings.model_named(name) is None:
        raise NoSuchModelError(name, tuple(model.name for model in settings.models))
    return name
