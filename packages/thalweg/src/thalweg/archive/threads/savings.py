"""Predicted and realized savings of a thread's rewrites, computed from its journal.

Only a query reads the journal; a turn writes three small fields into its record. Calls count only
on the current branch: turns that a rewind abandoned, and the calls between a compaction and its
undoing, are in no line.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import TurnRecord, ancestry
from thalweg.archive.threads.thread_history import LoggedMessage, Taken
from thalweg.engine.edits import Edit, Fold, Pin, Strip, Unpin, forecast_of, main_reason
from thalweg.engine.entries import RECALL, Message
from thalweg.engine.pricing.cost import units_of
from thalweg.engine.pricing.savings import ChargedRequest, RequestChanges, Saving, Savings, foresee
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter, measure


@dataclass(frozen=True, slots=True)
class BranchSavings:
    """The savings of the current branch of a thread."""

    lines: Mapping[int, Saving]
    """By the place of the record that made the rewrite."""
    beyond: float = 0.0
    """Cost of sending the tokens over the window, which no request could hold."""
    course: Mapping[int, float] = field(default_factory=dict)
    """`realised` as of each answered call, by the place of its record."""

    @property
    def realised(self) -> float:
        """Savings of all rewrites so far, minus their cost."""
        return sum((line.realised for line in self.lines.values()), 0.0)


def compute_savings(archive: Archive, key: ThreadKey, turns: Sequence[Taken]) -> BranchSavings:
    """Compute the savings of a thread from every answered call of its branch.

    Calls are charged by the reported usage, and without a report by the rules of the provider's
    cache. Turns without recorded prices are skipped.

    Args:
        archive: The archive of the thread.
        key: The thread.
        turns: All of them; see `history.turns`.
    """
    pages = {turn.record: turn.page for turn in turns}
    ancestors = [*ancestry(pages, len(turns) - 1)][::-1]

    @cache
    def tariff_of(digest: str) -> Tariff:
        return Tariff.model_validate_json(archive.attachment(key, digest))

    totals = _SavingsState(any(turn.usage and turn.usage.cached for turn in turns))
    course: dict[int, float] = {}
    recalled: list[Message] = []
    for number in ancestors:
        turn = turns[number]
        if not turn.page.tariff:
            continue
        totals.enter(turn, tariff_of(turn.page.tariff))
        if turn.answer is None:
            continue
        totals.fetch(recalled)
        course[number] = sum(line.realised for line in totals.ledger.lines())
        recalled = _recalled(archive, key, turn.answer)
    return BranchSavings(
        dict(zip(totals.numbers, totals.ledger.lines(), strict=True)), totals.ledger.beyond, course
    )


@dataclass(slots=True)
class _SavingsState:
    """The savings while they are computed."""

    is_cache_reported: bool
    """Whether the provider reports cached tokens."""
    ledger: Savings = field(default_factory=Savings)
    numbers: list[int] = field(default_factory=list)
    """Places of the records of the lines."""
    sent: ChargedRequest | None = None
    """The last call."""
    _waiting: list[Taken] = field(default_factory=list)
    """Turns with edits that no call has followed yet."""
    _tokens: int = 0
    """Tokens of the last call."""
    _last: int = -1
    """Last compacted position."""
    _kept: frozenset[int] = frozenset()
    """Earlier positions that were not compacted."""

    def enter(self, turn: Taken, tariff: Tariff) -> None:
        """Add a turn: an answered call is charged, with all changes since the last one."""
        page = turn.page
        if page.edits:
            self._waiting.append(turn)
        if turn.answer is None:
            return
        for waiting_turn in self._waiting:  # requests refused before this one
            if waiting_turn.page.kind == "call":
                is_cold = page.is_cold or waiting_turn.page.is_cold
                page = replace(page, same=min(page.same, waiting_turn.page.same), is_cold=is_cold)
        charged = charged_request(
            page, tariff, turn.usage, is_cache_reported=self.is_cache_reported
        )
        change = None
        if self._waiting:
            edits = [edit for waiting_turn in self._waiting for edit in waiting_turn.page.edits]
            spent = [
                waiting_turn.page.spent for waiting_turn in self._waiting if waiting_turn.page.spent
            ]
            summary_cost = sum(units_of(waiting_turn, tariff) for waiting_turn in spent)
            change = combined_change(
                page.calls, edits, summary_cost, took=self._removed_positions(edits)
            )
            if change.forecast is None:  # from the data of that time
                expected = foresee(charged_request(page, tariff), change, self._tokens)
                change = replace(change, forecast=expected)
            folded = (
                turn_with_fold.record
                for turn_with_fold in self._waiting
                if any(isinstance(edit, Fold) for edit in turn_with_fold.page.edits)
            )
            self.numbers.append(next(folded, self._waiting[0].record))
            self._waiting = []
        self._tokens = sum(page.tokens.values())
        self.ledger.window = page.window
        self.ledger.call(charged, change)
        self.sent = charged

    def _removed_positions(self, edits: Iterable[Edit]) -> Iterator[int]:
        for edit in edits:
            match edit:
                case Fold():
                    compacted = {*self._kept, *range(self._last + 1, edit.last + 1)}
                    yield from compacted - {*edit.kept}
                    self._last, self._kept = edit.last, frozenset(edit.kept)
                case Pin() | Unpin() | Strip():
                    pass
                case _:
                    yield edit.position

    def fetch(self, recalled: Sequence[Message]) -> None:
        """Charge the last call, a step to removed content, to the lines that removed it.

        Args:
            recalled: The calling message, and the results; empty if it did not call `recall`.
        """
        if not recalled or self.sent is None:
            return
        count = exact_counter()
        call, *results = recalled
        is_alone = len(call.calls) == len(results)
        for result in results:
            result_tokens = measure(result, count).tokens
            call_tokens = context = 0.0
            if is_alone:
                call_tokens = measure(call, count).tokens / len(results)
                context = self.sent.tokens / len(results) - result_tokens - call_tokens
            price = self.sent.step_price(
                context=context, arguments=call_tokens, added=result_tokens
            )
            result_tokens += round(call_tokens)
            call_arguments = next((c.arguments for c in call.calls if c.id == result.answers), "")
            self.ledger.fetch(_first_recalled(call_arguments, result.text), price, result_tokens)


def charged_request(
    page: TurnRecord,
    tariff: Tariff,
    usage: Usage | None = None,
    *,
    is_cache_reported: bool = False,
) -> ChargedRequest:
    """Return the charged tokens and prices of a turn's request, actual or expected.

    Args:
        page: The turn record.
        tariff: Its model's prices.
        usage: The reported usage.
        is_cache_reported: Whether this provider reports cached tokens.
    """
    tokens, is_cold = sum(page.tokens.values()), page.is_cold
    factor = usage.input / tokens if usage and usage.input > 0 and tokens else 1.0
    cached = 0 if is_cold else min(page.same, tokens)
    written = tokens - cached
    if usage is not None and is_cache_reported:
        cached = min(tokens, round(usage.cached / factor))
        is_cold = is_cold and not cached
        written = round(usage.written / factor) if usage.written else tokens - cached
    return ChargedRequest(
        tariff=tariff,
        tokens=tokens,
        cached=cached,
        written=written,
        same=page.same,
        is_cold=is_cold,
        factor=factor,
    )


def combined_change(
    turn: int, edits: Sequence[Edit], summary_cost: float, took: Iterable[int] = ()
) -> RequestChanges:
    """Return the combined change before one request.

    Args:
        turn: Number of the model call in the thread.
        edits: The edits; at least one.
        summary_cost: Cost of the models that wrote summaries.
        took: Positions of the messages that are no longer shown verbatim.
    """
    return RequestChanges(
        turn=turn,
        reason=main_reason(edits),
        freed=sum(edit.freed for edit in edits),
        took=took,
        summary_cost=summary_cost,
        forecast=forecast_of(edits),
    )


def _recalled(archive: Archive, key: ThreadKey, answer: LoggedMessage) -> list[Message]:
    """Return an answer that calls `recall`, and the results; empty if it does not."""
    call, call_position = answer.message, answer.position
    ids = {c.id for c in call.calls if c.name == RECALL}
    if not ids:
        return []
    following = archive.messages(key, call_position + 1, call_position + len(call.calls))
    results = [
        message for message in following if message.role == "tool" and message.answers in ids
    ]
    return [call, *results] if results else []


_HANDLE = re.compile(r'"[a-z2-7]{16}#(\d{1,9})(?:-\d+)?"')
_PASSAGE = re.compile(r"(?m)^#(\d{1,9}) ")


def _first_recalled(arguments: str, result: str) -> int:
    """Return the first message that a recall read; -1 if neither call nor result names it."""
    match = _HANDLE.search(arguments) or _PASSAGE.search(result)
    return int(match[1]) if match else -1
