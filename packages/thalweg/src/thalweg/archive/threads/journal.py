"""The journal of a thread: the decisions before each model call, stored in the archive.

A record names its parent record, so a thread that was rewound, or run by two processes at once, is
a tree of records over one log, and every context in it can be rebuilt. A log only grows: after a
rewind, later messages remain in the log and are skipped, so a branch is a few spans of positions.

A turn is one model call. The turns of a thread are numbered from 1 in the order of their records,
those of abandoned branches included. Records of other kinds (`end`, `undo`, `import` …) have no
number; only this package knows places of records. `record_of` and `call_at` find the record of a
turn.

The journal stores the models that produced the answers of a thread, and the bindings of their
signed reasoning, not the messages: they remain as the provider returned them (I52).
"""

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise, product
from operator import attrgetter
from typing import Any, Literal, Self

from thalweg.archive import Archive, Logged, Span, ThreadKey, TurnRow
from thalweg.engine.additions import AdditionSize
from thalweg.engine.compaction.model_summary import NO_COSTS, SummaryAccount
from thalweg.engine.edits import Edit, Fold, Pin, Repair, Strip, Unpin
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.serialization import (
    edit_to_plain,
    edits_from_plain,
    from_fields,
    snapshot_from_bytes,
    snapshot_to_bytes,
)
from thalweg.engine.snapshot import EngineSnapshot, Quote
from thalweg.engine.window.binding import ReasoningBinding
from thalweg.errors import ArchiveError, ConflictError, EmptyThreadError


@dataclass(frozen=True, slots=True)
class ThreadBranch:
    """Positions in ascending order, as spans that do not touch.

    Example:
        >>> line = ThreadBranch.of([0, 1, 2]).add(7).add(8)
        >>> line.spans
        (Span(first=0, last=2), Span(first=7, last=8))
        >>> line.before(8).last, len(line), 5 in line
        (7, 5, False)
    """

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, positions: Iterable[int]) -> "ThreadBranch":
        """Return the branch of these positions, in ascending order."""
        return cls(spans_of(positions))

    def add(self, position: int) -> "ThreadBranch":
        """Append a position after the last one."""
        if self.spans and self.spans[-1].last + 1 == position:
            last = Span(self.spans[-1].first, position)
            return ThreadBranch((*self.spans[:-1], last))
        return ThreadBranch((*self.spans, Span(position, position)))

    def before(self, position: int) -> "ThreadBranch":
        """Return the part before a position."""
        kept = [span for span in self.spans if span.first < position]
        return ThreadBranch(tuple(Span(s.first, min(s.last, position - 1)) for s in kept))

    def after(self, position: int) -> "ThreadBranch":
        """Return the part after a position."""
        kept = [span for span in self.spans if span.last > position]
        return ThreadBranch(tuple(Span(max(s.first, position + 1), s.last) for s in kept))

    def without(self, positions: Collection[int]) -> "ThreadBranch":
        """Return the branch without some positions."""
        if not positions:
            return self
        kept = self.before(min(positions))
        for position in self.after(min(positions) - 1):
            kept = kept if position in positions else kept.add(position)
        return kept

    def covers(self, other: "ThreadBranch") -> bool:
        """Return whether each span of another branch is in one of this branch's."""
        return self.spans == other.spans or all(
            any(own.first <= span.first and span.last <= own.last for own in self.spans)
            for span in other.spans
        )

    @property
    def last(self) -> int:
        """The newest position; -1 if empty."""
        return self.spans[-1].last if self.spans else -1

    def __len__(self) -> int:
        return sum([span.last - span.first + 1 for span in self.spans])

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(range(span.first, span.last + 1) for span in self.spans)

    def __contains__(self, position: object) -> bool:
        if not isinstance(position, int) or not self.spans:
            return False
        newest = self.spans[-1]
        if position >= newest.first:  # the usual case: most have one span
            return position <= newest.last
        following = bisect_right(self.spans, position, key=lambda span: span.first)
        return following > 0 and position <= self.spans[following - 1].last


