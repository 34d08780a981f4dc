"""Failures, each with the request that shows it, and the content that it lacks."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.engine.tokens import exact_counter
from thalweg_evals.results import Result
from thalweg_evals.trace import Request, TracedMessage, stretches
from thalweg_recorder.pages import Pool

TEXT_CHARS = 200_000
"""Most characters of one text; the rest is counted."""
PAGE_CHARS = 24_000_000
"""Most characters of all requests together; further failures are listed without a request."""
SOUGHT = 6
"""Most words by which one failure is traced."""
_SHOWN = ("number", "turn", "kind", "tokens", "error", "tools")
"""Fields of a request that the page shows as they are."""
_LEAST = 3
"""Least characters of such a word."""
_QUOTED = re.compile(r"'([^'\n]{3,120})'|\"([^\"\n]{3,120})\"|`([^`\n]{3,120})`")
_NAMED = re.compile(
    r"[^\s'\"`,;:()]*(?:[A-Za-z][-_/.]?\d|\d[-_/.]?[A-Za-z]|\d{3}|/)[^\s'\"`,;:()]*"
)


@dataclass(slots=True)
class _FailurePools:
    count: Callable[[str], int]
    texts: Pool = field(default_factory=Pool)
    messages: Pool = field(default_factory=Pool)
    chars: int = 0

    def message(self, message: TracedMessage) -> int:
        """Return the index of a message: role, name, tokens, text, calls, error flag."""
        calls = [_written(call.name, call.arguments) for call in message.calls]
        text = self.text(message.text)
        tokens = sum(map(self.count, [message.text, *calls]))
        about = (
            message.role,
            message.name,
            tokens,
            text,
            tuple(map(self.text, calls)),
            message.is_error,
        )
        return self.messages.number(about)

    def text(self, text: str) -> int:
        """Return the index of a text, shortened if it is too long."""
        over = len(text) - TEXT_CHARS
        kept = text if over <= 0 else f"{text[:TEXT_CHARS]}\n[{over:,} more characters]"
        if kept not in self.texts.numbers:
            self.chars += len(kept)
        return self.texts.number(kept)


def failures(results: Sequence[Result]) -> dict[str, Any]:
    """Return the failures by the index of their trial in the results.

    If not all requests fit, those of different probes and subjects precede a second one of the
    same.
    """
    pools = _FailurePools(exact_counter())
    found: dict[int, dict[str, Any]] = {}
    for place in _in_turn(results):
        found[place] = _failure(results[place], pools)
    return {
        "texts": list(pools.texts.numbers),
        "messages": list(pools.messages.numbers),
        "failures": [[place, found[place]] for place in sorted(found)],
    }


def _in_turn(results: Sequence[Result]) -> list[int]:
    seen: Counter[tuple[str, str, float | None, str]] = Counter()
    order: list[tuple[int, int]] = []
    for place, one in enumerate(results):
        if one.verdict == "failed":
            kind = (one.key.model, one.key.subject, one.key.trigger, one.key.probe)
            order.append((seen[kind], place))
            seen[kind] += 1
    return [place for _, place in sorted(order)]


def _failure(result: Result, pools: _FailurePools) -> dict[str, Any]:
    request = _shown(result)
    if request is None:
        return {"sought": [], "request": None}
    agents = result.trace.agents()
    place = next((k for k, one in enumerate(agents) if one.number == request.number), None)
    has_room = pools.chars < PAGE_CHARS
    answer = request.answer
    return {
        "sought": _sought(result.why, agents, request),
        "request": {
            **{name: getattr(request, name) for name in _SHOWN},
            "place": place,
            "messages": [pools.message(one) for one in request.messages] if has_room else None,
            "answer": pools.message(answer) if has_room and answer else None,
        },
    }


def _shown(result: Result) -> Request | None:
    requests = result.trace.requests
    if result.request is not None and 0 <= result.request < len(requests):
        return requests[result.request]
    return result.trace.last


def _sought(why: str, agents: Sequence[Request], failed: Request) -> list[list[Any]]:
    """Trace the words that a verdict names: which requests showed them, and whether this one.

    Words that no request showed cannot have been lost.
    """
    found = []
    for word in _words(why)[:SOUGHT]:
        shown = [k for k, one in enumerate(agents) if _shows(one, word)]
        is_tool = word in failed.tools
        if shown and not is_tool and agents[shown[0]].number <= failed.number:
            found.append([word, stretches(shown), _shows(failed, word)])
    return found


def _words(why: str) -> list[str]:
    """Return the quotations of a verdict, and its words that look like a code or a path."""
    quoted = [next(filter(None, found.groups())) for found in _QUOTED.finditer(why)]
    named = [found[0].strip(".") for found in _NAMED.finditer(_QUOTED.sub(" ", why))]
    return [word for word in dict.fromkeys([*named, *quoted]) if len(word) >= _LEAST]


def _shows(request: Request, word: str) -> bool:
    return any(
        word in message.text
        or any(word in _written(call.name, call.arguments) for call in message.calls)
        for message in request.messages
    )


def _written(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} {json.dumps(dict(arguments), ensure_ascii=False, indent=1, default=str)}"
