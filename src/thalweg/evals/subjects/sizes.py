"""The window of a trial and its shares, told to every subject alike."""

from langchain_core.language_models import BaseChatModel

from thalweg.evals.base import Setting
from thalweg.models.making import limit

TRIGGER, KEEP = 0.85, 0.1
"""Shares of the window: where a peer's documentation has it compact, and what then stays, for
subjects that have no trigger of their own."""
KEPT = 0.2
"""The part of a forced trigger that stays word for word, where a trial does not say. Beside the
prompt and the tools of a deep agent, twice as much leaves a trigger of a tenth of 64,000 tokens
no room: something is compacted with nearly every page."""


def fitted(setting: Setting) -> BaseChatModel:
    """Give the model with the window of the trial in its profile: there harnesses look for it."""
    model = setting.model
    if (model.profile or {}).get("max_input_tokens") == setting.window:
        return model
    model = model.model_copy()
    limit(model, setting.window, (model.profile or {}).get("max_output_tokens"))
    return model


def trigger_tokens(setting: Setting) -> int:
    """Give the tokens of a request at which its context is compacted."""
    return int((setting.trigger or TRIGGER) * setting.window)


def kept_share(setting: Setting) -> float:
    """Give the share of the window that a forced compaction keeps word for word."""
    return setting.keep or KEPT * (setting.trigger or TRIGGER)


def kept_tokens(setting: Setting) -> int:
    """Give the tokens that a compaction keeps word for word."""
    if setting.trigger is None and setting.keep is None:
        return int(KEEP * setting.window)
    return int(kept_share(setting) * setting.window)
