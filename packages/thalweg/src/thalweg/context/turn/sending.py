"""Sending of a request: measured at the client, then answered, or refused and changed."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage
from langgraph.errors import GraphBubbleUp

from thalweg.archive.threads.journal import GivenAnswer
from thalweg.context.request.messages import is_text_only, parse_message, read_state
from thalweg.context.request.refusals import (
    ALTERNATION,
    Overflow,
    Rejection,
    overflow_of,
    plan_repair,
    refuses_tools,
    rejection_of,
)
from thalweg.context.request.size import (
    Ceilings,
    Overhead,
    RequestGuard,
    RequestSize,
    SizeRefusal,
    TooLarge,
)
from thalweg.context.turn.effects import Flow, Send
from thalweg.context.turn.events import CustomStream, count_edits, emit_rejection
from thalweg.context.turn.threads import OpenThread, SessionPool
from thalweg.engine.edits import Edit
from thalweg.engine.entries import Message
from thalweg.engine.pricing.token_factors import first_calibration
from thalweg.engine.tokens import Calibration
from thalweg.engine.window.binding import is_binding_refusal, is_signed
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import has_compaction
from thalweg.errors import RefusedError, RejectedRequestError, WindowExceededError

ATTEMPTS = 6
"""Most attempts to send one request; each one is smaller."""
ANSWER_SHARE = 0.25
"""Most of another model's window that is kept free for its answer."""
INPUT_TOKENS, CACHED_TOKENS = "thalweg_input_tokens", "thalweg_cached_tokens"
"""Metadata of a call for callbacks: the request's own count, and how much may be cached."""
_SECTION_LABELS = {"added": "added by other middleware"}
"""Labels of sections of the ledger whose own names are not clear."""
_log = logging.getLogger("thalweg.requests")
_BINDS_LOG = (
    "%s refused reasoning that is bound to another conversation: it is removed from requests "
    "when its prefix changes; the provider's message: %s"
)
_TOOLLESS_LOG = (
    "%s takes no tools: requests have none of ours from now on, and what is removed from them "
    "cannot be read back there; the server's message: %s"
)
_LEARNED_LOG = "%s accepts less than assumed, %s from now on; it refused a request: %s"


