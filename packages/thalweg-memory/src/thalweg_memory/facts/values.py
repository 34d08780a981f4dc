"""The frozen values of memory: scopes, turns, facts with their evidence, the profile.

Times are aware UTC in ISO 8601 (`2026-03-01T10:00:00Z`), or empty if unknown.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NewType

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
