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


def as_left(
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
    had: dict[str | None, AnyMessage] = {m.id: m for m in state if m.id}
    made = _without_removed(_rewritten(view, request, had), request, had)
    made, added = _answered(made, _added(request, had), had)
    if not added:
        return made
    placed = _placed(made, added)
    if _is_worse(placed, made):  # parts calls from their results
        before = added.pop(None, [])
        placed = [*before, *made, *(message for some in added.values() for message in some)]
    return placed


def _rewritten(
    view: Sequence[AnyMessage], request: Sequence[AnyMessage], had: Mapping[str | None, AnyMessage]
) -> list[AnyMessage]:
    changed = {m.id: m for m in request if m.id in had and m != had[m.id]}
    made = [changed[m.id] if m.id in changed and m == had[m.id] else m for m in view]
    return list(view) if changed and _is_worse(made, view) else made


def _without_removed(
    view: Sequence[AnyMessage], request: Sequence[AnyMessage], had: Mapping[str | None, AnyMessage]
) -> list[AnyMessage]:
    gone = had.keys() - {message.id for message in request}
    if not gone:
        return list(view)
    made = [message for message in view if message.id not in gone]
    return made if made and not _is_worse(made, view) else list(view)


def _added(
    request: Sequence[AnyMessage], had: Mapping[str | None, AnyMessage]
) -> dict[str | None, list[AnyMessage]]:
    """Return the added messages, by the id of the state's message that precedes them."""
    added: dict[str | None, list[AnyMessage]] = {}
    behind: str | None = None
    for message in request:
        if message.id in had:
            behind = message.id
        else:
            added.setdefault(behind, []).append(message)
    last = next((m.id for m in reversed(request) if m.id in had), None)
    if last is not None and last in added:
        added[_LAST] = added.pop(last)
    return added


def _answered(
    view: Sequence[AnyMessage],
    added: Mapping[str | None, list[AnyMessage]],
    had: Mapping[str | None, AnyMessage],
) -> tuple[list[AnyMessage], dict[str | None, list[AnyMessage]]]:
    """Put added results in the place of the placeholders for calls without a result.

    LangChain adds the results of calls whose arguments are not JSON.

    Returns:
        The view, and the other added messages.
    """
    tools = [m for some in added.values() for m in some if m.type == "tool"]
    made, placed = list(view), set[int]()
    results: dict[str | None, AnyMessage] = {}
    for k, message in enumerate(view if tools else ()):
        if message.type == "ai" and message.id in had:
            recorded, shown = (read_state([m])[0].calls for m in (had[message.id], message))
            ids = {call.id: own.id for call, own in zip(recorded, shown, strict=False)}
            left = [m for m in reversed(tools) if id(m) not in placed]
            results = {ids.get(m.tool_call_id, m.tool_call_id): m for m in left}
        if (result := results.pop(_missing(message), None)) is not None:
            made[k] = result.model_copy(update={"tool_call_id": _missing(message)})
            placed.add(id(result))
    rest = {key: [m for m in some if id(m) not in placed] for key, some in added.items()}
    return made, {key: some for key, some in rest.items() if some}


def _missing(message: AnyMessage) -> str | None:
    """Return the id of the call for which a message is a placeholder; `None` if it is none."""
    is_placeholder = message.id is None and message.content == NO_RESULT
    return message.tool_call_id if message.type == "tool" and is_placeholder else None


_LAST = ""
"""Key of the view's last message: content added at the end remains there."""


def _placed(
    view: Sequence[AnyMessage], added: Mapping[str | None, list[AnyMessage]]
) -> list[AnyMessage]:
    shown = {message.id for message in view if message.id}
    placed = list(added.get(None, ()))
    for behind, some in added.items():  # their neighbours are folded: behind what is in front
        if behind not in {None, _LAST} and behind not in shown:
            placed += some
    for message in view:
        placed.append(message)
        if message.id:
            placed += added.get(message.id, ())
    return [*placed, *added.get(_LAST, ())]


def _is_worse(messages: Sequence[AnyMessage], than: Sequence[AnyMessage]) -> bool:
    """Return whether one request breaks rules that another keeps."""
    return len(check(read_state(messages))) > len(check(read_state(than)))
