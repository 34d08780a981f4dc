"""The state of an agent; its checkpoints store new messages, not all of them."""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, NotRequired, Required, cast, get_args, get_origin, get_type_hints
from uuid import UUID, uuid5

from langchain.agents import AgentState
from langchain_core.messages import (
    AnyMessage,
    BaseMessageChunk,
    RemoveMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.channels import LastValue
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from thalweg_agent.subagents.joining import is_shared, merge_artifacts
from thalweg_agent.subagents.parent_step import LaterValue

SNAPSHOT_EVERY = 50
"""Updates of the messages between two checkpoints that hold all of them, as in `deepagents`: a
run reads the newest such checkpoint and the updates since."""
_NAMESPACE = UUID("6f1c2f0e-3c3b-4f43-9a5e-5d5d6c1a3f11")


def merge_messages(state: Sequence[AnyMessage] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """Apply writes to the messages of a state, as `add_messages` does, in one pass.

    A message replaces the one with its id, a `RemoveMessage` removes that one
    (`REMOVE_ALL_MESSAGES` all earlier ones), any other is appended. LangGraph replays writes
    on every read, in batches of any size, those of a failed step included: a message
    without an id gets the same one each time, and removing an absent one is no error.

    Args:
        state: The messages so far; `None` before the first write.
        writes: Each a message or a list of messages, in any form LangChain reads.
    """
    flat = [one for write in writes for one in (write if isinstance(write, list) else [write])]
    merged: dict[str | None, AnyMessage] = {message.id: message for message in state or ()}
    for message in convert_to_messages(flat):
        if message.id == REMOVE_ALL_MESSAGES:
            merged.clear()
        elif isinstance(message, RemoveMessage):
            merged.pop(message.id, None)
        else:
            whole = cast("AnyMessage", message)
            if isinstance(message, BaseMessageChunk):
                whole = cast("AnyMessage", message_chunk_to_message(message))
            uid = message.id or _unused_id(whole, merged)
            merged[uid] = whole if message.id else whole.model_copy(update={"id": uid})
    return list(merged.values())


def _unused_id(message: AnyMessage, there: dict[str | None, AnyMessage]) -> str:
    # Older messages may have left the state: only with the last id is one of theirs not repeated.
    place, last = len(there), next(reversed(there), "")
    # Content may hold half of a character, which UTF-8 cannot encode.
    content = str(message.content).encode("utf-8", "backslashreplace").decode()
    while (uid := str(uuid5(_NAMESPACE, f"{last}:{place}:{message.type}:{content}"))) in there:
        place += 1
    return uid


@lru_cache(maxsize=256)
def with_later_values(
    schema: type[AgentState[Any]], others: tuple[type, ...], private: frozenset[str] = frozenset()
) -> type[AgentState[Any]]:
    """Return a state schema in which shared keys without a reducer store the later write of a step.

    Several subagents can then write such a key at once: see `LaterValue`.

    Args:
        schema: The schema of an agent, which overrides those of its middleware.
        others: The schemas of its middleware, in their order.
        private: Keys that no subagent receives or returns.

    Returns:
        The schema itself if there is no such key.
    """
    merged: dict[str, Any] = {}
    for one in (*others, schema):
        merged |= _later_values(one)
    changed = {key: kind for key, kind in merged.items() if kind and is_shared(key, private)}
    if not changed:
        return schema
    kind: Any = type(schema)  # that of all `TypedDict` classes
    made: type[AgentState[Any]] = kind(schema.__name__, (schema,), {"__annotations__": changed})
    return made


@lru_cache(maxsize=256)
def _later_values(schema: type) -> dict[str, Any]:
    """Return the keys of a schema: the new type of those without a reducer, `None` for others."""
    channels, bare = StateGraph(schema).channels, get_type_hints(schema)
    optional: Collection[str] = getattr(schema, "__optional_keys__", ())
    changed: dict[str, Any] = {}
    presence: Any = NotRequired
    for key, kind in get_type_hints(schema, include_extras=True).items():
        changed[key] = None
        if type(channels.get(key)) is LastValue:
            changed[key] = Annotated[(bare[key], *marks(kind), LaterValue)]
            changed[key] = presence[changed[key]] if key in optional else changed[key]
    return changed


def marks(kind: Any) -> Iterator[object]:  # noqa: ANN401 (any annotation)
    """Yield the metadata of `Annotated`, inside `Required` and `NotRequired`, too."""
    yield from getattr(kind, "__metadata__", ())
    if get_origin(kind) in {Annotated, NotRequired, Required}:
        yield from marks(get_args(kind)[0])


class ThreadState(AgentState[Any]):
    """State of an agent whose checkpoints hold new messages, not the whole thread each time.

    For `create_agent(..., state_schema=ThreadState)`; extend it for more. A thread that began
    without it can continue with it.
    """

    messages: Required[
        Annotated[list[AnyMessage], DeltaChannel(merge_messages, snapshot_frequency=SNAPSHOT_EVERY)]
    ]


class DeepAgentState(ThreadState):
    """Extend it for more: `create_deep_agent(..., state_schema=MyState)`."""

    artifacts: NotRequired[Annotated[list[str], merge_artifacts]]
    """Paths of files made for the user; a subagent's are added to its parent's."""
