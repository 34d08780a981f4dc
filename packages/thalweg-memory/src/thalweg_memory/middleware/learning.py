"""Learning in the process that the agent runs in: who is asked, and when there is something."""

from langchain_core.language_models import BaseChatModel

from thalweg.context.request.model_limits import is_stand_in, model_name, provider_of
from thalweg.engine.pricing.matching import tariff_for
from thalweg_memory.base import MemoryStore
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.background import background
from thalweg_memory.jobs.worker import Worker


class BackgroundLearning:
    """Extraction of facts from stored messages, in the background.

    Args:
        model: The model that extracts; `None` for the agent's own, which is available after its
            first call.
        is_on: Off: a worker in another process does it.
    """

    def __init__(self, model: BaseChatModel | None, *, is_on: bool) -> None:
        self._model = model
        self._is_on = is_on
        self._worker: Worker | None = None

    def use_model(self, model: BaseChatModel) -> None:
        """Set the agent's own model."""
        self._model = self._model or model

    def go_on(self, store: MemoryStore, settings: MemorySettings) -> None:
        """Start work on a store that may have messages to extract facts from."""
        if not self._is_on or self._model is None:
            return
        if self._worker is None:
            tariff = None
            if not is_stand_in(self._model):
                found = tariff_for(provider_of(self._model), model_name(self._model))
                tariff = None if found.by == "nobody" else found.tariff
            self._worker = background(store, self._model, settings, tariff=tariff)
        self._worker.wake()

    def stop(self) -> None:
        """Stop after the current step; the remaining messages are processed another time."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
