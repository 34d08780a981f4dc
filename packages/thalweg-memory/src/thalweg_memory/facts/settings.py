"""What users configure of memory: the `memory:` section, with DeerFlow's keys and defaults."""

from collections.abc import Mapping
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)

from thalweg.engine.sections import SettingsSection
from thalweg_memory.facts.values import Category


def checked_zone(name: str) -> str:
    """Return a time zone's name.

    Raises:
        ValueError: There is no such zone.
    """
    if name:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError) as error:
            problem = f"{name!r} is no time zone; write an IANA name, such as Europe/Berlin"
            raise ValueError(problem) from error
    return name


TimeZone = Annotated[str, AfterValidator(checked_zone)]
Share = Annotated[float, Field(ge=0, le=1)]
WEB_TOOLS = (
    "*web*",
    "*search*",
    "*fetch*",
    "*brows*",
    "*crawl*",
    "*scrape*",
    "*http*",
    "*url*",
    "*mail*",
    "task",
)
"""Tools whose results anyone may have written.

`task` is one because a subagent's report does not show which sources the subagent read.
"""


class MemorySettings(SettingsSection):
    """When memory learns, which facts it keeps, and how much of it a context receives.

    Example:
        >>> MemorySettings().max_injection_tokens
        2000
    """

    enabled: bool = True
    """Off: nothing is captured, learned or injected; the existing content is kept."""
    read_only: bool = False
    """Nothing is captured or learned; recall and injection go on."""
    injection_enabled: bool = True
    """Whether recalled facts are put into contexts."""
    mode: Literal["inject", "tool"] = "inject"
    """`tool`: the agent gets `remember` and `recall_memory`, and nothing is put in by itself."""
    placement: Literal["tail", "system_prompt", "system_message"] = "tail"
    """Position of recalled facts: after the cached prefix, in the system prompt's `<memory>`, which
    is the default with `retrieval: seeds`, or in a system message named `memory_context` before the
    conversation, as in DeerFlow. Clients of Anthropic and Gemini join it to the system prompt."""
    storage: Literal["database", "json"] = "database"
    """`json`: `memory.json` at `storage_path` is the document that people edit by hand. The default
    if `storage_path` is set, as in DeerFlow."""
    storage_path: str = ""
    """The document for `storage: json`; `memory.json` in Thalweg's folder when it is empty."""
    debounce_seconds: NonNegativeFloat = 30
    """A thread is learned from when it has been quiet for so long."""
    max_wait_seconds: NonNegativeFloat = 300
    """...or when its oldest message has waited for so long."""
    model_name: str | None = None
    """Model that learns; `None` takes the agent's own."""
    learn_tokens: PositiveInt = 4_000
    """Most tokens of turns that the model is shown at once. A longer turn is shown alone."""
    learn_turns: PositiveInt = 40
    """Most turns it is to learn from at once; a small model does best with 1."""
    overlap_turns: NonNegativeInt = 4
    """Turns it is shown again before them, for context: `yes, the second` answers one of these."""
    answer_tokens: PositiveInt = 300
    """Tokens that it is shown of an answer that is not learned from: its beginning and end."""
    profile: bool = True
    """Whether the profile is rewritten, with one more call, when the facts change."""
    owner_names: tuple[str, ...] = ()
    """Names that the owner's messages bear. Without any, the first name in a thread is the owner's;
    a message of another name is another person's, and no fact of the owner's."""
    time_zone: TimeZone = ""
    """The owner's time zone (`Europe/Berlin`), which decides days and "today"; empty for UTC. The
    `time_zone` in the `configurable` of a run's config wins."""
    web_tools: tuple[str, ...] = WEB_TOOLS
    """Names of tools whose results come from strangers; `*` matches anything."""
    max_facts: PositiveInt = 100
    """Most active facts of a scope. Those of the least confidence for their age expire first."""
    protected_categories: tuple[Category, ...] = ()
    """Categories that are never dropped for lack of space."""
    fact_confidence_threshold: Share = 0.7
    """Facts below it are not stored, and the turns that state them are not recalled."""
    max_injection_tokens: PositiveInt = 2_000
    """Most tokens of memory that one run gets, frame included; all runs of a thread together show
    at most twice as many."""
    retrieval: Literal["ranked", "seeds"] = "ranked"
    """`seeds`: DeerFlow's TF-IDF formula and its `<memory>`, as its documents have them."""
    similarity_weight: Share = 0.6
    """Of `retrieval: seeds`."""
    confidence_weight: Share = 0.4
    """Of `retrieval: seeds`."""
    include_turns: bool = True
    """Whether raw turns are recalled in addition to facts."""
    learn_from: tuple[Literal["assistant", "tool", "web"], ...] = ()
    """Whose texts are learned from in addition to the user's own.

    Facts from them wait for the user's approval (`review`), for any value listed here.
    """

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        """Add the defaults that depend on another setting."""
        if not isinstance(data, Mapping):
            return data
        added = {}
        if data.get("storage_path") and not data.get("storage"):
            added["storage"] = "json"
        if data.get("retrieval") == "seeds" and not data.get("placement"):
            added["placement"] = "system_prompt"
        return {**data, **added}
