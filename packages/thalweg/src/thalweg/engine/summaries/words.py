"""The words of a line, normalized to compare a summary with its source."""

import re
import unicodedata
from functools import lru_cache

from thalweg.engine.words.stems import stem

_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts compared by pairs of letters: they have no spaces, or attach particles to words."""
_WORD = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+(?:['\u2019][^\W_{_HAN}]+)*")
_STARTS_HAN = re.compile(rf"[{_HAN}]")
_EMPTY_HAN = re.compile("用户|客户|[的了是在和与或将并也就都把被对于这那其个要请吗呢吧我你他们]")

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|without|avoid|forbid\w*|prohibit\w*|instead of|rather than"
    r"|except|stop|refuse[sd]?|cannot|must ?not|nicht|kein\w*|niemals|nunca|jamais|sans|sin)\b"
    r"|n['\u2019]t\b|(?<!差)不(?![过错同仅但断少久])|(?<![个特区])别(?![人的墅])|勿|禁止|避免|没有?|无需|拒绝|しない|ません|なく",
    re.IGNORECASE,
)

_STOPWORDS = """
a an the this that these those it its is are was were be been being am do does did done has have
had having will would shall should can could may might must to of in on at by for from with
without into onto as and or but if then than so not no yes also just only too very there here
when where which who whom whose what how why we i you he she they them their our your my me us
his her all any each some such both either more most other own same user s t said says say
saying ask asks asked asking want wants wanted request requests requested needs need needed like
likes told tell tells state states stated mention mentioned wish wishes wished explicitly
explicit specifically clearly about after before while during please let lets let's get got use
used using ve re ll don doesn didn isn aren wasn weren won wouldn shouldn couldn new per via
"""
STOPWORDS = frozenset(_STOPWORDS.split())


def normalized_line(line: str) -> str:
    """Return a line normalized so that lines which differ only in form are equal.

    Example:
        >>> normalized_line("- **Never**  touch `vendor/`.")
        'never touch vendor/'
    """
    return " ".join(
        re.findall(
            r"[^\s*`\"'“”\u2018\u2019_#.,;:!?()\u3002\uff0c\uff1b\uff1a\uff01\uff1f\uff08\uff09-]+",
            _folded(line),
        )
    )


@lru_cache(4096)
def has_negation(line: str) -> bool:
    """Return whether a line contains a negation or a prohibition.

    Example:
        >>> has_negation("Don't push"), has_negation("Push")
        (True, False)
    """
    return _NEGATION.search(line) is not None


def content_words(text: str) -> list[str]:
    """Return the words that carry the meaning of a text, without their endings.

    Example:
        >>> content_words("The user wants the failing tests fixed")
        ['fail', 'test', 'fix']
    """
    content: list[str] = []
    for token in _WORD.findall(_folded(text)):
        if _STARTS_HAN.match(token):
            for letters in _EMPTY_HAN.split(token):
                content += [letters[i : i + 2] for i in range(len(letters) - 1)] or (
                    [letters] if letters else []
                )
        elif token not in STOPWORDS and (len(token) > 1 or token.isdigit()):
            content.append(stem(token.removesuffix("'s")))
    return content


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
