"""Compaction of an idle thread, with a model's summary if the settings enable one."""

from collections.abc import Sequence
from functools import partial

from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import ThreadBranch
from thalweg.archive.threads.operations import OperationResult, compact
from thalweg.context.request.models import limits_for, model_name
from thalweg.context.turn.effects import run
from thalweg.context.turn.summaries import Summarizer
from thalweg.engine.edits import Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.matching import UNKNOWN_TARIFF
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter, first_calibration
from thalweg_server.app.spending import Prices
from thalweg_server.models import model_by_name
from thalweg_server.settings.sections import Settings


def compacted(archive: Archive, key: ThreadKey, settings: Settings) -> OperationResult:
    """Fold what can be folded, and ask the model that the settings name for a summary.

    Raises:
        ArchiveError: The thread has no turns.
        ConfigError: The model cannot be made.
    """
    policy = settings.summarization
    name = policy.model_name or settings.default_model
    if not policy.summarize or name is None:
        return compact(archive, key)
    return compact(
        archive, key, _ModelNarrativeWriter(archive, key, settings, model_by_name(name, settings))
    )


class _ModelNarrativeWriter:
    """See `thalweg.archive.threads.operations.NarrativeWriter`."""

    def __init__(
        self, archive: Archive, key: ThreadKey, settings: Settings, model: BaseChatModel
    ) -> None:
        self._archive = archive
        self._key = key
        self._model = model
        policy, name = settings.summarization, model_name(model)
        tariff = Prices(policy).tariff(name)
        limits = limits_for(model, None if policy.model_name else policy)
        self._summarizer = Summarizer(
            policy=policy,
            named=model,
            request=ModelRequest(model=model, messages=[]),
            limit=first_calibration(name).lower(limits.input),
            tariff=tariff or UNKNOWN_TARIFF,
            is_cold=True,
            count=exact_counter(),
            unread=lambda _first, _last: (),
            cacheable=lambda request: request,
        )

    @property
    def spent(self) -> Usage:
        """Its usage so far."""
        return self._summarizer.spent

    def __call__(self, engine: Engine, fold: Fold, line: ThreadBranch) -> Fold:
        """Return a compaction with a summary, or unchanged if the model writes no valid one."""
        self._summarizer.unread = partial(self._folded, engine, line)
        return run(self._summarizer.summarize(engine, fold, ()))

    def _folded(
        self, engine: Engine, line: ThreadBranch, first: int, last: int
    ) -> Sequence[tuple[int, Message]]:
        live = engine.window.entries
        logged = enumerate(self._archive.messages(self._key, first, last), first)
        return [(p, m) for p, m in logged if p in line and p not in live]
