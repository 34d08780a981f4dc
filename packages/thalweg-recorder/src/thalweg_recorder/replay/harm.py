"""The cost of removed content to an agent: the steps to have it again, for each later use.

A replay repeats the recorded answers, so it does not show how a model does worse with less text
in sight. It does show at which points the recorded agent used content that a policy had removed by
then, and how far away that content was: still visible in a shortened form (0 steps), one tool call
away, two, or lost. The same rules hold for every policy:

- One search, with the words of the original call, of the turn and the subjects of its calls,
  without the sought text.
- One read of the message's own reference, if a shortened form shows it and a page holds it.
- One read of a file that was not written since, two if its path is not visible: an agent has its
  files without any archive.
- Two for content that is stored and not found by one search: locate it, then read it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thalweg.engine.entries import Entry
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.transcript import as_text
from thalweg_recorder.replay.contestant import Contestant, PeerRequest
from thalweg_recorder.replay.questions import ASK_TOKENS, RECALL_TOKENS
from thalweg_recorder.replay.subject import ReplaySubject
from thalweg_recorder.replay.uses import LENGTH, RARE, distinctive_names

Way = Literal["edits", "mentions", "reads"]
"""How a later turn uses content: it replaces this very text in a file, repeats an identifier that
hardly any other message contains, or reads the same unchanged file again."""
Kind = Literal[
    "request", "own words", "own edit", "file", "listing", "command", "error", "page", "other"
]
"""The kind of the used message; `listing` includes searches, `page` is a file at an address."""
KINDS: tuple[Kind, ...] = (
    "request", "own words", "own edit", "file", "listing", "command", "error", "page", "other",
)  # fmt: skip
LOST = -1
"""Instead of a number of steps: no tool call brings it."""
QUERY_CHARS = 300
"""Characters of the turn's own words in a search."""


@dataclass(frozen=True, slots=True)
class ContentNeed:
    """A later use of a message's content."""

    turn: int
    """Position of the assistant message that uses it."""
    source: int
    """Position of the message used."""
    kind: Kind
    way: Way
    text: str
    """The text without which the turn cannot be written; empty for a repeated read."""
    occurrences: tuple[int, ...]
    """Every position before the turn that contains the text."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A use of content that the request did not show whole."""

    need: ContentNeed
    steps: int
    """Tool calls that bring it, 0 if a shortened form shows it; `LOST` if none does."""
    tokens: int = 0
    """Tokens that these calls add to the context."""


def find_needs(subject: ReplaySubject) -> Iterator[ContentNeed]:
    """Yield the uses of earlier messages by later turns, in order.

    The subject's own uses (see `find_uses`) are of tool results alone. These are of every message.
    """
    occurrences: dict[str, list[int]] = {}
    entries = subject.entries
    for entry in entries:
        names = sorted(distinctive_names(entry))
        if entry.message.role == "assistant":
            yield from _mentions(entry, names, occurrences, entries)
            yield from _edits(entry, entries)
            for use in subject.uses.get(entry.position, ()):
                if not use.identifier:
                    kind = kind_of(entries[use.source])
                    yield ContentNeed(
                        entry.position, use.source, kind, "reads", "", use.occurrences
                    )
        for name in names:
            occurrences.setdefault(name, []).append(entry.position)


def kind_of(entry: Entry) -> Kind:
    """Return the kind of a message, as its agent sees it."""
    message, call = entry.message, entry.answers
    if message.role == "user":
        return "request"
    if message.role == "assistant":
        return "own edit" if any(use.action == "write" for use in entry.uses) else "own words"
    if message.is_error:
        return "error"
    if call is None:
        return "other"
    if call.action == "read":
        return "page" if "://" in call.target else "file"
    return _OF_ACTION.get(call.action, "other")


_OF_ACTION: dict[str, Kind] = {"search": "listing", "run": "command", "write": "own edit"}


def _mentions(
    entry: Entry, names: Sequence[str], occurrences: dict[str, list[int]], entries: Sequence[Entry]
) -> Iterator[ContentNeed]:
    sources: set[int] = set()
    for name in names:
        before = occurrences.get(name, [])
        if not 0 < len(before) <= RARE or entries[source := before[0]].message.role == "system":
            continue
        if source not in sources:
            sources.add(source)
            kind = kind_of(entries[source])
            yield ContentNeed(entry.position, source, kind, "mentions", name, tuple(before))


