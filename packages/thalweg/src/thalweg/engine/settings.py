"""User settings of the context: when a thread is compacted, which content is kept or offloaded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self

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

from thalweg.engine import compaction as policies
from thalweg.engine.compaction.model_summary import SUMMARY_SHARE
from thalweg.engine.compaction.thresholds import Threshold, ThresholdUnit, is_pair
from thalweg.engine.media.table import limits_for
from thalweg.engine.pricing.overrides import Pricing
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.sections import SettingsSection, refuse
from thalweg.engine.window.budget import AMOUNTS, MIN_LIMIT, TRIGGER_AMOUNTS, Amounts, Budget, Cost
from thalweg.errors import ConfigError

if TYPE_CHECKING:
    from thalweg.engine.compaction.policy import Policy

Deferral = Literal["off", "auto", "provider", "own"]
ToolUse = Literal["auto", "on", "off"]
"""When a request has the tools of the context engine."""
Compaction = Literal["ours", "provider"]
"""Who compacts a thread."""
ToolName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
"""A name that every provider accepts."""
Size = Threshold | tuple[ThresholdUnit, float]
"""A threshold, or LangChain's pair: `("tokens", 4000)`."""
_THRESHOLDS = TypeAdapter(tuple[Threshold, ...])


def _threshold(given: object) -> Threshold:
    return Threshold.model_validate(given)


def _thresholds(given: object) -> tuple[Threshold, ...] | None:
    if given is None:
        return None
    if isinstance(given, list | tuple) and not is_pair(given):
        return _THRESHOLDS.validate_python(given)
    return (_threshold(given),)


