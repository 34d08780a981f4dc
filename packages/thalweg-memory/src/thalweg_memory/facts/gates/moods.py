"""The moods of clauses: questions, suppositions, role play, jokes, reports.

Patterns of several languages, not a grammar: a clause that matches one is no plain statement of the
speaker's, and a missed plain statement does little harm.
"""

import re

from thalweg_memory.facts.patterns import read_patterns

_WORDS = read_patterns(__package__, "moods")

FIRST_PERSON = re.compile(_WORDS["first_person"], re.IGNORECASE)
"""Mentions of the speaker. Verbs are included for languages that omit the pronoun."""

SPEAKER = re.compile(_WORDS["speaker"], re.IGNORECASE)
"""The speaker alone: `we` and `our` are also part of introductions of other people."""

POINTS_BACK = re.compile(_WORDS["points_back"], re.IGNORECASE)
"""What takes up the words before it as the speaker's own: `…: that's how I live`."""

TRUTH_TAG = re.compile(_WORDS["truth_tag"], re.IGNORECASE)
QUESTION = re.compile(_WORDS["asks"], re.IGNORECASE)
SUPPOSED = re.compile(_WORDS["supposed"], re.IGNORECASE)
CONDITIONAL = re.compile(_WORDS["conditional"], re.IGNORECASE)
"""A condition: of a habit (`if I skip breakfast I get migraines`), or only supposed."""
IRREAL = re.compile(_WORDS["irreal"], re.IGNORECASE)
"""Forms of unreal statements."""
PLAYED = re.compile(_WORDS["played"], re.IGNORECASE)
"""From here on the speaker may play another person."""
PLAYED_OUT = re.compile(_WORDS["played_out"], re.IGNORECASE)
JOKED = re.compile(_WORDS["joked"], re.IGNORECASE)
CLAIMED = re.compile(_WORDS["claimed"], re.IGNORECASE)
"""Such a report does not vouch for its content; a doctor `says`, a debt collector `claims`."""
