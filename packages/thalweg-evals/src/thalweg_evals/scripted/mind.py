"""A chat model that acts like a model that understands the case.

It writes a summary when a harness requests one, in any phrasing. A competent summary keeps the gist
of the case (goals, constraints, progress) and the last page read; it never keeps details, so that
the test is whether those can be found again. It uses the headings of the request.
"""

import html
import re
from bisect import bisect_right
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
from thalweg_evals.material.paging import progress
from thalweg_evals.recorder import as_traced_message, tokens_of
from thalweg_evals.scripted.learning import Teaches, learned
from thalweg_evals.scripted.moves import Acts, Respond, Search, Use, View, written
from thalweg_evals.scripted.searching import MOST, attempts, literal, was_tried

LINES = 40
"""Most lines of a summary; the newest are kept."""
NEWEST = 3
"""Lines of a summary by a model that keeps no gist."""
_ENDS = 3_000
"""Characters at both ends of a request in which its instructions are; the rest is data."""
_SUMMARIZE = re.compile(
    r"\b(?:summari[sz]e|condense|compress)\b"
    r"|\b(?:write|create|give|produce|provide|generate|extract)\b[^.\n]{0,90}\b(?:summary|context)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"\b(?:conversation|transcript|messages|history|session)\b", re.IGNORECASE)
_FENCE = re.compile(r"<(transcript\w*|messages|conversation\w*|history)>\n(.*)\n</\1>", re.DOTALL)
_NOT_THE_USER = re.compile(r"not the user speaking", re.IGNORECASE)
_LEFT_OUT = re.compile(r"[Ww]hat stands in an? <([\w-]+)>")
"""Matches the part that a request excludes, because it is kept elsewhere."""
_HEADING = re.compile(r"^#{1,4} (\S.*)$", re.MULTILINE)
_OF_GOALS = re.compile(r"goal|intent|objective|request", re.IGNORECASE)
_OF_WORK = re.compile(r"state|summary|progress|work|context", re.IGNORECASE)
_SPEAKER = re.compile(
    r'^(?:\W*#?\d*\s*|<message type=")(human|user|ai|assistant|tool|system)\b',
    re.IGNORECASE | re.MULTILINE,
)
_USERS, _ASSISTANTS = frozenset({"human", "user"}), frozenset({"ai", "assistant"})
_TAG = re.compile(r"</?\w[^>]*>")
_REQUEST_CHARS = 400
"""Kept characters of the user's last request."""
_TOO_LONG = (
    "This model's maximum context length is {window} tokens. However, your messages resulted in "
    "{tokens} tokens. (context_length_exceeded)"
)
"""The error for a request longer than the window, in the words of OpenAI's API."""


def is_summary_request(view: View) -> bool:
    """Return whether a request is for a summary of the conversation.

    A user's message with the word "summary" is not, nor is an existing summary in the user role:
    the summary of the conversation must be requested, and not by the user. That is so if there are
    no tools, if the conversation is fenced as data, or if the text states it.
    """
    prompt = view.prompt
    if view.tools and not (_FENCE.search(prompt) or _NOT_THE_USER.search(prompt[:_ENDS])):
        return False
    rules = "" if view.tools else view.system
    text = "\n".join([rules[:_ENDS], _FENCE.sub("", prompt)[:_ENDS], prompt[-_ENDS:]])
    return _SUMMARIZE.search(text) is not None and _OF.search(text) is not None


def summary(view: View, gist: Sequence[str]) -> str:
    """Return the summary of a competent model.

    Args:
        view: A request for a summary.
        gist: Patterns of the content to keep.
    """
    text = _source(view)
    headings = _HEADING.findall(_FENCE.sub("", view.prompt))
    goals = next((one for one in headings if _OF_GOALS.search(one)), "")
    work = next((one for one in headings if _OF_WORK.search(one) and one != goals), "")
    users, others = _gist_lines(text, gist)
    users += [one for one in _open_request(text, goals) if one not in users]
    if (read := progress(text)) or not (users or others):
        others.append(read or "The conversation has only begun: there is nothing to report.")
    if not goals or not work:
        return "\n".join([*users, *others])
    return "\n".join([*_section(goals, users), *_section(work, others)])


def newest_lines(view: View) -> str:
    """Return the summary of a model that keeps no gist: only the newest lines."""
    lines = [line for line in _source(view).splitlines() if line.strip()]
    return "\n".join(lines[-NEWEST:])


def _source(view: View) -> str:
    """Return the conversation to summarize: the fenced one, or all earlier messages."""
    if fenced := _FENCE.search(view.prompt):
        return fenced[2]
    before = [one for one in view.messages if one.role != "system"]
    shown = before[:-1] if len(before) > 1 else before
    text = "\n".join(f"{one.role}: {written(one)}" for one in shown)
    for tag in dict.fromkeys(_LEFT_OUT.findall(view.prompt)):
        text = re.sub(rf"<{tag}>.*?</{tag}>", "", text, flags=re.DOTALL)
    return text


def _gist_lines(text: str, gist: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the gist: statements of the user, and actions of others."""
    found: dict[str, tuple[int, bool]] = {}
    speakers = list(_SPEAKER.finditer(text))
    starts = [at.start() for at in speakers]
    for pattern in gist:
        for place in re.finditer(pattern, text):
            before = bisect_right(starts, place.start())
            is_users = before > 0 and speakers[before - 1][1].lower() in _USERS
            line = html.unescape(" ".join(place[0].split()))
            found.setdefault(line, (place.start(), is_users))
    newest = sorted(found, key=lambda line: found[line][0])[-LINES:]
    return [a for a in newest if found[a][1]], [a for a in newest if not found[a][1]]


def _open_request(text: str, goals: str) -> list[str]:
    """Return the user's last request, if it has no answer yet.

    If a summary is in the user role, return its text under the same heading.
    """
    speakers = list(_SPEAKER.finditer(text))
    users = [n for n, at in enumerate(speakers) if at[1].lower() in _USERS]
    if not users or speakers[-1][1].lower() in _ASSISTANTS:
        return []
    newest = users[-1]
    end = speakers[newest + 1].start() if newest + 1 < len(speakers) else len(text)
    block = html.unescape(_TAG.sub(" ", text[speakers[newest].end() : end]))
    request = block.strip(' :">\n')
    if goals and (
        carried := re.search(rf"^## {re.escape(goals)}\n((?:- .*\n?)+)", request, re.MULTILINE)
    ):
        return [line.removeprefix("- ") for line in carried[1].splitlines()]
    return [" ".join(request.split())[:_REQUEST_CHARS]]


def _section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {heading}"
        yield from (f"- {line}" for line in lines)


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
