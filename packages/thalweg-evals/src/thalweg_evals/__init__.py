"""Targeted evals: does an agent keep its objective, and find removed content again?

Each probe asks an agent one question, in conversations that force its context to be compacted, and
reads the answer from a recording of the run. Two rules of this package:

- A score is computed from the trace of a trial alone; a model is a judge only if nothing else can
  decide, and the result states it.
- All compared subjects get the same conversation, the same tools and the same prompts.

Example:
    >>> from thalweg_evals import Evaluation, evaluate
    >>> played = evaluate(Evaluation(probes=("needle/user_aside",), triggers=(0.1,)))
    >>> [result.verdict for result in played.results]
    ['passed']
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_evals.base import Agent, Case, Need, Probe, Score, Setting, Speaks, Subject
    from thalweg_evals.evaluating import Evaluation, evaluate
    from thalweg_evals.material.paging import is_page, turn_page
    from thalweg_evals.plan import TrialKey
    from thalweg_evals.probes import PROBES
    from thalweg_evals.results import Result
    from thalweg_evals.runner import Played
    from thalweg_evals.scripted.moves import Respond, Search, Use, View
    from thalweg_evals.subjects.named import subject_named
    from thalweg_evals.trace import Request, Trace

__all__ = [
    "PROBES",
    "Agent",
    "Case",
    "Evaluation",
    "Need",
    "Played",
    "Probe",
    "Request",
    "Respond",
    "Result",
    "Score",
    "Search",
    "Setting",
    "Speaks",
    "Subject",
    "Trace",
    "TrialKey",
    "Use",
    "View",
    "evaluate",
    "is_page",
    "subject_named",
    "turn_page",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg_evals.base")
    | {
        "PROBES": "thalweg_evals.probes",
        "Evaluation": "thalweg_evals.evaluating",
        "Search": "thalweg_evals.scripted.moves",
        "Played": "thalweg_evals.runner",
        "Request": "thalweg_evals.trace",
        "Result": "thalweg_evals.results",
        "Respond": "thalweg_evals.scripted.moves",
        "Trace": "thalweg_evals.trace",
        "TrialKey": "thalweg_evals.plan",
        "Use": "thalweg_evals.scripted.moves",
        "View": "thalweg_evals.scripted.moves",
        "evaluate": "thalweg_evals.evaluating",
        "is_page": "thalweg_evals.material.paging",
        "subject_named": "thalweg_evals.subjects.named",
        "turn_page": "thalweg_evals.material.paging",
    },
)
