"""Strands Agents, as installed: the manager of its conversation, called as its loop calls it.

The agent and its conversation manager are the real ones. Its model is a substitute that counts
exactly, refuses what is larger than the window, and writes summaries of a fixed size. Of its loop
only the order of events is reproduced here, because the model's answer is available only with the
recording's next message.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from strands import Agent
from strands._context_manager.context_manager import ContextManager
from strands.agent.conversation_manager import (
    ConversationManager,
    ProactiveCompressionConfig,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.event_loop.event_loop import _estimate_input_tokens
from strands.hooks.events import AfterModelCallEvent, BeforeModelCallEvent, MessageAddedEvent
from strands.models import Model
from strands.types.content import Message as AgentMessage
from strands.types.exceptions import ContextWindowOverflowException

from benchmarks.arena.contestants.layout import PeerContestant
from benchmarks.arena.contestants.shelf import ReferenceArchive
from benchmarks.arena.contestants.strands_blocks import BlockMap, StrandsMessage
from thalweg.engine.tokens import Counter, count_json
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.replay.contestant import PeerRequest, Summarizing
from thalweg_recorder.replay.peers import SUMMARY_TOKENS, stand_in

logging.getLogger("strands").addHandler(logging.NullHandler())

Way = Literal["sliding", "summarizing", "auto"]
"""How an agent manages its conversation. `sliding`: its default, a window of 40 messages;
`summarizing` and `auto` (which also keeps originals) as in its documentation."""
NESTED_RETRIES = 900
"""Maximum retries of its loop: each attempt is nested in the one before, and Python allows a depth
of 1,000 calls."""
_REFERENCES = re.compile(r"\[refs?: ([^\]\n]+)\]")
"""How a text names what it was cut from, in the mode that keeps originals."""


@dataclass(slots=True)
class StrandsModel:
    """A model of Strands, as far as its conversation managers ask of one.

    It reports exact usage and refuses by exact counts, as providers do.
    """

    blocks: BlockMap
    window: int
    count: Counter
    summaries: list[Summarizing] = field(default_factory=list)
    """Asked for since the last request."""
    stateful: bool = False

    @property
    def context_window_limit(self) -> int:
        """Tokens that it takes."""
        return self.window

    def estimate_utilization(self, input_tokens: int) -> float:
        """Return the share of the window that tokens fill, as `strands.models.Model` does."""
        return input_tokens / self.window

    async def count_tokens(self, messages: Sequence[StrandsMessage], **also: Any) -> int:  # noqa: ANN401 (Strands' signature)
        """Return an estimate of tokens from characters, as its models do by default."""
        said = cast("list[AgentMessage]", messages)
        tokens: int = await Model.count_tokens(cast("Model", self), said, **also)
        return tokens

    async def stream(
        self,
        messages: Sequence[StrandsMessage],
        tool_specs: object = None,
        system_prompt: str | None = None,
        **_: object,
    ) -> AsyncIterator[Mapping[str, object]]:
        """Write a summary: nothing else is asked of it.

        Raises:
            ContextWindowOverflowException: It is more than the window to read.
        """
        del tool_specs
        tokens = self.blocks.tokens(messages) + self.count(system_prompt or "")
        if tokens > self.window:
            raise _refusal(tokens, self.window)
        self.summaries.append(
            Summarizing(tokens=tokens, output=SUMMARY_TOKENS, read=self.blocks.read_in(messages))
        )
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        text = stand_in(self.count, SUMMARY_TOKENS)
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def _refusal(tokens: int, window: int) -> ContextWindowOverflowException:
    return ContextWindowOverflowException(f"{tokens} tokens are more than {window}")


@dataclass(slots=True)
class Strands(PeerContestant):
    """One thread of an agent of Strands.

    Its loop sends the whole conversation. If the model refuses that as too large, the conversation
    manager shrinks it and the loop retries, until it is accepted or the manager stops trying and
    the run fails; the thread then continues with its next message, as a user would. After a run,
    the manager applies its own reduction.
    """

    way: Way
    window: int
    """Tokens of a request that the model takes."""
    share: float | None
    """Of the window, where the manager acts beforehand; by default, when the model refuses."""
    shelf: ReferenceArchive
    """Where the texts are searched that it keeps."""
    agent: Agent = field(init=False)
    _model: StrandsModel = field(init=False)
    _blocks: BlockMap = field(init=False)
    _keeper: ContextManager | None = None
    """Who keeps originals, in the mode that does."""
    _beside: int = 0
    _sent_tokens: int = 0
    """Of the last request, as its provider would report them."""
    _last: Sequence[WindowItem] = ()
    """The last request."""
    _whole: frozenset[int] = frozenset()
    """Positions that it shows word for word."""
    _reached: frozenset[int] | None = None
    """Positions that the last request refers to, once requested."""
    _shelved: set[int] = field(default_factory=set)
    _died: bool = False
    """Whether the last request was refused for good."""

    def __post_init__(self) -> None:
        self._blocks = BlockMap(self.count)
        self._model = StrandsModel(self._blocks, self.window, self.count)
        self._keeper = ContextManager() if self.way == "auto" else None
        self.agent = Agent(
            model=cast("Model", self._model),
            callback_handler=None,
            conversation_manager=self._manager(),
            context_manager=self._keeper,
        )
        specs = self.agent.tool_registry.get_all_tool_specs()
        self._beside = sum(count_json(json.loads(json.dumps(s)), self.count) for s in specs)

    def _manager(self) -> ConversationManager | None:
        """Return the conversation manager; `None` for the agent's own default."""
        early: ProactiveCompressionConfig | None = None
        if self.share is not None:
            early = {"compression_threshold": self.share}
        if self.way == "summarizing":
            return SummarizingConversationManager(proactive_compression=early)
        return SlidingWindowConversationManager(proactive_compression=early) if early else None

    def request(self, *, cold: bool) -> PeerRequest:
        """Return the current request; called before each assistant message, and at the end.

        See `Contestant.request`.
        """
        del cold  # it knows of no cache
        asyncio.run(self._turn(self.layout.new()))
        items = [*self._systems, *self._blocks.shown(self._messages)]
        self._whole = self._blocks.whole(self._messages) | {i.position for i in self._systems}
        summaries, self._model.summaries = self._model.summaries, []
        self._reached, self._last = None, items
        return self._sent(items, self._whole, self._beside, summaries)

    @property
    def _messages(self) -> list[StrandsMessage]:
        return cast("list[StrandsMessage]", self.agent.messages)

    @property
    def _tokens(self) -> int:
        """Tokens of the current request."""
        system = sum(item.tokens for item in self._systems)
        return self._beside + system + sum(i.tokens for i in self._blocks.shown(self._messages))

    async def _turn(self, new: Sequence[WindowItem]) -> None:
        """Add new messages, and find the request that is accepted."""
        self._systems += [item for item in new if item.section == "system"]
        if self._died:
            self._rest()
        said = [item for item in new if item.section != "system"]
        for message in self._blocks.written(said):
            if message["role"] == "assistant":
                await self._tell_answer(message)
            elif self._begins_run(message):
                self._rest()
            self._messages.append(message)
            added = cast("AgentMessage", message)
            await self.agent.hooks.invoke_callbacks_async(
                MessageAddedEvent(agent=self.agent, message=added)
            )
        for _ in range(NESTED_RETRIES):
            if not await self._is_to_try_again():
                return

    def _rest(self) -> None:
        """End the run: the manager tidies up."""
        self._died = False
        self.agent.conversation_manager.apply_management(self.agent)

    def _begins_run(self, message: StrandsMessage) -> bool:
        """Whether a message of the user's comes when the agent rests, or breaks into its run."""
        if not self._messages or _has(message, "toolResult"):
            return False
        last = self._messages[-1]
        asked = any(item.message.is_request for item in self._blocks.shown([message]))
        return last["role"] == "assistant" or (asked and _has(last, "toolResult"))

    async def _tell_answer(self, message: StrandsMessage) -> None:
        answer = self._blocks.tokens([message])
        message["metadata"] = {
            "usage": {
                "inputTokens": self._sent_tokens,
                "outputTokens": answer,
                "totalTokens": self._sent_tokens + answer,
            },
            "metrics": {"latencyMs": 0},
        }
        response = AfterModelCallEvent.ModelStopResponse(
            stop_reason="tool_use" if _has(message, "toolUse") else "end_turn",
            message=cast("AgentMessage", message),
        )
        await self.agent.hooks.invoke_callbacks_async(
            AfterModelCallEvent(agent=self.agent, invocation_state={}, stop_response=response)
        )

    async def _is_to_try_again(self) -> bool:
        """Send the current request; if it is refused, make it smaller and return True."""
        hooks, agent = self.agent.hooks, self.agent
        before = BeforeModelCallEvent(
            agent=agent,
            invocation_state={},
            projected_input_tokens=await _estimate_input_tokens(agent),
        )
        await hooks.invoke_callbacks_async(before)
        self._sent_tokens = tokens = self._tokens
        if tokens <= self.window:
            return False
        refused = _refusal(tokens, self.window)
        after = AfterModelCallEvent(agent=agent, invocation_state={}, exception=refused)
        await hooks.invoke_callbacks_async(after)
        if after.retry:
            return True
        try:
            agent.conversation_manager.reduce_context(agent, e=refused)
        except ContextWindowOverflowException:
            self._died = True
            return False
        return True

    def recall(self, question: str) -> str:
        """See `Contestant.recall`: what is named is searched as ours is, not only by its name."""
        self._reach()
        return self.shelf.recall(question)

    def holds(self, position: int) -> bool:
        """See `Contestant.holds`: the original is read back through its references."""
        return position in self._reach()

    def _reach(self) -> frozenset[int]:
        """Read all texts that the last request refers to; each is added to the shelf once."""
        if self._reached is None:
            cut = [item for item in self._last if item.position not in self._whole]
            names = [n for item in cut for n in _REFERENCES.findall(item.message.text)]
            self._reached = asyncio.run(self._read_back(names))
        return self._reached

    async def _read_back(self, names: Sequence[str]) -> frozenset[int]:
        reached: set[int] = set()
        stash = self._keeper.stash if self._keeper else None
        if stash is None:
            return frozenset()
        for several in names:
            kept = [await stash.retrieve(name) for name in several.split(", ")]
            text = "\n".join(str(k["text"]) for k in kept if isinstance(k, dict) and "text" in k)
            item = self._blocks.answered(several.partition(",")[0].rpartition("_")[0])
            if item is None or text != item.message.text:
                continue
            reached.add(item.position)
            if item.position not in self._shelved:
                self._shelved.add(item.position)
                self.shelf.put([text])
        return frozenset(reached)

    def shown(self, item: WindowItem) -> tuple[str, str]:
        """Return how the last request shows a message, and the reference that reads it in full.

        See `Contestant.shown`.
        """
        if item.position < 0:
            return ("record" if item.section == "summary" else "note"), ""
        named = _REFERENCES.search(item.message.text)
        is_whole = item.position in self._whole
        return ("whole", "") if is_whole else ("elide", named[1] if named else "")


def _has(message: StrandsMessage, kind: str) -> bool:
    return any(kind in block for block in message["content"])
