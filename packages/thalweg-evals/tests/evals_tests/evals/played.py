"""One trial of a probe with a scripted model, for tests that break what the probe looks at."""

from thalweg_evals.candidates import candidate
from thalweg_evals.plan import TrialKey
from thalweg_evals.probes import PROBES
from thalweg_evals.results import Result
from thalweg_evals.subjects.named import subject_named
from thalweg_evals.trial import Trial
from thalweg_server.settings import Settings

WINDOW = 24_000


def played(
    case: str,
    *,
    model: str = "searcher",
    subject: str = "thalweg-middleware",
    trigger: float = 0.25,
    window: int = WINDOW,
) -> Result:
    """Play a trial of a case.

    Args:
        case: The probe and its variant, as `--probe` takes them.
        model: The competence of the scripted model.
        subject: Who is asked.
        trigger: The share of the window at which is compacted.
        window: Of the model.
    """
    probe, variant = case.split("/")
    name = f"scripted:{model}"
    return Trial(
        key=TrialKey(name, subject, trigger, probe, variant, 1),
        candidate=candidate(name, window, Settings()),
        subject=subject_named(subject),
        probe=PROBES[probe],
        seed=1,
    ).play()
