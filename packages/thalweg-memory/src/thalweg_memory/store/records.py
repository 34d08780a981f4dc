"""The values of a store, and how they are written in rows: JSON in UTF-8, and digests."""

import hashlib
import hmac
import json
import re
import unicodedata
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, Self

from thalweg.database import jobs
from thalweg.database.base import decode, encode
from thalweg.engine.words import TOKEN, words
from thalweg_memory.facts.gates import plain_form
from thalweg_memory.facts.merging import folded
from thalweg_memory.facts.values import (
    Change,
    Evidence,
    Fact,
    FactId,
    Hide,
    ProfileSection,
    PutFact,
    RecalledPart,
    RemoveFact,
    Scope,
    SectionName,
    ShownFacts,
    Statement,
    Trust,
    WriteSection,
)

Clock = Callable[[], str]
"""Returns the time: aware UTC in ISO 8601, to the second."""

NAME_IS_LEFT = (
    "memory: rows with the owner's and agents' names, the times and kinds of changes, keyed digests"
)
"""Remains of an owner after `MemoryStore.forget_owner`."""


def utc_now() -> str:
    """Return the current time in memory's format."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_fact_id() -> FactId:
    """Make an id for a fact."""
    return FactId(f"fact-{uuid.uuid4().hex[:12]}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One commit, in the form for people."""

    id: int
    """Ascending in its scope."""
    at: str
    actor: str
    """`user`, `import`, `agent`, `learned:MODEL`, `undo`."""
    why: str
    changes: tuple[Change, ...]
    """The changes that it made. Empty if it was forgotten."""


@dataclass(frozen=True, slots=True)
class Learned:
    """How far a thread was learned from; committed with the facts learned."""

    thread: str
    expected: int
    """Turns of the thread that had been learned from before."""
    upto: int
    """Turns that have been now."""


@dataclass(frozen=True, slots=True)
class LearningSchedule:
    """When a thread with new turns is learned from."""

    now: str
    debounce_s: float
    """Seconds that it must be quiet."""
    max_wait_s: float
    """Seconds after the first new turn that it waits at most."""


@dataclass(frozen=True, slots=True)
class Job:
    """A thread with turns that were not learned from, leased to one worker."""

    scope: Scope
    thread: str
    lease: jobs.Job
    """The job of the queue, which the worker passes to commit: void once it is claimed again."""

    @property
    def attempt(self) -> int:
        """How often it was claimed, from 1."""
        return self.lease.attempt

    @property
    def crashes(self) -> int:
        """See `thalweg.database.jobs.Job.crashes`."""
        return self.lease.crashes


@dataclass(frozen=True, slots=True)
class Selection:
    """What to forget; everything that any of them names."""

    facts: tuple[FactId, ...] = ()
    threads: tuple[str, ...] = ()
    """All turns of these threads, and facts learned from nothing else."""
    uids: tuple[str, ...] = ()
    """Turns, and facts learned from nothing else."""
    words: str = ""
    """Facts of every status and turns, hidden ones included, that have each word of it."""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `forget` did, or would do. Holds no content."""

    facts: tuple[FactId, ...]
    turns: int
    sections: int
    operations: int
    """Operations whose content was taken out."""
    reopened: tuple[FactId, ...]
    """Facts that only a forgotten one had superseded: they hold again."""
    hashes: tuple[str, ...]
    """Tombstones: keyed digests that keep the same from being learned again."""
    remaining: tuple[tuple[str, int], ...] = ()
    """Threads and positions in their logs of the same text, which memory does not delete."""
    left: tuple[str, ...] = ()
    """Places where its bytes may remain, in words for people; empty if they are in no file.

    A file that could not be erased yet is erased with a later write or when it is opened.
    """
    alike: tuple[str, ...] = ()
    """Ids of facts and names of profile sections that stay and hold half of a forgotten fact's
    words or more: they may tell the same."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class FactStep:
    """A change of a fact. `None` means no fact."""

    id: FactId
    why: str
    before: Fact | None
    after: Fact | None

    def change(self) -> Change:
        """Return it as a change."""
        return (
            RemoveFact(self.id, self.why) if self.after is None else PutFact(self.after, self.why)
        )


