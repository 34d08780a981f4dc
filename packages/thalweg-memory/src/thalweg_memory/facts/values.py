"""The frozen values of memory: scopes, turns, proposals, facts with their evidence, the profile.

Every change of them is a value, too: it replaces a whole fact or section, or removes it.

Times are aware UTC in ISO 8601 (`2026-03-01T10:00:00Z`), or empty if unknown. Which of two facts is
the newer one is decided when they are merged and by their dates, never by how well it answers a
question.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import IntEnum
from functools import lru_cache
from typing import Literal, NewType
from zoneinfo import ZoneInfo

FactId = NewType("FactId", str)
"""Opaque; `fact-` with letters and digits if generated here."""
NO_FACT = FactId("")

Category = Literal["preference", "knowledge", "context", "behavior", "goal"]
"""The subject area of a fact, in DeerFlow's words."""

Status = Literal["active", "superseded", "quarantined", "expired"]
"""`active` facts are recalled. `superseded` ones answer questions about the past.
`quarantined` ones wait for the user's decision: see `review`. `expired` ones were evicted for
lack of capacity and are not recalled."""


Mode = Literal["on", "read_only", "incognito", "off"]
"""What memory does with a thread. `read_only`: it recalls and learns nothing; `incognito` and
`off`: neither, and no turn of `incognito` threads is stored."""


Importance = Literal[1, 2, 3]
"""3: personal facts such as home, family, health and work; 2: lasting facts; 1: details."""


class Trust(IntEnum):
    """The trust of a text's origin. Derived text has the least trust of its sources.

    The harness sets it from the origin of a text, never a model.
    """

    WEB = 0
    """A page, a search result."""
    TOOL = 1
    """A tool's result, a file; an answer that the model wrote after reading it."""
    ASSISTANT = 2
    """The model, after reading only the user's words."""
    IMPORT = 3
    """A document that the user imported."""
    USER = 4
    """The user's own words."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of a memory, from the authenticated caller, never from a model or a filter."""

    owner: str
    agent: str = ""
    """An agent with its own memory for this owner; empty for the memory that all agents share."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One message of a thread as memory stores it: its author's own words only."""

    thread: str
    seq: int
    """Position among the turns that memory has of this thread, from 0; forgotten ones are gaps."""
    role: Literal["user", "assistant"]
    text: str
    """The author's own words, without quotations and pasted text (see `own_words`)."""
    said_at: str
    trust: Trust
    author: str = ""
    """The author's name, if available."""
    position: int = -1
    """Position in the thread's log; -1 if none."""
    uid: str = ""
    """The message's own id, or a digest of it: the same message is kept once."""
    zone: str = ""
    """The time zone of its author then, an IANA name; empty for UTC."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The source of a fact."""

    thread: str
    uid: str
    """Of the message; see `Statement.uid`."""
    quote: str
    """Verbatim from `Statement.text`."""
    said_at: str
    trust: Trust
    position: int = -1
    """Position in the thread's log; -1 if none."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One remembered statement."""

    id: FactId
    content: str
    category: Category
    confidence: float
    """0 to 1. Gates writing and breaks ties; it is no part of relevance."""
    created_at: str
    source: str
    """The thread it was first learned in; `manual` or `import` if it was not learned."""
    subject: str = ""
    """The person or thing it is about, normalized (`user`, `project atlas`); empty if unknown."""
    attribute: str = ""
    """The attribute of the subject, normalized (`employer`, `home city`); empty if unknown."""
    value: str = ""
    """The value, normalized; empty if unknown."""
    evidence: tuple[Evidence, ...] = ()
    aliases: tuple[str, ...] = ()
    """Other wordings that were merged into it."""
    trust: Trust = Trust.USER
    language: str = ""
    """ISO 639-1."""
    valid_from: str = ""
    """Start of its validity; `observed_at` if not stated."""
    valid_to: str = ""
    """End of its validity; empty if no end was stated."""
    observed_at: str = ""
    """The time of its last statement."""
    superseded_by: FactId = NO_FACT
    supersedes: tuple[FactId, ...] = ()
    status: Status = "active"
    written_by: str = "user"
    """`user`, `import`, `agent` (its tool `remember`), or `learned:MODEL`."""
    protected: bool = False
    """Never dropped for lack of space, never changed by learning."""
    extra: str = ""
    """A JSON object: content of a document that has no field here. Exports write it again."""
    related: tuple[FactId, ...] = ()
    """Facts that may be about the same: both are valid, and are shown together with their dates."""
    is_temporary: bool = False
    """Whether it holds for a time: it superseded nothing, and what held before holds again."""
    importance: Importance = 2
    """How much it matters: as its learner read it, and 3 if a person stated it directly."""
    claim: str = ""
    """What a learner made of the user's words, as long as no model has verified it.

    Then `content` quotes these words. Empty for a fact that was verified or stated directly.
    """

    @property
    def statement(self) -> str:
        """The fact in one sentence, verified or not: for comparisons, not to be told."""
        return self.claim or self.content

    @property
    def authority(self) -> tuple[Trust, bool]:
        """Its trust, and whether it was verified: a fact changes none with more of it.

        Quoted words of the user's are below anything that was verified or imported.
        """
        return (min(self.trust, Trust.IMPORT), False) if self.claim else (self.trust, True)


