"""What users configure of memory: the `memory:` section, with DeerFlow's keys and defaults."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from thalweg.facts.values import Category
from thalweg.sections import Section

Share = Annotated[float, Field(ge=0, le=1)]


class MemorySettings(Section):
    """When memory learns, what it keeps, and how much of it a context is given.

    Example:
        >>> MemorySettings().max_injection_tokens
        2000
    """

    enabled: bool = True
    """Off: nothing is captured, learned or injected; what is there stays."""
    read_only: bool = False
    """Nothing is captured or learned; recall and injection go on."""
    injection_enabled: bool = True
    """Whether recalled facts are put into contexts."""
    mode: Literal["inject", "tool"] = "inject"
    """`tool`: the agent gets `remember` and `recall_memory`, and nothing is put in by itself."""
    placement: Literal["tail", "system_prompt"] = "tail"
    """Where recalled facts go: behind the cached prefix, or into the system prompt's `<memory>`."""
    storage: Literal["database", "json"] = "database"
    """`json`: `memory.json` at `storage_path` is the document that people edit by hand."""
    storage_path: str = ""
    """The document for `storage: json`; `memory.json` in Thalweg's folder when it is empty."""
    debounce_seconds: NonNegativeFloat = 30
    """A thread is learned from when it has been quiet for so long."""
    max_wait_seconds: NonNegativeFloat = 300
    """...or when its oldest message has waited for so long."""
    model_name: str | None = None
    """Model that learns; `None` takes the agent's own."""
    max_facts: PositiveInt = 100
    """Most active facts of a scope. The least valuable are let go of first."""
    protected_categories: tuple[Category, ...] = ()
    """Categories that are never let go of for want of room."""
    fact_confidence_threshold: Share = 0.7
    """Facts below it are not stored."""
    max_injection_tokens: PositiveInt = 2_000
    """Most tokens of memory in one context, its frame included."""
    retrieval: Literal["ranked", "seeds"] = "ranked"
    """`seeds`: DeerFlow's TF-IDF formula, as its document has it, for comparison."""
    similarity_weight: Share = 0.6
    """Of `retrieval: seeds`."""
    confidence_weight: Share = 0.4
    """Of `retrieval: seeds`."""
    include_turns: bool = True
    """Whether raw turns are recalled beside facts."""
    learn_from: tuple[Literal["assistant", "tool", "web"], ...] = ()
    """Whose texts may become facts beside the user's own. They stay quarantined until reviewed
    unless they are listed here."""
