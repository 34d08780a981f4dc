"""Asking a chat model for a list of items: by schema, by tool, or in plain words.

`memory.facts.learning.extraction` parses its answer in all three ways; an answer that cannot be
parsed is requested once more.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata

from thalweg.archive.threads.spending import answer_usage
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import Counter
from thalweg.engine.undocumented import trace_params
from thalweg_memory.facts.learning.extraction import (
    Kind,
    ParsedAnswer,
    answer_schema,
    better,
    read_answer,
)
from thalweg_memory.facts.learning.learner_prompt import LearnerRequest
from thalweg_memory.prompts import prompt

Way = Literal["schema", "default", "tool", "text"]
WAYS: tuple[Way, ...] = ("schema", "default", "tool", "text")
"""`schema`: the provider enforces it. `default`: LangChain's way for this model. `tool`: as the
arguments of a tool. `text`: the schema is part of the prompt."""
_REFUSALS = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses that mean that a request is not understood, and not that it came too soon."""
TRIES = 2
"""Questions, each with one repetition, after which a model that answered none is not asked."""
_log = logging.getLogger("thalweg.memory")
PROBLEMS = 5
"""Problems of an answer that a repeated request lists."""


@dataclass(frozen=True, slots=True)
class StructuredAnswer:
    """What came of one question."""

    answer: ParsedAnswer
    spent: Usage
    text: str
    """As the model wrote it."""


@dataclass(slots=True)
class Respondent:
    """A chat model for questions, and its supported ways of structured output."""

    model: BaseChatModel
    count: Counter
    name: str = ""
    """`provider:name`, for events."""
    _ways: list[Way] = field(default_factory=list)
    """Ways that may work, the best first."""
    _unread: int | None = 0
    """Questions without a readable answer; `None` after the first readable one."""

    def __post_init__(self) -> None:
        """Remove the ways that the model does not support."""
        profile = getattr(self.model, "profile", None)
        holds = isinstance(profile, dict) and profile.get("structured_output") is True
        self._ways = [way for way in WAYS if way != "schema" or holds]
        self.name = self.name or named(self.model)

    def ask(self, question: LearnerRequest, kind: Kind) -> StructuredAnswer:
        """Ask, and retry once if the answer cannot be parsed completely.

        The model's errors are raised, unless another way may succeed.
        """
        sent: list[BaseMessage] = [SystemMessage(question.rules)]
        for request, answered in question.examples:
            sent += HumanMessage(request), AIMessage(answered)
        sent.append(HumanMessage(question.text))
        reply, spent = self._send(sent, kind)
        answer = read_answer(written(reply), kind)
        if not answer.problems:
            return self._counted(StructuredAnswer(answer, spent, written(reply)))
        problem = "; ".join(answer.problems[:PROBLEMS])
        again = HumanMessage(prompt("learn_again").render(problem=problem))
        # As plain text: an answer with tool calls would need their results after it.
        shown = AIMessage(written(reply) or "nothing")
        reply, more = self._send([*sent, shown, again], kind)
        second = read_answer(written(reply), kind)
        return self._counted(StructuredAnswer(better(answer, second), spent + more, written(reply)))

    def _counted(self, response: StructuredAnswer) -> StructuredAnswer:
        """Note whether the model answers in form."""
        if response.answer.is_whole or response.answer.items:
            self._unread = None
        elif self._unread is not None:
            self._unread += 1
            if self.is_unfit:
                _log.warning(
                    "the model %s answered %d questions of memory, none in the form that it was"
                    " asked for: nothing is learned; set memory.model_name to another model",
                    self.name,
                    self._unread,
                )
        return response

    @property
    def is_unfit(self) -> bool:
        """Whether the model never answered in form, and is not asked any more."""
        return self._unread is not None and self._unread >= TRIES

    def _send(self, messages: Sequence[BaseMessage], kind: Kind) -> tuple[AIMessage, Usage]:
        while True:
            way = self._ways[0]
            try:
                reply = _sent(self.model, messages, way, kind)
            except Exception as error:
                if (cut := _cut_off(error)) is not None:
                    return cut, self._spent(cut)
                refused = isinstance(error, NotImplementedError) or _status(error) in _REFUSALS
                if not refused or len(self._ways) == 1:
                    raise
                self._ways = self._ways[1:]
            else:
                return reply, self._spent(reply)

    def _spent(self, reply: AIMessage) -> Usage:
        return answer_usage(reply, written(reply), self.name, self.count)


def _sent(model: BaseChatModel, messages: Sequence[BaseMessage], way: Way, kind: Kind) -> AIMessage:
    schema = answer_schema(kind)
    if way == "text":
        words = prompt("learn_json").render(schema=json.dumps(schema))
        reply: Any = model.invoke([*messages, HumanMessage(words)])
    else:
        method = {"schema": "json_schema", "tool": "function_calling"}.get(way)
        given = {"method": method} if method else {}
        structured = model.with_structured_output(schema, include_raw=True, **given)
        found: Any = structured.invoke(list(messages))
        reply = found["raw"]
    answer: AIMessage = reply
    return answer


def written(reply: AIMessage) -> str:
    """Return the model's output: the arguments of its first tool call, or its text."""
    for call in reply.tool_calls:
        return json.dumps(call["args"], ensure_ascii=False)
    for broken in reply.invalid_tool_calls:
        return broken["args"] or ""
    return str(reply.text)


def _cut_off(error: Exception) -> AIMessage | None:
    """Return the text of an answer that became too long, if a client raises an error for that.

    OpenAI's does for answers that are held to a schema; the error holds the answer so far.
    """
    completion = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None)
    text = getattr(getattr(choices[0], "message", None), "content", None) if choices else None
    if not isinstance(text, str):
        return None
    usage = getattr(completion, "usage", None)
    read, wrote = getattr(usage, "prompt_tokens", 0), getattr(usage, "completion_tokens", 0)
    counted = UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
    return AIMessage(text, usage_metadata=counted)


def _status(error: Exception) -> int | None:
    for place in (error, getattr(error, "response", None)):
        status = getattr(place, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def named(model: BaseChatModel) -> str:
    """Return a chat model's name as `provider:name`, as far as its integration has it."""
    params = trace_params(model)
    return f"{params.get('ls_provider', '')}:{params.get('ls_model_name', '')}".strip(":")
