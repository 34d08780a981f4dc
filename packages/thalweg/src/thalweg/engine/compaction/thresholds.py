"""A size of the context at which it is compacted, or of the messages kept then."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import PlainValidator, model_validator

from thalweg.engine.sections import SettingsSection, refuse

if TYPE_CHECKING:
    from thalweg.engine.compaction.planning_context import PlanningContext

ThresholdUnit = Literal["fraction", "tokens", "messages"]
"""The unit of a threshold."""


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(f"{value!r} is not a number", "write one, such as 0.8 or 50")
    return value


class Threshold(SettingsSection):
    """A size of the context: a share of the window, tokens or messages.

    Written as `{type: fraction, value: 0.8}` or as the pair `("fraction", 0.8)`.
    """

    type: ThresholdUnit
    """`fraction`: of the window, over the whole request. `tokens` and `messages`: of the thread,
    without the system prompt and other overhead."""
    value: Annotated[int | float, PlainValidator(_number)]

    @model_validator(mode="before")
    @classmethod
    def _pair_to_mapping(cls, data: object) -> object:
        if isinstance(data, int | float | str):
            fix = "it should be keys and values, such as {type: messages, value: 20}"
            refuse(f"{str(data)!r} cannot be used", fix)
        match data:
            case [str() as kind, value]:
                return {"type": kind, "value": value}
            case _:
                return data

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.type == "fraction" and not 0 < self.value <= 1:
            fix = "write a share such as 0.8"
            if 1 < self.value <= 100:  # noqa: PLR2004 (percent)
                fix = f"write {self.value / 100:g} for {self.value:g} %"
            refuse(f"a fraction of {self.value:g} is outside 0..1", fix)
        if self.type != "fraction" and (self.value < 1 or self.value % 1):
            fix = "write a whole number from 1, or type: fraction for a share of the window"
            refuse(f"there are no {self.value:g} {self.type}", fix)
        return self

    def describe(self) -> str:
        """Return the reason of a compaction at this size: `fraction threshold met (0.8)`."""
        return f"{self.type} threshold met ({self.value:g})"

    def is_reached(self, context: "PlanningContext") -> bool:
        """Return whether a context has reached this size."""
        match self.type:
            case "fraction":
                return context.window.tokens >= self.value * context.budget.window
            case "tokens":
                return context.thread_tokens > self.value
            case "messages":
                return context.window.messages >= self.value

    def tokens(self, context: "PlanningContext") -> int | None:
        """Return the tokens of the thread at which this is reached; `None` for messages."""
        if self.type == "messages":
            return None
        return self.tail(context) - (context.fixed if self.type == "fraction" else 0)

    def tail(self, context: "PlanningContext") -> int:
        """Return the tokens of a tail of this size."""
        match self.type:
            case "fraction":
                return int(self.value * context.budget.window)
            case "tokens":
                return int(self.value)
            case "messages":
                window = context.window
                return window.tokens_from(window.cut_for_messages(int(self.value)))


def is_pair(value: object) -> bool:
    """Return whether a value is a threshold in LangChain's form: `("tokens", 4000)`."""
    return isinstance(value, list | tuple) and len(value) == len("tv") and isinstance(value[0], str)
