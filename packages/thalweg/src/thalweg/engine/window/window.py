"""The live window of a thread: the messages of the next model call, and its safe cuts.

Items are laid out so that a provider accepts them, for any order in the log: results follow their
calls directly, a call that was never answered gets a placeholder, a result that comes later than
the next turn becomes a note, nothing is sent empty. The layout is a function of the log and the
edits alone (I7), and between edits it only grows at its end (I37).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count
from operator import attrgetter, is_not, neg
from typing import Literal

from thalweg.engine.edits import Edit, Fold, Pin, Rewrite, Strip, Unpin
from thalweg.engine.entries import Entry, Message, Text, Thinking
from thalweg.engine.snapshot import EngineSnapshot, Quote, Record, RemovedResult, with_summary
from thalweg.engine.tokens import Counter, TokenCounts
from thalweg.engine.window.items import (
    BEGINS,
    CONTINUE_PROMPT,
    PlannedCompaction,
    WindowItem,
    has_compaction,
    is_blank,
    measured_item,
    placeholder,
    recounted,
    sendable_message,
    without_compactions,
    without_signed,
)

OverheadSection = Literal["system", "tools", "memory", "skills", "added"]
"""Sections of a request's overhead, in the order they are sent."""
_COUNTS = attrgetter("tokens", "size_bytes", "media", "media_tokens", "slack")
MAX_QUOTED_TOKENS = 1_600
"""Most tokens that a structured summary usually quotes of a request (`LEVELS`)."""


