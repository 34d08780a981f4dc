"""What a workload is written with: words, sentences and facts of one language."""

from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict

from thalweg.engine.data_files import read_table

Medium = Literal["code", "doc", "log", "config"]
"""What a file holds, and what lines of it look like."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WorkloadFact(_Frozen):
    """A sentence with one answer in it, and a question for the answer in other words."""

    medium: Literal["code", "doc", "log", "config", "said"]
    """Its place; `said`: in a request of the user."""
    says: str
    asks: str
    answer: str
    """Which of `Phrases.answers` the answer is made by."""


class WorkloadTexts(_Frozen):
    """Texts of user, agent and tools."""

    system: str
    goal: str
    request: tuple[str, ...]
    constraint: tuple[str, ...]
    paste: str
    think: tuple[str, ...]
    recalls: tuple[str, ...]
    """How the agent comes back to a detail."""
    plants: tuple[str, ...]
    """Lines of a result that hold a detail."""
    answer: tuple[str, ...]
    todo: tuple[str, ...]
    command: tuple[str, ...]
    fails: tuple[str, ...]
    edited: str
    written: str
    planned: str


class Phrases(_Frozen):
    """One language: templates in which `<word>` is replaced by a drawn or generated text."""

    gap: str
    """Between two sentences."""
    words: dict[str, tuple[str, ...]]
    answers: dict[str, str]
    files: dict[Medium, tuple[str, ...]]
    """Paths of files by what they hold."""
    media: dict[Medium, tuple[str, ...]]
    """Lines by what they are part of; those of `doc` are sentences."""
    talk: WorkloadTexts
    facts: tuple[WorkloadFact, ...]


@cache
def phrases_of(language: str) -> Phrases:
    """Read the phrases of a language that ships with the package."""
    return Phrases.model_validate(read_table("benchmarks.arena.workloads", f"{language}.toml"))
