"""`LoopMiddleware`: warns an agent that repeats itself, and then ends its run.

A repeated call alone is no loop. A loop is a series of turns without anything new: the same calls
with the same arguments and the same results. So polling a build whose output grows is no loop, nor
is running tests again after an edit; A-B-A-B is one, and so is any cycle of calls whose results are
all repeated.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.types import Command

from thalweg.context.notes import closing_answer, is_note, note
from thalweg.context.turn.effects import Flow, ModelCallFlow, Response, Send
from thalweg.errors import ConfigError
from thalweg_agent.prompts import prompt

Trail = list[list[str]]
"""The turns of a run, oldest first, each as the digests of its calls with their results."""
TURNS = 40
"""How many turns of a run are remembered: a round of calls longer than this is not seen."""
RESULT_CHARS = 400
"""How much of the last result is quoted when a run is stopped."""


class LoopState(AgentState[Any]):
    """The middleware's part of an agent's state."""

    thalweg_trail: NotRequired[Annotated[Trail, PrivateStateAttr]]


class LoopMiddleware(ModelCallFlow, AgentMiddleware[LoopState, Any, Any]):
    """Warn a model that repeats itself, and end its run if it continues.

    The warning is part of the next request, after the results, and remains in the thread: calls and
    results are not separated, and the prefix of the request does not change. The run ends instead
    of a model call, when all calls are answered: the last message of the run is an answer that
    names the repeated calls, with `response_metadata["thalweg_ended"] == "loop"`.

    Counts are per run; the next run starts at zero.

    Args:
        warn_at: Number of repetitions, without anything new in between, before the model is warned.
        stop_at: Number of repetitions before the run ends.
        exempt: Names of tools whose calls do not count: for example waiting, whose result may be
            the same for long.

    Raises:
        ConfigError: A threshold is less than 2, or `stop_at` is below `warn_at`.

    Example:
        >>> LoopMiddleware(warn_at=3, stop_at=5, exempt={"wait"}).name
        'LoopMiddleware'
    """

    state_schema = LoopState

    def __init__(self, *, warn_at: int = 3, stop_at: int = 6, exempt: Collection[str] = ()) -> None:
        super().__init__()
        if not 2 <= warn_at < stop_at:  # noqa: PLR2004 (the second time is the first that repeats)
            problem = f"the warning comes at {warn_at} and the end at {stop_at}"
            fix = "warn at 2 or later, and end later than that"
            what = "warn_at, stop_at"
            raise ConfigError(what, problem, fix)
        self.warn_at, self.stop_at, self.exempt = warn_at, stop_at, frozenset(exempt)

    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Check the calls of the last turn before the next."""
        known = cast("Trail", request.state.get("thalweg_trail") or [])
        turn = last_turn(request.state["messages"])
        digests = turn.digests(self.exempt) if turn else []
        if turn is None or not digests:
            response: ModelResponse[Any] = yield Send(request)
            # Without a turn a run begins, with a message of the user.
            return _with_trail(response, []) if turn is None and known else response
        trail = [*known, digests][-TURNS:]
        times = repeats(trail)
        if times[-1] >= self.stop_at:
            return _with_trail(ModelResponse(result=[self._end(turn, times[-1])]), [])
        if times[-1] >= self.warn_at and max(streak(times)[:-1]) < self.warn_at:
            warning = self._warning(turn, times[-1])
            request = request.override(messages=[*request.messages, warning])
            response = yield Send(request)
            response = replace(response, result=[warning, *response.result])
        else:
            response = yield Send(request)
        return _with_trail(response, trail)

    def _warning(self, turn: "CallsWithResults", times: int) -> HumanMessage:
        left = self.stop_at - times
        return note(prompt("loop_warning").render(calls=turn.names, times=times, left=left))

    def _end(self, turn: "CallsWithResults", times: int) -> AIMessage:
        text = prompt("loop_end").render(calls=turn.names, times=times, result=turn.last_result)
        return closing_answer(text, "loop")


def _with_trail(response: ModelResponse[Any], trail: Trail) -> ExtendedModelResponse[Any]:
    return ExtendedModelResponse(response, Command(update={"thalweg_trail": trail}))


@dataclass(frozen=True, slots=True)
class CallsWithResults:
    """The calls of an assistant's message with their results."""

    pairs: tuple[tuple[ToolCall, ToolMessage], ...]

    def digests(self, exempt: Collection[str]) -> list[str]:
        """Return a digest of each call with its result, independent of its id."""
        counted = [pair for pair in self.pairs if pair[0]["name"] not in exempt]
        return sorted({_digest(call, result) for call, result in counted})

    @property
    def names(self) -> str:
        """The tools that were called, for people."""
        return ", ".join(dict.fromkeys(f"`{call['name']}`" for call, _ in self.pairs))

    @property
    def last_result(self) -> str:
        """The beginning of the last result."""
        text = self.pairs[-1][1].text.strip() or "(empty)"
        return text if len(text) <= RESULT_CHARS else f"{text[:RESULT_CHARS]}…"


def last_turn(messages: Sequence[AnyMessage]) -> CallsWithResults | None:
    """Return the turn that has just ended; `None` after a message of the user or without turns."""
    results: dict[str, ToolMessage] = {}
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            results.setdefault(message.tool_call_id, message)
        elif isinstance(message, AIMessage):
            answered = [c for c in message.tool_calls if c["id"] in results]
            return CallsWithResults(tuple((call, results[call["id"] or ""]) for call in answered))
        elif isinstance(message, HumanMessage) and not is_note(message):
            return None
    return None


def _digest(call: ToolCall, result: ToolMessage) -> str:
    parts = [call["name"], call["args"], result.status, result.content]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def repeats(trail: Sequence[Sequence[str]]) -> list[int]:
    """Count, for every turn, how often it was done while nothing new came of any turn.

    Returns:
        1 for a turn with something new in it. In a turn of several calls, the one made least
        often counts.

    Example:
        >>> repeats([["a"], ["a"], ["b"], ["a"], ["b"], ["a"], ["a", "c"]])
        [1, 2, 1, 2, 2, 3, 1]
    """
    seen: set[str] = set()
    since: Counter[str] = Counter()
    counts: list[int] = []
    for turn in trail:
        if seen.issuperset(turn):
            since.update(turn)
            counts.append(1 + min(since[call] for call in turn))
        else:
            seen.update(turn)
            since.clear()
            counts.append(1)
    return counts


def streak(counts: Sequence[int]) -> Sequence[int]:
    """Take the turns since something new came, that one included."""
    start = max(k for k, count in enumerate(counts) if count == 1)
    return counts[start:]
