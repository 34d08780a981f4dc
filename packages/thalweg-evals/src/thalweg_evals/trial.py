"""One trial: a conversation of a case with an agent of a subject, and its result."""

import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from thalweg.errors import ConfigError
from thalweg_evals.base import Case, Need, Probe, Score, Setting, Subject
from thalweg_evals.candidates import ModelCandidate
from thalweg_evals.judging import Judges, graded
from thalweg_evals.material.paging import Pages
from thalweg_evals.plan import TrialKey, missing, seed_of
from thalweg_evals.results import Result, TrialTokens
from thalweg_evals.talk import Talk
from thalweg_evals.trace import Request, Trace

_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The inputs of a trial."""

    key: TrialKey
    candidate: ModelCandidate
    subject: Subject
    probe: Probe
    seed: int
    """Seed of the whole plan."""
    judge: Judges | None = None
    """Decides if no exact check can."""

    @property
    def offers(self) -> frozenset[Need]:
        """The needs that the agent supports, with this model."""
        offers = self.subject.offers
        return offers if self.candidate.calls_tools else offers - {"tools"}

    def play(self) -> Result:
        """Run the trial.

        Any error of the agent is a failure of the agent, and reported as one; an interrupt by a
        person is not.
        """
        dice = seed_of(self.seed, self.key)
        case = self.probe.make(self.key.variant, Random(dice))
        case_needs: frozenset[Need] = frozenset({"tools"}) if case.tools else frozenset()
        lacking = missing(self.probe.needs | case_needs, self.offers, self.key.trigger)
        if lacking:
            why = f"not offered: {', '.join(lacking).replace('_', ' ')}"
            return self._result(Score(verdict="untested", why=why), not_offered=True)
        trace, start = Trace(), time.monotonic()
        with TemporaryDirectory(prefix="thalweg-eval-", ignore_cleanup_errors=True) as folder:
            error = self._converse(case, trace, Path(folder), dice)
        seconds = time.monotonic() - start
        if error:
            last = trace.requests[-1].number if trace.requests else None
            score = Score(verdict="failed", why=f"the agent raised {error}", request=last)
        else:
            score = graded(case, trace, self.judge)
        return self._result(score, trace, seconds=seconds, error=error)

    def _converse(self, case: Case, trace: Trace, folder: Path, dice: int) -> str:
        """Perform the conversation; return the error that ended the agent, if any."""
        pages = Pages(Random(f"pages {dice}"))
        has_tools = "tools" in self.offers
        setting = Setting(
            model=self.candidate.make(case),
            window=self.candidate.window,
            folder=folder,
            trigger=self.key.trigger,
            tools=(pages.tool(), *case.tools) if has_tools else (),
            system_prompt=case.system_prompt if "system_prompt" in self.subject.offers else "",
        )
        try:
            agent = self.subject.begin(setting)
            try:
                case.run(Talk(agent, setting, pages, trace))
            finally:
                agent.close()
        except ConfigError:
            raise  # a configuration error would fail every other trial, too
        except Exception as error:  # noqa: BLE001 (an edge: any user's agent runs here)
            return f"{type(error).__name__}: {error}"[:_ERROR_CHARS]
        return ""

    def _result(
        self,
        score: Score,
        trace: Trace | None = None,
        *,
        seconds: float = 0.0,
        error: str = "",
        not_offered: bool = False,
    ) -> Result:
        trace = Trace() if trace is None else trace
        tokens = sum(map(_tokens, trace.requests), TrialTokens())
        last = trace.last.number if trace.last is not None else None
        return Result(
            key=self.key,
            seed=seed_of(self.seed, self.key),
            window=self.candidate.window,
            verdict="not offered" if not_offered else score.verdict,
            why=score.why,
            request=last if score.request is None else score.request,
            value=score.value,
            judged=score.judged,
            compactions=len(trace.compactions()),
            tokens=tokens,
            cost=self.candidate.cost_of(tokens),
            seconds=seconds,
            error=error,
            trace=trace,
        )


def _tokens(request: Request) -> TrialTokens:
    """Return the tokens of a request: as the model reported, or as counted."""
    sent = request.input_tokens or request.tokens
    return TrialTokens(sent, min(sent, request.cached_tokens), request.output_tokens)
