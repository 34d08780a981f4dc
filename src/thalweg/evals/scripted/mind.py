"""A chat model that does what a case says a model does that understands it."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from thalweg.evals.recorder import said_in
from thalweg.evals.scripted.moves import Acts, Look, Say, Use, View, written
from thalweg.evals.scripted.searching import MOST, attempts, literal
from thalweg.tokens import count_json, exact_counter

_SUMMARY = re.compile(r"summar", re.IGNORECASE)
SUMMARY_LINES = 40
"""Most lines of a scripted summary."""


class TooLongError(ValueError):
    """A request is longer than the model's window; in the words of OpenAI's API."""

    def __init__(self, tokens: int, window: int) -> None:
        super().__init__(
            f"This model's maximum context length is {window} tokens. However, your messages "
            f"resulted in {tokens} tokens. (context_length_exceeded)"
        )


@dataclass(frozen=True, slots=True)
class Competence:
    """How well a scripted model does."""

    name: str
    looks: Callable[[View, str], Iterator[Use]] | None
    """How it looks for what is not there; `None`: it does not."""
    keeps_gist: bool
    """Whether its summaries keep goals, constraints and progress."""


COMPETENCES = {
    one.name: one
    for one in (
        Competence("searcher", attempts, keeps_gist=True),
        Competence("literal", literal, keeps_gist=True),
        Competence("forgetful", None, keeps_gist=False),
    )
}
"""What `--model scripted:NAME` stands for. `searcher` does everything that its tools allow;
`literal` reads back only what the context names; `forgetful` never looks, and writes summaries
of the newest lines alone."""


class Mind(BaseChatModel):
    """Answers as its case says, within its window."""

    case: Any
    """An `Acts`."""
    competence: Competence
    window: int
    model: str = "scripted"
    _tried: set[str] = PrivateAttr(default_factory=set[str])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def acts(self) -> Acts:
        """The case."""
        acts: Acts = self.case
        return acts

    def model_post_init(self, context: Any) -> None:  # noqa: ANN401 (pydantic's)
        """Say what its window is, as known models do."""
        super().model_post_init(context)
        self.profile = {"max_input_tokens": self.window, "tool_calling": True}

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Take tools as a provider's model does."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=schemas, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager
        schemas = kwargs.get("tools") or []
        said = tuple(said_in(message) for message in messages)
        count = exact_counter()
        read = sum(count(written(one)) for one in said) + sum(
            count_json(schema, count) for schema in schemas
        )
        if read > self.window:
            raise TooLongError(read, self.window)
        names = frozenset(str(schema["function"]["name"]) for schema in schemas)
        answer = self._answer(View(said, names))
        wrote = count(str(answer.text)) + sum(
            count(json.dumps(c["args"])) for c in answer.tool_calls
        )
        usage = {"input_tokens": read, "output_tokens": wrote, "total_tokens": read + wrote}
        answer = answer.model_copy(update={"usage_metadata": usage})
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _answer(self, view: View) -> AIMessage:
        if not view.tools or _SUMMARY.search(view.asked[-4_000:]):
            return AIMessage(self._summary(view))
        move = self.acts.act(view)
        if isinstance(move, Look):
            move = self._look(view, move)
        if isinstance(move, Say):
            return AIMessage(move.text)
        call = {
            "name": move.tool,
            "args": dict(move.arguments),
            "id": f"call_{len(self._tried)}_{len(view.messages)}",
        }
        return AIMessage(move.text, tool_calls=[{**call, "type": "tool_call"}])

    def _look(self, view: View, look: Look) -> Say | Use:
        if self.competence.looks is None:
            return look.otherwise
        for made, use in enumerate(self.competence.looks(view, look.words)):
            key = f"{view.asked}|{use}"
            if made >= MOST:
                break
            if key not in self._tried:
                self._tried.add(key)
                return use
        return look.otherwise

    def _summary(self, view: View) -> str:
        text = "\n".join(written(one) for one in view.messages)
        if not self.competence.keeps_gist:
            return "\n".join(text.splitlines()[-3:])
        kept = [found[0] for pattern in self.acts.gist for found in re.finditer(pattern, text)]
        return "\n".join(list(dict.fromkeys(kept))[-SUMMARY_LINES:]) or "They talked."
