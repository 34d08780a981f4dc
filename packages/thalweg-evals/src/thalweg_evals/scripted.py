"""Scripted models of a defined competence: they test the mechanism, not a model's luck.

A world defines the moves of a model that understands it (`World.act`), using only the content of
the request. The *competence* defines how such a model finds removed content, and the content it
keeps in a requested summary: a competent summary keeps the gist of the world (goals, rules,
progress) and the last page read; it never keeps details, so that the test is whether those can be
found again.
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

from thalweg.engine.sections import name_choices_remedy
from thalweg.engine.tokens import count_json, exact_counter
from thalweg.errors import ConfigError
from thalweg.testing import OfflineModel
from thalweg_evals.material import progress, read_requested_page
from thalweg_evals.moves import Respond, Search, Use, View
from thalweg_evals.trace import as_traced_message, tokens_of, written
from thalweg_evals.world import World

WINDOW = 64_000
"""Default window, in tokens."""
LINES = 40
"""Most lines of a summary; the newest are kept."""
NEWEST = 3
"""Lines of a summary by a model that keeps no gist."""
PAGE = 200
"""Lines of one read of a file."""
MOST = 16
"""Searches in one turn after which a model stops."""
_EDGE = 3_000
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
_STORED = re.compile(r"/[\w./-]*(?:history|large_tool_results|evicted|offload)[\w./-]*\w")
"""Paths at which a context states that content was stored."""
_HANDLE = re.compile(r"recall\(handle=[\"']([0-9a-z_]+)(#\d+(?:-\d+)?)?")
"""References by which a context states that content can be read."""
_OVER = re.compile(r"exceeds file length|file not found|not_found", re.IGNORECASE)


# --- how a model searches for removed content: nothing here depends on a harness


def attempts(view: View, words: str) -> Iterator[Use]:
    """Yield the possible searches for some words, the best first.

    A model that can search (`recall`) does; one whose context names a file with the conversation
    searches that file with `grep`, then reads it from its beginning.
    """
    if "recall" in view.tools:
        yield Use("recall", {"query": words})
    paths = _paths(view)
    if "grep" in view.tools:
        each = words.split() or [words]
        rarest = next((one for one in reversed(each) if one[:1].isupper()), max(each, key=len))
        for pattern in dict.fromkeys([words, rarest]):
            for path in paths:
                yield Use("grep", {"pattern": pattern, "path": path, "output_mode": "content"})
    yield from _reading(view, paths)


def literal(view: View, words: str) -> Iterator[Use]:
    """Yield reads of the references in the context, without any search."""
    del words
    named = dict.fromkeys(found[1] + (found[2] or "") for found in view.find_all(_HANDLE))
    if "recall" in view.tools:
        for handle in named:
            yield Use("recall", {"handle": handle})
    yield from _reading(view, _paths(view))


def _paths(view: View) -> list[str]:
    return list(dict.fromkeys(found[0] for found in view.find_all(_STORED)))


def _reading(view: View, paths: list[str]) -> Iterator[Use]:
    """Yield reads of files from their beginning, each to its end."""
    if "read_file" not in view.tools:
        return
    for path in paths:
        for page in range(MOST):
            use = Use("read_file", {"file_path": path, "offset": page * PAGE, "limit": PAGE})
            yield use
            ids = {call.id for call in view.calls if call.arguments == use.arguments}
            if any(one.answers in ids and _OVER.search(one.text[:500]) for one in view.since):
                break


# --- how it summarizes, on the request of a harness in any phrasing


def is_summary_request(view: View) -> bool:
    """Return whether a request is for a summary of the conversation.

    A user's message with the word "summary" is not, nor is an existing summary in the user role:
    the summary of the conversation must be requested, and not by the user. That is so if there are
    no tools, if the conversation is fenced as data, or if the text states it.
    """
    prompt = view.prompt
    if view.tools and not (_FENCE.search(prompt) or _NOT_THE_USER.search(prompt[:_EDGE])):
        return False
    system = "\n".join(one.text for one in view.messages if one.role == "system")
    rules = "" if view.tools else system
    text = "\n".join([rules[:_EDGE], _FENCE.sub("", prompt)[:_EDGE], prompt[-_EDGE:]])
    return _SUMMARIZE.search(text) is not None and _OF.search(text) is not None


def summary(view: View, gist: Sequence[str]) -> str:
    """Return the summary of a competent model, with the headings of the request.

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
    parts = ((goals, users), (work, others))
    written_parts = ("\n- ".join([f"## {heading}", *lines]) for heading, lines in parts if lines)
    return "\n".join(written_parts)


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
    starts = [speaker.start() for speaker in speakers]
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
    users = [n for n, speaker in enumerate(speakers) if speaker[1].lower() in _USERS]
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