def spans_of(positions: Iterable[int]) -> tuple[Span, ...]:
    """Join positions into spans, in the order they come in.

    Example:
        >>> spans_of([4, 5, 6, 1, 2])
        (Span(first=4, last=6), Span(first=1, last=2))
    """
    found = [*positions]
    if not found:
        return ()
    breaks = [k for k in range(1, len(found)) if found[k] != found[k - 1] + 1]
    ends = pairwise([0, *breaks, len(found)])
    return tuple(Span(found[first], found[end - 1]) for first, end in ends)


def read_branch(
    archive: Archive, key: ThreadKey, branch: ThreadBranch
) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a branch with their positions, oldest first."""
    for span in branch.spans:
        yield from enumerate(archive.messages(key, span.first, span.last), span.first)


THIS_TURN = -1
"""As the base of a record: the record itself."""
Kind = Literal["call", "end", "undo", "rewind", "pin", "unpin", "compact", "import"]
"""A model call, which is a turn; the end of a run; a person's operation; imported rows."""
MANUAL_KINDS = frozenset[Kind]({"undo", "rewind", "pin", "unpin", "compact"})
"""The kinds of records that a person added."""
RECORDS_PER_BATCH = 64
"""Records that are read at once."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """The origin of an answer."""

    uid: str
    """The id of its message."""
    model: str
    """The requested model, as `provider:name`; the provider's own name for it may differ."""
    bond: str = ""
    """What its signed reasoning is bound to; see `ReasoningBinding`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """A record of the journal: of a turn, or of another event between turns."""

    kind: Kind
    at: float
    """Time in seconds since 1970."""
    turns: int | None = None
    """Turns of the thread up to this record, itself included: of a model call, its number. `None`
    before it is stored, and in a record of an older version."""
    parent: int | None = None
    """Place of the parent record, from which it continues."""
    instead_of: int | None = None
    """The record of the state, if the engine could not continue from it but from an earlier one."""
    root: int = 0
    """Length of the log when its branch began: a state without a checkpoint pointer began it. The
    first branch of a thread has 0."""
    base: int | None = None
    """The nearest ancestor record with an engine snapshot: `THIS` for the record itself, `None`
    before the first compaction."""
    length: int
    """Length of the log."""
    line: ThreadBranch = field(default_factory=ThreadBranch)
    """The visible positions of the thread."""
    held: tuple[Span, ...] = ()
    """Those also stored in the state of the agent's graph, in its order."""
    held_digest: str = ""
    """A digest of the messages of that state; empty in a record of an older version."""
    calls: int = 0
    """Model calls of its branch so far, from which a policy estimates how many will follow."""
    policy: Mapping[str, float] = field(default_factory=dict)
    """State of the policy; see `Policy.memory`."""
    calibration: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    """By model: the ratio of its token counts to ours, and the number of observations."""
    model: str = ""
    window: int = 0
    limit: int = 0
    """Most tokens of the request."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the request, by section."""
    system: str = ""
    """Digest of the attachment with the system prompt; empty if there was none."""
    tools: str = ""
    """Digest of the tool schemas as a JSON list; likewise."""
    tariff: str = ""
    """Digest of the model's prices as JSON; likewise."""
    same: int = 0
    """Tokens of the prefix shared with the previous request."""
    is_cold: bool = False
    """Whether the provider's cache could no longer have them."""
    edits: tuple[Edit, ...] = ()
    spent: Usage | None = None
    """Usage of other models in this turn: by the summaries of a compaction."""
    account: SummaryAccount = NO_COSTS
    """Costs of the branch so far, by which summaries are allowed."""
    note: str = ""
    """Further information: why a summary was refused, a person's comment."""
    repairs: tuple[Repair, ...] = ()
    """Messages sent in another form than the edits show, since the previous turn: the provider
    would have refused them."""
    rejected: str = ""
    """Error of the provider that refused this turn's request, and its repair.

    The next request omits the refused content."""
    is_cut: bool = False
    """Of the end of a run: whether its last call was cut off, by a cancellation or a shutdown."""
    cleared: tuple[int, int] = (0, 0)
    """Tool uses that the provider cleared from the previous request, and its count of tokens."""
    answered: GivenAnswer | None = None
    """How the request of the parent turn was answered; `None` if it was not."""
    additions: tuple[AdditionSize, ...] = ()
    """Parts of the request besides the thread's messages and the tools."""
    session: Mapping[str, Any] = field(default_factory=dict)
    """For an import: facts about the recorded session, as JSON values."""

    @property
    def usage(self) -> Usage:
        """The usage of a request without an answer: our count, as its provider counts.

        Example:
            >>> TurnRecord(kind="call", at=0, length=1, tokens={"tools": 9, "user": 1}).usage.input
            10
        """
        factor, _ = self.calibration.get(self.model, (1.0, 0))
        tokens = sum(self.tokens.values())
        cached = 0 if self.is_cold else min(self.same, tokens)
        return Usage(round(factor * tokens), round(factor * cached), model=self.model)

    @property
    def released(self) -> int:
        """Messages of the thread that were removed from the graph's state."""
        released = len(self.line)
        for held, span in product(self.held, self.line.spans):
            released -= max(0, min(held.last, span.last) - max(held.first, span.first) + 1)
        return released


