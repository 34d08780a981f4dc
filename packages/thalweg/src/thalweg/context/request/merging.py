"""Merging with other middleware: its changes for one call, applied to our request.

Other middleware sees the messages of the state; we send a view of the whole thread. A message that
it added keeps its neighbour, one that it removed is removed, and one that it rewrote is used if our
view shows that message unchanged. Nothing is removed if that would break a request (calls without
results, results without calls), which no provider accepts.
"""

from collections.abc import Mapping, Sequence
from operator import is_

from langchain_core.messages import AnyMessage

from thalweg.context.request.message_writer import read_state
from thalweg.engine.window.items import NO_RESULT
from thalweg.engine.window.validity import check


def merge_changes(
    state: Sequence[AnyMessage], request: Sequence[AnyMessage], view: Sequence[AnyMessage]
) -> list[AnyMessage]:
    """Apply to a view the changes made to the state's messages on their way to us.

    Args:
        state: The messages of the state.
        request: The messages after those changes.
        view: The messages that we send in their place.
    """
    if len(state) == len(request) and all(map(is_, state, request)):
        return list(view)
    state_by_id: dict[str | None, AnyMessage] = {m.id: m for m in state if m.id}
    merged = _drop_removed(_apply_rewrites(view, request, state_by_id), request, state_by_id)
    merged, added = _fill_placeholders(
        merged, _added_by_neighbour(request, state_by_id), state_by_id
    )
    if not added:
        return merged
    placed = _insert_added(merged, added)
    if _is_worse(placed, merged):  # parts calls from their results
        added_first = added.pop(None, [])
        placed = [
            *added_first,
            *merged,
            *(message for added_messages in added.values() for message in added_messages),
        ]
    return placed


def _apply_rewrites(
    view: Sequence[AnyMessage],
    request: Sequence[AnyMessage],
    state_by_id: Mapping[str | None, AnyMessage],
) -> list[AnyMessage]:
    changed = {m.id: m for m in request if m.id in state_by_id and m != state_by_id[m.id]}
    rewritten = [changed[m.id] if m.id in changed and m == state_by_id[m.id] else m for m in view]
    return list(view) if changed and _is_worse(rewritten, view) else rewritten


def _drop_removed(
    view: Sequence[AnyMessage],
    request: Sequence[AnyMessage],
    state_by_id: Mapping[str | None, AnyMessage],
) -> list[AnyMessage]:
    removed_ids = state_by_id.keys() - {message.id for message in request}
    if not removed_ids:
        return list(view)
    remaining = [message for message in view if message.id not in removed_ids]
    return remaining if remaining and not _is_worse(remaining, view) else list(view)


def _added_by_neighbour(
    request: Sequence[AnyMessage], state_by_id: Mapping[str | None, AnyMessage]
) -> dict[str | None, list[AnyMessage]]:
    """Return the added messages, by the id of the state's message that precedes them."""
    added: dict[str | None, list[AnyMessage]] = {}
    preceding_id: str | None = None
    for message in request:
        if message.id in state_by_id:
            preceding_id = message.id
        else:
            added.setdefault(preceding_id, []).append(message)
    last_id = next((m.id for m in reversed(request) if m.id in state_by_id), None)
    if last_id is not None and last_id in added:
        added[_AT_END] = added.pop(last_id)
    return added


def _fill_placeholders(
    view: Sequence[AnyMessage],
    added: Mapping[str | None, list[AnyMessage]],
    state_by_id: Mapping[str | None, AnyMessage],
) -> tuple[list[AnyMessage], dict[str | None, list[AnyMessage]]]:
    """Put added results in the place of the placeholders for calls without a result.

    LangChain adds the results of calls whose arguments are not JSON.

    Returns:
        The view, and the other added messages.
    """
    tools = [m for messages in added.values() for m in messages if m.type == "tool"]
    answered, placed = list(view), set[int]()
    results: dict[str | None, AnyMessage] = {}
    for k, message in enumerate(view if tools else ()):
        if message.type == "ai" and message.id in state_by_id:
            recorded, shown = (read_state([m])[0].calls for m in (state_by_id[message.id], message))
            ids = {
                call.id: shown_call.id for call, shown_call in zip(recorded, shown, strict=False)
            }
            unplaced = [m for m in reversed(tools) if id(m) not in placed]
            results = {ids.get(m.tool_call_id, m.tool_call_id): m for m in unplaced}
        if (result := results.pop(_placeholder_call_id(message), None)) is not None:
            answered[k] = result.model_copy(update={"tool_call_id": _placeholder_call_id(message)})
            placed.add(id(result))
    rest = {key: [m for m in messages if id(m) not in placed] for key, messages in added.items()}
    return answered, {key: messages for key, messages in rest.items() if messages}


def _placeholder_call_id(message: AnyMessage) -> str | None:
    """Return the id of the call for which a message is a placeholder; `None` if it is none."""
    is_placeholder = message.id is None and message.content == NO_RESULT
    return message.tool_call_id if message.type == "tool" and is_placeholder else None


_AT_END = ""
"""Key of the view's last message: content added at the end remains there."""


def _insert_added(
    view: Sequence[AnyMessage], added: Mapping[str | None, list[AnyMessage]]
) -> list[AnyMessage]:
    shown = {message.id for message in view if message.id}
    placed = list(added.get(None, ()))
    for (
        preceding_id,
        messages,
    ) in added.items():  # their neighbours are folded: behind what is in front
        if preceding_id not in {None, _AT_END} and preceding_id not in shown:
            placed += messages
    for message in view:
        placed.append(message)
        if message.id:
            placed += added.get(message.id, ())
    return [*placed, *added.get(_AT_END, ())]


def _is_worse(messages: Sequence[AnyMessage], other: Sequence[AnyMessage]) -> bool:
    """Return whether one request breaks rules that another keeps."""
    return len(check(read_state(messages))) > len(check(read_state(other)))
