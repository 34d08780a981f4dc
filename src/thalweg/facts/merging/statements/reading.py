"""Statements and values of any language read: which reader reads which."""

import re
from functools import lru_cache

from thalweg.facts.merging.statements.chinese import reading as chinese
from thalweg.facts.merging.statements.chinese.tokens import spelt
from thalweg.facts.merging.statements.chinese.tokens import tokens as chinese_tokens
from thalweg.facts.merging.statements.claims import Statement
from thalweg.facts.merging.statements.english import reading as english
from thalweg.facts.merging.statements.english.tokens import telling
from thalweg.facts.merging.statements.english.tokens import tokens as english_tokens

_HAN = re.compile(r"[\u3400-\u9fff]")


@lru_cache(maxsize=1 << 13)
def read_statement(content: str, language: str = "") -> Statement:
    """Read a statement in English or Chinese; any other text gives its words.

    Example:
        >>> statement = read_statement("I moved to Munich last week")
        >>> statement.subject, statement.attribute, statement.value, statement.has_cue
        ('user', 'home', 'munich', True)
        >>> read_statement("用户现在在微软工作").attribute
        'employer'
    """
    if language == "zh" or _HAN.search(content):
        return chinese.read(content)
    return english.read(content)


@lru_cache(maxsize=1 << 12)
def subject_key(subject: str) -> str:
    """Fold a subject: `the user's Dog` and `dog` are one."""
    return chinese.subject_of(subject) if _HAN.search(subject) else english.subject_of(subject)


@lru_cache(maxsize=1 << 13)
def value_key(value: str) -> str:
    """Fold a value, so that the same value in other spelling is the same."""
    if _HAN.search(value):
        return "".join(chinese_tokens(spelt(value))) or value
    return " ".join(sorted(telling(english_tokens(value)))) or value.strip().lower()


def value_words(value: str) -> frozenset[str]:
    """List the words of a folded value."""
    return frozenset(chinese_tokens(value) if _HAN.search(value) else value.split())
