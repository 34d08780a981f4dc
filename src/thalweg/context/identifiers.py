"""Identifiers: the tokens of a text that cannot be guessed or paraphrased."""

import re
from collections.abc import Iterator

_KINDS: tuple[tuple[int, str], ...] = (
    (6, r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    (6, r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"),
    (5, r"https?://[^\s\"'<>)\]}]{4,120}"),
    (5, r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}\b(?::\d+)?"),
    (5, r"\b[\w.-]+/[\w./-]+\.[a-z]{1,5}\b(?::\d+)?"),
    (4, r"\b[\w-]+\.(?:py|go|ts|js|tsx|rs|md|json|ya?ml|toml|sh|txt|css|html)\b(?::\d+)?"),
    (4, r"\bv?\d+\.\d+\.\d+(?:[-+][\w.]+)?\b"),
    (4, r"#\d{2,}\b|\b[A-Z]{2,10}-\d+\b"),
    (3, r"\b\d+(?:\.\d+)?\s?(?:ms|s|min|h|kB|KB|MB|GB|KiB|MiB|%|tokens|lines|files)\b"),
    (3, r"\b[A-Z][A-Z0-9]+_[A-Z0-9_]{2,}\b"),
    (2, r"\b[a-z]+(?:_[a-z0-9]+){2,}\b"),
    (2, r"\b(?:[A-Z][a-z0-9]+){3,}\b"),
)
_PATTERN = re.compile("|".join(f"({pattern})" for _, pattern in _KINDS))
_WEIGHTS = tuple(weight for weight, _ in _KINDS)


def identifiers(text: str, scanned: int = 20_000) -> Iterator[tuple[int, str]]:
    """Find identifiers: ids, hashes, addresses, paths, versions, amounts, long names.

    Args:
        text: Any text.
        scanned: Characters at each end that are read.

    Returns:
        Weight (more is less guessable) and identifier, in order of appearance.

    Example:
        >>> list(identifiers("fixed in 4f9d2c1 (3.2 s), see src/app.py:40"))
        [(6, '4f9d2c1'), (3, '3.2 s'), (5, 'src/app.py:40')]
    """
    ends = text if len(text) <= 2 * scanned else f"{text[:scanned]}\n{text[-scanned:]}"
    for match in _PATTERN.finditer(ends):
        if match.lastindex:
            yield _WEIGHTS[match.lastindex - 1], match[0]