SectionName = Literal[
    "workContext",
    "personalContext",
    "topOfMind",
    "recentMonths",
    "earlierContext",
    "longTermBackground",
]
USER_CONTEXT: tuple[SectionName, ...] = ("workContext", "personalContext", "topOfMind")
HISTORY: tuple[SectionName, ...] = ("recentMonths", "earlierContext", "longTermBackground")


def section_path(name: SectionName) -> str:
    """Return the place of a section in the document, for example `userContext.topOfMind`."""
    return f"{'userContext' if name in USER_CONTEXT else 'history'}.{name}"


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """One text of the profile."""

    name: SectionName
    text: str
    updated_at: str = ""
    cites: tuple[FactId, ...] = ()
    """The facts it was written from. Without them it is the user's own text, or imported."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Memory's description of a user in whole sentences; sections without a text are omitted."""

    sections: tuple[ProfileSection, ...] = ()

    def text(self, name: SectionName) -> str:
        """Return one section; empty if there is none."""
        return next((section.text for section in self.sections if section.name == name), "")


@dataclass(frozen=True, slots=True)
class PutFact:
    """Add a fact, or put it in the place of the one with its id (merged, edited, superseded)."""

    fact: Fact
    why: str

    @property
    def id(self) -> FactId:
        """The fact's id."""
        return self.fact.id


@dataclass(frozen=True, slots=True)
class RemoveFact:
    """Remove a fact from the memory. The log of operations has its row until `forget`."""

    id: FactId
    why: str
    asked_in: str = ""
    """Id of the message (`Statement.uid`) that asked for it: it is hidden with the fact's turns."""


@dataclass(frozen=True, slots=True)
class WriteSection:
    """Write a section of the profile; one without a text is taken out."""

    section: ProfileSection
    why: str

    @property
    def name(self) -> SectionName:
        """The section's name."""
        return self.section.name


@dataclass(frozen=True, slots=True)
class Hide:
    """Take turns out of recall and learning. Undoing the commit shows them again.

    A commit of a person's that drops or rewords a fact hides the turns it was learned from by
    itself. A plan holds this change to hide every turn of the scope, or those with some ids; a
    learner's, to hide what was stated with too little confidence for a fact.
    """

    why: str
    turns: int = 0
    """Turns that were hidden (or shown again, where `is_shown`); set by the store."""
    is_shown: bool = False
    """Whether the turns are recalled again: an undo of a `Hide`."""
    uids: tuple[str, ...] = ()
    """Ids of the turns (`Statement.uid`); without any, every turn. Not in the log."""


Change = PutFact | RemoveFact | WriteSection | Hide


