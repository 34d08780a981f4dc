"""A running LangChain agent that pauses at each call of its model.

The agent is the real one: its graph, its middleware, its tool node. Only its model and its tools
are substitutes. It runs in a thread of its own, because the model's answer is available only with
the recording's next message.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langgraph.types import Command

PROVIDER = "stand-in"
"""The provider of its model, in usage and in answers."""


@dataclass(frozen=True, slots=True)
class SentMessages:
    """What the model was handed."""

    messages: Sequence[BaseMessage]
    tools: Sequence[Any]


class AgentEnded(BaseException):
    """Ends the agent: no answer will follow."""


class ReplayedModel(BaseChatModel):
    """A model that returns answers passed to it, and summaries of a fixed size."""

    ask: Callable[[SentMessages], AIMessage]
    """Returns the answer to a request of the agent."""
    summarize: Callable[[str], AIMessage]
    """Returns the summary for a prompt."""

    @property
    def _llm_type(self) -> str:
        return PROVIDER

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:  # noqa: ANN401 (LangChain's signature)
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = PROVIDER
        return params

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Take tools as a provider's model does."""
        return self.bind(tools=list(tools), tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop
        metadata = run_manager.metadata if run_manager else {}
        if (metadata or {}).get("lc_source") == "summarization":
            answer = self.summarize("\n".join(str(message.text) for message in messages))
        else:
            answer = self.ask(SentMessages(messages, kwargs.get("tools") or ()))
        return ChatResult(generations=[ChatGeneration(message=answer)])


@dataclass(eq=False)
class Results(AgentMiddleware[Any, Any, Any]):
    """Tools of any name, whose results are those that were recorded."""

    results: Mapping[str, ToolMessage] = field(default_factory=dict)
    """Of the calls under way, by their ids."""
    said: Sequence[AnyMessage] = ()
    """Other messages before the model's next turn; they follow the last result."""

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Return the recorded result instead of running a tool."""
        del handler
        called = str(request.tool_call["id"])
        result = self.results[called]
        if self.said and called == [*self.results][-1]:
            return Command(update={"messages": [result, *self.said]})
        return result


@dataclass(slots=True)
class AgentLoop:
    """One agent and its thread."""

    start: Callable[[Sequence[AnyMessage]], object]
    """Runs the agent on new messages until it rests."""
    results: Results
    _asked: "SimpleQueue[SentMessages | BaseException | None]" = field(default_factory=SimpleQueue)
    """What the model was handed; an error; `None` when the agent rests."""
    _answers: "SimpleQueue[AIMessage | None]" = field(default_factory=SimpleQueue)
    _worker: threading.Thread | None = None

    def ask(self, sent: SentMessages) -> AIMessage:
        """Wait for the recording's answer to a request; the agent's thread calls this.

        Raises:
            Over: There will be none.
        """
        self._asked.put(sent)
        answer = self._answers.get()
        if answer is None:
            raise AgentEnded
        return answer

    def run(self, messages: Sequence[AnyMessage]) -> SentMessages | None:
        """Send messages to the idle agent.

        Returns:
            The model's input; `None` if the agent ends without a call of the model.

        Raises:
            Exception: The agent's error.
        """
        self._worker = threading.Thread(target=self._work, args=(messages,), daemon=True)
        self._worker.start()
        return self._next()

    def _work(self, messages: Sequence[AnyMessage]) -> None:
        outcome: BaseException | None = None
        try:
            self.start(messages)
        except AgentEnded:
            return
        except Exception as error:  # noqa: BLE001 (handed to who waits for it)
            outcome = error
        self._asked.put(outcome)

    def answer(self, message: AIMessage) -> SentMessages | None:
        """Answer the model's last request.

        Returns:
            Its next input; `None` if the agent ends.

        Raises:
            Exception: The agent's error.
        """
        self._answers.put(message)
        return self._next()

    def _next(self) -> SentMessages | None:
        asked = self._asked.get()
        if isinstance(asked, BaseException):
            raise asked
        return asked

    def close(self) -> None:
        """Let the agent go."""
        if self._worker is not None and self._worker.is_alive():
            self._answers.put(None)
            self._worker.join()