@dataclass(frozen=True, slots=True)
class SectionStep:
    """A change of a section of the profile. `None` means no section."""

    name: SectionName
    why: str
    before: ProfileSection | None
    after: ProfileSection | None

    def change(self) -> Change:
        """Return it as a change."""
        return WriteSection(self.after or ProfileSection(self.name, ""), self.why)


@dataclass(frozen=True, slots=True)
class TurnsStep:
    """Turns were hidden, or shown again. Which ones, their rows know by the operation's number."""

    why: str
    turns: int
    is_shown: bool = False

    def change(self) -> Change:
        """Return it as a change."""
        return Hide(self.why, self.turns, self.is_shown)


Step = FactStep | SectionStep | TurnsStep


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step as stored in the log."""

    operation: int
    place: int
    step: Step


@dataclass(frozen=True, slots=True)
class ScopeContents:
    """The content of a scope, in one transaction."""

    facts: Sequence[Fact]
    """Of every status, oldest first."""
    turns: Sequence[Statement]
    sections: Sequence[ProfileSection]
    log: Sequence[StepRow]
    """Oldest first."""
    whys: Mapping[int, str]
    """Of each operation, why it was."""
    images: Mapping[FactId, Sequence[Fact]] = field(init=False)
    """Of each fact all that it is and was, the newest last; of facts that were dropped, too."""

    def __post_init__(self) -> None:
        images: dict[FactId, dict[Fact, None]] = {}
        for fact in self._all():
            known = images.setdefault(fact.id, {})
            known.pop(fact, None)
            known[fact] = None
        object.__setattr__(self, "images", {id_: tuple(known) for id_, known in images.items()})

    def _all(self) -> Iterator[Fact]:
        for logged in self.log:
            if isinstance(logged.step, FactStep):
                yield from (f for f in (logged.step.before, logged.step.after) if f is not None)
        yield from self.facts

    def newest(self) -> list[Fact]:
        """List all facts as they are, or were when they were dropped."""
        return [images[-1] for images in self.images.values()]


Kind = Literal["content", "fact", "thread", "uid"]


@dataclass(frozen=True, slots=True)
class Digests:
    """Short keyed digests, which reveal nothing without the store's secret."""

    secret: bytes
    scope: int
    """The same text has another digest in another scope."""

    def of(self, kind: Kind, text: str) -> bytes:
        """Make the digest of a content, a fact's id, a thread's name or a message's id."""
        return self._of("wording", folded(text)) if kind == "content" else self._of(kind, text)

    def tombstones_of(self, kind: Kind, text: str) -> list[bytes]:
        """Make all digests by which a text may have a tombstone.

        Earlier ones are of a content without its signs, with letters as `casefold` returns them.
        """
        if kind != "content":
            return [self.of(kind, text)]
        plain = unicodedata.normalize("NFKC", text).casefold()
        earlier = " ".join(TOKEN.findall(plain)) or plain.strip()
        return [self.of(kind, text), self._of(kind, earlier)]

    def _of(self, kind: str, text: str) -> bytes:
        payload = encode(f"{kind}\0{self.scope}\0{text}")
        return hmac.digest(self.secret, payload, hashlib.sha256)[:16]


_FIELDS = {
    kind: tuple(field.name for field in fields(kind))
    for kind in (Evidence, Fact, ProfileSection, RecalledPart, ShownFacts, Statement)
}
"""Not `asdict`, which copies every value."""
_AS_IN_FACTS = {"evidence", "aliases", "supersedes", "related", "trust"}


def write_fact(fact: Fact) -> bytes:
    r"""Write a fact.

    Example:
        >>> from thalweg_memory.facts.values import FactId
        >>> fact = Fact(FactId("f"), "\ud83d 你好", "goal", 0.5, "", "manual", aliases=("a", "b"))
        >>> read_fact(write_fact(fact)) == fact
        True
    """
    evidence = [_plain(each) for each in fact.evidence]
    return _written({**_plain(fact), "evidence": evidence})


@lru_cache(maxsize=8_192)
def read_fact(body: bytes) -> Fact:
    """Read the output of `write_fact`. The result is cached until anything is forgotten."""
    read = json.loads(decode(body))
    evidence = tuple(
        Evidence(**{**each, "trust": Trust(each["trust"])}) for each in read["evidence"]
    )
    plain = {name: value for name, value in read.items() if name not in _AS_IN_FACTS}
    return Fact(
        **plain,
        evidence=evidence,
        aliases=tuple(read["aliases"]),
        supersedes=tuple(read["supersedes"]),
        related=tuple(read.get("related", ())),
        trust=Trust(read["trust"]),
    )


