"""Which of the ranked items fit into a budget, counted in their final form."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thalweg.engine.tokens import Counter
from thalweg_memory.facts.merging.comparing import words_of
from thalweg_memory.facts.recall import rendering
from thalweg_memory.facts.recall.found import RecallItem
from thalweg_memory.facts.recall.ranking import Ranked
from thalweg_memory.facts.recall.rendering import RecallLine, line, render_lines
from thalweg_memory.facts.values import Evidence, Profile

PROFILE_SHARE = 0.3
"""Of the budget, for the profile at most."""
STATED_SHARE = 0.25
"""Of the budget, kept for facts that the user stated or put right by hand."""
STANDING_SHARE = 0.25
"""Of the budget, for facts that no word asked for."""

_LEAST = 3
"""Tokens of a line without a word."""

Fate = Literal["shown", "no room", "said already"]


@dataclass(frozen=True, slots=True)
class PackedItem:
    """What became of a ranked item."""

    ranked: Ranked
    fate: Fate
    tokens: int
    """Its tokens without its heading; a lower bound for an item that does not fit."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The recalled items: a block that fits its budget."""

    text: str = ""
    """The block that a model reads; empty if nothing was recalled or nothing fits."""
    tokens: int = 0
    """Of the block."""
    placed: tuple[PackedItem, ...] = ()
    """The content of the block, best first, each with the features of its score; with `explain`
    also omitted items, with the reasons."""
    profile: Profile = field(default_factory=Profile)
    """The sections that are in the block."""

    @property
    def items(self) -> tuple[RecallItem, ...]:
        """The items in the block, best first."""
        return tuple(one.ranked.item for one in self.placed if one.fate == "shown")


def pack(
    ranked: Sequence[Ranked],
    budget: int,
    count: Counter,
    *,
    profile: Profile | None = None,
    standing: Sequence[Ranked] = (),
    related: Sequence[Ranked] = (),
    newest: Sequence[Ranked] = (),
    zone: str = "",
) -> Recalled:
    """Fill a budget, best first. Items that do not fit are skipped: a smaller one may fit.

    The profile comes first, then facts that the user stated by hand, each up to its share, then all
    by score, the items shown for every question, the related ones, and last the newest turns. An
    item that states the same as something better is omitted, and so is a turn of which a fact is
    shown.

    Args:
        ranked: Best first.
        budget: Most tokens of the block, its frame and headings included.
        count: Counts tokens.
        profile: Memory's description of the user in whole sentences.
        standing: Items shown up to their share although nothing asks for them, best first.
        related: Items shown if space remains, best first.
        newest: Turns shown likewise, up to the share of `standing`.
        zone: The time zone of the days; see `MemorySettings.time_zone`.
    """
    quoted = any(rendering.is_quoted(one.item) for one in (*ranked, *standing, *related))
    opening = rendering.opening(quoted=quoted)
    room = _OpenBlock(budget, count, zone, opening)
    sections = room.take_profile(profile or Profile())
    stated = [one for one in ranked if _is_stated(one.item)]
    room.take(stated, int(budget * STATED_SHARE))
    room.take(ranked, budget)
    room.take(standing, int(budget * STANDING_SHARE))
    room.take(related, budget)
    there = {one.item.number for one in related}
    newest = [one for one in newest if one.item.number not in there]
    room.take(newest, int(budget * STANDING_SHARE))
    return room.packed([*ranked, *standing, *related, *newest], sections)


def _is_stated(item: RecallItem) -> bool:
    fact = item.fact
    return fact is not None and (fact.written_by == "user" or fact.protected)


