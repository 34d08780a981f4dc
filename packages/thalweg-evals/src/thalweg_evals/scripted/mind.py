"""A chat model that acts like a model that understands the case."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from thalweg.engine.tokens import count_json, exact_counter
from thalweg.testing import OfflineModel
from thalweg_evals.recorder import as_traced_message, tokens_of
from thalweg_evals.scripted.learning import Teaches, learned
from thalweg_evals.scripted.moves import Acts, Respond, Search, Use, View
from thalweg_evals.scripted.searching import MOST, attempts, literal, was_tried
from thalweg_evals.scripted.summarizing import is_summary_request, newest_lines, summary

_TOO_LONG = (
    "This model's maximum context length is {window} tokens. However, your messages resulted in "
    "{tokens} tokens. (context_length_exceeded)"
)
"""The error for a request longer than the window, in the words of OpenAI's API."""


@dataclass(frozen=True, slots=True)
class Competence:
    """The competence of a scripted model."""

    name: str
    search: Callable[[View, str], Iterator[Use]] | None
    """How it searches for missing content; `None`: it does not."""
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
"""Competences by the name in `--model scripted:NAME`. `searcher` does everything that its tools
permit; `literal` reads only references in the context; `forgetful` never searches, and writes
summaries of only the newest lines."""


class CaseModel(OfflineModel):
    """Answers by the rules of its case, within its window.

    Its answer depends only on the request, with one exception: it stops a fruitless search even if
    the results of that search are removed from its context.
    """

    case: Any
    """An `Acts`, which may be a `Teaches`."""
    competence: Competence
    window: int
    """Tokens that it accepts."""
    _looked: Counter[str] = PrivateAttr(default_factory=Counter[str])
    _calls: Iterator[int] = PrivateAttr(default_factory=counting)

    def model_post_init(self, context: Any) -> None:  # noqa: ANN401 (pydantic's)
        """Set the profile with its window, as real models have one."""
        super().model_post_init(context)
        self.profile = {"max_input_tokens": self.window, "tool_calling": True}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager
        schemas: Sequence[Mapping[str, Any]] = kwargs.get("tools") or []
        traced = tuple(as_traced_message(message) for message in messages)
        count = exact_counter()
        read = sum(tokens_of(one, count) for one in traced)
        read += sum(count_json(schema, count) for schema in schemas)
        if read > self.window:
            raise ContextOverflowError(_TOO_LONG.format(window=self.window, tokens=read))
        names = frozenset(str(schema["function"]["name"]) for schema in schemas)
        answer = self._message(self._move(View(traced, names)))
        wrote = tokens_of(as_traced_message(answer), count)
        answer.usage_metadata = UsageMetadata(
            input_tokens=read, output_tokens=wrote, total_tokens=read + wrote
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _move(self, view: View) -> Respond | Use:
        acts: Acts = self.case
        keeps = self.competence.keeps_gist
        notes = acts.facts if keeps and isinstance(acts, Teaches) else ()
        if (noted := learned(view, notes)) is not None:
            return noted
        if is_summary_request(view):
            return Respond(summary(view, acts.gist) if keeps else newest_lines(view))
        move = acts.act(view)
        return self._search(view, move) if isinstance(move, Search) else move

    def _search(self, view: View, search: Search) -> Respond | Use:
        if self.competence.search is None:
            return search.otherwise
        if not view.since:
            self._looked[search.words] = 0
        for use in self.competence.search(view, search.words):
            if self._looked[search.words] >= MOST:
                break
            if not was_tried(view, use):
                self._looked[search.words] += 1
                return use
        return search.otherwise

    def _message(self, move: Respond | Use) -> AIMessage:
        if isinstance(move, Respond):
            return AIMessage(move.text)
        calls = [
            tool_call(name=use.tool, args=dict(use.arguments), id=f"call_{next(self._calls)}")
            for use in (move, *move.siblings)
        ]
        return AIMessage(move.text, tool_calls=calls)
