"""DeerFlow's formula and block, as its documents have them, for comparison.

`final_score = similarity x 0.6 + confidence x 0.4`; the similarity is the cosine of TF-IDF
vectors as scikit-learn's `TfidfVectorizer()` makes them when it is fitted on the facts and the
conversation: words of two letters and more, smooth rarity, vectors of length 1.
"""

import math
import re
from collections import Counter as Counted
from collections.abc import Iterable, Sequence

from thalweg.engine.tokens import Counter
from thalweg_memory.facts.recall.rendering import safe
from thalweg_memory.facts.values import Fact, Profile

MOST = 15
"""Facts that are shown at most."""
_TOKEN = re.compile(r"\b\w\w+\b")
_CUT = "\n...\n(Memory truncated to fit token limit)"


def similarities(texts: Sequence[str], context: str) -> list[float]:
    """Return how like a context each of some texts is, 0 to 1.

    Example:
        >>> [round(one, 3) for one in similarities(["Uses pytest", "Likes tea"], "pytest tests")]
        [0.366, 0.0]
    """
    counted = [Counted(_TOKEN.findall(text.lower())) for text in (*texts, context)]
    documents = Counted(word for words in counted for word in words)
    rarity = {
        word: math.log((1 + len(counted)) / (1 + count)) + 1 for word, count in documents.items()
    }
    *vectors, context_vector = [_unit(words, rarity) for words in counted]
    return [
        math.fsum(
            weight * context_vector[word]
            for word, weight in vector.items()
            if word in context_vector
        )
        for vector in vectors
    ]


def _unit(words: Counted[str], rarity: dict[str, float]) -> dict[str, float]:
    vector = {word: count * rarity[word] for word, count in words.items()}
    length = math.sqrt(math.fsum(weight * weight for weight in vector.values())) or 1.0
    return {word: weight / length for word, weight in vector.items()}


def top_facts(
    facts: Sequence[Fact],
    context: str,
    *,
    similarity_weight: float = 0.6,
    confidence_weight: float = 0.4,
    most: int | None = MOST,
) -> list[tuple[float, Fact]]:
    """Choose facts with their scores, best first; of equals the first in the document.

    Args:
        facts: In their order in the document.
        context: The last turns; without any, confidence alone decides.
        similarity_weight: See `MemorySettings`.
        confidence_weight: See `MemorySettings`.
        most: Maximum number of facts; `None` for all.
    """
    if context.strip():
        likeness = similarities([fact.content for fact in facts], context)
        scores = [
            similarity_weight * like + confidence_weight * fact.confidence
            for like, fact in zip(likeness, facts, strict=True)
        ]
    else:
        scores = [fact.confidence for fact in facts]
    order = sorted(range(len(facts)), key=lambda at: -scores[at])
    return [(scores[at], facts[at]) for at in order[:most]]


def render_system(profile: Profile, facts: Iterable[Fact], max_tokens: int, count: Counter) -> str:
    r"""Write DeerFlow's block for a system prompt: User Context, Recent History, Key Facts.

    Args:
        profile: Its four sections that the block shows.
        facts: Best first.
        max_tokens: Of the block. If it is larger, its last lines are dropped, with a note.
        count: Counts tokens.

    Example:
        >>> from thalweg_memory.facts.values import FactId
        >>> fact = Fact(FactId("fact-1"), "Likes tea", "preference", 0.9, "", "manual")
        >>> render_system(Profile(), [fact], 100, len)
        '## Key Facts\n- Likes tea (confidence: 0.90)'
    """
    lines = _section(
        "## User Context",
        [
            ("Work", profile.text("workContext")),
            ("Personal", profile.text("personalContext")),
            ("Top of mind", profile.text("topOfMind")),
        ],
    )
    lines += _section("\n## Recent History", [("Recent", profile.text("recentMonths"))])
    fact_lines = [_fact_line(fact) for fact in facts]
    lines += ["\n## Key Facts", *fact_lines] if fact_lines else []
    text = "\n".join(lines).lstrip("\n")
    if count(text) <= max_tokens:
        return text
    return _cut(text, max_tokens, count)


def _fact_line(fact: Fact) -> str:
    return f"- {safe(fact.content)} (confidence: {fact.confidence:.2f})"


def _section(title: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    body = [f"{name}: {safe(text)}" for name, text in texts if text]
    return [title, *body] if body else []


def _cut(text: str, max_tokens: int, count: Counter) -> str:
    """Shorten a text by lines, and its first line by letters, until it fits with the note."""
    kept = text.split("\n")
    while len(kept) > 1 and count("\n".join(kept) + _CUT) > max_tokens:
        kept.pop()
    first = "\n".join(kept)
    low, high = 0, len(first)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if count(first[:middle] + _CUT) <= max_tokens else (low, middle - 1)
        )
    return first[:low] + _CUT if count(_CUT) <= max_tokens else ""
