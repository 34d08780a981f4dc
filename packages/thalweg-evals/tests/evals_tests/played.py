"""One conversation of a probe with a scripted model, for tests that break what it looks at."""

from thalweg_evals import PROBES, Score, Trace, play, policy_named, scripted_model

WINDOW = 24_000


def played(
    case: str,
    *,
    model: str = "searcher",
    policy: str = "thalweg-middleware",
    trigger: float = 0.25,
    window: int = WINDOW,
    number: int = 1,
) -> tuple[Score, Trace]:
    """Play a case.

    Args:
        case: The probe and its case, as `--probe` takes them.
        model: The competence of the scripted model.
        policy: Of the agent.
        trigger: The share of the window at which the context is compacted.
        window: Of the model.
        number: Of the trial.
    """
    name, _, variant = case.partition("/")
    return play(
        PROBES[name],
        variant,
        policy_named(policy),
        scripted_model(model, window),
        window=window,
        trigger=trigger,
        seed=1,
        number=number,
    )
