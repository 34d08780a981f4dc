"""The value of a summary, and of a defect of one."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """A model's summary of consecutive messages: lines, without bullets, in six sections."""

    goal: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    @property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """The lines of every section by its name, in order."""
        return {name: getattr(self, name) for name in SECTIONS}

    @property
    def is_empty(self) -> bool:
        """Whether it has no lines."""
        return not any(self.sections.values())


SECTIONS = {
    "goal": "Goal",
    "constraints": "Constraints",
    "decisions": "Decisions",
    "state": "State of work",
    "next_steps": "Next steps",
    "questions": "Open questions",
}
"""Names of the sections, in order, and their titles."""


def summary_to_data(summary: Summary) -> dict[str, list[str]]:
    """Return a summary as data that JSON can hold; empty sections are omitted.

    Example:
        >>> summary_to_data(Summary(goal=("Ship it.",)))
        {'goal': ['Ship it.']}
    """
    return {name: list(lines) for name, lines in summary.sections.items() if lines}


def summary_from_data(data: object) -> Summary:
    """Parse the output of `summary_to_data`.

    Raises:
        ValueError: The data is not of this form.
    """
    if not isinstance(data, Mapping) or not data.keys() <= SECTIONS.keys():
        msg = f"not the sections of a summary: {str(data)[:80]}"
        raise ValueError(msg)
    sections: dict[str, tuple[str, ...]] = {}
    for name, lines in data.items():
        if not isinstance(lines, (list, tuple)) or not all(isinstance(line, str) for line in lines):
            msg = f"section {name} of a summary is not a list of lines"
            raise ValueError(msg)
        sections[name] = tuple(lines)
    return Summary(**sections)


@dataclass(frozen=True, slots=True)
class SummaryDefect:
    """A defect of a summary or of one of its lines."""

    kind: str
    """The defect without any word of the thread: safe to log."""
    told: str
    """The defect with the model's text: only for readers of the thread."""
    is_line: bool = False
    """Whether it concerns one line, and the rest of the summary is used."""

    def __str__(self) -> str:
        return self.told
