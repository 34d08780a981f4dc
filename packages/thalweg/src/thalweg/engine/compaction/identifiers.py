"""Identifiers: the tokens of a text that cannot be guessed or paraphrased."""

import re
from collections.abc import Iterator

from thalweg.engine.data_files import read_table

_KINDS: list[tuple[int, str]] = read_table(__package__, "identifiers.toml")["kinds"]
_KIND = re.compile("|".join(f"({pattern})" for _, pattern in _KINDS))
_WEIGHTS = tuple(weight for weight, _ in _KINDS)
_TOKEN = re.compile(r"https?://[^\s\"'<>)\]}]{4,120}|[~#]?[\w./@+-]+(?::\d+)?")
_PROMISING = re.compile(r"[\d_/]|\.\w|[a-z][A-Z]")
_AMOUNT = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?\s?(?:ms|s|min|h|kB|KB|MB|GB|KiB|MiB|%|tokens|lines|files)(?!\w)"
)
_AMOUNT_WEIGHT = 3


def identifiers(text: str, scanned: int = 20_000) -> Iterator[tuple[int, str]]:
    """Find identifiers: ids, hashes, URLs, paths, versions, amounts, long names.

    Args:
        text: Any text.
        scanned: Characters at each end that are read.

    Returns:
        Weight (more is less guessable) and identifier, each once: tokens in order of
        appearance, then amounts with their unit.

    Example:
        >>> list(identifiers("fixed in 4f9d2c1 (3.2 s), see src/app.py:40."))
        [(6, '4f9d2c1'), (5, 'src/app.py:40'), (3, '3.2 s')]
    """
    ends = text if len(text) <= 2 * scanned else f"{text[:scanned]}\n{text[-scanned:]}"
    for token in dict.fromkeys(_TOKEN.findall(ends)):
        if _PROMISING.search(token):
            bare = token.rstrip(".-/+")
            if (match := _KIND.fullmatch(bare)) and match.lastindex:
                yield _WEIGHTS[match.lastindex - 1], bare
    for amount in dict.fromkeys(_AMOUNT.findall(ends)):
        yield _AMOUNT_WEIGHT, amount
