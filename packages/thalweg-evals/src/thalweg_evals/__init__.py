"""Targeted evals: does an agent keep its objective, and find removed content again?

A probe is a function that builds a world: tools, the messages of a user, and a scorer. `play` lets
an agent have the conversation, which forces its context to be compacted, and computes the score
from the trace alone. All compared agents get the same world.

Example:
    >>> from thalweg_evals import PROBES, play, policy_named, scripted_model
    >>> score, trace = play(
    ...     PROBES["needle"],
    ...     "user_aside",
    ...     policy_named("thalweg-middleware"),
    ...     scripted_model("searcher"),
    ...     window=64_000,
    ...     trigger=0.1,
    ... )
    >>> score.verdict, len(trace.compactions()) > 0
    ('passed', True)
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_evals.agents import POLICIES, Setting, policy_named
    from thalweg_evals.comparison import Interval, difference, rate
    from thalweg_evals.moves import Respond, Search, Use, View
    from thalweg_evals.probes import PROBES
    from thalweg_evals.scripted import scripted_model
    from thalweg_evals.trace import Request, Trace
    from thalweg_evals.world import Conversation, Probe, Score, World, play, probe

_PLACES = {
    "agents": ("POLICIES", "Setting", "policy_named"),
    "comparison": ("Interval", "difference", "rate"),
    "moves": ("Respond", "Search", "Use", "View"),
    "probes": ("PROBES",),
    "scripted": ("scripted_model",),
    "trace": ("Request", "Trace"),
    "world": ("Conversation", "Probe", "Score", "World", "play", "probe"),
}
__all__ = [
    "POLICIES",
    "PROBES",
    "Conversation",
    "Interval",
    "Probe",
    "Request",
    "Respond",
    "Score",
    "Search",
    "Setting",
    "Trace",
    "Use",
    "View",
    "World",
    "difference",
    "play",
    "policy_named",
    "probe",
    "rate",
    "scripted_model",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {name: f"thalweg_evals.{module}" for module, names in _PLACES.items() for name in names},
)
