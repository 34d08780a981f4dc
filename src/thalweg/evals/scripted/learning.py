"""What a model answers that is asked what is to be remembered of a user."""

import re
from typing import Protocol, runtime_checkable

from thalweg.evals.scripted.moves import Acts, Say, Use, View

_ASKS = re.compile(r"\byou (?:keep the long-term memory of|write the profile of)\b", re.IGNORECASE)
"""How the instructions begin of whoever asks."""


@runtime_checkable
class Learns(Protocol):
    """A case that says what a model learns that understands it; others learn nothing."""

    def learn(self, view: View) -> Say | Use:
        """Answer a request to learn, given only what stands in it."""
        ...


def asks_to_learn(view: View) -> bool:
    """Tell whether a request asks what is to be remembered."""
    return _ASKS.search(view.system[:200]) is not None


def learned(case: Acts, view: View) -> Say | Use:
    """Answer a request to learn: as the case says, or that there is nothing."""
    if isinstance(case, Learns):
        return case.learn(view)
    return Say('{"facts": [], "sections": []}')
