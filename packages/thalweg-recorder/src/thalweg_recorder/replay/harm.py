"""The steps that removed content costs an agent, for each later use of it.

A replay repeats the recorded answers, so it does not show how a model does worse with less text
in sight. It does show at which points the recorded agent used content that a policy had removed by
then, and how far away that content was: still visible in a shortened form (0 steps), one tool call
away, two, or lost. A step is one more model call. The same rules hold for every policy:

- One search, with the words of the original call, of the turn and the subjects of its calls,
  without the sought text.
- One read of the message's own reference, if a shortened form shows it and a page holds it.
- One read of a file that was not written since, two if its path is not visible: an agent has its
  files without any archive.
- Two for content that is stored and not found by one search: locate it, then read it.

What the steps bring remains in the context until messages after them leave it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from thalweg.engine.pricing.savings import ASK_TOKENS
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.transcript import as_text
from thalweg_recorder.replay.contestant import Contestant, PeerRequest
from thalweg_recorder.replay.questions import RECALL_TOKENS
from thalweg_recorder.replay.subject import ReplaySubject
from thalweg_recorder.replay.uses import LaterUse, is_in

LOST = -1
"""Instead of a number of steps: no tool call brings it."""
QUERY_CHARS = 300
"""Characters of the turn's own words in a search."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A use of content that the request did not show whole."""

    use: LaterUse
    steps: int
    """Tool calls that bring it, 0 if a shortened form shows it; `LOST` if none does."""
    tokens: int = 0
    """Tokens that these calls add to the context, their arguments aside; of lost content its own
    size, since it has to be produced again."""

    @property
    def calls(self) -> int:
        """Model calls that are paid for: the steps, and one to produce lost content again."""
        return 1 if self.steps == LOST else self.steps


@dataclass(frozen=True, slots=True)
class Fetched:
    """Content that steps brought back into the context."""

    turn: int
    """Position of the assistant message that needed it."""
    tokens: int
    """Tokens that it adds to every request while it is there, arguments of the calls included."""


@dataclass(frozen=True, slots=True)
class TurnSteps:
    """What removed content costs at one turn."""

    misses: Sequence[Miss] = ()
    """Of this turn, in order."""
    present: Mapping[int, Fetched] = field(default_factory=dict)
    """Content that was brought back for earlier turns and is still in the context, by the position
    of its message."""


@dataclass(slots=True)
class Harm:
    """Finds the misses of one contestant, request by request."""

    subject: ReplaySubject
    count: Counter = field(default_factory=exact_counter)
    _fetched: dict[int, Fetched] = field(default_factory=dict)
    _whole: frozenset[int] = frozenset()

    def take(self, position: int, request: PeerRequest, contestant: Contestant) -> TurnSteps:
        """Check the request that the assistant message at a position answered."""
        last = max(self._whole - request.whole, default=-1)
        self._whole = request.whole
        self._fetched = {at: one for at, one in self._fetched.items() if one.turn >= last}
        present = dict(self._fetched)
        removed = [u for u in self.subject.uses.get(position, ()) if u.source not in request.whole]
        if not removed:
            return TurnSteps((), present)
        visible = "\n".join(as_text(item.message) for item in request.items)
        misses = [self._miss(use, request, contestant, visible) for use in removed]
        return TurnSteps(misses, present)

    def _miss(
        self, use: LaterUse, request: PeerRequest, contestant: Contestant, visible: str
    ) -> Miss:
        shown = use.way == "reads" or is_in(use.text, visible)
        if shown or use.source in self._fetched:
            return Miss(use, 0)
        recalled = contestant.recall(self._query(use))
        tokens, size = self.count(recalled), self.subject.entries[use.source].tokens
        ways = [*self._of_file(use, visible)]
        if is_in(use.text, recalled):
            ways.append((1, tokens))
        if contestant.holds(use.source):
            in_place = any(item.position == use.source for item in request.items)
            is_page = in_place and size <= RECALL_TOKENS
            ways.append((1, size) if is_page else (2, tokens + min(size, RECALL_TOKENS)))
        miss = Miss(use, *min(ways, default=(LOST, size)))
        self._fetched[use.source] = Fetched(use.turn, miss.calls * ASK_TOKENS + miss.tokens)
        return miss

    def _of_file(self, use: LaterUse, visible: str) -> Iterator[tuple[int, int]]:
        """Yield the steps and tokens of reading the file again, if it still has this text."""
        entries, source = self.subject.entries, self.subject.entries[use.source]
        calls = [source.answers] if source.answers else source.uses
        path = next((call.target for call in calls if call.action in {"read", "write"}), "")
        later = entries[use.source + 1 : use.turn]
        written = any(u.action == "write" and u.target == path for e in later for u in e.uses)
        if path and "://" not in path and (not written or use.way == "edits"):
            yield (1, source.tokens) if path in visible else (2, ASK_TOKENS + source.tokens)

    def _query(self, use: LaterUse) -> str:
        """Return an agent's possible search words: of its earlier call, and of its current turn."""
        source, turn = self.subject.entries[use.source], self.subject.entries[use.turn]
        then = source.answers.brief if source.answers else ""
        now = " ".join([turn.message.text[:QUERY_CHARS], *(call.target for call in turn.uses)])
        return f"{then} {now.replace(use.text, ' ')}".strip() if use.text else then
