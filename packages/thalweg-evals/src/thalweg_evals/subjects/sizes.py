"""The window of a trial and its shares, the same for every subject."""

from langchain_core.language_models import BaseChatModel

from thalweg.context.request.checked_model import changed_copy
from thalweg_evals.base import Setting
from thalweg_server.models.making import limit

TRIGGER = 0.85
"""Share of the window: the trigger in a peer's documentation, for subjects without one."""
KEPT = 0.2
"""Default share of a forced trigger that is kept verbatim. With the prompt and the tools of a deep
agent, twice as much would fill a trigger of a tenth of 64,000 tokens: a compaction would happen
with nearly every page."""


def fitted(setting: Setting) -> BaseChatModel:
    """Return the model with the window of the trial in its profile, where harnesses read it."""
    model = setting.model
    if (model.profile or {}).get("max_input_tokens") == setting.window:
        return model
    model = changed_copy(model)
    limit(model, setting.window, (model.profile or {}).get("max_output_tokens"))
    return model


def trigger_tokens(setting: Setting) -> int:
    """Return the tokens of a request at which its context is compacted."""
    return int((setting.trigger or TRIGGER) * setting.window)


def kept_share(setting: Setting) -> float:
    """Return the share of the window that a forced compaction keeps verbatim."""
    return setting.keep or KEPT * (setting.trigger or TRIGGER)


def kept_tokens(setting: Setting) -> int:
    """Return the tokens that a forced compaction keeps verbatim."""
    return int(kept_share(setting) * setting.window)
