"""Members of dependencies that their documentation does not promise, all in this file.

A member is here only if no documented one serves; its docstring names the missing feature.
`core_tests/unit/test_undocumented.py` calls each one and names the versions that were checked.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from langgraph._internal._constants import (
    CONFIG_KEY_CALL,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_READ,
    CONFIG_KEY_REPLAY_STATE,
    CONFIG_KEY_RESUMING,
    CONFIG_KEY_SEND,
    CONFIG_KEY_TASK_ID,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

CHECKED_VERSIONS: Final = {
    "langchain-core": "1.7.2",
    "langchain-openai": "1.7.3",
    "langgraph": "1.2.22",
}
"""The newest version of each package in which every member below was seen to work."""

# Keys of `config["configurable"]` in a step of a graph. LangGraph documents how a node reads and
# writes channels, not how a function does that is called by a node.
READ_KEY: Final = CONFIG_KEY_READ
"""Reads a channel: `(name, with_own_writes) -> value`, raises `KeyError` for an unknown name."""
SEND_KEY: Final = CONFIG_KEY_SEND
"""Writes to channels as the running task: `([(name, value), …]) -> None`."""
TASK_KEY: Final = CONFIG_KEY_TASK_ID
"""The id of the running task."""
RESUMING_KEY: Final = CONFIG_KEY_RESUMING
"""Whether the run resumes after an interrupt."""
SAVER_KEY: Final = CONFIG_KEY_CHECKPOINTER
"""The checkpointer of the run; missing or `None` without one."""
REPLAY_KEY: Final = CONFIG_KEY_REPLAY_STATE
"""Set if the run starts from an older checkpoint."""
DELTA_SNAPSHOT: Final = _DeltaSnapshot
"""The whole value of a `DeltaChannel`, as `(value)`: a saver finds it without older checkpoints.

A plain value has no mark in the row of a checkpoint in PostgreSQL, and is not found there by every
version of the saver.
"""


def loop_of(configurable: Mapping[str, Any]) -> Any:  # noqa: ANN401 (LangGraph's `PregelLoop`)
    """Return the loop that runs a step: its tasks and pending writes; `None` outside of one.

    LangGraph passes a resumed task its own earlier writes and none of its siblings'.
    """
    schedule = getattr(configurable.get(CONFIG_KEY_CALL), "keywords", {}).get("schedule_task")
    return getattr(schedule, "__self__", None)


def postgres_cursor(saver: Any) -> Any:  # noqa: ANN401 (of an extra, sync or async)
    """Return a cursor of LangGraph's saver for PostgreSQL, as a context manager.

    `saver.conn` is documented, but is a connection or a pool, and its lock is not taken.
    """
    return saver._cursor()  # noqa: SLF001 (see above)


@contextmanager
def child_config(config: "RunnableConfig") -> Iterator[None]:
    """Let every runnable called inside inherit a config.

    `langchain_core.runnables.config.set_config_context` does so in a copy of the context only,
    in which the called code can set no context variable of the caller.
    """
    from langchain_core.runnables.config import (  # noqa: PLC0415 (slow to import)
        var_child_runnable_config,
    )

    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def trace_params(model: object) -> Mapping[str, object]:
    """Return the trace parameters of a chat model's integration; empty if it reports none.

    `ls_provider` and `ls_model_name` are the only names that all integrations have in common.
    """
    describe = getattr(type(model), "_get_ls_params", None)
    if describe is None:
        return {}
    try:
        params = describe(model)
    except (AttributeError, KeyError, TypeError, ValueError):  # a half-made model or a stand-in
        return {}
    return params if isinstance(params, Mapping) else {}


def uses_responses_api(model: object, settings: Mapping[str, Any]) -> bool:
    """Return whether `ChatOpenAI` sends a request to `/responses`: it decides by each request."""
    with suppress(AttributeError, TypeError, ValueError):
        return bool(model._use_responses_api(dict(settings)))  # type: ignore[attr-defined]  # noqa: SLF001
    return False
