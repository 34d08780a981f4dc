"""What users configure: when a thread is compacted, what is kept, what is offloaded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from thalweg.context.budget import MIN_LIMIT, Budget
from thalweg.context.overrides import Pricing
from thalweg.context.policy import Policy, RentOrBuy
from thalweg.context.pricing import Tariff
from thalweg.context.thresholds import Kind, Threshold, Thresholds, is_pair
from thalweg.errors import ConfigError
from thalweg.sections import Section, refuse

Size = Threshold | tuple[Kind, float]
"""A threshold, or the pair that LangChain writes: `("tokens", 4000)`."""
_SIZES = TypeAdapter(tuple[Threshold, ...])


def _one(given: object) -> Threshold:
    return Threshold.model_validate(given)


def _each(given: object) -> tuple[Threshold, ...] | None:
    if given is None:
        return None
    if isinstance(given, list | tuple) and not is_pair(given):
        return _SIZES.validate_python(given)
    return (_one(given),)


@dataclass(frozen=True, slots=True)
class _Read:
    """Says how a field is read that takes more than it holds."""

    read: Callable[[object], object]
    held: object
    """The type it holds, by which it is written again."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        del source
        held = handler.generate_schema(self.held)
        return core_schema.no_info_wrap_validator_function(lambda given, _: self.read(given), held)


class Offload(Section):
    """What leaves the context for the archive as soon as it arrives, and what is shown of it."""

    result_tokens: PositiveInt = 20_000
    """A tool result above this leaves a preview (a quarter of the window if that is less)."""
    input_tokens: PositiveInt = 20_000
    """A message of the model whose tool calls make it larger than this leaves them out (a quarter
    of the window if that is less). A user's message above both this and a quarter of the window
    leaves an excerpt."""
    preview_lines: PositiveInt = 10
    """Lines of plain text that a preview shows, from head and tail together."""


class ContextPolicy(Section):
    """How a thread is kept inside its window.

    With no `trigger`, a thread is folded when re-reading what a fold would drop has cost as much
    as folding it (`RentOrBuy`). With one, fixed sizes decide (`Thresholds`). Either way every
    request fits the window, and what leaves it can be read back from the archive.

    Example:
        >>> policy = ContextPolicy(trigger=[("fraction", 0.8), ("messages", 50)])
        >>> policy.keep
        Threshold(type='messages', value=20)
    """

    enabled: bool = True
    """`False`: nothing is folded by choice, only what would not fit the window any more."""
    summarize: bool = True
    """Whether a model writes a summary beside the record that every fold leaves."""
    background: bool = True
    """Whether the summary is written beside the run, for the next compaction to show; `False`:
    the turn that compacts waits for it."""
    model_name: str | None = None
    """The model that summarizes; the one in use, when not given."""
    trigger: Annotated[Size | Sequence[Size] | None, _Read(_each, tuple[Threshold, ...] | None)] = (
        None
    )
    """One size or several; the first that is reached makes the thread fold."""
    keep: Annotated[Size, _Read(_one, Threshold)] = Threshold(type="messages", value=20)
    """Newest messages that stay word for word when a trigger is reached. Never part of an
    exchange: messages are kept at least so many, tokens and a fraction at most so many. The record
    beside them takes about a tenth of what they leave to a trigger in tokens."""
    trim_tokens_to_summarize: PositiveInt | None = None
    """Most tokens of messages that one request for a summary holds; as many as the model takes,
    when not given. Requests hold more where a summary would need over 16 of them."""
    summary_prompt: str | None = None
    """Instructions to the model that summarizes, in place of ours."""
    window: PositiveInt | None = None
    """Tokens the model accepts; the model's own, when not given."""
    max_output: NonNegativeInt | None = None
    """Tokens kept free for the answer; the model's own, when not given."""
    prompt_caching: bool = True
    """Whether requests are marked for the provider's prompt cache, where one wants marks
    (Anthropic; marks of yours stay, and there are never more than it takes), and OpenAI is told
    which requests belong together. Marks last five minutes, or an hour where `pricing` names a
    tariff that does."""
    offload: Offload = Field(default_factory=Offload)
    pricing: Pricing = Field(default_factory=Pricing)

    @field_validator("summary_prompt")
    @classmethod
    def _says_something(cls, words: str | None) -> str | None:
        if words is not None and not words.strip():
            refuse("the prompt is blank", "write instructions, or null for ours")
        return words

    @model_validator(mode="after")
    def _folding_frees_something(self) -> Self:
        keep = _one(self.keep)
        for trigger in self.triggers:
            if trigger.type == keep.type and keep.value >= trigger.value:
                problem = f"{keep.value:g} {keep.type} to keep is not less than the trigger's"
                mend = f"keep less than {trigger.value:g}, or raise the trigger"
                refuse(f"{problem} {trigger.value:g}", mend, key="keep", against="trigger")
        return self

    @model_validator(mode="after")
    def _the_window_holds_a_request(self) -> Self:
        left = (self.window or 0) - (self.max_output or 0)
        if self.window is not None and left < MIN_LIMIT:
            problem = f"{self.window} less {self.max_output or 0} for the answer leaves {left}"
            mend = f"leave {MIN_LIMIT} at least"
            refuse(f"{problem} tokens", mend, key="window", against="max_output")
        return self

    @classmethod
    def from_mapping(cls, section: Mapping[str, object], *, where: str = "summarization") -> Self:
        """See `Section.from_mapping`."""
        return super().from_mapping(section, where=where)

    @property
    def triggers(self) -> tuple[Threshold, ...]:
        """The sizes that make a thread fold; none of them means rent = buy."""
        return _each(self.trigger) or ()

    @property
    def weighs_prices(self) -> bool:
        """Whether prices decide when a thread is folded; else sizes do, or nothing."""
        return self.enabled and not self.triggers

    def budget(self, window: int, output: int | None = None) -> Budget:
        """Share out a model's window.

        Args:
            window: Tokens the model accepts, its answer included.
            output: Tokens it may answer with; an eighth of the window, at most 8,192, when not
                known.

        Raises:
            ConfigError: They leave no room for a request.
        """
        window = self.window or window
        output = output if self.max_output is None else self.max_output
        try:
            return Budget(
                window=window,
                max_output=output,
                result_tokens=self.offload.result_tokens,
                input_tokens=self.offload.input_tokens,
                preview_lines=self.offload.preview_lines,
            )
        except ValidationError as error:
            problem = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ConfigError("window", problem, "set window and max_output by hand") from None

    def policy(self, tariff: Tariff) -> Policy:
        """Make the policy for one thread.

        Args:
            tariff: What the model in use costs; what `pricing` says of every model goes before it.
        """
        if not self.weighs_prices:
            triggers = self.triggers if self.enabled else ()
            return Thresholds(triggers=triggers, keep=_one(self.keep))
        return RentOrBuy(self.pricing.over(tariff), summarizes=self.summarize)
