"""What models accept, learned from the requests that a provider refused as too large."""

import logging
from dataclasses import dataclass, field

from thalweg.archive import ThreadKey
from thalweg.context.request.last_check import Ceilings, RequestSize, SizeRefusal
from thalweg.context.request.refusals import Overflow
from thalweg.engine.engine import Engine
from thalweg.engine.window.budget import Budget

ATTEMPTS = 6
"""How often one request is sent, a smaller one each time; as `ContextMiddleware` does."""
_log = logging.getLogger("thalweg.requests")


@dataclass(slots=True)
class RefusedRequest:
    """A thread's request that was refused, and what its next attempt has to keep to."""

    ceilings: Ceilings = field(default_factory=Ceilings)
    refusals: list[SizeRefusal] = field(default_factory=list)


class SizeLimits:
    """Limits of models, and of the requests that wait for a smaller attempt."""

    def __init__(self) -> None:
        self._learned: dict[str, Ceilings] = {}
        self._refused: dict[ThreadKey, RefusedRequest] = {}

    def under(self, key: ThreadKey, model: str, budget: Budget) -> Budget:
        """Lower a budget to the accepted size, by the model and for the thread's next request."""
        lowered = self._learned.get(model, Ceilings()).under(budget)
        refused = self._refused.get(key)
        return lowered if refused is None else refused.ceilings.under(lowered)

    def refuse(
        self, key: ThreadKey, model: str, engine: Engine, overflow: Overflow, message: str
    ) -> bool:
        """Lower the limits of a thread's next attempt; return whether there is one."""
        refused = self._refused.setdefault(key, RefusedRequest())
        ledger, calibration, times = engine.window.ledger, engine.calibration, len(refused.refusals)
        size = RequestSize.of(ledger, calibration, overflow.counted)
        refused.refusals.append(SizeRefusal(model, overflow, size, message))
        refused.ceilings = refused.ceilings.lowered(
            overflow, ledger, engine.budget, calibration, min(times, ATTEMPTS)
        )
        _log.warning("%s refused a request as too large: %s", model, message[:200])
        return len(refused.refusals) < ATTEMPTS

    def accept(self, key: ThreadKey, model: str, tokens: int, output: int) -> None:
        """Learn for later requests of a model, once it answered a smaller attempt.

        Args:
            key: The thread.
            model: The model.
            tokens: Of the request that was accepted, as the provider counts them.
            output: Tokens that were kept free for the answer.
        """
        refused = self._refused.pop(key, None)
        if refused is not None:
            refusals = [one for one in refused.refusals if one.model == model]
            known = self._learned.get(model, Ceilings())
            self._learned[model] = known.learned(refusals, RequestSize(tokens), output)
