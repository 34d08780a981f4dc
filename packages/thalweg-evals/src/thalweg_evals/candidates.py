"""The models of agents: scripted ones, and all that `thalweg_server.models` creates."""

from collections.abc import Callable
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from thalweg.context.request.model_limits import limits_for, model_name, provider_of
from thalweg.engine.pricing.cost import cost_of_answers
from thalweg.engine.pricing.matching import Priced, tariff_for
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.sections import name_choices_remedy
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError
from thalweg_evals.base import Case
from thalweg_evals.plan import OWN_MODEL
from thalweg_evals.scripted.mind import COMPETENCES, CaseModel
from thalweg_evals.scripted.moves import Acts
from thalweg_server.models import model_by_name
from thalweg_server.models.making import limit
from thalweg_server.settings import Settings

SCRIPTED = "scripted:"
WINDOW = 64_000
"""Window of a scripted model, in tokens."""
_SECONDS = "seconds"
_SURE = {"model", "settings"}
"""Sources of prices that are exact enough to count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCandidate:
    """A model under evaluation."""

    name: str
    """Its name, as the user wrote it."""
    window: int
    make: Callable[[Case], BaseChatModel]
    """Creates the model of a trial; a live one is shared by all trials."""
    priced: Priced | None = None
    """Its prices; `None` if it costs nothing."""
    note: str = ""
    """The assumption made about its window."""
    calls_tools: bool = True
    """Whether it can call tools, by its profile."""

    @property
    def is_scripted(self) -> bool:
        """Whether the same trial always has the same result."""
        return self.name.startswith(SCRIPTED)

    @property
    def has_price(self) -> bool:
        """Whether the price of its tokens is available, including zero."""
        return self.cost_of(Usage(1)) is not None

    def cost_of(self, *answers: Usage) -> float | None:
        """Return the cost of answers in dollars; `None` if no prices are available.

        A token that a provider wrote to its cache is priced as any other: not all providers report
        which were.
        """
        if self.priced is None or self.priced.tariff.unit == _SECONDS:
            return 0.0
        if self.priced.by not in _SURE:
            return None
        tariff = self.priced.tariff
        return cost_of_answers(answers, lambda _: tariff)


def candidate(name: str, window: int | None, settings: Settings) -> ModelCandidate:
    """Return a model by its name; no request is sent to it yet.

    Args:
        name: `scripted:COMPETENCE`, or a name that `model_by_name` takes.
        window: In tokens; by default the model's own.
        settings: Where names and prices are looked up.

    Raises:
        ConfigError: There is no such model, or it cannot be created here.
    """
    if name.startswith(SCRIPTED):
        return _scripted(name, window or WINDOW)
    model = model_by_name(name, settings)
    limits = limits_for(model, ContextPolicy(window=window))
    # Harnesses read the profile: the same window makes all of them act at the same size.
    if window is not None or not (model.profile or {}).get("max_input_tokens"):
        limit(model, limits.window, None)
    return ModelCandidate(
        name=name,
        window=limits.window,
        make=lambda _: model,
        priced=settings.summarization.pricing.of(provider_of(model), model_name(model)),
        note=limits.note,
        calls_tools=(model.profile or {}).get("tool_calling") is not False,
    )


def own_model(window: int | None) -> ModelCandidate:
    """Return a placeholder for a subject's own model, about which only its window is assumed.

    Args:
        window: In tokens, if specified.
    """
    known = window or WINDOW
    note = f"the window of an agent's own model is unknown, {known} tokens are assumed; name it"
    model = FakeListChatModel(responses=[])
    return ModelCandidate(
        name=OWN_MODEL,
        window=known,
        make=lambda _: model,
        priced=tariff_for("", OWN_MODEL),
        note="" if window else note,
    )


def _scripted(name: str, window: int) -> ModelCandidate:
    found = COMPETENCES.get(name.removeprefix(SCRIPTED))
    if found is None:
        known = tuple(SCRIPTED + one for one in COMPETENCES)
        raise ConfigError("--model", f"there is no {name!r}", name_choices_remedy(name, known))
    competence = found

    def make(case: Case) -> BaseChatModel:
        if not isinstance(case, Acts):
            called = type(case).__name__
            problem = f"{called} does not define what a scripted model does"
            raise ConfigError(name, problem, f"give {called} `act` and `gist`, or name a model")
        return CaseModel(case=case, competence=competence, window=window)

    return ModelCandidate(name=name, window=window, make=make)
