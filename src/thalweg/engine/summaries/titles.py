"""The titles that models use for the sections of a summary, in several languages."""

import re

from thalweg.engine.data_files import by_word, read_table

_SECTIONS = by_word(read_table(__package__, "titles.toml").items())


def section_of(title: str) -> str:
    """Return the section that a title names; empty if it names none.

    Example:
        >>> section_of("Next_Steps"), section_of("目标"), section_of("Weather")
        ('next_steps', 'goal', '')
    """
    words = re.sub(r"[\s_\-*#:\uff1a.]+", " ", title).strip().casefold()
    return _SECTIONS.get(words, "")
