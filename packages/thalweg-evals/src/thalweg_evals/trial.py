"""One trial: a conversation of a case with an agent of a subject, and its result.

The user of the case talks to the agent, and fills its context as far as the case requires.
"""

import time
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from thalweg.engine.pricing.usage import NO_USAGE, Usage
from thalweg.errors import ConfigError
from thalweg_evals.base import (
    MAIN,
    Agent,
    Case,
    Forgets,
    Language,
    Need,
    Probe,
    Score,
    Setting,
    Subject,
)
from thalweg_evals.candidates import ModelCandidate
from thalweg_evals.judging import Judges, graded
from thalweg_evals.material.paging import Pages
from thalweg_evals.plan import TrialKey, missing, seed_of
from thalweg_evals.recorder import Recorder
from thalweg_evals.results import Result
from thalweg_evals.trace import Request, Trace, TracedTurn

_FORGET = "Please forget everything about the {words}, and never tell it again."
PAGES_PER_COMPACTION = 5
"""Pages that fill a conversation from one compaction to the next."""
PATIENCE = 4
"""Times as many pages are read before the absence of a compaction is accepted."""
LEAST_TOKENS, MOST_TOKENS, MOST_SHARE = 60, 12_000, 0.15
"""Limits of a page: tokens, and the share of the window. Harnesses that offload large results would
remove a longer one as a whole."""
TRIGGER = 0.85
"""Assumed trigger, as a share of the window, of an agent whose trigger is not forced."""
LEAST_ROOM = 1 / 3
"""Least tokens of a conversation, as a share of those at the trigger, for any overhead."""
_ERROR_CHARS = 300


class Talk:
    """A conversation with an agent, recorded."""

    def __init__(self, agent: Agent, setting: Setting, pages: Pages, trace: Trace) -> None:
        self.trace = trace
        self._agent = agent
        self._setting = setting
        self._pages = pages
        self._recorder = Recorder(trace, has_tools=bool(setting.tools))

    @property
    def window(self) -> int:
        """Tokens that the model accepts."""
        return self._setting.window

    def send(self, text: str, thread: str = MAIN) -> str:
        """Send a message and return the answer.

        An error of the agent is recorded, and raised again.
        """
        self._recorder.thread = thread
        self._recorder.turn = len(self.trace.turns)
        try:
            answer = self._agent.send(text, thread, [self._recorder])
        except BaseException as error:
            self.trace.turns.append(
                TracedTurn(thread, text, "", f"{type(error).__name__}: {error}")
            )
            raise
        self.trace.turns.append(TracedTurn(thread, text, answer))
        self.trace.files = self._agent.files()
        return answer

    def fill(self, compactions: int, thread: str = MAIN, language: Language = "en") -> None:
        """Request pages until the context has been compacted this often, or that fails."""
        has_tools = bool(self._setting.tools)
        before = len(self.trace.compactions(thread))
        left = float(PATIENCE * PAGES_PER_COMPACTION * compactions)
        self._pages.language = language
        while len(self.trace.compactions(thread)) - before < compactions and left > 0:
            room = self._room(thread)
            self._pages.tokens = page_tokens(room, self._setting.window)
            pages = ceil(room / self._pages.tokens)
            left -= min(1, PAGES_PER_COMPACTION / pages)
            self.send(self._pages.ask(has_tools=has_tools), thread)

    def page_tokens(self, thread: str = MAIN) -> int:
        """Return the length of a text of which a few trigger a compaction."""
        return page_tokens(self._room(thread), self._setting.window)

    def settle(self) -> None:
        """Wait until background learning has finished."""
        self._agent.settle()

    def forget(self, words: str, thread: str = MAIN) -> None:
        """Delete memories with these words, by the agent's own command or else by a request."""
        if not (isinstance(self._agent, Forgets) and self._agent.forget(words)):
            self.send(_FORGET.format(words=words), thread)

    @property
    def room(self) -> int:
        """Tokens of a conversation until it is compacted."""
        return int(self._room(MAIN))

    def _room(self, thread: str) -> float:
        """Return the tokens of a conversation until it is compacted."""
        at = (self._setting.trigger or TRIGGER) * self._setting.window
        agents = self.trace.agents(thread)
        fixed = agents[-1].fixed if agents else 0
        return max(at - fixed, at * LEAST_ROOM)


def page_tokens(room: float, window: int) -> int:
    """Return the size of a page, so that a few fill the available tokens, and none the window.

    Args:
        room: Available tokens.
        window: Tokens of the window.
    """
    most = min(MOST_TOKENS, MOST_SHARE * window)
    return int(max(LEAST_TOKENS, min(room / PAGES_PER_COMPACTION, most)))


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
        answers = [_usage(request) for request in trace.requests]
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
            tokens=sum(answers, NO_USAGE),
            cost=self.candidate.cost_of(*answers),
            seconds=seconds,
            error=error,
            trace=trace,
        )


def _usage(request: Request) -> Usage:
    """Return the tokens of a request: as the model reported, or as counted."""
    sent = request.input_tokens or request.tokens
    return Usage(sent, min(sent, request.cached_tokens), output=request.output_tokens)
