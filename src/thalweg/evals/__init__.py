"""Targeted evals: does an agent keep its objective, and find removed content again?

Each probe asks an agent one question, in conversations that force its context to be compacted, and
reads the answer from a recording of the run. Two rules of this package:

- A score is computed from the trace of a trial alone; a model is a judge only if nothing else can
  decide, and the result states it.
- All compared subjects get the same conversation, the same tools and the same prompts.

Example:
    >>> from thalweg.evals import Evaluation, evaluate
    >>> played = evaluate(Evaluation(probes=("needle/user_aside",), triggers=(0.1,)))
    >>> [result.verdict for result in played.results]
    ['passed']
"""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.evals.base import Agent, Case, Need, Probe, Score, Setting, Speaks, Subject
    from thalweg.evals.evaluating import Evaluation, evaluate
    from thalweg.evals.paging import is_page, turn_page
    from thalweg.evals.plan import TrialKey
    from thalweg.evals.probes import PROBES
    from thalweg.evals.results import Result
    from thalweg.evals.runner import Played
    from thalweg.evals.scripted.moves import Look, Say, Use, View
    from thalweg.evals.subjects.named import subject_named
    from thalweg.evals.trace import Request, Trace

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
    {
        "PROBES": "thalweg.evals.probes",
        "Agent": "thalweg.evals.base",
        "Case": "thalweg.evals.base",
        "Evaluation": "thalweg.evals.evaluating",
        "Look": "thalweg.evals.scripted.moves",
        "Need": "thalweg.evals.base",
        "Played": "thalweg.evals.runner",
        "Probe": "thalweg.evals.base",
        "Request": "thalweg.evals.trace",
        "Result": "thalweg.evals.results",
        "Say": "thalweg.evals.scripted.moves",
        "Score": "thalweg.evals.base",
        "Setting": "thalweg.evals.base",
        "Speaks": "thalweg.evals.base",
        "Subject": "thalweg.evals.base",
        "Trace": "thalweg.evals.trace",
        "TrialKey": "thalweg.evals.plan",
        "Use": "thalweg.evals.scripted.moves",
        "View": "thalweg.evals.scripted.moves",
        "evaluate": "thalweg.evals.evaluating",
        "is_page": "thalweg.evals.paging",
        "subject_named": "thalweg.evals.subjects.named",
        "turn_page": "thalweg.evals.paging",
    },
)