def _edits(entry: Entry, entries: Sequence[Entry]) -> Iterator[ContentNeed]:
    """Yield the uses of a file's text by edits that have to repeat it exactly."""
    for call in entry.message.calls:
        line = max(_replaced(call.arguments), key=len, default="")
        if len(line) < LENGTH:
            continue
        before = entries[: entry.position]
        found = tuple(e.position for e in before if _shows(as_text(e.message), line))
        if found:
            source = entries[found[-1]]
            yield ContentNeed(
                entry.position, source.position, kind_of(source), "edits", line, found
            )


def _replaced(arguments: str) -> Iterator[str]:
    """Yield the lines that an edit replaces: those of its arguments named `old…`."""
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return
    for name, value in parsed.items() if isinstance(parsed, dict) else ():
        if name.startswith("old") and isinstance(value, str):
            yield from map(str.strip, value.splitlines())


def _shows(text: str, sought: str) -> bool:
    """Whether a text contains another, also as arguments of a call have it."""
    return sought in text or json.dumps(sought, ensure_ascii=False)[1:-1] in text


@dataclass(slots=True)
class Harm:
    """Collects the misses of one contestant, request by request."""

    subject: ReplaySubject
    count: Counter = field(default_factory=exact_counter)
    misses: list[Miss] = field(default_factory=list)
    _needs: dict[int, list[ContentNeed]] = field(default_factory=dict)
    _fetched: dict[int, int] = field(default_factory=dict)
    """Messages that were brought back, and the turn that did."""
    _whole: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for need in find_needs(self.subject):
            self._needs.setdefault(need.turn, []).append(need)

    def take(self, position: int, request: PeerRequest, contestant: Contestant) -> None:
        """Check the request that the assistant message at a position answered."""
        dropped = self._whole - request.whole
        self._whole = request.whole
        last = max(dropped, default=-1)
        self._fetched = {at: turn for at, turn in self._fetched.items() if turn >= last}
        removed = [n for n in self._needs.get(position, ()) if n.source not in request.whole]
        if removed:
            visible = "\n".join(as_text(item.message) for item in request.items)
            self.misses += [self._miss(need, request, contestant, visible) for need in removed]

    def _miss(
        self, need: ContentNeed, request: PeerRequest, contestant: Contestant, visible: str
    ) -> Miss:
        shown = need.way == "reads" or _shows(visible, need.text)
        if shown or need.source in self._fetched:
            return Miss(need, 0)
        self._fetched[need.source] = need.turn
        recalled = contestant.recall(self._query(need))
        tokens = self.count(recalled)
        ways = [*self._of_file(need, visible)]
        if _shows(recalled, need.text):
            ways.append((1, tokens))
        if contestant.holds(need.source):
            size = self.subject.entries[need.source].tokens
            in_place = any(item.position == need.source for item in request.items)
            is_page = in_place and size <= RECALL_TOKENS
            ways.append((1, size) if is_page else (2, tokens + min(size, RECALL_TOKENS)))
        steps, added = min(ways, default=(LOST, 0))
        return Miss(need, steps, added)

    def _of_file(self, need: ContentNeed, visible: str) -> Iterator[tuple[int, int]]:
        """Yield the steps and tokens of reading the file again, if it still has this text."""
        entries, source = self.subject.entries, self.subject.entries[need.source]
        uses = [source.answers] if source.answers else source.uses
        path = next((use.target for use in uses if use.action in {"read", "write"}), "")
        later = entries[need.source + 1 : need.turn]
        written = any(u.action == "write" and u.target == path for e in later for u in e.uses)
        if path and "://" not in path and (not written or need.way == "edits"):
            yield (1, source.tokens) if path in visible else (2, ASK_TOKENS + source.tokens)

    def _query(self, need: ContentNeed) -> str:
        """Return an agent's possible search words: of its earlier call, and of its current turn."""
        source, turn = self.subject.entries[need.source], self.subject.entries[need.turn]
        then = source.answers.brief if source.answers else ""
        now = " ".join([turn.message.text[:QUERY_CHARS], *(use.target for use in turn.uses)])
        return f"{then} {now.replace(need.text, ' ')}".strip() if need.text else then


def harm_of(subject: ReplaySubject, contestant: Contestant, cold: frozenset[int]) -> list[Miss]:
    """Run a contestant through a recording, and return its misses in order.

    Args:
        subject: The recording.
        contestant: The context manager; new.
        cold: Positions of the turns whose cache had expired, see `TariffTerms`.

    Raises:
        WindowExceededError: The part that cannot be compacted exceeds the window.
    """
    harm = Harm(subject)
    for position, message in enumerate(subject.recording.messages):
        if message.role == "assistant":
            harm.take(position, contestant.request(cold=position in cold), contestant)
        contestant.receive(message)
    return harm.misses