def write_turn(turn: Statement) -> bytes:
    """Write a turn, but for its thread and its place there, compressed."""
    body = _plain(turn)
    del body["thread"], body["seq"]
    return zlib.compress(_written(body))


def read_turn(thread: str, seq: int, body: bytes) -> Statement:
    """Read what `write_turn` wrote, also by earlier versions, which did not compress."""
    read = _unpacked(body)
    read.pop("is_withheld", None)  # of earlier versions
    read["trust"] = Trust(read["trust"])
    return Statement(thread, seq, **read)


def write_section(section: ProfileSection) -> bytes:
    """Write a section of the profile."""
    return _written(_plain(section))


def read_section(body: bytes) -> ProfileSection:
    """Read what `write_section` wrote."""
    read = json.loads(decode(body))
    return ProfileSection(**{**read, "cites": tuple(read["cites"])})


def write_shown(shown: ShownFacts) -> bytes:
    """Write the items shown for a message, without empty fields, compressed."""
    weighed = [
        {name: value for name, value in _plain(one).items() if value} for one in shown.weighed
    ]
    return zlib.compress(_written({**_plain(shown), "weighed": weighed}))


def read_shown(body: bytes) -> ShownFacts:
    """Read what `write_shown` wrote, also before it compressed."""
    read = _unpacked(body)
    return ShownFacts(**{**read, "weighed": tuple(RecalledPart(**one) for one in read["weighed"])})


def _unpacked(body: bytes) -> dict[str, Any]:
    return json.loads(decode(body if body.startswith(b"{") else zlib.decompress(body)))  # type: ignore[no-any-return]


def _plain(
    value: Evidence | Fact | ProfileSection | RecalledPart | ShownFacts | Statement,
) -> dict[str, object]:
    return {name: getattr(value, name) for name in _FIELDS[type(value)]}


def _written(value: dict[str, object]) -> bytes:
    return encode(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


LEAST_WORDS = 4
"""A text of fewer words is looked for as a whole only, not inside of others."""
_MARKUP = re.compile(r"[|<>=~\\@&]|(?<!\d)/|/(?!\d)|(?<![\w-])-+(?=[^\W\d_])|--+")
"""Signs of markup and lists, not those of values such as `C++`, `-5`, `1/2`."""


def _loose(text: str) -> str:
    """Fold a text for deletion: markup does not matter either."""
    return " ".join(_MARKUP.sub(" ", folded(text)).split())


@dataclass(frozen=True, slots=True)
class FactTexts:
    """Texts of facts, folded to words and signs, without markup."""

    whole: frozenset[str]
    """Contents and other wordings."""
    inside: frozenset[str]
    """Texts to search for inside of other texts: these and quotations, if they are long, each
    between spaces."""
    hints: frozenset[str]
    """A word of each that is looked for inside: a text without any of them need not be read."""

    @classmethod
    def of(cls, facts: Sequence[Fact]) -> Self:
        """Collect the contents of facts, and their quotations."""
        texts = [(_loose(text), text) for fact in facts for text in (fact.content, *fact.aliases)]
        quotes = [(_loose(one.quote), one.quote) for fact in facts for one in fact.evidence]
        inside = {f" {form} " for form, text in texts + quotes if len(words(text)) >= LEAST_WORDS}
        hints = {max(text.split(), key=len) for text in inside}
        whole = frozenset(form for form, _ in texts if form)
        return cls(whole, frozenset(inside), frozenset(hints))

    def are_in(self, text: str) -> bool:
        """Return whether a text is one of them, or contains one of the long ones.

        Example:
            >>> from thalweg_memory.facts.values import FactId
            >>> fact = Fact(FactId("f"), "Ada keeps four bees", "goal", 1, "", "manual")
            >>> said = FactTexts.of([fact])
            >>> said.are_in("I know: ADA keeps  four bees!"), said.are_in("Ada keeps bees")
            (True, False)
        """
        if not self.whole:
            return False
        longest = max(map(len, self.whole))
        plain = plain_form(text)
        if len(plain) > 2 * longest + 80 and not any(hint in plain for hint in self.hints):
            return False
        form = _loose(text)
        return form in self.whole or any(part in f" {form} " for part in self.inside)
