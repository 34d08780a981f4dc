"""Summaries of folded messages by a model: who is asked, how, and what is done when it fails.

Whatever goes wrong, the deterministic record stands: a run never fails over a summary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage

from thalweg.context.edits import Fold
from thalweg.context.engine import Engine
from thalweg.context.pricing import Tariff
from thalweg.context.settings import ContextPolicy
from thalweg.entries import Entry, Message, Text
from thalweg.errors import ConfigError, SummaryError
from thalweg.middleware.effects import UNSEEN, Ask, Flow, Send
from thalweg.middleware.limits import limits_of, model_name
from thalweg.middleware.overflow import overflow_of
from thalweg.summaries.ask import ask_for, ask_in_place
from thalweg.summaries.check import checked
from thalweg.summaries.chunks import LEAST_BUDGET, chunks
from thalweg.summaries.reading import read_summary
from thalweg.summaries.summary import Summary, merged
from thalweg.threads.journal import Spent
from thalweg.tokens import Counter

LEAST_TOKENS = 1_000
"""Tokens of folded messages below which a record alone says as much."""
MARGIN = 0.8
"""Share of a summarizer's window that a chunk may fill: its tokens may be others than ours."""
PROMPT_TOKENS = 1_200
"""Room for the instructions beside a chunk."""
SHRINKINGS = 4
"""How often chunks are halved because the summarizer found one too large."""


@dataclass(slots=True)
class Summarizer:
    """Asks for the summaries of one turn."""

    policy: ContextPolicy
    named: BaseChatModel | None
    """The model that was named for it; `None` for the agent's own."""
    request: ModelRequest[Any]
    tariff: Tariff
    is_cold: bool
    """Whether the provider's cache has lost the prefix of the live request."""
    count: Counter
    spent: Spent = field(default_factory=Spent)
    faults: list[str] = field(default_factory=list)
    """What went wrong, and what was left out, as sentences."""

    def summarize(
        self, engine: Engine, fold: Fold, live: Sequence[AnyMessage]
    ) -> Flow[Summary | None]:
        """Have the messages that a fold takes summarized, from the originals.

        Args:
            engine: Of the thread; the fold is not committed.
            fold: The fold.
            live: The live request as it was last sent, and what came since.

        Returns:
            `None` when no model gave one that may be kept.
        """
        window = engine.window
        folded = [e for p, e in window.entries.items() if p <= fold.last and p not in fold.kept]
        if sum(entry.tokens for entry in folded) < LEAST_TOKENS:
            return None
        said = [Message("user", (Text(quote.text),)) for quote in window.record.requests]
        source = [*said, *(entry.message for entry in window.entries.values())]
        found: list[Summary] = []
        if self._pays_in_place(engine, folded):
            answer = yield from self._in_place(live, fold.last)
            found += self._read(answer, source)
        if not found:
            for answer in (yield from self._apart(folded)):
                found += self._read(answer, source)
        return merged(found) if found else None

    def _pays_in_place(self, engine: Engine, folded: Sequence[Entry]) -> bool:
        """Tell whether asking behind the live request costs less than showing the originals.

        Behind the live request everything is read again at the price of the cache; apart, the
        folded messages at full price. It must fit, and a format that was asked for answers to
        would spoil it.
        """
        if self.named is not None or self.policy.summary_prompt or self.request.response_format:
            return False
        tokens = engine.window.tokens + PROMPT_TOKENS
        fits = tokens <= engine.budget.calibrated(engine.calibration).limit
        price = self.tariff.write if self.is_cold else self.tariff.read
        return fits and price * tokens <= sum(entry.tokens for entry in folded)

    def _in_place(self, live: Sequence[AnyMessage], last: int) -> Flow[AIMessage | None]:
        asking = HumanMessage(ask_in_place(last))
        request = self.request.override(messages=[*live, asking])
        try:
            response: ModelResponse[Any] = yield Send(request, tags=UNSEEN)
        except Exception as error:  # noqa: BLE001 (whatever it is, the record stands)
            self._fault(error)
            return None
        return self._answer(response.result, self.request.model)

    def _apart(self, folded: Sequence[Entry]) -> Flow[list[AIMessage | None]]:
        """Show the originals to the summarizer, in chunks that fit its window."""
        model = self.named or self.request.model
        room = int((limits_of(model).input - PROMPT_TOKENS) * MARGIN)
        budget = max(LEAST_BUDGET, min(room, self.policy.trim_tokens_to_summarize or room))
        shown = [(entry.position, entry.message) for entry in folded]
        for left in reversed(range(SHRINKINGS)):
            answers: list[AIMessage | None] = []
            for chunk in chunks(shown, budget, self.count):
                asking = HumanMessage(ask_for(chunk, custom=self.policy.summary_prompt))
                try:
                    answer = yield Ask(model, [asking])
                except Exception as error:  # noqa: BLE001 (as above)
                    self._fault(error)
                    if left and overflow_of(error) is not None:
                        break
                    answers.append(None)
                else:
                    answers.append(self._answer([answer], model))
            else:
                return answers
            budget = max(LEAST_BUDGET, budget // 2)
        return []

    def _fault(self, error: Exception) -> None:
        """Note an error of a model; one that says how we were set up wrongly is for the user."""
        if isinstance(error, ConfigError):
            raise error
        self.faults.append(f"{type(error).__name__}: {str(error)[:200]}")

    def _answer(self, result: Sequence[BaseMessage], model: BaseChatModel) -> AIMessage | None:
        """Take the answer, and note what it cost."""
        answer = next((m for m in result if isinstance(m, AIMessage)), None)
        if answer is None:
            return None
        usage = answer.usage_metadata
        details = usage.get("input_token_details", {}) if usage else {}
        self.spent = Spent(
            calls=self.spent.calls + 1,
            input=self.spent.input + (usage["input_tokens"] if usage else 0),
            cached=self.spent.cached + (details.get("cache_read") or 0),
            written=self.spent.written + (details.get("cache_creation") or 0),
            output=self.spent.output
            + (usage["output_tokens"] if usage else self.count(str(answer.text))),
            model=model_name(model),
        )
        return answer

    def _read(self, answer: AIMessage | None, source: Sequence[Message]) -> list[Summary]:
        """Read and check an answer; one that must not be kept gives nothing."""
        if answer is None:
            return []
        meta = answer.response_metadata
        finish = str(meta.get("finish_reason") or meta.get("stop_reason") or "")
        try:
            summary, dropped = checked(read_summary(str(answer.text), finish=finish), source)
        except SummaryError as error:
            self.faults.append(str(error))
            return []
        self.faults += dropped
        return [summary]
