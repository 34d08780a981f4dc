"""Our engine as a contestant, under its own policy or under one modelled on another system."""

from dataclasses import dataclass, field

from thalweg.archive import Archive, Logged, Passage, Span, ThreadKey, render_passages
from thalweg.engine.compaction.policy import Policy
from thalweg.engine.edits import Edit, Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Entry, Message
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.replay.contestant import Contestant, PeerRequest, Summarizing
from thalweg_recorder.replay.questions import RECALL_TOKENS, handles_shown, shows
from thalweg_recorder.replay.summaries import FillerSummarizer


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
        self.entries.append(self.engine.receive(message))

    def request(self, *, cold: bool) -> PeerRequest:
        """Return the current request; see `Contestant.request`.

        Raises:
            WindowExceededError: The part that cannot be compacted exceeds the window.
        """
        self._log()
        done = len(self.engine.history)
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
