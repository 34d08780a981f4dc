"""One trial of a probe, as `thalweg eval` plays it, with a scripted model."""

from thalweg_evals.candidates import candidate
from thalweg_evals.plan import TrialKey
from thalweg_evals.probes import PROBES
from thalweg_evals.results import Result
from thalweg_evals.subjects.named import subject_named
from thalweg_evals.trial import Trial
from thalweg_server.settings import Settings


def played(
    probe: str,
    variant: str,
    *,
    trigger: float | None = 0.25,
    window: int = 16_000,
    subject: str = "thalweg-middleware",
    model: str = "scripted:searcher",
    number: int = 1,
) -> Result:
    """Play a case of a probe."""
    key = TrialKey(model, subject, trigger, probe, variant, number)
    return Trial(
        key=key,
        candidate=candidate(model, window, Settings()),
        subject=subject_named(subject),
        probe=PROBES[probe],
        seed=7,
    ).play()
