"""Which models, tools and servers are used, and which variables they lack."""

from collections.abc import Iterator

from thalweg.errors import SettingsError
from thalweg_server.settings.parts import Deferred, unset_error
from thalweg_server.settings.whole import Settings


def used_models(settings: Settings) -> frozenset[str]:
    """Return the names of models that answer, summarize, learn or work for the agent."""
    subagents = settings.subagents.agents if settings.subagents.enabled else ()
    named = (
        settings.default_model,
        settings.summarization.model_name if settings.summarization.enabled else None,
        settings.memory.model_name if settings.memory.enabled else None,
        *(agent.model for agent in subagents),
    )
    return frozenset(name for name in named if name)


def wanting(settings: Settings) -> Iterator[SettingsError]:
    """Yield an error for each variable that is used and not set."""
    names = used_models(settings)
    used: tuple[Deferred, ...] = (
        *(model for model in settings.models if model.name in names),
        *settings.tools,
        *(server for server in settings.mcp_servers.values() if server.enabled),
    )
    yield from (unset_error(each) for part in used for each in part.unset)


def unused_and_wanting(settings: Settings) -> Iterator[SettingsError]:
    """Yield the same for models that may be chosen and are not used by default."""
    names = used_models(settings)
    others = (model for model in settings.models if model.name not in names)
    yield from (unset_error(each) for model in others for each in model.unset)
