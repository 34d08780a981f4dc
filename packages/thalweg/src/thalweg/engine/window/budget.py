"""How much of a model's window a thread may fill, and how its parts share it."""

from collections.abc import Mapping
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from thalweg.engine.media.table import MediaLimits

if TYPE_CHECKING:
    from thalweg.engine.tokens import Calibration, TokenCounts

Cost = Literal["frugal", "balanced", "careful"]
"""A preset of amounts."""


class Amounts(BaseModel):
    """How much is kept in a request, in tokens; the defaults are those of `balanced`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    return_share: float = Field(default=0.5, gt=0, le=1)
    """Share of the price of bringing removed content back that has to be paid in rent before it is
    removed, and in repeated reads before it is brought back."""
    tail_tokens: PositiveInt = 2_000
    """Tokens of newest messages kept verbatim after a compaction, if the window permits."""
    record_tokens: PositiveInt = 4_000
    """Most tokens of a structured summary, unless the user's requests need more."""
    result_tokens: PositiveInt = 20_000
    """A larger tool result is replaced by a preview on arrival, and a smaller one in a small or
    nearly full window; see `Budget.result`."""
    input_tokens: PositiveInt = 20_000
    """Larger arguments of the model are replaced by a reference on arrival (a quarter of the limit
    if smaller). A user's message is, if it is above both."""


AMOUNTS: Mapping[Cost, Amounts] = MappingProxyType(
    {
        "frugal": Amounts(
            return_share=0.06, tail_tokens=1_000, record_tokens=2_000, result_tokens=10_000
        ),
        "balanced": Amounts(),
        "careful": Amounts(return_share=1.0, tail_tokens=8_000, record_tokens=8_000),
    }
)
"""The presets. Measured on recorded sessions, see docs/harm.md: `balanced` has about seven tenths
of the cost of `careful`."""
TRIGGER_AMOUNTS: Mapping[str, int] = MappingProxyType({"result_tokens": 20_000})
"""Amounts of every preset with a trigger."""