# --- the model


@dataclass(frozen=True, slots=True)
class Competence:
    """The competence of a scripted model."""

    search: Callable[[View, str], Iterator[Use]] | None
    """How it searches for missing content; `None`: it does not."""
    keeps_gist: bool
    """Whether its summaries keep goals, rules and progress."""


COMPETENCES = {
    "searcher": Competence(attempts, keeps_gist=True),
    "literal": Competence(literal, keeps_gist=True),
    "forgetful": Competence(None, keeps_gist=False),
}
"""Competences by the name in `--model scripted:NAME`. `searcher` does everything that its tools
permit; `literal` reads only references in the context; `forgetful` never searches, and writes
summaries of only the newest lines."""


class WindowModel(OfflineModel):
    """A model with a window of its own."""

    window: int
    """Tokens that it accepts."""

    def model_post_init(self, context: Any) -> None:  # noqa: ANN401 (pydantic's)
        """Set the profile with its window, as real models have one."""
        super().model_post_init(context)
        self.profile = {"max_input_tokens": self.window, "tool_calling": True}


class WorldModel(WindowModel):
    """Answers by the rules of its world, within its window.

    Its answer depends only on the request, with one exception: it stops a fruitless search even if
    the results of that search are removed from its context.
    """

    world: Any
    """A `World`."""
    competence: Competence
    _searches: Counter[str] = PrivateAttr(default_factory=Counter[str])
    _calls: Iterator[int] = PrivateAttr(default_factory=counting)

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
        move = self.move(View(traced, names))
        uses = (move, *move.siblings) if isinstance(move, Use) else ()
        calls = [
            tool_call(name=use.tool, args=dict(use.arguments), id=f"call_{next(self._calls)}")
            for use in uses
        ]
        answer = AIMessage(move.text, tool_calls=calls)
        wrote = tokens_of(as_traced_message(answer), count)
        answer.usage_metadata = UsageMetadata(
            input_tokens=read, output_tokens=wrote, total_tokens=read + wrote
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def move(self, view: View) -> Respond | Use:
        """Return the response to a request."""
        world: World = self.world
        if is_summary_request(view):
            keeps = self.competence.keeps_gist
            return Respond(summary(view, world.gist) if keeps else newest_lines(view))
        move = read_requested_page(view) or (world.act or _silent)(view)
        return self._search(view, move) if isinstance(move, Search) else move

    def _search(self, view: View, search: Search) -> Respond | Use:
        if self.competence.search is None:
            return search.otherwise
        if not view.since:
            self._searches[search.words] = 0
        for use in self.competence.search(view, search.words):
            if self._searches[search.words] >= MOST:
                break
            if not view.has_used(use):
                self._searches[search.words] += 1
                return use
        return search.otherwise


def _silent(view: View) -> Respond:
    del view
    return Respond("Understood.")


def scripted_model(name: str, window: int = WINDOW) -> Callable[[World], WorldModel]:
    """Return a function that creates the scripted model of a world.

    Args:
        name: One of `COMPETENCES`.
        window: Tokens that it accepts.

    Raises:
        ConfigError: There is no such competence.
    """
    if name not in COMPETENCES:
        known = tuple(f"scripted:{one}" for one in COMPETENCES)
        problem = f"there is no 'scripted:{name}'"
        raise ConfigError("--model", problem, name_choices_remedy(f"scripted:{name}", known))
    competence = COMPETENCES[name]
    return lambda world: WorldModel(world=world, competence=competence, window=window)
