"""Which trials to run, in which order, with which random seeds."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase

from thalweg.engine.sections import name_remedy
from thalweg.errors import ConfigError
from thalweg_evals.base import Need, Probe, Suite

OWN_MODEL = "its own"
"""The model of a subject that has its own."""
ID_LENGTH = 7
"""Characters of a trial's id, as people copy it."""


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Identifies a trial."""

    model: str
    subject: str
    trigger: float | None
    """Forced share of the window; `None`: the subject's own."""
    probe: str
    variant: str
    number: int
    """From 1: repetition of the same case with another seed."""

    @property
    def id(self) -> str:
        """A short id, the same for every run.

        Example:
            >>> TrialKey("scripted:searcher", "thalweg", 0.25, "needle", "user_aside", 1).id
            'efa9236'
        """
        return hashlib.sha256(json.dumps(astuple(self)).encode()).hexdigest()[:ID_LENGTH]

    @property
    def case(self) -> str:
        """The probe and its variant, as `--probe` takes them."""
        return f"{self.probe}/{self.variant}"

    def __str__(self) -> str:
        return f"{self.case} #{self.number}: {self.model}, {self.subject}, {in_words(self.trigger)}"


def in_words(trigger: float | None) -> str:
    """Return a description of the point at which the context is compacted.

    Example:
        >>> in_words(0.25), in_words(None)
        ('at 0.25 of the window', 'at its own trigger')
    """
    return "at its own trigger" if trigger is None else f"at {trigger:g} of the window"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPlan:
    """What to run: every case with every subject, model and trigger."""

    models: tuple[str, ...]
    subjects: tuple[str, ...]
    unforced: frozenset[str] = frozenset()
    """Subjects whose trigger cannot be forced: they are run once, with their own."""
    with_own_model: frozenset[str] = frozenset()
    """Subjects with their own model: they are run once, with it."""
    cases: tuple[tuple[str, str], ...]
    """Probe and variant."""
    triggers: tuple[float | None, ...]
    trials: int = 1
    seed: int = 0


def trials(plan: EvalPlan) -> Iterator[TrialKey]:
    """Yield the trials in order.

    Compared subjects are adjacent, and a second repetition of anything follows the first of
    everything: if the budget runs out, the trials so far can be compared.

    Example:
        >>> plan = EvalPlan(
        ...     models=("m",), subjects=("a", "b"), cases=(("p", "v"),), triggers=(0.1,)
        ... )
        >>> [key.subject for key in trials(plan)]
        ['a', 'b']
    """
    for number in range(1, plan.trials + 1):
        for probe, variant in plan.cases:
            keys = (
                TrialKey(
                    OWN_MODEL if subject in plan.with_own_model else model,
                    subject,
                    None if subject in plan.unforced else trigger,
                    probe,
                    variant,
                    number,
                )
                for trigger in plan.triggers
                for model in plan.models
                for subject in plan.subjects
            )
            yield from dict.fromkeys(keys)


def seed_of(seed: int, key: TrialKey) -> int:
    """Return the seed of a trial: the same for every model, subject and trigger.

    So compared subjects get the same conversation, with the same names and numbers.

    Example:
        >>> one = TrialKey("m", "a", 0.1, "p", "v", 1)
        >>> seed_of(0, one) == seed_of(0, TrialKey("n", "b", None, "p", "v", 1))
        True
    """
    identity = json.dumps([seed, key.probe, key.variant, key.number])
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:6], "big")


def pick_cases(
    probes: Sequence[Probe], suite: Suite | None, requested: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return the cases that a user's names select.

    Args:
        probes: All probes.
        suite: Only probes of this suite; `None`: of all.
        requested: Names of probes (`needle`), of cases (`needle/cjk`), or patterns of either
            (`memory_*`, `*/cjk`); everything if empty.

    Raises:
        ConfigError: A name matches nothing.
    """
    within = [one for one in probes if suite in {None, one.suite}]
    cases = [(one.name, variant) for one in within for variant in one.variants]
    for name in requested:
        if not any(_fits(case, name) for case in cases):
            raise ConfigError(
                "--probe", f"no probe fits {name!r}", _near(name, [*map("/".join, cases)], suite)
            )
    return tuple(
        case for case in cases if not requested or any(_fits(case, one) for one in requested)
    )


def _fits(case: tuple[str, str], name: str) -> bool:
    return fnmatchcase(case[0], name) or fnmatchcase("/".join(case), name)


def _near(name: str, cases: Sequence[str], suite: Suite | None) -> str:
    names = [*dict.fromkeys(case.partition("/")[0] for case in cases)]
    known = cases if "/" in name else names
    within = f" of the suite {suite}" if suite else ""
    return name_remedy(name, known, f"--list shows the probes{within}")


def missing(needs: frozenset[Need], offers: frozenset[Need], trigger: float | None) -> list[Need]:
    """Return a probe's needs that a subject lacks.

    Args:
        needs: The probe's needs.
        offers: The subject's offers.
        trigger: The forced trigger; `None` needs no support.

    Example:
        >>> missing(frozenset({"memory", "tools"}), frozenset({"tools"}), None)
        ['memory']
    """
    lacking = needs - offers
    return sorted(lacking - {"trigger"} if trigger is None else lacking)
