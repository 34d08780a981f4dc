"""A recording, read once for all policies, and what each tariff makes of it."""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from thalweg.engine.entries import Entry, Message
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.reading import Reader
from thalweg.engine.window.window import Window
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.cache import PrefixCache, RequestCharge
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.uses import LaterUse, find_uses


@dataclass(frozen=True, slots=True)
class ReplaySubject:
    """A recording and the values that are the same under every policy and tariff."""

    recording: Recording
    questions: Questions
    entries: Sequence[Entry]
    """All of its messages, by position."""
    uses: Mapping[int, Sequence[LaterUse]]
    """Later uses of earlier messages, by the position of the turn that uses them."""


@dataclass(frozen=True, slots=True)
class TariffTerms:
    """A tariff, and the values that it implies for a recording under every policy."""

    tariff: Tariff
    cold: frozenset[int]
    """Positions of assistant messages that were asked for after the cache had expired."""
    whole: Mapping[int, RequestCharge]
    """What every call costs that is sent whole, in a window without end; by the position of the
    assistant message that answers it."""

    @property
    def cost_unmanaged(self) -> float:
        """Of sending every call whole."""
        return sum((charge.cost for charge in self.whole.values()), 0.0)


def subject_of(recording: Recording, questions: Questions) -> ReplaySubject:
    """Read a recording once for all policies."""
    reader = Reader(exact_counter())
    entries = [reader.read(message) for message in recording.messages]
    uses: dict[int, list[LaterUse]] = defaultdict(list)
    for use in find_uses(entries):
        uses[use.turn].append(use)
    return ReplaySubject(recording, questions, entries, uses)


def terms_of(subject: ReplaySubject, tariff: Tariff) -> TariffTerms:
    """Return the effect of a tariff on a recording, independent of the policy."""
    cold = frozenset(_cold_turns(subject.recording.messages, tariff.lifetime_s))
    return TariffTerms(tariff, cold, _whole(subject.entries, cold, tariff))


def _whole(
    entries: Sequence[Entry], cold: Container[int], tariff: Tariff
) -> dict[int, RequestCharge]:
    window, cache = Window(exact_counter()), PrefixCache(tariff)
    charges: dict[int, RequestCharge] = {}
    for entry in entries:
        if entry.message.role == "assistant":
            window.settle()
            charges[entry.position] = cache.send(window.items, cold=entry.position in cold)
        window.add(entry)
    return charges


def _cold_turns(messages: Sequence[Message], lifetime_s: float | None) -> list[int]:
    cold: list[int] = []
    sent_at = answered_at = None
    for position, message in enumerate(messages):
        if message.role == "assistant":
            if lifetime_s and sent_at and answered_at:
                cold += [position] if (sent_at - answered_at).total_seconds() > lifetime_s else []
            answered_at = _time(message.at) or answered_at
        else:
            sent_at = _time(message.at) or sent_at
    return cold


def _time(at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(at).replace(tzinfo=None)
    except ValueError:
        return None
