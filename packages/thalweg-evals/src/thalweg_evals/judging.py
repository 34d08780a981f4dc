"""A model as judge, if no deterministic check can decide.

Two rules: its verdict counts only with a verbatim quote from the trace; and it is asked only after
every exact check has passed.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ValidationError

from thalweg_evals.base import Case, Score
from thalweg_evals.prompts import prompt
from thalweg_evals.trace import Trace
from thalweg_memory.prompts import prompt as memory_prompt

LEAST_QUOTE = 12
"""Letters and digits of a quote that is evidence; of a shorter text, all of it."""
_ERROR_CHARS = 300
_MARK = "§"
_DECODER = json.JSONDecoder(strict=False)
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of a judge."""

    passed: bool
    quote: str
    """The evidence, verbatim from a text that it was shown."""
    why: str
    problem: str = ""
    """Why its verdict does not count; empty if it does."""

    def score(self) -> Score:
        """Return the score; a verdict that does not count is no result about the agent."""
        if self.problem:
            return _unjudged(self.problem)
        why = f"{self.why.rstrip('.')}: {self.quote!r}"
        return Score(verdict="passed" if self.passed else "failed", why=why, judged=True)


class Judges(Protocol):
    """A judge; see `Judge`."""

    def verdict(self, question: str, texts: Sequence[str]) -> Judgement:
        """Decide a question that can be answered by yes or no."""
        ...


@runtime_checkable
class Rubric(Protocol):
    """A case that a judge decides."""

    @property
    def rubric(self) -> str:
        """The question; yes is the expected answer."""
        ...

    def evidence(self, trace: Trace) -> Sequence[str]:
        """Return the texts for the judge, which are all that it may quote."""
        ...


def graded(case: Case, trace: Trace, judge: Judges | None = None) -> Score:
    """Grade a case: by exact checks and, if it needs one, by a judge.

    Args:
        case: The case.
        trace: The trace of the trial.
        judge: The judge. Without one, or if it raises an error, a case that needs one can fail and
            cannot pass.
    """
    score = case.grade(trace)
    if not isinstance(case, Rubric) or score.verdict != "passed":
        return score
    if judge is None:
        why = f"{score.why}; only a judge model can grade it, and none was named"
        return Score(verdict="untested", why=why, request=score.request)
    try:
        return judge.verdict(case.rubric, case.evidence(trace)).score()
    except Exception as error:  # noqa: BLE001 (an edge: an unreachable judge is no result)
        return _unjudged(f"{type(error).__name__}: {error}"[:_ERROR_CHARS])


def _unjudged(problem: str) -> Score:
    why = f"the judge's word does not count: {problem}"
    return Score(verdict="untested", why=why, judged=True)


class _Answer(BaseModel):
    quote: str
    why: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Judge:
    """A chat model as judge; asked a second time if its verdict does not count."""

    model: BaseChatModel

    def verdict(self, question: str, texts: Sequence[str]) -> Judgement:
        """Decide a question about texts; errors of the model are passed to the caller."""
        mark = _unused(texts)
        shown = "\n\n".join(f"{mark} {n}\n{text}" for n, text in enumerate(texts, start=1))
        sent: list[BaseMessage] = [
            SystemMessage(prompt("judge").render(mark=mark)),
            HumanMessage(prompt("judge_texts").render(question=question, texts=shown)),
        ]
        reply = str(self.model.invoke(sent).text)
        judgement = read_judgement(reply, texts)
        if judgement.problem:
            again = memory_prompt("learn_again").render(problem=judgement.problem)
            sent += [AIMessage(reply or "nothing"), HumanMessage(again)]
            judgement = read_judgement(str(self.model.invoke(sent).text), texts)
        return judgement


def read_judgement(reply: str, texts: Sequence[str]) -> Judgement:
    """Parse a judge's answer, and find its quote in the texts.

    Args:
        reply: The answer.
        texts: The texts that the judge was shown.

    Example:
        >>> said = '{"quote": "for the children", "why": "It says so.", "passed": true}'
        >>> read_judgement(said, ["I do it for the  children."]).passed
        True
        >>> read_judgement(said, ["I do it for money."]).problem
        'the quote is in none of the texts'
    """
    answer = _answer(_THINKING.sub("", reply))
    if answer is None:
        return Judgement(passed=False, quote="", why="", problem="it is not the JSON asked for")
    quote, held = _folded(answer.quote), [_folded(text) for text in texts]
    problem = ""
    if not any(quote in text for text in held):
        problem = "the quote is in none of the texts"
    elif _length(quote) < min(LEAST_QUOTE, *(_length(text) for text in held if quote in text)):
        problem = "the quote is too short to decide anything"
    return Judgement(answer.passed, " ".join(answer.quote.split()), answer.why, problem)


def _answer(reply: str) -> _Answer | None:
    for found in re.finditer(r"\{", reply):
        try:
            row, _ = _DECODER.raw_decode(reply, found.start())
            return _Answer.model_validate(row)
        except (ValueError, RecursionError, ValidationError):
            continue
    return None


def _folded(text: str) -> str:
    return " ".join(text.split())


def _length(text: str) -> int:
    return sum(map(str.isalnum, text))


def _unused(texts: Sequence[str]) -> str:
    """Return a marker that occurs in none of the texts."""
    runs = (run for text in texts for run in re.findall(f"{_MARK}+", text))
    return _MARK * (1 + max(map(len, runs), default=0))
