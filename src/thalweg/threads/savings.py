"""What the rewrites of a thread were expected to save, and what they have: from its journal.

Only who asks walks the journal; a turn writes three small fields into its page. The calls that
count are those on the way to the thread as it stands: what a rewind left behind, and the calls
between a fold and its undoing, are in no line.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from thalweg.archive import Archive, ThreadKey
from thalweg.context.edits import Edit, Fold, Pin, Strip, Unpin, forecast_of, main_reason
from thalweg.context.plan import RECALL
from thalweg.context.pricing import Tariff
from thalweg.context.savings import Change, Saving, Savings, Sent, foresee
from thalweg.entries import Message, Usage
from thalweg.threads.journal import Page, ancestry
from thalweg.threads.thread_history import Said, Taken
from thalweg.tokens import exact_counter, measure


@dataclass(frozen=True, slots=True)
class Saved:
    """The ledger of a thread as it stands."""

    lines: Mapping[int, Saving]
    """By the number of the turn that made the rewrite."""
    beyond: float = 0.0
    """What sending the tokens over the window would have cost: no request could hold them."""

    @property
    def realised(self) -> float:
        """What all rewrites together have saved so far, less what they cost."""
        return sum((line.realised for line in self.lines.values()), 0.0)


def saved_so_far(archive: Archive, key: ThreadKey, turns: Sequence[Taken]) -> Saved:
    """Draw up the ledger of a thread: every call on its way that was answered.

    Calls are charged by what the provider reported, and where it reported nothing by the rules
    of its cache. Turns whose page does not say their prices are passed over.

    Args:
        archive: Where the thread is.
        key: The thread.
        turns: All of them; see `history.turns`.
    """
    pages = {turn.number: turn.page for turn in turns}
    way = [*ancestry(pages, len(turns) - 1)][::-1]

    @cache
    def tariff_of(digest: str) -> Tariff:
        return Tariff.model_validate_json(archive.attachment(key, digest))

    told = _Telling(any(turn.usage and turn.usage.cached for turn in turns))
    asked: list[Message] = []
    for number in way:
        turn = turns[number]
        if not turn.page.tariff:
            continue
        told.enter(turn, tariff_of(turn.page.tariff))
        if turn.answer is None:
            continue
        told.fetch(asked)
        asked = _recalled(archive, key, turn.answer)
    return Saved(dict(zip(told.numbers, told.ledger.lines(), strict=True)), told.ledger.beyond)


@dataclass(slots=True)
class _Telling:
    """The ledger while it is drawn up."""

    is_cache_told: bool
    """Whether the provider says what it found in its cache."""
    ledger: Savings = field(default_factory=Savings)
    numbers: list[int] = field(default_factory=list)
    """Of the turns that the lines stand for."""
    sent: Sent | None = None
    """The last call."""
    _waiting: list[Taken] = field(default_factory=list)
    """Turns with edits, of which no call has come yet."""
    _tokens: int = 0
    """Of the last call."""
    _last: int = -1
    """Last position that was folded."""
    _kept: frozenset[int] = frozenset()
    """Positions before it that were not."""

    def enter(self, turn: Taken, tariff: Tariff) -> None:
        """Enter a turn: a call that was answered is charged, with all that was done since."""
        page = turn.page
        if page.edits:
            self._waiting.append(turn)
        if turn.answer is None:
            return
        for one in self._waiting:  # a request that was refused before this one
            if one.page.kind == "call":
                is_cold = page.is_cold or one.page.is_cold
                page = replace(page, same=min(page.same, one.page.same), is_cold=is_cold)
        sent = sent_of(page, tariff, turn.usage, is_cache_told=self.is_cache_told)
        change = None
        if self._waiting:
            edits = [edit for one in self._waiting for edit in one.page.edits]
            spent = [one.page.spent for one in self._waiting if one.page.spent]
            asked = sum(one.price(tariff) for one in spent)
            change = change_of(page.turn, edits, asked, took=self._took(edits))
            if change.forecast is None:  # from the data of that time
                foreseen = foresee(sent_of(page, tariff), change, self._tokens)
                change = replace(change, forecast=foreseen)
            folded = (t.number for t in self._waiting if _folds(t.page.edits))
            self.numbers.append(next(folded, self._waiting[0].number))
            self._waiting = []
        self._tokens = sum(page.tokens.values())
        self.ledger.window = page.window
        self.ledger.call(sent, change)
        self.sent = sent

    def _took(self, edits: Iterable[Edit]) -> Iterator[int]:
        for edit in edits:
            match edit:
                case Fold():
                    there = {*self._kept, *range(self._last + 1, edit.last + 1)}
                    yield from there - {*edit.kept}
                    self._last, self._kept = edit.last, frozenset(edit.kept)
                case Pin() | Unpin() | Strip():
                    pass
                case _:
                    yield edit.position

    def fetch(self, recalled: Sequence[Message]) -> None:
        """Charge the last call, made only for that, to the lines that took what it fetched.

        Args:
            recalled: The message that asked, and the results that came; nothing where none did.
        """
        if not recalled or self.sent is None:
            return
        count = exact_counter()
        call, *results = recalled
        read, full = self.sent.rates(self.sent.tokens)
        output = self.sent.tariff.prices(self.sent.tokens).output * self.sent.factor
        is_alone = len(call.calls) == len(results)
        for result in results:
            size = measure(result, count).tokens
            price = full * size
            if is_alone:
                wrote = measure(call, count).tokens / len(results)
                rest = self.sent.tokens / len(results)
                price += read * (rest - size - wrote) + (full + output) * wrote
                size += round(wrote)
            use = next((c.arguments for c in call.calls if c.id == result.answers), "")
            self.ledger.fetch(_named(use, result.text), price, size)


def sent_of(
    page: Page,
    tariff: Tariff,
    usage: Usage | None = None,
    *,
    is_cache_told: bool = False,
) -> Sent:
    """Tell how the request of a turn was charged, or will be.

    Args:
        page: The turn.
        tariff: Its model's prices.
        usage: What the provider reported for it.
        is_cache_told: Whether this provider says what it found in its cache.
    """
    tokens, is_cold = sum(page.tokens.values()), page.is_cold
    factor = usage.input / tokens if usage and usage.input > 0 and tokens else 1.0
    cached = 0 if is_cold else min(page.same, tokens)
    written = tokens - cached
    if usage is not None and is_cache_told:
        cached = min(tokens, round(usage.cached / factor))
        is_cold = is_cold and not cached
        written = round(usage.written / factor) if usage.written else tokens - cached
    return Sent(
        tariff=tariff,
        tokens=tokens,
        cached=cached,
        written=written,
        same=page.same,
        is_cold=is_cold,
        factor=factor,
    )


def change_of(turn: int, edits: Sequence[Edit], asked: float, took: Iterable[int] = ()) -> Change:
    """Put together what was done before one request.

    Args:
        turn: Which model call of the thread it is.
        edits: What was done; at least one.
        asked: What the models cost that were asked for summaries.
        took: Positions of the messages that are no longer shown word for word.
    """
    return Change(
        turn=turn,
        reason=main_reason(edits),
        freed=sum(edit.freed for edit in edits),
        took=took,
        asked=asked,
        forecast=forecast_of(edits),
    )


def _folds(edits: Sequence[Edit]) -> bool:
    return any(isinstance(edit, Fold) for edit in edits)


def _recalled(archive: Archive, key: ThreadKey, answer: Said) -> list[Message]:
    """Give an answer that calls `recall`, and the results; nothing where it does not."""
    call, at = answer.message, answer.position
    ids = {c.id for c in call.calls if c.name == RECALL}
    if not ids:
        return []
    behind = archive.messages(key, at + 1, at + len(call.calls))
    results = [one for one in behind if one.role == "tool" and one.answers in ids]
    return [call, *results] if results else []


_HANDLE = re.compile(r'"[a-z2-7]{16}#(\d{1,9})(?:-\d+)?"')
_PASSAGE = re.compile(r"(?m)^#(\d{1,9}) ")


def _named(arguments: str, result: str) -> int:
    """Find the first message that a recall read; -1 where neither question nor answer says."""
    found = _HANDLE.search(arguments) or _PASSAGE.search(result)
    return int(found[1]) if found else -1
