"""The journal of a thread: the decisions before each model call, stored in the archive.

A turn names its parent turn, so a thread that was rewound, or run by two processes at once, is a
tree of turns over one log, and every context in it can be rebuilt.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, Literal

from thalweg.archive import Archive, Logged, Span, ThreadKey, TurnRow
from thalweg.archive.threads.branch import ThreadBranch
from thalweg.engine.additions import Listed
from thalweg.engine.edits import Edit, Fold, Pin, Repair, Strip, Unpin
from thalweg.engine.engine import Engine
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.serialization import (
    edit_to_plain,
    edits_from_plain,
    made_of,
    standing_from_bytes,
    standing_to_bytes,
)
from thalweg.engine.snapshot import EngineSnapshot, Quote
from thalweg.errors import ArchiveError

THIS = -1
"""As the base of a turn record: the turn itself."""
Kind = Literal["call", "end", "undo", "rewind", "pin", "unpin", "compact", "import"]
"""A model call; the end of a run; a person's operation on the thread; imported rows."""
BY_HAND = frozenset[Kind]({"undo", "rewind", "pin", "unpin", "compact"})
"""The kinds of turns that a person added."""


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
    """The turn record (journal row)."""

    kind: Kind
    at: float
    """Time in seconds since 1970."""
    parent: int | None = None
    """The parent turn, from which it continues."""
    instead_of: int | None = None
    """The turn of the state, if the engine could not continue from it but from an earlier one."""
    root: int = 0
    """Length of the log when its branch began: a state without a checkpoint pointer began it. The
    first branch of a thread has 0."""
    base: int | None = None
    """The nearest ancestor turn with an engine snapshot: `THIS` for the turn itself, `None` before
    the first compaction."""
    length: int
    """Length of the log."""
    line: ThreadBranch = field(default_factory=ThreadBranch)
    """The visible positions of the thread."""
    held: tuple[Span, ...] = ()
    """Those also stored in the state of the agent's graph, in its order."""
    turn: int = 0
    """Model calls so far."""
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
    note: str = ""
    """Further information: why a summary was refused, a person's comment."""
    repairs: tuple[Repair, ...] = ()
    """Messages sent in another form than the edits show, since the previous turn: the provider
    would have refused them."""
    rejected: str = ""
    """Error of the provider that refused this turn's request, and its repair.

    The next request omits the refused content."""
    cleared: tuple[int, int] = (0, 0)
    """Tool uses that the provider cleared from the previous request, and its count of tokens."""
    answered: GivenAnswer | None = None
    """How the request of the parent turn was answered; `None` if it was not."""
    additions: tuple[Listed, ...] = ()
    """Parts of the request besides the thread's messages and the tools."""
    session: Mapping[str, Any] = field(default_factory=dict)
    """For an import: facts about the recorded session, as JSON values."""

    @property
    def released(self) -> int:
        """Messages of the thread that were removed from the graph's state."""
        both = (
            min(held.last, span.last) - max(held.first, span.first) + 1
            for held in self.held
            for span in self.line.spans
        )
        return len(self.line) - sum(count for count in both if count > 0)


def page_to_json(page: TurnRecord) -> str:
    """Serialize a turn record as a line of JSON; `page_from_json` parses it.

    Example:
        >>> page = TurnRecord(kind="call", at=1.5, length=3, line=ThreadBranch.of([0, 1, 2]))
        >>> page_from_json(page_to_json(page)) == page
        True
    """
    plain: dict[str, Any] = {
        name: value
        for name in TurnRecord.__dataclass_fields__
        if (value := getattr(page, name)) not in (None, 0, "", (), {}, (0, 0))
    }
    plain["line"] = [[s.first, s.last] for s in page.line.spans]
    plain["held"] = [[s.first, s.last] for s in page.held]
    plain["edits"] = [edit_to_plain(edit) for edit in page.edits]
    if page.instead_of is not None:
        plain["instead_of"] = page.instead_of
    if page.repairs:
        plain["repairs"] = [asdict(repair) for repair in page.repairs]
    if page.additions:
        plain["additions"] = [astuple(one) for one in page.additions]
    plain["parent"], plain["base"] = page.parent, page.base
    if page.answered is not None:
        plain["answered"] = asdict(page.answered)
    if page.spent is not None:
        plain["spent"] = asdict(page.spent)
    return json.dumps(plain, separators=(",", ":"))


