"""deepagents as installed: `create_deep_agent` with its defaults, over files on a real disk."""

from tempfile import TemporaryDirectory
from typing import Any, Literal

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import (
    SummarizationMiddleware,
    TruncateArgsSettings,
    compute_summarization_defaults,
)

from benchmarks.arena.contestants.agent import AgentContestant, PeerSetting
from benchmarks.arena.contestants.history_files import HistoryFiles
from benchmarks.arena.contestants.shelf import ReferenceArchive


def deep_agent(window: int, share: float | None, shelf: ReferenceArchive) -> AgentContestant:
    """Return a deep agent.

    Its model has a profile with the window, so that its defaults are those for a model with a
    profile: offload results above 20,000 tokens, act at 85 %, keep 10 %.

    Args:
        window: Tokens the model accepts.
        share: Share of the window at which it acts instead.
        shelf: To search its files with.
    """
    folder = TemporaryDirectory(prefix="thalweg-deepagents-")

    def make(setting: PeerSetting) -> Any:  # noqa: ANN401 (LangGraph's)
        backend = FilesystemBackend(root_dir=folder.name, virtual_mode=True)
        middleware: list[Any] = [setting.results]
        if share:
            middleware.append(_acting_at(share, setting, backend))
        return create_deep_agent(
            setting.model,
            system_prompt=setting.system,
            middleware=middleware,
            backend=backend,
            checkpointer=setting.saver,
        )

    return AgentContestant(make, window, HistoryFiles(folder, shelf))


def _acting_at(share: float, setting: PeerSetting, backend: FilesystemBackend) -> Any:  # noqa: ANN401
    """Make its own middleware with another trigger; by its name it takes the default's place."""
    defaults = compute_summarization_defaults(setting.model)
    trigger: tuple[Literal["fraction"], float] = ("fraction", share)
    cut: TruncateArgsSettings = {"trigger": trigger, "keep": defaults["keep"]}
    return SummarizationMiddleware(
        setting.model,
        backend=backend,
        trigger=trigger,
        keep=defaults["keep"],
        trim_tokens_to_summarize=None,
        truncate_args_settings=cut,
    )
