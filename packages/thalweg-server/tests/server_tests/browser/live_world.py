"""A gateway whose model the test holds back: it writes on when the test lets it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from server_tests.e2e.talkers import Streamer, calls, echo
from thalweg_server.settings import Settings

SUBAGENT = "general-purpose"
GO_ON = threading.Event()
"""Set: the model writes on after the word `stop`."""


def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Call the tools that the user names; a subagent looks up what it is asked for."""
    newest = messages[-1]
    words = str(newest.text)
    if newest.type == "human" and words.startswith("look it up"):
        return "The river is 1,233 km long."
    if newest.type == "human" and words.startswith("remember the river"):
        request = {"description": "look", "prompt": "look it up", "subagent_type": SUBAGENT}
        return calls("I delegate.", ("t1", "task", request))
    return echo(messages)


class HeldModel(Streamer):
    """Answers word by word, and waits at the word `stop` until `GO_ON` is set."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = answer

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> Iterator[ChatGenerationChunk]:
        said = self._generate(messages, stop).generations[0].message
        if "stop" not in str(said.text):
            yield from super()._stream(messages, stop, run_manager, **kwargs)
            return
        for word in str(said.text).split(" "):
            if word == "stop":
                GO_ON.wait(60)
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))


def settings(home: Path, **gateway: Any) -> Settings:  # noqa: ANN401 (as YAML has it)
    """Make settings with that model, and a tool that needs approval."""
    use = "server_tests.browser.live_world:HeldModel"
    return Settings.model_validate(
        {
            "models": [{"name": "held", "use": use, "window": 32_000}],
            "tools": [{"name": "shout", "use": "server_tests.e2e.talkers:shout"}],
            "agent": {"interrupt_on": {"shout": True}},
            "memory": {"enabled": False},
            "storage": {"home": str(home)},
            "gateway": gateway,
        }
    )