class _OpenBlock:
    """A block while it is filled."""

    def __init__(self, budget: int, count: Counter, zone: str, opening: str) -> None:
        self._count = count
        self._zone = zone
        self._budget = budget
        self._left = budget - count(opening) - count(rendering.closing())
        self._days = {""}
        self._years: set[str] = set()
        self._headings: dict[tuple[str, str], int] = {}
        self._contents = _LineContents()
        self._fates: dict[int, PackedItem] = {}
        self._lines: dict[int, RecallLine] = {}

    def take_profile(self, profile: Profile) -> Profile:
        """Take the sections that fit in their share, in their order."""
        left = min(self._left, int(self._budget * PROFILE_SHARE))
        kept = []
        for section in profile.sections:
            cost = sum(map(self._count, rendering.profile_lines(Profile((section,)))))
            if cost <= left:
                left -= cost
                self._left -= cost
                kept.append(section)
        return Profile(tuple(kept))

    def take(self, ranked: Iterable[Ranked], share: int) -> None:
        """Take what fits, best first, until a share of the budget is used."""
        for one in ranked:
            known = self._fates.get(one.item.number)
            if known is not None and known.fate != "no room":
                continue
            # A word has a token at least: what cannot fit need not be written and counted.
            least = one.item.text.count(" ") + _LEAST
            if least > self._left:
                self._fates[one.item.number] = PackedItem(one, "no room", least)
                continue
            shown = line(one.item, self._zone)
            tokens = self._count(shown.text)
            cost = tokens
            if shown.day not in self._days:
                cost += self._of_heading(shown.day)
            fate: Fate = "shown" if cost <= min(self._left, share) else "no room"
            gist = _gist(shown)
            if self._contents.has(one.item, gist):
                fate = "said already"
            self._fates[one.item.number] = PackedItem(one, fate, tokens)
            if fate == "shown":
                share -= cost
                self._left -= cost
                self._days.add(shown.day)
                self._years.add(shown.day[:4])
                self._contents.add(one.item, gist)
                self._lines[one.item.number] = shown

    def _of_heading(self, day: str) -> int:
        """Return the tokens of a day's heading; many lines that do not fit may be of one day."""
        year = day[:4] if day[:4] in self._years else ""
        if (known := self._headings.get((day, year))) is None:
            known = self._count(rendering.heading(day, year))
            self._headings[day, year] = known
        return known

    def packed(self, ranked: Sequence[Ranked], profile: Profile) -> Recalled:
        """Write the block. A counter that is not additive may find it too large: then less."""
        shown = [one for one in ranked if self._fates[one.item.number].fate == "shown"]
        told = [each for one in shown if one.item.fact for each in one.item.fact.evidence]
        for one in [one for one in shown if _is_told(one.item, told)]:
            shown.remove(one)
            tokens = self._fates[one.item.number].tokens
            self._fates[one.item.number] = PackedItem(one, "said already", tokens)
        while True:
            text = render_lines(
                ((one.item, self._lines[one.item.number]) for one in shown), profile
            )
            tokens = self._count(text)
            if tokens <= self._budget:
                break
            if shown:
                last = shown.pop()
                lost = self._fates[last.item.number]
                self._fates[last.item.number] = PackedItem(last, "no room", lost.tokens)
            elif profile.sections:
                profile = Profile(profile.sections[:-1])
            else:
                text, tokens = "", 0
                break
        return Recalled(
            text, tokens, tuple(self._fates[one.item.number] for one in ranked), profile
        )


def _is_told(item: RecallItem, evidence: Sequence[Evidence]) -> bool:
    """Return whether an item is a piece of a turn that holds the quote of a shown fact."""
    turn, text = item.turn, item.text
    return turn is not None and any(
        each.uid == turn.uid and each.quote and each.quote in text for each in evidence
    )


class _LineContents:
    """The content of the lines of a block."""

    def __init__(self) -> None:
        self._gists: set[str] = set()
        self._pieces: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, item: RecallItem, gist: str) -> None:
        """Take in a line."""
        self._gists.add(gist)
        if item.turn is not None:
            self._pieces[item.turn.uid].append(item.text)

    def has(self, item: RecallItem, gist: str) -> bool:
        """Return whether a line adds nothing new.

        It states the same as another one, except for letters' case and punctuation; or it is a fact
        with no other word of content than the turn that it was learned from, which is there.
        """
        if gist in self._gists:
            return True
        if item.fact is None:
            return False
        content = set(words_of(item.fact.content))
        return any(
            one.quote in piece and content.issubset(words_of(piece))
            for one in item.fact.evidence
            for piece in self._pieces.get(one.uid, ())
        )


_POINTS = dict.fromkeys(map(ord, "!\"'(),.:;?\u2018\u2019\u201c\u201d\u2026、。！，：；？"))


def _gist(shown: RecallLine) -> str:
    return shown.text.casefold().translate(_POINTS)
