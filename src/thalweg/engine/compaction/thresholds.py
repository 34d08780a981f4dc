"""Fixed thresholds: compact when the context reaches a configured size, keep a configured tail."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import PlainValidator, model_validator

from thalweg.engine.compaction.hard_limit import squeeze
from thalweg.engine.compaction.plan import plan_arrivals, plan_fold, plan_tail
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.edits import Edit, Fold
from thalweg.engine.sections import SettingsSection, refuse

Kind = Literal["fraction", "tokens", "messages"]
"""The unit of a threshold."""


def _number(given: object) -> int | float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        refuse(f"{given!r} is not a number", "write one, such as 0.8 or 50")
    return given


class Threshold(SettingsSection):
    """A size of the context: a share of the window, tokens or messages.

    Written as `{type: fraction, value: 0.8}` or as the pair `("fraction", 0.8)`.
    """

    type: Kind
    """`fraction`: of the window, over the whole request. `tokens` and `messages`: of the thread,
    without the system prompt and other overhead."""
    value: Annotated[int | float, PlainValidator(_number)]

    @model_validator(mode="before")
    @classmethod
    def _pairs_are_read(cls, given: object) -> object:
        if isinstance(given, int | float | str):
            mend = "it should be keys and values, such as {type: messages, value: 20}"
            refuse(f"{str(given)!r} cannot be used", mend)
        match given:
            case [str() as kind, value]:
                return {"type": kind, "value": value}
            case _:
                return given

    @model_validator(mode="after")
    def _is_in_range(self) -> Self:
        if self.type == "fraction" and not 0 < self.value <= 1:
            mend = "write a share such as 0.8"
            if 1 < self.value <= 100:  # noqa: PLR2004 (percent)
                mend = f"write {self.value / 100:g} for {self.value:g} %"
            refuse(f"a fraction of {self.value:g} is outside 0..1", mend)
        if self.type != "fraction" and (self.value < 1 or self.value % 1):
            mend = "write a whole number from 1, or type: fraction for a share of the window"
            refuse(f"there are no {self.value:g} {self.type}", mend)
        return self

    def is_reached(self, scene: PlanningContext) -> bool:
        """Return whether a context has reached this size."""
        match self.type:
            case "fraction":
                return scene.window.tokens >= self.value * scene.budget.window
            case "tokens":
                return scene.spoken > self.value
            case "messages":
                return scene.window.messages >= self.value

    def tokens(self, scene: PlanningContext) -> int | None:
        """Return the tokens of the thread at which this is reached; `None` for messages."""
        if self.type == "messages":
            return None
        return self.tail(scene) - (scene.fixed if self.type == "fraction" else 0)

    def tail(self, scene: PlanningContext) -> int:
        """Return the tokens of a tail of this size."""
        match self.type:
            case "fraction":
                return int(self.value * scene.budget.window)
            case "tokens":
                return int(self.value)
            case "messages":
                window = scene.window
                return window.tokens_from(window.cut_for_messages(int(self.value)))


def is_pair(given: object) -> bool:
    """Return whether a value is a threshold in LangChain's form: `("tokens", 4000)`."""
    return isinstance(given, list | tuple) and len(given) == len("tv") and isinstance(given[0], str)


@dataclass(slots=True, kw_only=True)
class Thresholds:
    """Compacts when any trigger is reached, and keeps the newest messages by `keep`.

    A compaction is made only if it frees something. A trigger that it does not clear (what is
    kept exceeds it) waits until the thread has grown again by a share: the same attempt is never
    made twice.

    Independent of it, hard limits: a request that would not fit is always reduced.
    """

    triggers: tuple[Threshold, ...]
    """If empty, only the hard limits cause a compaction."""
    keep: Threshold
    memory: dict[str, float] = field(default_factory=dict)
    """`waits`: tokens that the thread must reach before a trigger that was not cleared counts
    again."""

    LEAST = 64
    """Least tokens that a compaction must free."""
    GROWTH = 8
    """An uncleared trigger waits until the thread has grown by an eighth."""
    RECORD_SHARE, WIDEST_SHARE = 1 / 10, 1 / 8
    """Share of the tokens from the tail to a trigger that a structured summary may fill, and the
    share if the user's constraints need it."""
    LEAST_TALK, LEAST_WORK = 320, 560
    """Tokens of a structured summary even if trigger and tail permit less: without tool calls, and
    with them, which requests do not name. With 480, the evals of artifacts and of orders, at a
    trigger of a tenth of the window, fail."""

    def prepare(self, scene: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Yield arrivals, then a compaction if a trigger is reached, then hard-limit reductions."""
        del cold  # the user's thresholds decide, not the cost of a rewrite
        yield plan_arrivals(scene)
        acted = self._is_due(scene)
        fold = self._plan(scene) if acted else None
        if fold is not None:
            yield (fold, *plan_tail(scene, fold.last))
        for batch in squeeze(scene):
            acted = True
            yield batch
        if acted:
            left = scene.spoken
            waits = left + max(self.LEAST, left // self.GROWTH) if self._any(scene) else 0
            self.memory["waits"] = waits

    def _any(self, scene: PlanningContext) -> bool:
        return any(trigger.is_reached(scene) for trigger in self.triggers)

    def _is_due(self, scene: PlanningContext) -> bool:
        return scene.spoken >= self.memory.get("waits", 0) and self._any(scene)

    def _plan(self, scene: PlanningContext) -> Fold | None:
        tail = self.keep.tail(scene)
        record, widest = self._rooms(scene, tail)
        fold = plan_fold(
            scene, tail=tail, record=record, widest=widest, reason="a trigger of the policy"
        )
        if fold is None or fold.freed < self.LEAST:
            return None
        # if this alone would not make the request fit, the hard limit compacts instead
        return fold if scene.window.tokens - fold.freed <= scene.budget.limit else None

    def _rooms(self, scene: PlanningContext, tail: int) -> tuple[int, int]:
        """Return the most tokens of a structured summary, without and with all constraints.

        Half, or three quarters, of what a compaction frees now; and a small share of the distance
        from the tail to the nearest trigger in tokens: a larger summary brings the next compaction
        nearer. Triggers in messages are equally far for any size of it.
        """
        budget, fixed = scene.budget, scene.fixed
        kept = scene.window.tokens_from(scene.window.cut_for_tail(tail))
        free = scene.spoken - kept
        sizes = [size for t in self.triggers if (size := t.tokens(scene)) is not None]
        way = min(sizes) - kept if sizes else None
        record, widest = free // 2, free * 3 // 4
        if way is not None:
            record = min(record, int(way * self.RECORD_SHARE))
            widest = min(widest, int(way * self.WIDEST_SHARE))
        least = self.LEAST_WORK if _has_work(scene) else self.LEAST_TALK
        record = min(budget.record(fixed), max(least, record))
        return record, min(budget.widest_record(fixed), max(record, widest))


def _has_work(scene: PlanningContext) -> bool:
    """Return whether tools were called, so that a summary has more content than requests."""
    record, entries = scene.window.record, scene.window.entries.values()
    return bool(record.files or record.runs or record.tasks) or any(e.uses for e in entries)
