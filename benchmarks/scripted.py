"""A made-up conversation, and a chat model that plays its part at once, without a network.

A turn is four messages: a request, a call of a tool, its result, an answer. Sizes come from a
seed: 1.8 kB a message on the average, most results a page, a few whole files, some too large for
any window to hold many of.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from thalweg.engine.tokens import exact_counter

WINDOW = 200_000
SUMMARY_TOKENS = 1_500
MESSAGES_A_TURN = 4
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro")
_RESULT_BYTES = ((200, 3_000, 70), (4_000, 12_000, 25), (20_000, 40_000, 4), (80_000, 160_000, 1))
"""Least and most, and the share in percent."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The texts of one turn."""

    number: int
    request: str
    path: str
    """What the tool is asked to look at."""
    thought: str
    """The model's text with the call."""
    result: str
    answer: str


def turns(seed: int = 1) -> Iterator[Turn]:
    """Make the turns of a conversation without end, the same for the same seed."""
    dice = random.Random(seed)  # noqa: S311 (not a secret)
    words = ["".join(dice.choices(_SYLLABLES, k=dice.randint(1, 4))) for _ in range(4_000)]

    def prose(size: int) -> str:
        return " ".join(dice.choices(words, k=size // 7 + 1))

    def lines(size: int) -> str:
        text = prose(size)
        return "\n".join(f"{n:5}  {text[at : at + 80]}" for n, at in enumerate(range(0, size, 80)))

    number = 0
    shares = [share for *_, share in _RESULT_BYTES]
    while True:
        least, most, _ = dice.choices(_RESULT_BYTES, shares)[0]
        yield Turn(
            number,
            prose(dice.randint(60, 900)),
            f"src/{dice.choice(words)}/{dice.choice(words)}{number}.py",
            prose(dice.randint(40, 300)),
            lines(dice.randint(least, most)),
            prose(dice.randint(200, 1_800)),
        )
        number += 1


@dataclass(slots=True)
class Script:
    """The position in the conversation, and what the model saw of it."""

    turn: Turn
    counts: bool = False
    """Whether requests are counted, in exact tokens."""
    peak_tokens: int = 0
    calls: int = 0
    summaries: int = 0
    spent_s: float = 0.0
    """CPU time the model itself took, in seconds: nobody's but the benchmark's."""
    asked_s: float = 0.0
    """CPU time of the process when the model was asked first, since this was set to 0."""
    _count: Callable[[str], int] = field(default_factory=exact_counter)
    _known: dict[str, int] = field(default_factory=dict)
    _summary: str = ""

    def tokens(self, text: str) -> int:
        """Count a text, once."""
        if text not in self._known:
            self._known[text] = self._count(text)
        return self._known[text]

    @property
    def summary(self) -> str:
        """The model's answer when it is asked for a summary."""
        if not self._summary:
            words = random.Random(0).choices(_SYLLABLES, k=2 * SUMMARY_TOKENS)  # noqa: S311
            while self._count(" ".join(words)) > SUMMARY_TOKENS:
                words.pop()
            self._summary = " ".join(words)
        return self._summary


class ScriptedModel(BaseChatModel):
    """Plays its part of a script; asked for anything else, it writes a summary."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[Any],
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> Runnable[Any, AIMessage]:
        """See `BaseChatModel.bind_tools`."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager
        script: Script = self.script
        script.asked_s = script.asked_s or time.process_time()
        start = time.thread_time()
        tools = kwargs.get("tools")
        if script.counts:
            tokens = sum(script.tokens(_text(message)) for message in messages)
            script.peak_tokens = max(
                script.peak_tokens, tokens + script.tokens(json.dumps(tools or ""))
            )
        last = messages[-1]
        is_result = isinstance(last, ToolMessage)
        if tools and (is_result or script.turn.request in last.text):
            script.calls += 1
            answer = _spoken(script.turn, is_second=is_result)
        else:
            script.summaries += 1
            answer = AIMessage(script.summary)
        script.spent_s += time.thread_time() - start
        return ChatResult(generations=[ChatGeneration(message=answer)])


def _text(message: BaseMessage) -> str:
    said = message.content if isinstance(message.content, str) else json.dumps(message.content)
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return said + json.dumps(calls) if calls else said


def _spoken(turn: Turn, *, is_second: bool) -> AIMessage:
    if is_second:
        return AIMessage(turn.answer)
    call = {"name": "look", "args": {"path": turn.path}, "id": f"call_{turn.number}"}
    return AIMessage(turn.thought, tool_calls=[call])


def look_tool(script: Script) -> BaseTool:
    """Make the one tool of the conversation."""

    def look(path: str) -> str:
        """Look at a file."""
        del path
        return script.turn.result

    return StructuredTool.from_function(look)


def request_of(turn: Turn) -> dict[str, list[HumanMessage]]:
    """Make what an agent is invoked with."""
    return {"messages": [HumanMessage(turn.request)]}