def facts_of(changes: Iterable[Change]) -> set[FactId]:
    """Return the ids of the facts that changes put or remove."""
    return {change.id for change in changes if isinstance(change, PutFact | RemoveFact)}


Relation = Literal["new", "same", "update", "remove"]
"""`remove`: the user asked to remove the existing fact."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fact as it was proposed."""

    content: str
    category: Category
    confidence: float
    uid: str
    """The turn it was learned from, see `Statement.uid`."""
    quote: str
    """Its evidence, word for word from that turn."""
    subject: str = ""
    attribute: str = ""
    value: str = ""
    language: str = ""
    valid_from: str = ""
    """ISO date since when it is valid, if that was stated: `2026-03-02`, `2026-03`, `2026`."""
    valid_to: str = ""
    """The same until when it holds, that day included."""
    is_temporary: bool = False
    """Whether it holds for a time, after which what held before holds again."""
    importance: Importance = 2
    relation: Relation = "new"
    """Its relation to `of`, according to the learner."""
    of: FactId = NO_FACT
    """The fact that it repeats, or updates."""


RecallOutcome = Literal["told", "told before", "no room", "said already"]
"""The result for a recalled item.

`told`: it is before the message. `told before`: it is before an earlier one. `no room`: it was
recalled, and does not fit. `said already`: another recalled item states the same.
"""


@dataclass(frozen=True, slots=True)
class RecalledPart:
    """One thing that was recalled, and what became of it: a fact, a turn, or a section."""

    fate: RecallOutcome
    fact: FactId = NO_FACT
    uid: str = ""
    """Of the message, if it is a turn."""
    section: str = ""
    """Of the profile."""
    score: float = 0.0
    """Its relevance to the question; 0 for a section."""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """The items recalled for one message of the user."""

    uid: str
    """Of the message."""
    at: str
    """When."""
    tokens: int
    """Of the text before the message; 0 if nothing new was shown."""
    weighed: tuple[RecalledPart, ...]
    """The best first."""


_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


END_OF_DAY = "T23:59:59Z"
"""Of a day that ends a fact: a day, not a moment, so it is the same in every zone."""


@lru_cache(maxsize=4_096)
def local(at: str, zone: str) -> str:
    """Write a time in a zone, without its offset; a day and an unknown time stay as they are.

    Args:
        at: A time or a day in ISO 8601.
        zone: An IANA name; empty for UTC.

    Example:
        >>> local("2026-03-01T19:00:00Z", "Pacific/Auckland"), local("2026-03-01", "Asia/Tokyo")
        ('2026-03-02T08:00:00Z', '2026-03-01')
    """
    if not zone or len(at) <= len("2026-03-01") or at.endswith(END_OF_DAY):
        return at
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return at
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M:%SZ}"


def day_in_words(at: str) -> str:
    """Write the day of a time as people write it; empty if the time is unknown.

    Example:
        >>> day_in_words("2023-05-08T13:56:00Z"), day_in_words("")
        ('8 May 2023 Monday', '')
    """
    try:
        day = date.fromisoformat(at[:10])
    except ValueError:
        return ""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year} {_WEEKDAYS[day.weekday()]}"


def is_valid(fact: Fact, *, now: str = "") -> bool:
    """Return whether a fact holds: it is active, trusted, and did not end before a time.

    Args:
        fact: One that is trusted, or not: quarantined facts never hold.
        now: The time. Empty: nothing ended.
    """
    if fact.trust < Trust.IMPORT or fact.status != "active":
        return False
    return not (fact.valid_to and fact.valid_to < now)


def split_by_validity(facts: Iterable[Fact], *, now: str = "") -> tuple[list[Fact], list[Fact]]:
    """Part facts into those valid now and those valid before, each in the order passed.

    Args:
        facts: Of one memory. Those that are not trusted are in neither list.
        now: See `is_valid`.
    """
    trusted = [f for f in facts if f.trust >= Trust.IMPORT and f.status != "quarantined"]
    holding = [fact for fact in trusted if is_valid(fact, now=now)]
    return holding, [fact for fact in trusted if not is_valid(fact, now=now)]
