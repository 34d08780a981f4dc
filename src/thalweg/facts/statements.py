"""Statements of any language read: which reader reads which."""

import re
from functools import lru_cache

from thalweg.facts import chinese_claims, english_claims
from thalweg.facts.claims import Statement

_HAN = re.compile(r"[\u3400-\u9fff]")


@lru_cache(maxsize=1 << 13)
def read_statement(content: str, language: str = "") -> Statement:
    """Read a statement in English or Chinese.

    Example:
        >>> statement = read_statement("I moved to Munich last week")
        >>> statement.subject, statement.attribute, statement.value, statement.has_cue
        ('user', 'home', 'munich', True)
        >>> read_statement("用户现在在微软工作").attribute
        'employer'
    """
    if language == "zh" or _HAN.search(content):
        return chinese_claims.read(content)
    return english_claims.read(content)


