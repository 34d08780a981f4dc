"""A LangChain agent as a contestant: a real agent loop over the recording."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.arena.contestants.conversation import Conversation, blocks_of, without_chance
from benchmarks.arena.contestants.history_files import HistoryFiles
from benchmarks.arena.contestants.layout import PeerContestant
from benchmarks.arena.contestants.loop import (
    PROVIDER,
    AgentLoop,
    ReplayedModel,
    Results,
    SentMessages,
)
from thalweg.engine.tokens import count_json
from thalweg.engine.window.items import NO_WORDS, WindowItem
from thalweg.errors import ThalwegError
from thalweg_recorder.replay.contestant import PeerRequest, Summarizing
from thalweg_recorder.replay.peers import SUMMARY_TOKENS, stand_in

STEPS = 10_000_000
"""Most steps of a graph in one run: a recording is as long as it is."""


class PeerError(ThalwegError):
    """Another system failed during a recorded thread."""

    code = "peer"
    sentence = "it died of {kind}: {told:.300}"

    kind: str
    """The class of its error."""
    told: str
    """The error's text."""


@dataclass(slots=True)
class PeerSetting:
    """What a peer's agent is made with."""

    model: ReplayedModel
    results: Results
    system: SystemMessage | None
    saver: InMemorySaver


MakeAgent = Callable[[PeerSetting], Any]
"""Makes the compiled graph."""


