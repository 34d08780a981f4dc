"""The part of an answer that a cancelled run had streamed: kept as a message that is marked."""

import asyncio
import logging
from collections.abc import Sequence
from types import NoneType

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.types import StateSnapshot

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import TurnRecord, page_at
from thalweg.context.turn.graph_state import write_pointer
from thalweg.engine.tokens import exact_counter
from thalweg.errors import ArchiveError
from thalweg_server.app.agents.agents import Agent
from thalweg_server.app.performing.steps import EventEmitter
from thalweg_server.app.performing.streaming import MODEL_NAME

MARK = "\n\n[The answer was cut off here: the run was cancelled.]"
"""Ends the text of such a message, for people and for the model of the next request."""
_FINISH, _CANCELLED = "finish_reason", "cancelled"
_log = logging.getLogger("thalweg.server.app")


def is_cut_off(state: StateSnapshot) -> bool:
    """Return whether the newest message of a state is an answer that was cut off."""
    messages: Sequence[BaseMessage] = state.values.get("messages", [])
    newest = messages[-1] if messages else None
    return isinstance(newest, AIMessage) and newest.response_metadata.get(_FINISH) == _CANCELLED


async def keep_cut_off(
    graph: Agent, config: RunnableConfig, emitter: EventEmitter, *, is_agent: bool
) -> None:
    """Add the unfinished answer of a cancelled run to the state of its thread, and emit its end.

    Args:
        graph: The graph of the run, with its checkpointer.
        config: The config of the run.
        emitter: Emits the events of the run.
        is_agent: Whether it is the gateway's agent, whose last steps write to the archive.
    """
    unfinished = emitter.translator.unfinished
    adds = not isinstance(graph.channels.get("messages"), NoneType | LastValue)
    if unfinished is None or not unfinished[1].strip() or not adds:
        return
    id_, text, node = unfinished
    message = AIMessage(text + MARK, id=id_, response_metadata={_FINISH: _CANCELLED})
    update: dict[str, object] = {"messages": [message]}
    model = ""
    try:
        call = await asyncio.to_thread(_newest_call, emitter.archive, emitter.key)
        if is_agent and call is not None:
            pointer, page = call
            model = page.model
            message.usage_metadata = _usage(page, text)
            update |= {"thalweg_turn": pointer, MODEL_NAME: model}
        await graph.aupdate_state(config, update, as_node=node)
        if is_agent:  # the steps after the answer: it is logged, and learned from
            await graph.ainvoke(None, config, durability="sync")
    except Exception as error:  # noqa: BLE001 (steps of any graph follow an update of its state)
        _log.warning("run %s: its cut-off answer is not kept: %s", emitter.run.key.run, error)
        return
    await emitter.publish(*emitter.translator.finish(message, MARK, model))


def _newest_call(archive: Archive, key: ThreadKey) -> tuple[str, TurnRecord] | None:
    """Return the newest request of a thread with the pointer to it; `None` if there is none."""
    try:
        record, page = page_at(archive, key)
        while page.kind != "call" and page.parent is not None:
            record, page = page_at(archive, key, page.parent)
    except ArchiveError:
        return None
    identity, released = archive.identity, page.released
    pointer = write_pointer(key, record, archive=identity, released=released)
    return (pointer, page) if page.kind == "call" else None


def _usage(page: TurnRecord, text: str) -> UsageMetadata:
    """Return the usage of a cut-off call: the request's own count, and that of the text."""
    request, output = page.usage, exact_counter()(text)
    return UsageMetadata(
        input_tokens=request.input,
        output_tokens=output,
        total_tokens=request.input + output,
        input_token_details={"cache_read": request.cached},
    )