@dataclass(slots=True)
class Window:
    """The entries that are not compacted, the edits, and the resulting items."""

    count: Counter
    items: list[WindowItem] = field(default_factory=list)
    """The messages of the next call, after `settle`. Read only: the window changes it in place."""
    ledger: TokenCounts = field(default_factory=TokenCounts.empty)
    """Tokens of the request by section, and the bytes and media of `items`."""
    overhead: dict[OverheadSection, int] = field(default_factory=dict)
    """Overhead tokens of every request by section; set by `set_overhead`."""
    entries: dict[int, Entry] = field(default_factory=dict)
    """Live entries by position: not compacted, or kept by the compaction."""
    rewrites: dict[int, Rewrite] = field(default_factory=dict)
    """Edits of live messages, by position."""
    stripped: set[int] = field(default_factory=set)
    """Positions of live messages that are shown without their signed reasoning."""
    fold: Fold | None = None
    record: Record = field(default_factory=Record)
    """Data of the compacted messages."""
    pins: tuple[Quote, ...] = ()
    sent: int = 0
    """How many leading items the last request had; set by the sender."""
    model: str = ""
    """The model that decides how media count, see `measure`."""
    epoch: int = 0
    """Grows whenever a sent item changes: the prefix is no longer the same."""
    head: int = 0
    """Leading items that no cut may touch: system prompt, structured summary, kept messages."""
    repeats: dict[int, RemovedResult | None] = field(default_factory=dict)
    """What each result repeats, by position (see `plan.repeated_result`), until the next edit."""
    inserts: Mapping[str, WindowItem] = field(default_factory=dict)
    """Items that precede messages of the user, by their `uid`; set by `set_inserts`."""
    _system_entries: list[Entry] = field(default_factory=list)
    _open_turn: list[Entry] = field(default_factory=list)
    """The last assistant message and later ones: the turn that may still grow."""
    _sealed_count: int = 0
    """Number of items before the open turn."""
    _token_sums: list[int] = field(default_factory=lambda: [0])
    """Tokens of `items[:i]`, for every i."""
    _quoted_sums: list[int] = field(default_factory=lambda: [0])
    """Tokens that a structured summary would quote of the requests in `items[:i]`, for every i."""
    _cut_indices: list[int] = field(default_factory=list)
    """Indices into `items`, from `head` on, at which an exchange begins."""
    _is_dirty: bool = True
    planned: PlannedCompaction = field(init=False)

    def __post_init__(self) -> None:
        self.planned = PlannedCompaction(self.count)

    def set_overhead(self, section: OverheadSection, tokens: int) -> None:
        """Set the overhead tokens of a section, which every request has besides its messages.

        They count in every total, and no edit changes them. A later call replaces the value. A
        system prompt counts here or as a message, not as both.
        """
        self.ledger.add(section, tokens - self.overhead.get(section, 0))
        self.overhead[section] = tokens

    def set_inserts(
        self, inserts: Mapping[str, Message], memory_uids: Collection[str] | None = None
    ) -> None:
        """Set messages that precede messages of the user: facts from memory, for instance.

        An insert counts, it is sent as long as its message is, and is removed with it. It is in no
        log: a later call replaces all inserts.

        Args:
            inserts: By the `uid` of the message that each precedes.
            memory_uids: Those that count as `memory`, the others as `added`; all by default.
        """
        inserts = {uid: message for uid, message in inserts.items() if uid}
        old_messages = {uid: item.message for uid, item in self.inserts.items()}
        if inserts == old_messages:
            return
        changed_uids = {
            uid for uid in {*inserts, *old_messages} if inserts.get(uid) != old_messages.get(uid)
        }
        other_uids = set() if memory_uids is None else inserts.keys() - memory_uids
        new_items = {
            uid: self._insert_item(inserts[uid], "added" if uid in other_uids else "memory")
            for uid in inserts
            if uid in changed_uids
        }
        self.inserts = {uid: new_items.get(uid) or self.inserts[uid] for uid in inserts}
        changed_positions = {
            position
            for position, entry in self.entries.items()
            if entry.message.uid in changed_uids
        }
        if changed_positions <= {entry.position for entry in self._open_turn}:
            self._is_dirty = self._is_dirty or bool(changed_positions)
            self.settle()
        else:
            self._rebuild()

    def _insert_item(self, message: Message, section: str) -> WindowItem:
        return measured_item(message, self.count, self.model, section=section)

    @property
    def insert_positions(self) -> dict[str, int]:
        """The positions of the messages with an insert, by `uid`."""
        if not self.inserts:
            return {}
        live_uids = ((entry.message.uid, position) for position, entry in self.entries.items())
        return {uid: position for uid, position in live_uids if uid in self.inserts}

    def add(self, entry: Entry) -> None:
        """Add the thread's next entry."""
        is_leading = entry.position == len(self._system_entries) and self.fold is None
        if entry.message.role == "system" and is_leading:
            self.epoch += bool(self._remove_open_turn())
            self._system_entries.append(entry)
            self._push(self._item(entry, "system"))
            self.head = self._sealed_count = len(self.items)
            self._is_dirty = True
            return
        self.entries[entry.position] = entry
        self._add_to_turn(entry)

    def _add_to_turn(self, entry: Entry) -> None:
        if entry.message.role == "assistant":
            self.settle()
            self._sealed_count = len(self.items)
            self._open_turn = []
        self._open_turn.append(entry)
        self._is_dirty = True

    def settle(self) -> None:
        """Update `items` with the entries added since the last call."""
        if not self._is_dirty:
            return
        old_items = self._remove_open_turn()
        sent_count, is_changed = max(0, self.sent - self._sealed_count), False
        for index, item in enumerate(self._laid_out_turn(self._open_turn)):
            is_same = index < len(old_items) and old_items[index] == item
            is_changed |= not is_same and index < min(sent_count, len(old_items))
            self._push(old_items[index] if is_same else item)
        self._is_dirty = False
        self.epoch += is_changed

    def _remove_open_turn(self) -> list[WindowItem]:
        """Remove the open turn from the end of the items."""
        taken = self.items[self._sealed_count :]
        while len(self.items) > self._sealed_count:
            self._pop()
        return taken

    def _laid_out_turn(self, entries: Sequence[Entry]) -> list[WindowItem]:
        """Return the items of one turn; the first message after system prompts must be a user's."""
        turn_items = self._turn(entries) if entries else []
        if self.items and self.items[-1].message.role != "system":
            return turn_items
        has_started = any(item.message.role != "system" for item in self.items)
        first = next((item for item in turn_items if item.message.role != "system"), None)
        if not has_started and (first is None or first.message.role != "user"):
            begin = self._added_item(Message("user", (Text(BEGINS),), kind="injected"))
            return [begin, *turn_items]
        return turn_items

    def _turn(self, entries: Sequence[Entry]) -> list[WindowItem]:
        """Return an assistant message, the results of its calls, then the rest."""
        first, items = entries[0], list[WindowItem]()
        has_answer = first.message.role == "assistant" and not self._is_silent(first)
        uses = first.uses if has_answer else ()
        results: dict[str, Entry | None] = dict.fromkeys(map(attrgetter("id"), uses))
        for entry in entries if uses else ():
            if entry.answers and entry.answers.id in results:
                results[entry.answers.id] = entry
        if has_answer:
            items.append(self._item(first))
        for use in uses:
            if result := results[use.id]:
                items.append(self._item(result, opens=False))
            else:
                items.append(self._added_item(placeholder(use), opens=False))
        is_only_answer = has_answer and not uses
        for entry in entries[1:] if first.message.role == "assistant" else entries:
            if (entry.answers and entry.answers.id in results) or self._is_silent(entry):
                continue
            is_only_answer = False
            insert = self.inserts.get(entry.message.uid) if entry.is_request else None
            if insert is not None:  # no cut separates the two
                items.append(replace(insert, position=entry.position))
            items.append(self._item(entry, opens=insert is None))
        if is_only_answer:
            items.append(self._added_item(CONTINUE_PROMPT, opens=False))
        return items

    def _split_turns(self, positions: Iterable[int]) -> Iterator[list[Entry]]:
        """Split entries at assistant messages."""
        turn: list[Entry] = []
        for entry in (self.entries[position] for position in positions):
            if turn and entry.message.role == "assistant":
                yield turn
                turn = []
            turn.append(entry)
        if turn:
            yield turn

    def _is_silent(self, entry: Entry) -> bool:
        """Return whether nothing of a message remains to be sent.

        A request is always sent, as it began what follows. A message with only signed reasoning
        keeps its position when that is stripped, so that the prefix of later messages is unchanged.
        """
        edit = self.rewrites.get(entry.position)
        message = replace(entry.message, parts=edit.parts) if edit else entry.message
        is_sent = entry.is_request or any(
            isinstance(p, Thinking) and (p.text or p.signature) for p in message.parts
        )
        return is_blank(message) and not is_sent

    def _item(self, entry: Entry, section: str = "history", *, opens: bool = True) -> WindowItem:
        message, position = entry.message, entry.position
        if edit := self.rewrites.get(position):
            message = replace(message, parts=edit.parts, origin=None)
        if position in self.stripped:
            message = replace(message, parts=without_signed(message.parts), origin=None)
        if self.fold and position <= self.fold.last and has_compaction(message):
            message = without_compactions(message)  # it would hide the summary
        message = sendable_message(message, entry, is_result=not opens)
        if message is not entry.message:
            return measured_item(
                message, self.count, self.model, position=position, section=section, opens=opens
            )
        counts, media = (entry.tokens, entry.size_bytes, entry.media), entry.media_tokens
        return WindowItem(message, position, *counts, section, opens, media, entry.slack)

    def _added_item(self, message: Message, *, opens: bool = True) -> WindowItem:
        return measured_item(message, self.count, opens=opens)

    def _push(self, item: WindowItem) -> None:
        if item.opens and item.section in {"history", "memory"}:
            self._cut_indices.append(len(self.items))
        self.items.append(item)
        self._token_sums.append(self._token_sums[-1] + item.tokens)
        entry = self.entries.get(item.position)
        quoted = min(entry.tokens, MAX_QUOTED_TOKENS) if entry and entry.is_request else 0
        self._quoted_sums.append(self._quoted_sums[-1] + quoted)
        self.ledger.add(item.section, *_COUNTS(item))

    def _pop(self) -> None:
        item = self.items.pop()
        self._token_sums.pop()
        self._quoted_sums.pop()
        self.ledger.add(item.section, *map(neg, _COUNTS(item)))
        if self._cut_indices and self._cut_indices[-1] == len(self.items):
            self._cut_indices.pop()

    @property
    def tokens(self) -> int:
        """Tokens of the whole request, overhead included."""
        return self._token_sums[-1] + sum(self.overhead.values())

    @property
    def messages(self) -> int:
        """Messages of the request without system prompts; a structured summary is one."""
        head_messages = 1 + len(self.fold.kept) if self.fold else 0
        return head_messages + len(self.items) - self.head

    @property
    def open_entries(self) -> Sequence[Entry]:
        """The last assistant message and later ones: never sent before the next call."""
        return self._open_turn

    def tokens_from(self, index: int) -> int:
        """Tokens of `items[index:]`."""
        return self._token_sums[-1] - self._token_sums[index]

    def quoted_tokens(self, cut: int) -> int:
        """Tokens that a structured summary usually quotes of the requests before `items[cut]`."""
        return self._quoted_sums[cut] - self._quoted_sums[self.head]

    def shared_tokens(self, sent: Sequence[WindowItem]) -> int:
        """Tokens of the request up to the first item that differs from those sent before."""
        most = min(len(sent), len(self.items))
        shared = next(compress(count(), map(is_not, sent, self.items)), most)
        while shared < most and sent[shared] == self.items[shared]:
            shared += 1
        return sum(self.overhead.values()) + self._token_sums[shared]

    def end_of(self, position: int) -> int:
        """Return the index behind the last item up to a position."""
        return max((k for k, i in enumerate(self.items, 1) if i.position <= position), default=0)

    def cut_for_tail(self, tail_tokens: int) -> int:
        """Return the earliest safe cut with at most `tail_tokens` tokens after it.

        Returns:
            An index into `items`. The last cut if even that keeps more; `head` if nothing can be
            cut.
        """
        earliest = bisect_left(self._token_sums, self._token_sums[-1] - tail_tokens, self.head)
        cut = bisect_left(self._cut_indices, earliest)
        if cut < len(self._cut_indices):
            return max(self.head, self._cut_indices[cut])
        return max(self.head, self._cut_indices[-1]) if self._cut_indices else self.head

    def cut_for_messages(self, number: int) -> int:
        """Return the latest safe cut with at least `number` messages after it.

        Returns:
            An index into `items`; `head` if nothing can be cut.
        """
        cut = bisect_right(self._cut_indices, len(self.items) - number)
        return max(self.head, self._cut_indices[cut - 1]) if cut else self.head

    def entries_folded_by(self, cut: int, kept: Iterable[int] = ()) -> list[Entry]:
        """Return the live entries that a compaction at `items[cut]` replaces, oldest first.

        Args:
            cut: A safe cut.
            kept: Positions to keep, before or after the cut.
        """
        kept_positions = {item.position for item in self.items[cut:]} | set(kept)
        last_position = max((i.position for i in self.items[:cut]), default=-1)
        return [
            e
            for p, e in sorted(self.entries.items())
            if p <= last_position and p not in kept_positions
        ]

    @property
    def systems(self) -> int:
        """Number of system messages at the beginning of the thread."""
        return len(self._system_entries)

    def resume(self, snapshot: EngineSnapshot, entries: Iterable[Entry]) -> None:
        """Restore another window from its snapshot and its live entries, in order."""
        for entry in entries:
            is_leading = (
                entry.position == len(self._system_entries) and entry.message.role == "system"
            )
            if is_leading and (snapshot.fold is None or entry.position < snapshot.systems):
                self._system_entries.append(entry)
            else:
                self.entries[entry.position] = entry
        self.fold, self.record, self.pins = snapshot.fold, snapshot.record, snapshot.pins
        self.rewrites = {edit.position: edit for edit in snapshot.rewrites}
        self.stripped = set(snapshot.stripped)
        self._rebuild()

    def speak_to(self, model: str, count: Counter) -> None:
        """Set the model that decides how media and texts count, for live messages too."""
        if model == self.model:
            return
        is_other_counter, self.model = count is not self.count, model
        if is_other_counter:
            self.count, self.planned = count, PlannedCompaction(count)
            self._system_entries = [
                recounted(entry, count, model) for entry in self._system_entries
            ]
            inserts = self.inserts.items()
            self.inserts = {
                uid: self._insert_item(item.message, item.section) for uid, item in inserts
            }
            self._rebuild()
        affected = [e for e in self.entries.values() if is_other_counter or e.media]
        self.recount({e.position: recounted(e, count, model) for e in affected})

    def recount(self, entries: Mapping[int, Entry]) -> None:
        """Replace live entries by the same with other counts."""
        if entries:
            self.entries |= entries
            self._rebuild()

    def apply(self, edits: Sequence[Edit]) -> None:
        """Commit edits: the view changes, the log does not."""
        self.repeats.clear()
        new_positions = {entry.position for entry in self._open_turn}
        for edit in edits:
            match edit:
                case Fold():
                    self._apply_fold(edit)
                    new_positions.clear()
                case Strip():
                    self.stripped.update(edit.positions)
                    new_positions = (
                        new_positions if new_positions.issuperset(edit.positions) else set()
                    )
                case Pin():
                    self.pins = (*self.pins, Quote(edit.position, edit.quote))
                case Unpin():
                    unpinned = Quote(edit.position, edit.quote)
                    self.pins = tuple(pin for pin in self.pins if pin != unpinned)
                case _:
                    self.rewrites[edit.position] = edit
                    new_positions = new_positions if edit.position in new_positions else set()
        if not edits:
            return
        if new_positions:
            self._is_dirty = True
            self.settle()
        else:
            self._rebuild()

    def _apply_fold(self, fold: Fold) -> None:
        folded_positions = [p for p in self.entries if p <= fold.last and p not in fold.kept]
        first = self.record.last + 1 if fold.summary_first is None else fold.summary_first
        folded_entries = [self.entries.pop(p) for p in sorted(folded_positions)]
        self.record = self.planned.absorb(self.record, folded_entries)
        self.planned.applied()
        if fold.summary is not None:
            last = fold.last if fold.summary_last is None else fold.summary_last
            self.record = with_summary(self.record, first, last, fold.summary)
        for position in folded_positions:
            self.rewrites.pop(position, None)
        self.stripped.difference_update(folded_positions)
        self.fold = fold

    def _rebuild(self) -> None:
        self.items, self._token_sums, self._quoted_sums = [], [0], [0]
        self._cut_indices, self._open_turn = [], []
        self.ledger = TokenCounts.empty()
        self.repeats.clear()
        for section, tokens in self.overhead.items():
            self.ledger.add(section, tokens)
        self.epoch += 1
        self._sealed_count, self._is_dirty = 0, False
        for entry in self._system_entries:
            self._push(self._item(entry, "system"))
        positions = sorted(self.entries)
        if fold := self.fold:
            self._push(self.planned.item(fold.record))
            positions = [position for position in positions if position not in fold.kept]
            for turn in self._split_turns(fold.kept):
                for item in self._turn(turn):
                    self._push(replace(item, opens=False))
        self.head = self._sealed_count = len(self.items)
        for position in positions:
            self._add_to_turn(self.entries[position])
        self.settle()
