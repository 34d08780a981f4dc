"""The summarization hook of `deepagents`, driven as its agent drives it."""

import time
from collections.abc import Sequence
from typing import Any

from deepagents.backends import StateBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from deepagents.middleware.summarization import create_summarization_middleware
from langchain.agents.middleware import ModelRequest, ModelResponse, TodoListMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage

from thalweg.engine.entries import Message
from thalweg.engine.wires.langchain import LangChainWire

WINDOW = 10**12
"""Tokens of the model's profile: so many that the hook never has to summarize."""


class Peer:
    """The hook, and the history it receives at each call."""

    def __init__(self, messages: Sequence[Message], *, with_tools: bool) -> None:
        """Make a hook.

        Args:
            messages: The thread.
            with_tools: Whether requests carry the tools every deep agent has; the hook counts
                their schemas at each call.
        """
        self.model = FakeListChatModel(responses=["ok"], profile={"max_input_tokens": WINDOW})
        self.hook = create_summarization_middleware(self.model, StateBackend())
        system, *history = LangChainWire().write(list(messages))
        self.system = system
        self.history = history
        tools = (TodoListMiddleware(), FilesystemMiddleware(backend=StateBackend()))
        self.tools = [tool for each in tools for tool in each.tools] if with_tools else []
        self.answer = ModelResponse(result=[AIMessage("ok")])

    def call_s(self, seen: int) -> float:
        """CPU seconds of one call on the first messages of the thread, the system prompt apart."""
        history = self.history[: seen - 1]
        request = ModelRequest(
            model=self.model,
            messages=history,
            system_message=self.system,
            tools=[*self.tools],
            state={"messages": history},
        )
        sent: list[int] = []

        def model(asked: Any) -> ModelResponse:  # noqa: ANN401 (the peer's own type)
            sent.append(len(asked.messages))
            return self.answer

        start = time.process_time()
        self.hook.wrap_model_call(request, model)
        spent = time.process_time() - start
        if sent != [len(history)]:
            msg = f"the hook changed the history: {sent} instead of {len(history)} messages"
            raise RuntimeError(msg)
        return spent
