"""The state of an engine as of its last compaction, without its live messages."""

from collections.abc import Collection, Container
from dataclasses import dataclass, field, replace

from thalweg.engine.compaction.skills import LoadedSkill
from thalweg.engine.edits import Fold, Rewrite
from thalweg.engine.entries import Action, ToolUse
from thalweg.engine.summaries.summary import Summary

MAX_SUMMARY_SPANS = 40
"""Most summaries by models that are kept, the newest."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation and its position."""

    position: int
    text: str
    refused: str = ""
    """Of a user's words in a refusal: the call that was refused."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The operations on one file, and the last one's position."""

    read_at: int = -1
    changed_at: int = -1
    changes: int = 0


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """A call and its outcome."""

    position: int
    """Position of the result; of the call while there is none."""
    use: ToolUse
    text: str
    """The most informative line of the result; empty while there is none."""
    failed: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class RemovedResult:
    """A compacted result, by which the same call is recognized when it is made again."""

    position: int
    call: int
    """Position of the message that holds the call."""
    action: Action
    target: str
    tokens: int
    is_outdated: bool = False
    """Whether its target was written since."""
    reads: int = 0
    """How often it was read again after it was removed."""


@dataclass(frozen=True, slots=True)
class Record:
    """The data of a structured summary."""

    messages: int = 0
    last: int = -1
    requests: tuple[Quote, ...] = ()
    requests_dropped: int = 0
    files: dict[str, FileState] = field(default_factory=dict)
    runs: tuple[CallOutcome, ...] = ()
    tasks: tuple[CallOutcome, ...] = ()
    notes: tuple[Quote, ...] = ()
    todos: Quote | None = None
    names: tuple[Quote, ...] = ()
    skills: tuple[LoadedSkill, ...] = ()
    """Loaded skills, each once, as of its last compacted message."""
    summaries: tuple[tuple[int, int, Summary], ...] = ()
    """Summaries by models, each with its first and last position."""
    media: tuple[Quote, ...] = ()
    """What images and other media the compacted messages have."""
    results: dict[str, RemovedResult] = field(default_factory=dict)
    """The newest result of each call, by `repeats.call_key`."""
    returned: tuple[int, ...] = ()
    """Positions of compacted messages that are shown again: their data is in the record already."""


def with_summary(record: Record, first: int, last: int, summary: Summary) -> Record:
    """Add a model's summary of the messages from one position to another."""
    summaries = sorted((*record.summaries, (first, last, summary)), key=lambda span: span[1])
    return replace(record, summaries=tuple(summaries[-MAX_SUMMARY_SPANS:]))


def with_returned(record: Record, positions: Collection[int]) -> Record:
    """Return the record of compacted messages of which those at some positions are shown again."""
    results = {key: r for key, r in record.results.items() if r.position not in positions}
    returned = tuple(sorted({*record.returned, *positions}))
    return replace(record, results=results, returned=returned)


@dataclass(frozen=True, slots=True)
class EngineSnapshot:
    """All state, besides the live messages, that an engine needs to continue."""

    fold: Fold | None = None
    record: Record = field(default_factory=Record)
    pins: tuple[Quote, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    """Edits of live messages."""
    systems: int = 0
    """Number of system messages at the beginning of the thread: they are never compacted."""
    used: tuple[str, ...] = ()
    """Recorded ids of calls that live calls could not use, since older ones had them."""
    waiting: tuple[tuple[str, ToolUse], ...] = ()
    """Compacted calls without a result at that time: the recorded id, and the call."""
    stripped: tuple[int, ...] = ()
    """Positions of live messages that are shown without their signed reasoning."""

    def restricted(self, branch: Container[int]) -> "EngineSnapshot":
        """Return the snapshot without anything of messages that are not in a branch.

        Compacted messages must be in it: their data cannot be removed from the summary.

        Args:
            branch: The visible positions of the thread.
        """
        fold = self.fold
        if fold is not None:
            fold = replace(fold, kept=tuple(p for p in fold.kept if p in branch))
        return replace(
            self,
            fold=fold,
            pins=tuple(pin for pin in self.pins if pin.position in branch),
            rewrites=tuple(edit for edit in self.rewrites if edit.position in branch),
            waiting=tuple(pair for pair in self.waiting if pair[1].position in branch),
            stripped=tuple(position for position in self.stripped if position in branch),
        )
