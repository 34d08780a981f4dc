"""`RunContextMiddleware`: date, place, files and tasks of the run, for the agent."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import date, datetime
from functools import partial
from typing import Annotated, Any, NotRequired, Self

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.types import Command
from typing_extensions import TypedDict  # pydantic asks for it before Python 3.12

from thalweg.context.notes import is_note
from thalweg.context.turn.additions import Inserts, with_inserts, with_part
from thalweg.context.turn.effects import Flow, ModelCallFlow, Response, Send, blocking_effect
from thalweg.engine.additions import DATE, PLACE, Addition, Surroundings, plan_additions
from thalweg_agent.backends.calls.foreign import as_backend
from thalweg_agent.backends.protocol import BackendProtocol, FileInfo
from thalweg_agent.subagents.ledger import plain

CHANNEL = "_run_context"
UPLOADS = "/uploads"
"""The folder of uploaded files in threads of the gateway."""


def local_date() -> date:
    """Return the current date by this machine's clock and time zone."""
    return datetime.now().astimezone().date()


class ViewedImage(TypedDict):
    """An image that was read. Its bytes are in the message that shows it, and in the archive."""

    mime_type: str


def merge_images(
    before: Mapping[str, ViewedImage] | None, after: Mapping[str, ViewedImage] | None
) -> dict[str, ViewedImage]:
    """Add images to those that were read before; the newest reading of a path holds."""
    return {**(before or {}), **(after or {})}


class RunContextState(AgentState[Any]):
    """The middleware's part of an agent's state."""

    _run_context: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """The run's date and first message, and the reminders that are still sent."""

    viewed_images: NotRequired[Annotated[dict[str, ViewedImage], merge_images]]
    """The images that the agent has read, by path; a subagent's are its own."""


class RunContextMiddleware(ModelCallFlow, AgentMiddleware[RunContextState, Any, Any]):
    """Show an agent the date, the files that the user uploaded, and the tasks it delegated.

    The **date** is the last part of the system prompt. A run keeps the date on which it began, so
    that the provider's cache is written again once a day at most. **Files** and **tasks** that are
    new since the last run precede the user's message, as data, and are sent as long as that message
    is; those that a compaction removed are listed again in the next run. At most 20 of each, the
    newest. `engine.additions.plan_additions` selects them.

    Args:
        backend: The backend of the uploaded files.
        uploads: Their folder; `None`, the default, lists none.
        place: Returns the user's location from a run's config; empty if unknown.
        today: Returns the current date; that of this machine's clock by default. `None`: no date.

    Example:
        >>> RunContextMiddleware(today=None).name
        'RunContextMiddleware'
    """

    state_schema = RunContextState

    def __init__(
        self,
        *,
        backend: BackendProtocol | None = None,
        uploads: str | None = None,
        place: Callable[[RunnableConfig], str] | None = None,
        today: Callable[[], date] | None = local_date,
    ) -> None:
        super().__init__()
        self._backend = None if backend is None else as_backend(backend)
        self._uploads = uploads
        self._place = place
        self._today = today

    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Send the request with the date and the reminders."""
        now = _known(request)
        if now is None:
            now = yield blocking_effect(partial(self._surroundings, request))
        call = _Call.of(request, now)
        return call.settle((yield Send(call.request)))

    def _surroundings(self, request: ModelRequest[Any]) -> Surroundings:
        """Look at the clock, the folder of uploads and the ledgers of tasks."""
        day = "" if self._today is None else f"{self._today():%Y-%m-%d (%A)}"
        place = "" if self._place is None else self._place(get_config())
        return Surroundings(day, place, self._files(), tuple(_tasks(request.state)))

    def _files(self) -> Sequence[tuple[str, str]]:
        if self._backend is None or self._uploads is None:
            return ()
        listed = self._backend.ls(self._uploads).entries or ()
        files = [one for one in listed if not one.get("is_dir")]
        return [_file(one) for one in sorted(files, key=lambda one: one.get("modified_at", ""))]


@dataclass(frozen=True, slots=True)
class _Call:
    """A request with its reminders, and the state that they were planned from."""

    request: ModelRequest[Any]
    inserts: Inserts
    reminders: Sequence[Addition]
    now: Surroundings
    uid: str
    """Of the message that the run begins with."""

    @classmethod
    def of(cls, request: ModelRequest[Any], now: Surroundings) -> Self:
        """Add the date and the reminders to a request."""
        uid = _begins_with(request)
        live = [Addition(*one) for one in _before(request).get("live", ())]
        additions = plan_additions(now, live, uid)
        for one in additions:
            request = request if one.before else with_part(request, one)
        reminders = [one for one in additions if one.before]
        request, inserts = with_inserts(request, reminders)
        return cls(request, inserts, reminders, now, uid)

    def settle(self, response: ModelResponse[Any]) -> Response:
        """Return the response with an update of the record of the call in the state."""
        sent = [one for one in self.reminders if one.before in self.inserts.shown]
        live = [[*astuple(one)] for one in sent]
        after = {DATE: self.now.date, PLACE: self.now.place, "uid": self.uid, "live": live}
        update: dict[str, Any] = {} if after == _before(self.request) else {CHANNEL: after}
        if images := _new_images(self.request.state["messages"]):
            update["viewed_images"] = images
        return ExtendedModelResponse(response, Command(update=update)) if update else response


def _before(request: ModelRequest[Any]) -> Mapping[str, Any]:
    """Return the record of the last call in the state."""
    before: Mapping[str, Any] = request.state.get(CHANNEL) or {}  # type: ignore[assignment]
    return before


def _known(request: ModelRequest[Any]) -> Surroundings | None:
    """Return the surroundings of a run that has begun; `None` for the first call of a run."""
    before = _before(request)
    if not before or before.get("uid") != _begins_with(request):
        return None
    return Surroundings(before.get(DATE, ""), before.get(PLACE, ""))


def _begins_with(request: ModelRequest[Any]) -> str:
    """Return the id of the user's newest message, or an empty text if there is none."""
    user_messages = (
        one for one in reversed(request.state["messages"]) if isinstance(one, HumanMessage)
    )
    return next((one.id or "" for one in user_messages if not is_note(one)), "")


def _file(info: FileInfo) -> tuple[str, str]:
    size = info.get("size")
    return info["path"], "" if size is None else f"({size:,} bytes)"


def _tasks(state: Any) -> Sequence[tuple[str, str]]:  # noqa: ANN401 (any agent's)
    ended = [
        (f"{one['subagent']}: {one['description']}", f"({one['status']}) {one.get('report', '')}")
        for one in plain(state.get("tasks")).values()
    ]
    elsewhere = [
        (f"{task['agent_name']}: background task {task['task_id']}", f"({task['status']})")
        for task in (state.get("async_tasks") or {}).values()
    ]
    return [*ended, *elsewhere]


def _new_images(messages: Sequence[AnyMessage]) -> dict[str, ViewedImage]:
    """Find the images among the results that the model has not answered yet."""
    new = itertools.takewhile(lambda one: isinstance(one, ToolMessage), reversed(messages))
    notes = [one.additional_kwargs for one in new]
    read = [(one.get("read_file_path"), one.get("read_file_media_type", "")) for one in notes]
    return {path: {"mime_type": kind} for path, kind in reversed(read) if path and "image/" in kind}