class Budget(Amounts):
    """Limits of one request. Every count is in tokens of the model in use.

    Example:
        >>> budget = Budget(window=200_000)
        >>> budget.limit, budget.tail(fixed=5_000)
        (191808, 2000)
    """

    window: PositiveInt
    """Tokens the model accepts, its answer included."""
    max_output: NonNegativeInt | None = None
    """Tokens reserved for the answer; by default an eighth of the window, at most 8,192."""
    tail_share: float = Field(default=0.3, gt=0, le=0.5)
    """Share of the limit that the tail may fill in a small window."""
    preview_lines: PositiveInt = 10
    """Lines of plain text that a preview shows, from head and tail together, if not all of them."""
    max_bytes: PositiveInt = 100_000_000
    """Bytes of the body of one request. By default more than servers accept: the provider's
    published limit, or its refusal, lowers it."""
    max_media: NonNegativeInt = 3_600
    """Images, documents, sounds and films in one request; the default is the most that any provider
    accepts (Gemini)."""
    limits: MediaLimits = MediaLimits()
    """The limits that the provider publishes."""
    media_share: float = 1.0
    """Tokens of ours in one of the provider's, in which media are priced; see `calibrated`."""
    trusts_least: bool = True
    """Whether media whose price is not exact count with its lower bound if the request has to fit.

    `False` after a refusal."""
    record_share: float = Field(default=0.1, gt=0, le=0.5)
    """Share of the limit that a structured summary may fill."""

    @model_validator(mode="after")
    def _check_limit(self) -> Self:
        if self.limit < MIN_LIMIT:
            msg = (
                f"a window of {self.window} less {self.output} for the answer leaves "
                f"{self.limit} tokens, and {MIN_LIMIT} are needed"
            )
            raise ValueError(msg)
        return self

    def within(self, limits: MediaLimits) -> "Budget":
        """Return the budget of a provider that publishes limits."""
        max_bytes = self.max_bytes if limits.request_bytes is None else limits.request_bytes
        return self.model_copy(update={"limits": limits, "max_bytes": max_bytes})

    @property
    def output(self) -> int:
        """Tokens reserved for the answer."""
        return self.window - self.limit

    @cached_property
    def limit(self) -> int:
        """Tokens a request may fill."""
        most = min(8_192, self.window // 8) if self.max_output is None else self.max_output
        return self.window - most

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other fields, and the limit that follows from them."""
        copied = super().model_copy(update=update, deep=deep)
        vars(copied).pop("limit", None)
        return copied

    def tokens_to_fit(self, ledger: "TokenCounts") -> int:
        """Return the tokens of a request that have to fit into `limit`.

        Media whose price is not exact count with the least that the provider may charge, until it
        refuses a request: only the provider can decide whether they fit. Their prices are in the
        provider's tokens, and are not multiplied by how it counts text.
        """
        media = ledger.media_tokens - (ledger.slack if self.trusts_least else 0)
        return ledger.total - ledger.media_tokens + ceil(media * self.media_share)

    def tail(self, fixed: int) -> int:
        """Return the tokens of newest messages that a compaction keeps verbatim.

        Args:
            fixed: Tokens of the system prompt and all else that never shrinks.
        """
        return min(self.tail_tokens, int((self.limit - fixed) * self.tail_share))

    def record(self, fixed: int) -> int:
        """Return the most tokens of a structured summary; `fixed` as in `tail`."""
        room = self.limit - fixed
        min_tokens = min(MIN_RECORD_TOKENS, int(room * MAX_RECORD_SHARE))
        return min(self.record_tokens, max(min_tokens, int(room * self.record_share)))

    def widest_record(self, fixed: int) -> int:
        """Return the most tokens of a structured summary if the user's constraints need them."""
        max_tokens = min(WIDEST_RECORD_TOKENS, int((self.limit - fixed) * MAX_RECORD_SHARE))
        return max(max_tokens, self.record(fixed))

    def skills(self, fixed: int) -> int:
        """Return the tokens of loaded skills to keep verbatim; `fixed` as in `tail`."""
        return int((self.limit - fixed) * SKILLS_SHARE)

    @property
    def returned(self) -> int:
        """Tokens of content, requested again, that the next compaction keeps verbatim."""
        return self.limit // 4

    def largest_returned(self, fixed: int) -> int:
        """Return the tokens to which a result that was requested again arrives whole."""
        return (self.limit - fixed) * 3 // 4

    def result(self, free: int, *, fills: bool = False) -> int:
        """Return the tokens above which a tool result is replaced by a preview when it arrives.

        A quarter of the free tokens, but no less than `WHOLE_TOKENS` or a quarter of the limit.

        Args:
            free: Tokens of the limit that the rest of the request does not fill.
            fills: Whether a result may fill all of them, or half of the limit.
        """
        share = max(free, self.limit // 2) if fills else free // 4
        return min(self.result_tokens, max(share, min(WHOLE_TOKENS, self.limit // 4)))

    @property
    def smallest_arrival(self) -> int:
        """Tokens to which any new message arrives whole."""
        return min(self.result_tokens, self.input_tokens, WHOLE_TOKENS, self.limit // 4)

    @property
    def arguments(self) -> int:
        """Tokens above which a message's arguments are replaced when it arrives."""
        return min(self.input_tokens, self.limit // 4)

    @property
    def request(self) -> int:
        """Tokens above which a user's message is replaced by an excerpt when it arrives.

        A model that does not see the current request has to read it first, so this applies only
        to messages that no compaction would keep whole either.
        """
        return max(self.input_tokens, self.limit // 4)

    @property
    def preview(self) -> int:
        """Tokens of a preview."""
        return max(120, min(600, self.limit // 20))

    def arrival_preview(self, tokens: int) -> int:
        """Return the tokens of the preview of a result of `tokens` tokens that arrives."""
        return max(self.preview, min(2_000, self.limit // 20, tokens // 10))

    @property
    def report(self) -> int:
        """Tokens of the excerpt of a subagent's report that is too large."""
        return max(self.preview, min(REPORT_TOKENS, self.limit // 20))

    @property
    def cleared_result_tokens(self) -> int:
        """Tokens of the preview of an old result."""
        return max(60, self.preview // 4)

    def calibrated(self, calibration: "Calibration") -> "Budget":
        """Return the budget in our tokens, for a provider that counts differently."""
        if not calibration.is_known:
            return self
        output = calibration.lower(self.output)
        window = max(calibration.lower(self.limit), LEAST_LIMIT) + output
        share = calibration.lower(_CALIBRATION_SCALE) / _CALIBRATION_SCALE
        return self.model_copy(
            update={"window": window, "max_output": output, "media_share": share}
        )

    @property
    def progress(self) -> int:
        """Tokens an edit must free to be worth committing (I18)."""
        return max(64, self.limit // 100)


WHOLE_TOKENS = 8_000
"""Tokens to which a tool result arrives whole, in any window of which it is less than a quarter."""
_CALIBRATION_SCALE = 1_000_000
"""Tokens by which a calibration is read as a share."""
MIN_RECORD_TOKENS, MAX_RECORD_SHARE = 2_500, 0.38
"""Tokens of a structured summary that may exceed its share, and the largest share."""
BARE_RECORD_TOKENS = 120
"""Tokens of a structured summary that has given way to content that is read again."""
WIDEST_RECORD_TOKENS = 24_000
"""Most tokens of a structured summary if the user's constraints need them."""
REPORT_TOKENS = 4_000
"""Tokens of the excerpt of a report that is too large, in a large window."""
SKILLS_SHARE = 0.1
"""Share of the limit that loaded skills may keep through compactions."""
MIN_LIMIT = 1_000
"""The smallest request that can hold a goal, a structured summary and one exchange."""
LEAST_LIMIT = MIN_LIMIT // 4
"""The minimum to which a provider's count or refusal may lower a limit.

Near `MIN_LIMIT` a request may still have to shrink."""