_ENDS = attrgetter("first", "last")
_FIELDS = tuple(TurnRecord.__dataclass_fields__)
_VALUES = attrgetter(*_FIELDS)
_NESTED: Mapping[str, type] = {"answered": GivenAnswer, "spent": Usage, "account": SummaryAccount}
"""Fields whose values are dataclasses of plain values."""
_AS_LINE = json.JSONEncoder(separators=(",", ":")).encode


def page_to_json(page: TurnRecord) -> str:
    """Serialize a turn record as a line of JSON; `page_from_json` parses it.

    Example:
        >>> page = TurnRecord(kind="call", at=1.5, length=3, line=ThreadBranch.of([0, 1, 2]))
        >>> page_from_json(page_to_json(page)) == page
        True
    """
    values = zip(_FIELDS, _VALUES(page), strict=True)
    plain: dict[str, Any] = {name: value for name, value in values if value}
    if page.cleared == (0, 0):
        del plain["cleared"]
    if page.account == NO_COSTS:
        del plain["account"]
    plain["turn"] = plain.pop("calls", 0)  # its name in older versions
    if page.turns is not None:
        plain["turns"] = page.turns
    plain["line"] = [*map(_ENDS, page.line.spans)]
    plain["held"] = [*map(_ENDS, page.held)]
    plain["edits"] = [*map(edit_to_plain, page.edits)]
    if page.instead_of is not None:
        plain["instead_of"] = page.instead_of
    if page.repairs:
        plain["repairs"] = [*map(_fields, page.repairs)]
    if page.additions:
        plain["additions"] = [[*_fields(addition).values()] for addition in page.additions]
    plain["parent"], plain["base"] = page.parent, page.base
    for name in plain.keys() & _NESTED.keys():
        plain[name] = _fields(plain[name])
    return _AS_LINE(plain)


