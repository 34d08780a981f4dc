"""Targeted evals: does an agent keep its objective, and find removed content again?

Each probe asks an agent one question, in conversations that force its context to be compacted, and
reads the answer from a recording of the run. Two rules of this package:

- A score is computed from the trace of a trial alone; a model is a judge only if nothing else can
  decide, and the result states it.
- All compared subjects get the same conversation, the same tools and the same prompts.

Example:
    >>> from thalweg.lab.evals import Evaluation, evaluate
    >>> played = evaluate(Evaluation(probes=("needle/user_aside",), triggers=(0.1,)))
    >>> [result.verdict for result in played.results]
    ['passed']
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.lab.evals.base import Agent, Case, Need, Probe, Score, Setting, Speaks, Subject
    from thalweg.lab.evals.evaluating import Evaluation, evaluate
    from thalweg.lab.evals.material.paging import is_page, turn_page
    from thalweg.lab.evals.plan import TrialKey
    from thalweg.lab.evals.probes import PROBES
    from thalweg.lab.evals.results import Result
    from thalweg.lab.evals.runner import Played
    from thalweg.lab.evals.scripted.moves import Look, Say, Use, View
    from thalweg.lab.evals.subjects.named import subject_named
    from thalweg.lab.evals.trace import Request, Trace

__all__ = [
    "PROBES",
    "Agent",
    "Case",
    "Evaluation",
    "Look",
    "Need",
    "Played",
    "Probe",
    "Request",
    "Result",
    "Say",
    "Score",
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

__getattr__, __dir__ = lazily(
    __name__,
    dict.fromkeys(__all__, "thalweg.lab.evals.base")
    | {
        "PROBES": "thalweg.lab.evals.probes",
        "Evaluation": "thalweg.lab.evals.evaluating",
        "Look": "thalweg.lab.evals.scripted.moves",
        "Played": "thalweg.lab.evals.runner",
        "Request": "thalweg.lab.evals.trace",
        "Result": "thalweg.lab.evals.results",
        "Say": "thalweg.lab.evals.scripted.moves",
        "Trace": "thalweg.lab.evals.trace",
        "TrialKey": "thalweg.lab.evals.plan",
        "Use": "thalweg.lab.evals.scripted.moves",
        "View": "thalweg.lab.evals.scripted.moves",
        "evaluate": "thalweg.lab.evals.evaluating",
        "is_page": "thalweg.lab.evals.material.paging",
        "subject_named": "thalweg.lab.evals.subjects.named",
        "turn_page": "thalweg.lab.evals.material.paging",
    },
)