@dataclass(slots=True)
class Sending:
    """Sends the requests of one turn, and learns limits from refusals and answers."""

    sessions: SessionPool
    model: str
    """The model that the requests are built for, as `provider:name`."""
    runtime: CustomStream
    """Where refusals are emitted."""
    ceilings: Ceilings = field(default_factory=Ceilings)
    """Limits that hold in this turn alone."""
    refusals: list[SizeRefusal] = field(default_factory=list)
    attempts: int = 0
    tried: str = ""
    """How the request was repaired after its content was refused; empty before."""
    is_toolless: bool = False
    """Whether tools were refused in this turn."""
    rejected: str = ""
    """The provider's words, if it refused the repaired request as well."""
    _repairs: Sequence[Edit] = ()

    def under(self, budget: Budget) -> Budget:
        """Lower a budget to the limits that the model accepts, in general and in this turn."""
        return self.ceilings.under(self.sessions.ceilings.get(self.model, Ceilings()).under(budget))

    def attempt(
        self,
        opened: OpenThread,
        request: ModelRequest[Any],
        overhead: Overhead,
        *,
        has_own_tools: bool = False,
    ) -> Flow[ModelResponse[Any] | None]:
        """Send a request.

        Args:
            opened: The thread.
            request: The request.
            overhead: Its system prompt and tools.
            has_own_tools: Whether all of its tools are ours.

        Returns:
            `None` if it was refused. If it was too large, the thread's budget is lower now, to plan
            with again; if its content was refused, see `take_repairs`.

        Raises:
            WindowExceededError: That was the last attempt.
            RejectedRequestError: Its content was refused, and nothing can be changed, or the
                repaired request was refused as well.
        """
        engine = opened.session.engine
        limit = engine.budget.calibrated(engine.calibration).limit
        limit += engine.window.tokens - engine.planning_context().tokens_to_fit
        written = opened.writer.written
        guard = RequestGuard(engine.count, written, limit, engine.model, overhead)
        self.attempts += 1
        try:
            response: ModelResponse[Any] = yield Send(request, (guard,), metadata=_size(opened))
        except TooLarge:
            opened.learn_overhead(guard.tokens)
            if self.attempts == ATTEMPTS:
                raise self.exceeded(opened) from None
        except GraphBubbleUp:  # not an error: LangGraph's own way out of a step
            raise
        except Exception as error:
            model = guard.model or self.model
            if refuses_tools(error):  # the user's own tools are refused as they are without us
                if self.is_toolless or not has_own_tools:
                    raise
                self._leave_out_tools(model, error)
            elif not self._adapt(opened, error, model):
                raise
        else:
            opened.learn_overhead(guard.tokens)
            self._observe(opened, response, guard)
            return response
        return None

    def _leave_out_tools(self, model: str, error: Exception) -> None:
        """Send no tools of ours to a model that takes none."""
        self.is_toolless = True
        self.sessions.toolless.add(model)
        _log.warning(_TOOLLESS_LOG, model, str(error)[:200])

    def _adapt(self, opened: OpenThread, error: Exception, model: str) -> bool:
        """Change the thread after a refusal; return whether another attempt makes sense."""
        overflow = overflow_of(error)
        if overflow is None:
            rejection = rejection_of(error, model)
            if rejection is not None:
                self._repair(opened, rejection, error)
            return rejection is not None
        self._shrink(opened, overflow, model, str(error))
        if self.attempts == ATTEMPTS:
            raise self.exceeded(opened) from error
        return True

    def _repair(self, opened: OpenThread, rejection: Rejection, error: Exception) -> None:
        """Plan the repair of a request whose content was refused; there is one in a turn."""
        session, key = opened.session, opened.session.key
        engine, turn = session.engine, session.page.turns
        if is_binding_refusal(rejection.message) and rejection.model not in self.sessions.binding:
            self.sessions.binding.add(rejection.model)
            _log.warning(_BINDS_LOG, rejection.model, rejection.message[:200])
        is_alternation = ALTERNATION.words.search(rejection.message) is not None
        if is_alternation and rejection.model not in self.sessions.alternating:
            self.sessions.alternating.add(rejection.model)
            emit_rejection(key, turn, rejection, ALTERNATION, (), self.runtime)
            return
        cause_and_edits = None if self.tried else plan_repair(rejection, engine)
        if cause_and_edits is None:
            self.rejected = rejection.message
            model, status, message = rejection.model, rejection.status, rejection.message
            raise RejectedRequestError(model, status, message, self.tried, key.thread) from error
        cause, self._repairs = cause_and_edits
        self.tried = f"{count_edits(self._repairs)} ({cause.name})"
        emit_rejection(key, turn, rejection, cause, self._repairs, self.runtime)

    def take_repairs(self) -> Sequence[Edit]:
        """Return the edits that the next request needs, and forget them."""
        repairs, self._repairs = self._repairs, ()
        return repairs

    def _shrink(self, opened: OpenThread, overflow: Overflow, model: str, message: str) -> None:
        """Make the next request smaller, after a refusal by the provider or by our own check."""
        engine = opened.session.engine
        calibration = self._calibrate(opened, model, overflow.counted)
        if calibration.factor > engine.calibration.factor:
            engine.calibration = calibration  # until the thread is taken for the next turn
        ledger = engine.window.ledger
        size = RequestSize.of(ledger, calibration, overflow.counted)
        earlier_refusals = len(self.refusals)
        self.refusals.append(SizeRefusal(model, overflow, size, message))
        budget = engine.budget
        if model != self.model and overflow.limit:  # its answers are of its own size
            output = min(budget.output, int(overflow.limit * ANSWER_SHARE))
            budget = budget.model_copy(update={"max_output": output})
        self.ceilings = self.ceilings.lowered(
            overflow, ledger, budget, engine.calibration, earlier_refusals
        )
        engine.budget = self.ceilings.under(budget)

    def _observe(
        self, opened: OpenThread, response: ModelResponse[Any], guard: RequestGuard
    ) -> None:
        model, counted = guard.model or self.model, None
        for message in response.result:
            if isinstance(message, AIMessage):
                answer = None if is_text_only(message) else parse_message(message)
                self._record_answer(opened, model, message, answer, guard)
                is_compacted = answer is not None and has_compaction(answer)
                if message.usage_metadata and not is_compacted:
                    counted = message.usage_metadata["input_tokens"]
        calibration = self._calibrate(opened, model, counted)
        engine = opened.session.engine
        old_ceilings = self.sessions.ceilings.get(model, Ceilings())
        refusals = [refusal for refusal in self.refusals if refusal.model == model]
        if not refusals and old_ceilings == Ceilings():
            return
        accepted = RequestSize.of(engine.window.ledger, calibration, counted)
        new_ceilings = old_ceilings.learned(refusals, accepted, engine.budget.output)
        if new_ceilings != old_ceilings:
            self.sessions.ceilings[model] = new_ceilings
        if refusals and new_ceilings != old_ceilings:
            _log.warning(_LEARNED_LOG, model, _describe(new_ceilings), refusals[-1].message[:200])

    def _record_answer(
        self,
        opened: OpenThread,
        model: str,
        message: AIMessage,
        answer: Message | None,
        guard: RequestGuard,
    ) -> None:
        """Record in the thread the model of an answer, and the binding of its reasoning."""
        session, bond = opened.session, ""
        if answer is not None and is_signed(answer):
            bond = str(session.engine.bond(read_state(guard.behind)))
        session.answers.came(GivenAnswer(message.id or "", model, bond))

    def _calibrate(self, opened: OpenThread, model: str, counted: int | None) -> Calibration:
        session, engine = opened.session, opened.session.engine
        calibration = session.calibrations.get(model) or first_calibration(model)
        if counted:
            ledger, (unseen, unseen_media) = engine.window.ledger, opened.unseen
            calibration = calibration.observe(
                estimated=ledger.total - unseen,
                reported=counted,
                slack=ledger.slack,
                media=ledger.media_tokens - unseen_media,
            )
            session.calibrations[model] = calibration
            if model == self.model:
                engine.calibration = calibration
        return calibration

    def exceeded(
        self, opened: OpenThread, engine_error: WindowExceededError | None = None
    ) -> WindowExceededError:
        """Return the error that explains why nothing smaller can be sent.

        Args:
            opened: The thread.
            engine_error: The error of the engine, which counts in our tokens.
        """
        engine = opened.session.engine
        as_provider_counts = engine.calibration.upper
        sections = sorted(engine.window.ledger.tokens.items(), key=lambda pair: -pair[1])
        parts = tuple(
            f"{_SECTION_LABELS.get(name, name)} {as_provider_counts(tokens)} tokens"
            for name, tokens in sections
            if tokens
        )
        if not self.refusals:
            if engine_error is not None and engine_error.unit != "tokens":
                return WindowExceededError(
                    engine_error.needed, engine_error.window, parts, engine_error.unit
                )
            needed = as_provider_counts(engine.window.tokens)
            return WindowExceededError(needed, engine.budget.limit, parts, "tokens")
        last = self.refusals[-1]
        return RefusedError(
            last.overflow.counted or last.size.tokens,
            last.overflow.limit or engine.budget.limit,
            parts,
            "tokens",
            kind=last.overflow.kind,
            model=last.model,
            message=last.message,
        )


def _size(opened: OpenThread) -> Mapping[str, int]:
    size = opened.session.page.usage
    return {INPUT_TOKENS: size.input, CACHED_TOKENS: size.cached}


def _describe(ceilings: Ceilings) -> str:
    limits = (
        (ceilings.window, "tokens with the answer"),
        (ceilings.bytes, "bytes"),
        (ceilings.media, "images and documents"),
    )
    return ", ".join(f"at most {limit} {unit}" for limit, unit in limits if limit is not None)