@dataclass(frozen=True, slots=True)
class _ConvertedField:
    """Metadata of a field whose input type differs from its stored type."""

    read: Callable[[object], object]
    held: object
    """The stored type, by which it is serialized."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        del source
        stored_schema = handler.generate_schema(self.held)
        return core_schema.no_info_wrap_validator_function(
            lambda given, _: self.read(given), stored_schema
        )


class Offload(SettingsSection):
    """Content that is offloaded to the archive on arrival, and the preview that replaces it."""

    result_tokens: PositiveInt | None = None
    """A larger tool result is replaced by a preview, whatever its tool; by default the size that
    `cost` sets, 20,000 with a `trigger`. A smaller one is if it has more than a quarter of the free
    tokens, but none below 8,000 or a quarter of the window; with a `trigger`, if it does not fit
    and is more than half of the window."""
    input_tokens: PositiveInt | None = None
    """The tool calls of a message of the model that is larger are replaced by references (a quarter
    of the window if that is less). With a `trigger`, only long arguments before the kept messages
    are, from 85 % of the window on. A user's message above both this and a quarter of the window is
    replaced by an excerpt. By default the size that `cost` sets."""
    preview_lines: PositiveInt = 10
    """Lines of plain text that a preview shows, from head and tail together, if it cannot show all
    lines shortened alike. Of lists (JSON, tables) it shows each item."""

    def over(self, amounts: Amounts) -> Amounts:
        """Return amounts with the sizes that are set here in their place."""
        set_sizes = {"result_tokens": self.result_tokens, "input_tokens": self.input_tokens}
        return amounts.model_copy(update={name: size for name, size in set_sizes.items() if size})


class ToolNames(SettingsSection):
    """Names of the tools of the context engine, if an agent has others of the same names."""

    recall: ToolName = "recall"
    """Reads content that a request no longer shows. References name it."""
    compact_conversation: ToolName = "compact_conversation"
    """Asks for a compaction."""
    find_tools: ToolName = "find_tools"
    """Finds deferred tools."""

    @model_validator(mode="after")
    def _check_names_differ(self) -> Self:
        names = [self.recall, self.compact_conversation, self.find_tools]
        if duplicate := next((name for name in names if names.count(name) > 1), ""):
            refuse(f"two tools are named {duplicate!r}", "give each a name of its own")
        return self


class ContextPolicy(SettingsSection):
    """How a thread is kept inside its window.

    Without a `trigger`, a thread is compacted when re-reading removable content has cost as much
    as a compaction (`RentOrBuy`). With one, fixed sizes decide (`Thresholds`). In both cases every
    request fits the window, and removed content can be read from the archive.

    Example:
        >>> policy = ContextPolicy(trigger=[("fraction", 0.8), ("messages", 50)])
        >>> policy.keep
        Threshold(type='messages', value=20)
    """

    enabled: bool = True
    """`False`: nothing is compacted by choice, only what would not fit the window any more."""
    summarize: bool = True
    """Whether a model adds a narrative summary to the structured summary of every compaction."""
    background: bool | None = None
    """Whether the narrative summary is written in the background, for the next compaction to
    show; `False`: the turn that compacts waits for it. By default it waits if `trigger` is set."""
    model_name: str | None = None
    """The model that summarizes; by default the one in use."""
    trigger: Annotated[
        Size | Sequence[Size] | None, _ConvertedField(_thresholds, tuple[Threshold, ...] | None)
    ] = None
    """One size or several; the first that is reached triggers a compaction."""
    keep: Annotated[Size, _ConvertedField(_threshold, Threshold)] = Threshold(
        type="messages", value=20
    )
    """Newest messages that remain verbatim when a trigger is reached. Never part of an exchange:
    messages are kept at least this many, tokens and a fraction at most this many. The structured
    summary takes about a tenth of the tokens between them and a trigger in tokens."""
    trim_tokens_to_summarize: PositiveInt | None = None
    """Most tokens of messages in one summary request; by default as many as the model accepts.
    Requests have more if a summary would need over 16 of them."""
    summary_requests: PositiveInt | None = None
    """Most requests for one summary: the oldest messages that do not fit them are not read. `1`
    trims as DeerFlow does. By default all are read, in up to 16 requests."""
    summary_share: Annotated[float, Field(gt=0)] | None = None
    """Share that narrative summaries may have of what a thread has cost and its compactions have
    saved, at the prices in use. By default 0.25, and any cost with a `trigger`. An unusable answer
    makes the next request wait for a later compaction in any case."""
    summary_prompt: str | None = None
    """Instructions for the model that summarizes; replaces the built-in ones."""
    summary_role: Literal["user", "system"] = "user"
    """The role of the message with the record and the summary of what was compacted.

    `system`: a system message, as DeerFlow's, which gives the authority of instructions to all that
    it quotes. A short user's message follows it where a provider would refuse the model's answer
    as the first."""
    window: PositiveInt | None = None
    """Tokens the model accepts; by default the model's own."""
    max_output: NonNegativeInt | None = None
    """Tokens reserved for the answer; by default the model's own."""
    prompt_caching: bool = True
    """Whether requests get breakpoints or a key for the provider's prompt cache.

    Breakpoints are for a provider that uses them (Anthropic; your own are kept, and the provider's
    limit is respected); OpenAI receives a key that groups requests. A cached prefix lasts five
    minutes, or an hour if `pricing` names such a tariff; at Anthropic's own service the system
    prompt and the tools last an hour if the pauses of the thread so far make that cheaper."""
    cost: Cost = "balanced"
    """How much is kept in a request.

    `frugal` keeps least and fetches most; `careful` keeps most; `balanced` keeps what pays. Sizes
    that are set themselves (`offload`, `keep`) take precedence."""
    clear_on_server: bool = False
    """Whether Anthropic's API clears old tool results (context editing, beta), for models that
    bind their reasoning to everything sent before it: no edit of ours keeps that reasoning valid.
    The archive has the results; `recall` finds them by words."""
    tools: ToolUse = "auto"
    """When requests have the tools that read removed content (`recall`) and ask for a compaction.

    `auto`: always if the agent has tools of its own, else from the first reference on; never for a
    model that takes none by its class, its profile or a refusal. `on`: always, regardless of the
    profile. `off`: never, and never with `enabled: false`. Without them, a request states which
    content was removed and that it is in the archive."""
    tool_names: ToolNames = Field(default_factory=ToolNames)
    defer_tools: Deferral = "off"
    """Whether schemas of tools are removed from the request if that pays.

    The agent finds them with the tool `find_tools`. `auto`: with the provider's own loading on
    demand at Anthropic's and OpenAI's own addresses, else by a longer list of tools. `provider`:
    also at another address, such as a gateway's. `own`: by a longer list everywhere."""
    keep_tools: tuple[str, ...] = ()
    """Names of tools that are never deferred, or patterns such as `github_*`. Tools that the system
    prompt names are not, either."""
    compaction: Compaction = "ours"
    """Who compacts.

    `provider` has Anthropic's API (beta) or OpenAI's Responses compact a request when that pays at
    the provider's price, and clears as `clear_on_server` does. The content that the provider's
    block replaces is in the archive, and a structured summary of it is sent to every other model.
    Requests that would not fit, and models without it, are compacted by us."""
    offload: Offload = Field(default_factory=Offload)
    pricing: Pricing = Field(default_factory=Pricing)

    @field_validator("summary_prompt")
    @classmethod
    def _check_prompt_not_blank(cls, prompt: str | None) -> str | None:
        if prompt is not None and not prompt.strip():
            refuse("the prompt is blank", "write instructions, or null for ours")
        return prompt

    @model_validator(mode="after")
    def _check_keep_below_trigger(self) -> Self:
        keep = _threshold(self.keep)
        for trigger in self.triggers:
            if trigger.type == keep.type and keep.value >= trigger.value:
                problem = f"{keep.value:g} {keep.type} to keep is not less than the trigger's"
                fix = f"keep less than {trigger.value:g}, or raise the trigger"
                refuse(f"{problem} {trigger.value:g}", fix, key="keep", conflicting_key="trigger")
        return self

    @model_validator(mode="after")
    def _check_provider_compaction(self) -> Self:
        if self.compaction == "provider" and not self.weighs_prices:
            problem = "the provider compacts where prices decide, not at a trigger"
            refuse(
                problem, "remove trigger, or use ours", key="compaction", conflicting_key="trigger"
            )
        return self

    @model_validator(mode="after")
    def _check_window_fits_request(self) -> Self:
        request_tokens = (self.window or 0) - (self.max_output or 0)
        if self.window is not None and request_tokens < MIN_LIMIT:
            problem = (
                f"{self.window} less {self.max_output or 0} for the answer leaves {request_tokens}"
            )
            fix = f"keep at least {MIN_LIMIT}"
            refuse(f"{problem} tokens", fix, key="window", conflicting_key="max_output")
        return self

    @classmethod
    def from_mapping(cls, section: Mapping[str, object], *, where: str = "summarization") -> Self:
        """Parse a mapping of settings; errors name the section `where`."""
        return super().from_mapping(section, where=where)

    @property
    def triggers(self) -> tuple[Threshold, ...]:
        """The sizes that trigger a compaction; empty means rent or buy."""
        return _thresholds(self.trigger) or ()

    @property
    def writes_in_background(self) -> bool:
        """Whether no turn waits for a narrative summary."""
        return self.trigger is None if self.background is None else self.background

    @property
    def allowed_share(self) -> float | None:
        """The share that narrative summaries may have; `None` for any cost."""
        has_default = self.summary_share is None and self.weighs_prices
        return SUMMARY_SHARE if has_default else self.summary_share

    @property
    def has_tools(self) -> bool:
        """Whether any request may have the tools of the context engine."""
        return self.enabled and self.tools != "off"

    @property
    def edits_on_server(self) -> bool:
        """Whether the provider may remove content from a request, unseen by the engine."""
        return self.clear_on_server or self.compaction == "provider"

    @property
    def weighs_prices(self) -> bool:
        """Whether prices decide when a thread is compacted; else sizes do, or nothing."""
        return self.enabled and not self.triggers

    def budget(self, window: int, output: int | None = None, model: str = "") -> Budget:
        """Return the budget for a model's window.

        Args:
            window: Tokens the model accepts, its answer included.
            output: Most tokens of its answer; by default an eighth of the window, at most 8,192.
            model: `provider:name`, for the limits of media that its provider publishes.

        Raises:
            ConfigError: No tokens remain for a request.
        """
        limits = limits_for(model, window)
        window = self.window or window
        output = output if self.max_output is None else self.max_output
        amounts = AMOUNTS[self.cost]
        if self.triggers:
            amounts = amounts.model_copy(update=TRIGGER_AMOUNTS)
        try:
            budget = Budget(
                window=window,
                max_output=output,
                preview_lines=self.offload.preview_lines,
                **self.offload.over(amounts).model_dump(),
            )
            return budget.within(limits)
        except ValidationError as error:
            problem = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ConfigError("window", problem, "set window and max_output by hand") from None

    def policy(self, tariff: Tariff) -> "Policy":
        """Create the policy for one thread.

        Args:
            tariff: Prices of the model in use; `pricing` for every model overrides them.
        """
        if not self.weighs_prices:
            triggers = self.triggers if self.enabled else ()
            return policies.Thresholds(triggers=triggers, keep=_threshold(self.keep))
        return policies.RentOrBuy(self.pricing.over(tariff), summarizes=self.summarize)