@dataclass(slots=True)
class AgentContestant(PeerContestant):
    """A recording's thread in an agent of LangChain's.

    The model is a substitute that returns the recorded answers, and tools return the recorded
    results. The model's input is the request. It reports exact usage, as providers do. Asked for a
    summary, it writes 1,500 tokens.
    """

    make: MakeAgent
    window: int
    files: HistoryFiles | None = None
    talk: Conversation = field(init=False)
    loop: AgentLoop | None = None
    _results: Results = field(default_factory=Results)
    _own: tuple[int, int] = (0, 0)
    """Number of tools in the last request that were counted, and their tokens."""
    _summaries: list[Summarizing] = field(default_factory=list)
    _written: int = 0
    """Summaries so far."""
    _last: PeerRequest | None = None

    def __post_init__(self) -> None:
        self.talk = Conversation(self.count)

    def request(self, *, cold: bool) -> PeerRequest:
        """See `Contestant.request`.

        Raises:
            PeerError: The agent died.
        """
        del cold
        new = self.layout.new()
        if self._last is not None and not new:
            return replace(self._last, summaries=())
        try:
            sent = self._advance(new)
        except Exception as error:  # whatever it is, it is the peer's
            raise PeerError(type(error).__name__, str(error)) from error
        self._last = self._request(sent)
        return self._last

    def _advance(self, new: Sequence[WindowItem]) -> SentMessages:
        """Let the agent go on to its model's next call."""
        sent: SentMessages | None = None
        if self.loop is None:
            self._systems = [item for item in new if item.section == "system"]
            self.loop = self._began()
            said = [self.talk.written(item) for item in new[len(self._systems) :]]
        else:
            answer, results, said = self._turn(new)
            self._results.results = {result.tool_call_id: result for result in results}
            self._results.said = said
            sent = self.loop.answer(answer)
        if sent is None:
            sent = self.loop.run(said)
        if sent is None:
            raise PeerError("rested", "the agent asked its model nothing")
        return sent

    def _began(self) -> AgentLoop:
        text = "\n\n".join(item.message.text for item in self._systems)
        thread: Any = {"configurable": {"thread_id": "replay"}, "recursion_limit": STEPS}

        def start(messages: Sequence[AnyMessage]) -> object:
            return agent.invoke({"messages": [*messages]}, thread, durability="exit")

        loop = AgentLoop(start, self._results)
        model = ReplayedModel(
            ask=loop.ask, summarize=self._summarize, profile={"max_input_tokens": self.window}
        )
        system = SystemMessage(text) if text else None
        agent = self.make(PeerSetting(model, self._results, system, InMemorySaver()))
        return loop

    def _turn(
        self, new: Sequence[WindowItem]
    ) -> tuple[AIMessage, list[ToolMessage], list[AnyMessage]]:
        """Split what came into the model's answer, the results of its calls, and the rest."""
        speaks = new[0].message.role == "assistant"
        said = [self.talk.written(item) for item in new]
        first = said.pop(0) if speaks else None
        answer = first if isinstance(first, AIMessage) else AIMessage(NO_WORDS)
        results = [message for message in said if isinstance(message, ToolMessage)]
        answer.usage_metadata = self._usage(new[0].tokens if speaks else 0)
        answer.response_metadata = {"model_provider": PROVIDER}
        rest: list[AnyMessage] = [m for m in said if not isinstance(m, ToolMessage)]
        return answer, results, rest

    def _usage(self, output: int) -> Any:  # noqa: ANN401 (LangChain's)
        last = self._last
        read = sum(item.tokens for item in last.items) + last.overhead if last else 0
        return {"input_tokens": read, "output_tokens": output, "total_tokens": read + output}

    def _summarize(self, prompt: str) -> AIMessage:
        known = self.talk.blocks()
        shown = [known.get(block, set()) for block in blocks_of(prompt)]
        read = frozenset[int]().union(*shown)
        tokens = self.count(without_chance(prompt))
        self._summaries.append(Summarizing(tokens=tokens, output=SUMMARY_TOKENS, read=read))
        usage: Any = {"input_tokens": tokens, "output_tokens": SUMMARY_TOKENS}
        usage["total_tokens"] = tokens + SUMMARY_TOKENS
        self._written += 1
        text = stand_in(self.count, SUMMARY_TOKENS, self._written)
        return AIMessage(text, usage_metadata=usage, response_metadata={"model_provider": PROVIDER})

    def _request(self, sent: SentMessages) -> PeerRequest:
        messages = [*sent.messages]
        beside = self._tools(sent.tools)
        items: list[WindowItem] = []
        if messages and messages[0].type == "system" and not messages[0].id:
            beside += max(
                0, self.count(str(messages.pop(0).text)) - sum(i.tokens for i in self._systems)
            )
            items += self._systems
        items += map(self.talk.item, messages)
        summaries, self._summaries = self._summaries, []
        given = [item for item in items if self.talk.is_given(item)]
        whole = frozenset(item.position for item in (*given, *self._systems))
        return self._sent(items, whole, beside, summaries)

    def _tools(self, tools: Sequence[Any]) -> int:
        """Count the schemas of tools; they are the same in every request."""
        if len(tools) != self._own[0]:
            schemas = [convert_to_openai_tool(tool) for tool in tools]
            self._own = len(tools), sum(count_json(schema, self.count) for schema in schemas)
        return self._own[1]

    def recall(self, question: str) -> str:
        """Search once, by a question's words, in what the last request can reach.

        See `Contestant.recall`.
        """
        return self.files.recall(question) if self.files else ""

    def holds(self, position: int) -> bool:
        """Return whether the last request has a reference to read a whole message.

        See `Contestant.holds`.
        """
        if self.files is None:
            return False
        block, text = self.talk.words(position)
        return self.files.holds(block, text)

    def shown(self, item: WindowItem) -> tuple[str, str]:
        """Return how the last request shows a message, and the reference that reads it in full.

        See `Contestant.shown`.
        """
        if item.position < 0:
            return ("record" if item.section == "summary" else "note"), ""
        if item.section == "system" or self.talk.is_given(item):
            return "whole", ""
        return ("elide" if item.message.role == "assistant" else "evict"), ""

    def close(self) -> None:
        """Release all resources; no further calls are made.

        See `Contestant.close`.
        """
        if self.loop is not None:
            self.loop.close()
        if self.files is not None:
            self.files.close()
