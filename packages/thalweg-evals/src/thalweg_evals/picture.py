"""The tokens of each request over time, with compactions marked, as an SVG picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from thalweg_evals.trace import Trace

WIDTH, HEIGHT, MARGIN = 960, 400, 56
"""In pixels."""
COLOURS = ("#0b7a4b", "#c75000")
"""Of the conversations that are highlighted; the others are grey."""
_STYLE = "font: 13px system-ui, sans-serif; background: #ffffff"


@dataclass(frozen=True, slots=True)
class TokenSeries:
    """The requests of one conversation."""

    name: str
    tokens: tuple[int, ...]
    """Tokens of each request of the agent, in order."""
    compactions: tuple[int, ...]
    """Places in `tokens` of the requests that are smaller than the previous one."""


def token_series(name: str, trace: Trace) -> TokenSeries:
    """Return the tokens of a conversation over time."""
    agents, numbers = trace.agents(), set(trace.compactions())
    places = tuple(place for place, one in enumerate(agents) if one.number in numbers)
    return TokenSeries(name, tuple(one.tokens for one in agents), places)


def token_picture(series: Sequence[TokenSeries]) -> str:
    """Draw conversations: two in colour, the one of the largest drop and the longest other one.

    Args:
        series: Those without requests are left out.

    Returns:
        The text of an SVG file.
    """
    drawn = [one for one in series if one.tokens]
    most = max((max(one.tokens) for one in drawn), default=1)
    longest = max((len(one.tokens) for one in drawn), default=2)

    def x(place: float) -> float:
        return MARGIN + place * (WIDTH - 2 * MARGIN) / max(longest - 1, 1)

    def y(tokens: float) -> float:
        return HEIGHT - MARGIN - tokens * (HEIGHT - 2 * MARGIN) / most

    chosen = sorted(drawn, key=_largest_drop)[-1:]
    chosen += sorted((one for one in drawn if one not in chosen), key=lambda one: len(one.tokens))[
        -1:
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" style="{_STYLE}">',
        "<title>Tokens of each request, with compactions</title>",
    ]
    for part in range(5):
        tokens = most * part / 4
        grid = f'x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(tokens):.1f}" y2="{y(tokens):.1f}"'
        lines.append(f'<line {grid} stroke="#e2e2e2"/>')
        lines.append(f'<text x="4" y="{y(tokens) + 4:.1f}" fill="#555">{tokens / 1000:.1f}k</text>')
    for one in sorted(drawn, key=lambda one: one in chosen):
        colour = COLOURS[chosen.index(one)] if one in chosen else "#c8c8c8"
        points = " ".join(f"{x(k):.1f},{y(tokens):.1f}" for k, tokens in enumerate(one.tokens))
        width = 2 if one in chosen else 1
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )
        if one in chosen:
            lines += [
                f'<circle cx="{x(k):.1f}" cy="{y(one.tokens[k]):.1f}" r="4" fill="{colour}"/>'
                for k in one.compactions
            ]
            row = 20 + 18 * chosen.index(one)
            text = f"{escape(one.name)}, {len(one.compactions)} compactions"
            lines.append(f'<text x="{MARGIN}" y="{row}" fill="{colour}">{text}</text>')
    below = f"requests of the agent, 1 to {longest}; a dot: its context was compacted before it"
    lines.append(f'<text x="{MARGIN}" y="{HEIGHT - 18}" fill="#555">{below}</text>')
    return "\n".join([*lines, "</svg>\n"])


def _largest_drop(series: TokenSeries) -> int:
    tokens = series.tokens
    return max((tokens[k - 1] - tokens[k] for k in series.compactions), default=0)
