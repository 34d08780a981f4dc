"""Tries of the probes about long tasks, on LangChain's agent with our middleware."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from thalweg_evals.base import Score, Setting
from thalweg_evals.material.paging import Pages
from thalweg_evals.probes import PROBES
from thalweg_evals.scripted.mind import COMPETENCES, CaseModel, Competence
from thalweg_evals.subjects.named import Middleware
from thalweg_evals.trace import Trace
from thalweg_evals.trial import Talk

WINDOW = 64_000
POOR_SUMMARIES = replace(COMPETENCES["searcher"], name="poor_summaries", keeps_gist=False)
"""Finds what can be found, and writes empty summaries: the harness kept all that it recalls."""


def tried(
    probe: str,
    variant: str,
    folder: Path,
    competence: Competence = POOR_SUMMARIES,
    *,
    trigger: float = 0.1,
    seed: int = 1,
) -> tuple[Score, Trace]:
    """Try a case of a probe."""
    case: Any = PROBES[probe].make(variant, Random(seed))  # noqa: S311 (not a secret)
    pages, trace = Pages(Random(seed)), Trace()  # noqa: S311 (not a secret)
    setting = Setting(
        model=CaseModel(case=case, competence=competence, window=WINDOW),
        window=WINDOW,
        folder=folder,
        trigger=trigger,
        tools=(pages.tool(), *case.tools),
        system_prompt=case.system_prompt,
    )
    agent = Middleware().begin(setting)
    try:
        case.run(Talk(agent, setting, pages, trace))
    finally:
        agent.close()
    return case.grade(trace), trace