def _fields(value: Repair | AdditionSize | GivenAnswer | Usage | SummaryAccount) -> dict[str, Any]:
    """Return a dataclass of plain values as a dictionary; `asdict` copies each value."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def page_from_json(text: str) -> TurnRecord:
    """Parse the output of `page_to_json`; fields and edits of a newer version are ignored.

    Raises:
        ValueError: The text is damaged, or lacks a field.
    """
    try:
        return _record_from_plain(json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"not a turn record: {type(error).__name__}: {error}"
        raise ValueError(problem) from error


def _record_from_plain(plain: dict[str, Any]) -> TurnRecord:
    plain["line"] = ThreadBranch(tuple(Span(first, last) for first, last in plain["line"]))
    plain["held"] = tuple(Span(first, last) for first, last in plain["held"])
    plain["calls"] = plain.pop("turn", 0)
    plain["edits"] = tuple(edits_from_plain(plain["edits"]))
    plain["cleared"] = tuple(plain.get("cleared", (0, 0)))
    plain["repairs"] = tuple(from_fields(Repair, repair) for repair in plain.get("repairs", ()))
    plain["additions"] = tuple(AdditionSize(*one) for one in plain.get("additions", ()))
    calibration = plain.get("calibration", {})
    plain["calibration"] = {
        model: (factor, observations) for model, (factor, observations) in calibration.items()
    }
    for name in plain.keys() & _NESTED.keys():
        plain[name] = from_fields(_NESTED[name], plain[name])
    return from_fields(TurnRecord, {"at": 0.0, "length": 0, **plain})


def read_page(archive: Archive, key: ThreadKey, record: int) -> TurnRecord:
    """Return one record by its place in the journal.

    Raises:
        ArchiveError: The journal has no such record, or its row is damaged.
    """
    bodies = archive.turns(key, record, record)
    if not bodies:
        problem = f"the journal of thread {key.thread!r} has no record {record}"
        raise ArchiveError(problem)
    try:
        return page_from_json(bodies[0])
    except ValueError as error:
        problem = (
            f"record {record} in the journal of thread {key.thread!r} cannot be read, its row in "
            f"the archive is damaged ({error}); restore the archive from a backup or use another "
            "turn"
        )
        raise ArchiveError(problem) from error


def page_at(archive: Archive, key: ThreadKey, record: int | None = None) -> tuple[int, TurnRecord]:
    """Return a record with its place in the journal; by default the newest, of any kind.

    Raises:
        ArchiveError: The journal has no such record.
    """
    if record is not None:
        return record, read_page(archive, key, record)
    newest = archive.turn_count(key) - 1
    if newest < 0:
        raise EmptyThreadError(key.thread)
    return newest, read_page(archive, key, newest)


def read_pages(
    archive: Archive, key: ThreadKey, first: int = 0, last: int | None = None
) -> dict[int, TurnRecord]:
    """Return records by place, `last` included; those with a damaged row are omitted."""
    pages: dict[int, TurnRecord] = {}
    for record, body in enumerate(archive.turns(key, first, last), first):
        with suppress(ValueError):
            pages[record] = page_from_json(body)
    return pages


def read_journal(archive: Archive, key: ThreadKey) -> dict[int, TurnRecord]:
    """Return all records by place, numbered: `TurnRecord.turns` is set in older ones, too.

    Those with a damaged row are omitted, and count as turns.
    """
    pages, turns, following = read_pages(archive, key), 0, 0
    for record, page in pages.items():
        damaged, following = record - following, record + 1
        if page.turns is not None:
            turns = page.turns
            continue
        turns += damaged + (page.kind == "call")
        note = page.note
        if page.kind in {"undo", "rewind"} and note.isdecimal() and int(note) in pages:
            note = str(shown_from(pages[int(note)]))  # older versions noted the place
        pages[record] = replace(page, turns=turns, note=note)
    return pages


def shown_from(page: TurnRecord) -> int:
    """Return the number of the first turn whose request shows the effect of a numbered record."""
    return (page.turns or 0) + (page.kind != "call")


def name_page(record: int, page: TurnRecord) -> str:
    """Return the name of a record in a sentence: its turn, or the one that it follows."""
    if not page.turns:
        return f"record {record}"
    return (
        f"turn {page.turns}" if page.kind == "call" else f"the {page.kind} after turn {page.turns}"
    )


def count_turns(archive: Archive, key: ThreadKey, record: int | None = None) -> int:
    """Return the number of turns up to a record, itself included; by default of the thread.

    One record is read, unless it is damaged or an older version wrote it: then also those before
    it, up to one that is numbered. A damaged record counts as a turn, so that no number is used
    twice.
    """
    last = archive.turn_count(key) - 1 if record is None else record
    turns, block = 0, 1
    while last >= 0:
        first = max(0, last - block + 1)
        pages = read_pages(archive, key, first, last)
        for page in (pages.get(record) for record in range(last, first - 1, -1)):
            if page is not None and page.turns is not None:
                return turns + page.turns
            turns += page is None or page.kind == "call"
        last, block = first - 1, RECORDS_PER_BATCH
    return turns


def record_of(archive: Archive, key: ThreadKey, turn: int) -> int:
    """Return the place of the record of a turn: a binary search, as the numbers ascend.

    The journal of an older version is read whole.

    Raises:
        ArchiveError: The thread has no such turn, or its row is damaged.
    """
    turns = count_turns(archive, key)
    if not 1 <= turn <= turns:
        if not turns and not archive.turn_count(key):
            raise EmptyThreadError(key.thread)
        if not turns:
            problem = (
                f"thread {key.thread!r} has no turns: no request to a model is recorded in it; "
                "`thalweg thread show ID --messages` shows its messages"
            )
            raise ArchiveError(problem)
        problem = (
            f"thread {key.thread!r} has no turn {turn}, its turns are 1 to {turns}; "
            "`thalweg thread show` lists them"
        )
        raise ArchiveError(problem)
    first, last = turn - 1, archive.turn_count(key) - 1
    while first < last:
        middle = (first + last) // 2
        page = read_pages(archive, key, middle, middle).get(middle)
        if page is None or page.turns is None:
            return _counted_record(archive, key, turn)
        first, last = (first, middle) if page.turns >= turn else (middle + 1, last)
    return first


def _counted_record(archive: Archive, key: ThreadKey, turn: int) -> int:
    for record, page in read_journal(archive, key).items():
        if page.kind == "call" and page.turns == turn:
            return record
    problem = (
        f"turn {turn} of thread {key.thread!r} cannot be read, its row in the archive is damaged; "
        "restore the archive from a backup or use another turn"
    )
    raise ArchiveError(problem)


def call_at(archive: Archive, key: ThreadKey, turn: int | None = None) -> tuple[int, TurnRecord]:
    """Return the record of a turn with its place; by default of the newest request.

    Raises:
        ArchiveError: The thread has no such turn, or its row is damaged.
    """
    turn = max(1, count_turns(archive, key)) if turn is None else turn
    record = record_of(archive, key, turn)
    return record, replace(read_page(archive, key, record), turns=turn)


def ancestry(pages: Mapping[int, TurnRecord], record: int | None) -> Iterator[int]:
    """Yield the places of a record and its ancestors, as far as the records go."""
    while record is not None and record in pages:
        yield record
        record = pages[record].parent


def turn_before(pages: Mapping[int, TurnRecord], record: int) -> int | None:
    """Return the number of the turn from which a numbered record continues; `None` for none."""
    way = ancestry(pages, pages[record].parent)
    return next((pages[n].turns for n in way if pages[n].kind == "call"), None)


def append_page(
    archive: Archive,
    key: ThreadKey,
    page: TurnRecord,
    parent: TurnRecord | None = None,
    *,
    length: int,
    log: Sequence[Logged] = (),
    attachments: Sequence[str] = (),
    engine: Engine | None = None,
    state: bytes = b"",
    generation: int = 0,
) -> tuple[int, TurnRecord]:
    """Append a record to the journal, numbered, with an engine snapshot if it compacted.

    Args:
        archive: The archive of the thread.
        key: The thread.
        page: The record; its number is filled in, and its base if there is an engine.
        parent: The record of its parent, which is usually the newest; else the newest is read.
        length: Length of the log that the writer has seen, without `log`.
        log: Messages to append to the log with it.
        attachments: Texts to attach to the thread.
        engine: The engine after the record.
        state: See `TurnRow`; a snapshot of the engine replaces it.
        generation: Generation of the thread (`Archive.extent`); 0 for any.

    Returns:
        Its place, and the record as it was stored.

    Raises:
        ConflictError: The log has another length now.
    """
    count = 0 if page.parent is None else page.parent + 1
    turns = 0 if page.parent is None else parent.turns if parent else None
    base = page.base
    if engine is not None and any(isinstance(edit, Fold) for edit in page.edits):
        base, state = THIS_TURN, snapshot_to_bytes(engine.standing())
    elif engine is not None:
        base = None if parent is None else parent.base
        base = page.parent if base == THIS_TURN else base
    while True:
        if turns is None:
            turns = count_turns(archive, key, count - 1)
        numbered = replace(page, turns=turns + (page.kind == "call"), base=base)
        row = TurnRow(page_to_json(numbered), state, attachments)
        try:
            record = archive.add_turn(
                key, row, length=length, log=log, generation=generation, expected=count
            )
        except ConflictError:
            found = archive.turn_count(key)
            if found == count:
                raise
            count, turns = found, None
        else:
            return record, numbered


def snapshot_at(archive: Archive, key: ThreadKey, record: int, page: TurnRecord) -> EngineSnapshot:
    """Return the engine snapshot after a record.

    Args:
        archive: The archive of the thread.
        key: The thread.
        record: Its place in the journal.
        page: The record.

    Raises:
        ArchiveError: The snapshot of the compaction is missing or damaged.
    """
    base = record if page.base == THIS_TURN else page.base
    try:
        snapshot = (
            EngineSnapshot() if base is None else snapshot_from_bytes(archive.turn_state(key, base))
        )
    except ValueError as error:
        problem = (
            f"the compaction of record {base} in thread {key.thread!r} cannot be read: {error}"
        )
        raise ArchiveError(problem) from error
    if page.base == THIS_TURN:
        return snapshot
    rewrites = {edit.position: edit for edit in snapshot.rewrites}
    pins, stripped = snapshot.pins, snapshot.stripped
    for edit in _edits_between(archive, key, page.base, record):
        match edit:
            case Pin():
                pins = (*pins, Quote(edit.position, edit.quote))
            case Unpin():
                pins = tuple(p for p in pins if p != Quote(edit.position, edit.quote))
            case Strip():
                stripped = (*stripped, *edit.positions)
            case Fold():
                problem = (
                    f"the compaction of record {record} in thread {key.thread!r} has no engine "
                    "snapshot"
                )
                raise ArchiveError(problem)
            case _:
                rewrites[edit.position] = edit
    return replace(snapshot, rewrites=tuple(rewrites.values()), pins=pins, stripped=stripped)


def _edits_between(
    archive: Archive, key: ThreadKey, base: int | None, record: int
) -> Sequence[Edit]:
    """Return the edits between a base, exclusive, and a record."""
    first = 0 if base is None else base + 1
    pages = read_pages(archive, key, first, record)
    ancestors = list(ancestry(pages, record))
    return [edit for number in reversed(ancestors) for edit in pages[number].edits]


MAX_ANSWERS = 10_000
"""Answers that came while a thread was open and are known, the newest: a window has fewer."""


@dataclass(slots=True)
class AnswerLog:
    """The answers of one branch by their ids; older ones are read as far as needed."""

    number: int | None = None
    """Place of the newest record that was not read yet; `None` if all were."""
    pages: Callable[[int, int], Mapping[int, TurnRecord]] = lambda _, __: {}
    """Returns the turn records from one to another, both included."""
    known: dict[str, GivenAnswer] = field(default_factory=dict)
    came_uids: deque[str] = field(default_factory=deque)
    """Ids of those that came while the thread was open, oldest first."""
    newest: GivenAnswer | None = None
    """The answer that came since the last turn record."""
    _length: int | None = None
    """Length of the log at the oldest turn that was read."""

    @classmethod
    def of(cls, archive: Archive, key: ThreadKey, number: int | None) -> Self:
        """Return the answers of the branch that ends with a turn; `None` for a new thread."""
        return cls(number, partial(read_pages, archive, key))

    def model(self, position: int, message: Message) -> str:
        """Return the model that produced an answer, as `provider:name`; empty if it is unknown."""
        answer = self._answer_at(position, message.uid)
        return "" if answer is None else answer.model

    def bond(self, position: int, message: Message) -> ReasoningBinding | None:
        """Return the binding of the signed reasoning of an answer; `None` if it is unknown."""
        answer = self._answer_at(position, message.uid)
        return None if answer is None else ReasoningBinding.read(answer.bond)

    def came(self, answer: GivenAnswer) -> None:
        """Take the answer to the request of the newest turn."""
        self.newest = answer
        if answer.uid:
            self.known[answer.uid] = answer
            self.came_uids.append(answer.uid)
        if len(self.came_uids) > MAX_ANSWERS:
            self.known.pop(self.came_uids.popleft(), None)

    def take(self) -> GivenAnswer | None:
        """Return the answer since the last turn record, and forget it."""
        newest, self.newest = self.newest, None
        return newest

    def _answer_at(self, position: int, uid: str) -> GivenAnswer | None:
        while uid and uid not in self.known and self.number is not None:
            if self._length is not None and self._length <= position:
                break  # the record that follows an answer has it
            self._read_records(self.number)
        return self.known.get(uid)

    def _read_records(self, last: int) -> None:
        """Read the records up to one, back to the start of a batch or to a damaged row."""
        records = self.pages(max(0, last - RECORDS_PER_BATCH + 1), last)
        number = last if last in records else None
        while number is not None and number in records:
            record = records[number]
            if record.answered is not None:
                self.known.setdefault(record.answered.uid, record.answered)
            self._length, number = record.length, record.parent
        self.number = number
