"""Our engine as a contestant, under its own policy or under one modelled on another system.

Its measured time excludes the work of others.
"""

import re
import time
from dataclasses import dataclass, field

from thalweg.archive import Archive, Logged, Passage, Span, ThreadKey, render_passages
from thalweg.engine.compaction.policy import Policy
from thalweg.engine.edits import Edit, Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Entry, Message
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.transcript import as_outline
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.replay.contestant import Contestant, PeerRequest, Summarizing
from thalweg_recorder.replay.questions import RECALL_TOKENS, NeedleQuestion, handles_shown, shows
from thalweg_recorder.replay.summaries import FillerSummarizer

FURTHER_STEPS = 2
"""How many more recalls are tried for a needle that the first does not bring."""
READ_CHARS = 8_000
"""Characters that one reading of a handle brings."""
AROUND = 20
"""Messages before and after a hit that one outline shows."""
_NAMED = re.compile(r"(?m)^#(\d+) ")


@dataclass(slots=True)
class Stopwatch:
    """Runs inside `with`, and adds up until it is read."""

    _started: float = 0.0
    _spent_s: float = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._spent_s += time.perf_counter() - self._started

    def lap_ms(self) -> float:
        """Return the milliseconds since the last call, and restart."""
        spent, self._spent_s = self._spent_s, 0.0
        return spent * 1e3


@dataclass(slots=True)
class ThalwegContestant(Contestant):
    """One thread in our engine, with its archive."""

    policy: Policy
    budget: Budget
    archive: Archive
    key: ThreadKey
    summarizer: FillerSummarizer | None = None
    """Writes the summaries; without one, only the structured summary of a compaction remains."""
    count: Counter = field(default_factory=exact_counter)
    engine: Engine = field(init=False)
    entries: list[Entry] = field(default_factory=list)
    _logged: int = 0
    _watch: Stopwatch = field(default_factory=Stopwatch)
    _sent: int = 0
    """Tokens of the last request."""
    _spans: list[Span] | None = None
    """Spans that references of the last request reach, once requested."""

    def __post_init__(self) -> None:
        self.engine = Engine(
            budget=self.budget,
            policy=self.policy,
            count=self.count,
            name_span=lambda first, last: self.archive.handle(self.key, Span(first, last)),
            read_back=lambda position: self.entries[position].message,
        )

    def receive(self, message: Message) -> None:
        """Receive the recording's next message; see `Contestant.receive`."""
        with self._watch:
            self.entries.append(self.engine.receive(message))

    def request(self, *, cold: bool) -> PeerRequest:
        """Return the current request; see `Contestant.request`.

        Raises:
            WindowExceededError: The part that cannot be compacted exceeds the window.
        """
        self._log()
        done = len(self.engine.history)
        with self._watch:
            summaries = self._prepare(cold=cold)
        items = self.engine.window.items
        self._spans = None
        edits = tuple(self.engine.history[done:])
        rewritten = self.engine.window.rewrites
        whole = (i.position for i in items if i.position >= 0 and i.position not in rewritten)
        self._sent = sum(item.tokens for item in items)
        return PeerRequest(
            items=items,
            whole=frozenset(whole),
            edits=edits,
            summaries=tuple(summaries),
            problems=self.engine.problems,
            engine_ms=self._watch.lap_ms(),
        )

    def _prepare(self, *, cold: bool) -> list[Summarizing]:
        """Prepare the request; a fold is committed with its summary, if there is one."""
        calls: list[Summarizing] = []
        steps = self.engine.steps(cold=cold)
        batch = next(steps, None)
        while batch is not None:
            better = [self._summarized(edit, calls, cold=cold) for edit in batch]
            try:
                batch = steps.send(better)
            except StopIteration:
                break
        return calls

    def _summarized(self, edit: Edit, calls: list[Summarizing], *, cold: bool) -> Edit:
        if not isinstance(edit, Fold):
            return edit
        if self.summarizer is None:
            if edit.summary_output:  # a modelled policy's own
                calls.append(_summarizer_input(edit))
            return edit
        edit, call = self.summarizer.summarize(
            self.engine, edit, self.entries, self._sent, whole=self._live(), cold=cold
        )
        calls += [call] if call else []
        return edit

    def _live(self) -> frozenset[int]:
        """Return the positions that the live request shows whole, reasoning excluded."""
        window = self.engine.window
        edits = window.rewrites
        return frozenset(
            p
            for p, entry in window.entries.items()
            if p not in edits or shows(edits[p].parts, entry.message, reasoning=False)
        )

    def _log(self) -> None:
        """Archive messages since the last request, before any is removed."""
        new = self.entries[self._logged :]
        logged = [Logged(e.message, e.answers.brief if e.answers else "") for e in new]
        self._logged = self.archive.append(self.key, logged, expected=self._logged)

    def recall(self, question: str) -> str:
        """Search once, by a question's words, in the content that the last request can reach.

        See `Contestant.recall`.
        """
        spans = self._reached()
        found: list[Passage] = []
        if spans:
            found = self.archive.search(self.key, question, within=spans, max_tokens=RECALL_TOKENS)
        return render_passages(found)

    def holds(self, position: int) -> bool:
        """See `Contestant.holds`: it is read back from the archive and compared."""
        if not any(span.first <= position <= span.last for span in self._reached()):
            return False
        kept = self.archive.messages(self.key, position, position)
        return kept == [self.entries[position].message]

    def _reached(self) -> list[Span]:
        if self._spans is None:
            items = self.engine.window.items
            self._spans = [*handles_shown(self.archive, self.key, items).values()]
        return self._spans

    def steps(self, needle: NeedleQuestion, position: int, named: str) -> int:
        """See `Contestant.steps`.

        One step reads a named message, or outlines the messages around one; then a message that
        the outline names is read. A reading is one page, found by the question's words when the
        message has several.
        """
        archive, key = self.archive, self.key
        last = archive.length(key) - 1
        if not self._reached() or not 0 <= position <= last:
            return -1
        if not self._one_reading_brings(needle, position):
            return -1
        hits = set(map(int, _NAMED.findall(named)))
        if position in hits:
            return 1
        for hit in sorted(hits, key=lambda n: abs(n - position)):
            first, end = max(0, hit - AROUND), min(last, hit + AROUND)
            outline = as_outline(archive.messages(key, first, end), first)
            if first <= position <= end and position in map(int, _NAMED.findall(outline)):
                return FURTHER_STEPS
        return -1

    def _one_reading_brings(self, needle: NeedleQuestion, position: int) -> bool:
        span = Span(position, position)
        handle = self.archive.handle(self.key, span)
        if needle.answer in self.archive.read(self.key, handle, max_chars=READ_CHARS).text:
            return True
        inside = self.archive.search(
            self.key, needle.question, within=[span], max_tokens=RECALL_TOKENS
        )
        return needle.answer in render_passages(inside)

    def shown(self, item: WindowItem) -> tuple[str, str]:
        """Return how the last request shows a message, and the reference that reads it in full.

        See `Contestant.shown`.
        """
        edit: Edit | None = self.engine.window.rewrites.get(item.position)
        how = "whole" if edit is None else type(edit).__name__.lower()
        if item.position < 0:
            how = "record" if item.section == "summary" else "note"
        points = () if how == "whole" else handles_shown(self.archive, self.key, [item])
        return how, next(iter(points), "")


def _summarizer_input(fold: Fold) -> Summarizing:
    """Return the input of a modelled policy's summarizer, without the positions of messages."""
    return Summarizing(tokens=fold.summary_input, output=fold.summary_output, read=frozenset())