def page_from_json(text: str) -> TurnRecord:
    """Parse the output of `page_to_json`; fields and edits of a newer version are ignored.

    Raises:
        ValueError: The text is damaged, or lacks a field.
    """
    try:
        return _page(json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"not a turn record: {type(error).__name__}: {error}"
        raise ValueError(problem) from error


def _page(plain: dict[str, Any]) -> TurnRecord:
    plain["line"] = ThreadBranch(tuple(Span(first, last) for first, last in plain["line"]))
    plain["held"] = tuple(Span(first, last) for first, last in plain["held"])
    plain["edits"] = tuple(edits_from_plain(plain["edits"]))
    plain["cleared"] = tuple(plain.get("cleared", (0, 0)))
    plain["repairs"] = tuple(made_of(Repair, repair) for repair in plain.get("repairs", ()))
    plain["additions"] = tuple(Listed(*one) for one in plain.get("additions", ()))
    known = plain.get("calibration", {})
    plain["calibration"] = {model: (factor, seen) for model, (factor, seen) in known.items()}
    if "answered" in plain:
        plain["answered"] = GivenAnswer(**plain["answered"])
    if "spent" in plain:
        plain["spent"] = made_of(Usage, plain["spent"])
    return made_of(TurnRecord, {"at": 0.0, "length": 0, **plain})


def read_page(archive: Archive, key: ThreadKey, turn: int) -> TurnRecord:
    """Return one turn record.

    Raises:
        ArchiveError: The journal has no such turn, or its row is damaged.
    """
    found = archive.turns(key, turn, turn)
    if not found:
        problem = f"thread {key.thread!r} has no turn {turn}; `thalweg thread show` lists them"
        raise ArchiveError(problem)
    try:
        return page_from_json(found[0])
    except ValueError as error:
        problem = (
            f"turn {turn} of thread {key.thread!r} cannot be read, its row in the archive is "
            f"damaged ({error}); restore the archive from a backup or use another turn"
        )
        raise ArchiveError(problem) from error


def page_at(archive: Archive, key: ThreadKey, turn: int | None = None) -> tuple[int, TurnRecord]:
    """Return a turn record with its number; by default the newest.

    Raises:
        ArchiveError: The journal has no such turn.
    """
    if turn is not None:
        return turn, read_page(archive, key, turn)
    newest = archive.turn_count(key) - 1
    if newest < 0:
        problem = f"thread {key.thread!r} has no turns: nothing was sent yet"
        raise ArchiveError(problem)
    return newest, read_page(archive, key, newest)


def read_pages(
    archive: Archive, key: ThreadKey, first: int = 0, last: int | None = None
) -> dict[int, TurnRecord]:
    """Return turn records by number, `last` included; those with a damaged row are omitted."""
    pages: dict[int, TurnRecord] = {}
    for number, body in enumerate(archive.turns(key, first, last), first):
        with suppress(ValueError):
            pages[number] = page_from_json(body)
    return pages


def ancestry(pages: Mapping[int, TurnRecord], number: int | None) -> Iterator[int]:
    """Yield the numbers of a turn and its ancestors, as far as the records go."""
    while number is not None and number in pages:
        yield number
        number = pages[number].parent


def enter_page(
    archive: Archive,
    key: ThreadKey,
    page: TurnRecord,
    parent: TurnRecord | None,
    engine: Engine,
    log: Sequence[Logged] = (),
    *,
    length: int | None = None,
    generation: int = 0,
) -> tuple[int, TurnRecord]:
    """Append a turn to the journal, with an engine snapshot if it compacted.

    Args:
        archive: The archive of the thread.
        key: The thread.
        page: The turn record; its base is filled in.
        parent: The record of its parent turn.
        engine: The engine after the turn.
        log: Messages not in the archive yet, on which the turn was decided, too.
        length: Current length of the log; by default the record's, without `log`.
        generation: Generation of the thread (`Archive.extent`); 0 for any.

    Returns:
        Its number, and the record as it was stored.

    Raises:
        ConflictError: The log has another length now.
    """
    folded = any(isinstance(edit, Fold) for edit in page.edits)
    before = None if parent is None else parent.base
    before = page.parent if before == THIS else before
    page = replace(page, base=THIS if folded else before)
    state = standing_to_bytes(engine.standing()) if folded else b""
    seen = page.length - len(log) if length is None else length
    row = TurnRow(page_to_json(page), state)
    return archive.add_turn(key, row, length=seen, log=log, generation=generation), page


def standing_at(archive: Archive, key: ThreadKey, turn: int, page: TurnRecord) -> EngineSnapshot:
    """Return the engine snapshot after a turn.

    Args:
        archive: The archive of the thread.
        key: The thread.
        turn: Number of the turn.
        page: The turn record.

    Raises:
        ArchiveError: The snapshot of the compaction is missing or damaged.
    """
    base = turn if page.base == THIS else page.base
    try:
        saved = (
            EngineSnapshot() if base is None else standing_from_bytes(archive.turn_state(key, base))
        )
    except ValueError as error:
        problem = f"the compaction of turn {base} in thread {key.thread!r} cannot be read: {error}"
        raise ArchiveError(problem) from error
    if page.base == THIS:
        return saved
    rewrites = {edit.position: edit for edit in saved.rewrites}
    pins, stripped = saved.pins, saved.stripped
    for edit in _edits_between(archive, key, page.base, turn):
        match edit:
            case Pin():
                pins = (*pins, Quote(edit.position, edit.quote))
            case Unpin():
                pins = tuple(p for p in pins if p != Quote(edit.position, edit.quote))
            case Strip():
                stripped = (*stripped, *edit.positions)
            case Fold():
                problem = (
                    f"the compaction of turn {turn} in thread {key.thread!r} has no engine snapshot"
                )
                raise ArchiveError(problem)
            case _:
                rewrites[edit.position] = edit
    return replace(saved, rewrites=tuple(rewrites.values()), pins=pins, stripped=stripped)


def _edits_between(archive: Archive, key: ThreadKey, base: int | None, turn: int) -> Sequence[Edit]:
    """Return the edits between a base, exclusive, and a turn."""
    first = 0 if base is None else base + 1
    pages = read_pages(archive, key, first, turn)
    way = list(ancestry(pages, turn))
    return [edit for number in reversed(way) for edit in pages[number].edits]
