"""The model of the examples: a script, so that no key is needed, or a real one.

    python examples/quickstart.py                                      # plays the script
    python examples/quickstart.py --model anthropic:claude-sonnet-5    # asks Claude

A script lists the model's answers, in order: words, calls of tools, or a function that looks at
the messages it is sent and answers them. `REQUESTS` keeps what was sent, for either model.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain.chat_models import init_chat_model
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from thalweg.engine.tokens import exact_counter
from thalweg.testing import ScriptedModel

Answer = AIMessage | str | Callable[[Sequence[BaseMessage]], AIMessage | str]


class Request(NamedTuple):
    """What the model was sent once."""

    messages: list[BaseMessage]
    tools: list[dict[str, Any]]

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(str(m.text) for m in self.messages if m.type == "system")

    @property
    def tokens(self) -> int:
        """How much there was to read, without the descriptions of the tools."""
        count = exact_counter()
        return sum(
            count(str(m.text)) + count(str(getattr(m, "tool_calls", ""))) for m in self.messages
        )


REQUESTS: list[Request] = []
_ids = itertools.count(1)


def asks_for_summary() -> bool:
    """Return whether the current request wants a summary of the conversation, not its next step."""
    request = REQUESTS[-1]
    return not request.tools or "not the user speaking" in str(request.messages[-1].text)


class _Recorder(BaseCallbackHandler):
    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        del serialized
        tools = (kwargs.get("invocation_params") or {}).get("tools") or []
        REQUESTS.extend(
            Request(list(sent), [t.get("function", t) for t in tools]) for sent in messages
        )


def model(*answers: Answer, window: int | None = None) -> BaseChatModel:
    """Make the model that returns these answers, or the one that `--model` names.

    Args:
        answers: In order; the last one, if it is a function, is asked again and again.
        window: Input tokens the model takes, where an example is about running out of them.
    """
    options = argparse.ArgumentParser()
    options.add_argument("--model", help="such as anthropic:claude-sonnet-5")
    named = options.parse_args().model if sys.argv[0].endswith(".py") else None
    chosen = init_chat_model(named) if named else ScriptedModel(script=_Player(answers))
    chosen.callbacks = [_Recorder()]
    if window:
        chosen.profile = {"max_input_tokens": window}
    return chosen


class _Player:
    def __init__(self, answers: Sequence[Answer]) -> None:
        self.left = list(answers)

    def __call__(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        if not self.left:
            raise RuntimeError("the script is over, and the model was asked again")
        endless = len(self.left) == 1 and callable(self.left[0])
        answer = self.left[0] if endless else self.left.pop(0)
        return answer(messages) if callable(answer) else answer


def calls(tool: str, **arguments: Any) -> AIMessage:
    """Answer with a call of one tool."""
    call = {"name": tool, "args": arguments, "id": f"call_{next(_ids)}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def together(*answers: AIMessage) -> AIMessage:
    """Answer with several calls at once; their tools run in parallel."""
    return AIMessage("", tool_calls=[call for answer in answers for call in answer.tool_calls])


def show(messages: Sequence[BaseMessage], lines: int = 8) -> None:
    """Print a conversation: the speakers, the tools called, the first lines of each message."""
    for message in messages:
        said = str(message.text).strip().splitlines()
        said = [*said[:lines], *(["…"] if len(said) > lines else [])]
        for number, line in enumerate(said):
            print(f"  {'' if number else message.type:>5}  {_short(line)}")
        for call in getattr(message, "tool_calls", []):
            given = ", ".join(f"{key}={value!r}" for key, value in call["args"].items())
            print(f"  {'calls':>5}  {call['name']}({_short(given)})")


def _short(line: str, width: int = 160) -> str:
    return line if len(line) <= width else line[: width - 2] + " …"
