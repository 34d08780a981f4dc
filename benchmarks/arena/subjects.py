"""Installed peers as agents of `thalweg eval --subject benchmarks.arena.subjects:deepagents`."""

from pathlib import Path
from typing import Any, Literal

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import SummarizationMiddleware

from thalweg_evals.subjects.sizes import KEPT


def deepagents(
    model: Any,  # noqa: ANN401 (LangChain's)
    tools: list[Any],
    system_prompt: str,
    window: int,
    trigger: float | None,
    folder: Path,
    checkpointer: Any,  # noqa: ANN401 (LangGraph's)
) -> Any:  # noqa: ANN401 (a compiled graph)
    """Create the agent of deepagents as documented, with files in the trial's folder."""
    backend = FilesystemBackend(root_dir=str(folder), virtual_mode=True)
    middleware = [] if trigger is None else [_forced(model, backend, int(trigger * window))]
    return create_deep_agent(
        model,
        tools,
        system_prompt=system_prompt or None,
        middleware=middleware,
        backend=backend,
        checkpointer=checkpointer,
    )


deepagents.offers = ["files", "subagents"]  # type: ignore[attr-defined] # read by the evaluation


def _forced(model: Any, backend: Any, tokens: int) -> Any:  # noqa: ANN401 (the peer's)
    """Return its summarization with a forced trigger; its name replaces the default one."""
    at: tuple[Literal["tokens"], int] = ("tokens", tokens)
    keep: tuple[Literal["tokens"], int] = ("tokens", int(KEPT * tokens))
    return SummarizationMiddleware(
        model,
        backend=backend,
        trigger=at,
        keep=keep,
        trim_tokens_to_summarize=None,
        truncate_args_settings={"trigger": at, "keep": keep},
    )
