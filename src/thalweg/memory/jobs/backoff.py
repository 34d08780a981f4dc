"""How long a job waits that did not come to its end."""

FIRST_S, MOST_S = 30.0, 3_600.0
NO_MODEL_S = 600.0
"""Until a thread is looked at again that no model was there to learn from."""


def backoff_s(attempt: int) -> float:
    """Return the seconds that a job waits after a failed attempt; `attempt` is from 1.

    Example:
        >>> [backoff_s(attempt) for attempt in (1, 2, 3, 40)]
        [30.0, 60.0, 120.0, 3600.0]
    """
    return min(MOST_S, FIRST_S * (1 << min(attempt - 1, 20)))
