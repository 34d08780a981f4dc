"""How many of a provider's tokens is one of ours? From the usage that recorded sessions report.

    THALWEG_RECORDED=folder python -m benchmarks.token_factors

Between two requests of a session the reported input grows by the messages that came between.
That growth, compared with our count of those messages, is the provider's factor; the system prompt
and the tools, which sessions do not record, cancel out. Pairs around a compaction, with images or
with reasoning (which providers drop from later requests) are skipped, and so are fewer than
200 of our tokens. `engine/token_factors.toml` has the medians.

Where `ctok` is installed (it rebuilds Claude's counts; Python 3.12), its counts of the recorded
texts are printed as well: they alone cover Chinese and the newer vocabulary. Compared with
recorded usage they were 9 % too low for Opus 4.6; for Sonnet 4.5 12 % too high in sum, 4 % too low
in the median.
"""

import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from thalweg.engine.entries import Media, Message, Thinking
from thalweg.engine.tokens import exact_counter, measure, text_kind
from thalweg.engine.transcript import as_text
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import read_recording

LEAST = 200
"""Tokens of ours between two requests from which a pair is counted."""
Pair = tuple[str, str, int, int]
"""Model, kind of text, our count, growth of the reported input."""


def pairs(recording: Recording) -> Iterator[Pair]:
    """Yield every pair of requests of one session that can be compared."""
    count = exact_counter()
    last: tuple[int, int] | None = None
    for at, message in enumerate(recording.messages):
        if message.role != "assistant" or message.usage is None or not message.usage.input:
            continue
        if last is not None:
            between = recording.messages[last[0] : at]
            ours = sum(measure(m, count).tokens for m in between)
            growth = message.usage.input - last[1]
            if growth > 0 and ours >= LEAST and not any(map(is_skipped, between)):
                kind = text_kind("\n".join(as_text(m) for m in between))
                yield model_of(message), kind, ours, growth
        last = at, message.usage.input


def is_skipped(message: Message) -> bool:
    """Whether a message is not counted alike in the next request."""
    return any(isinstance(part, Media | Thinking) for part in message.parts)


def model_of(message: Message) -> str:
    """Return the model that a log names with a message."""
    _, found, rest = message.extra.partition('"model":')
    return rest.split('"')[1] if found else "?"


def print_recorded(recordings: list[Recording]) -> None:
    """Print the factor of each model and kind of text."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for recording in recordings:
        for model, kind, ours, growth in pairs(recording):
            found[model, kind].append((ours, growth))
    print(f"{'recorded usage':34} {'text':6} pairs  median    p90    all")
    for (model, kind), rows in sorted(found.items()):
        ratios = sorted(growth / ours for ours, growth in rows)
        p90 = ratios[len(ratios) * 9 // 10]
        whole = sum(growth for _, growth in rows) / sum(ours for ours, _ in rows)
        middle = statistics.median(ratios)
        print(f"{model:34} {kind:6} {len(rows):5}  {middle:6.2f} {p90:6.2f} {whole:6.2f}")


def print_rebuilt(recordings: list[Recording]) -> None:
    """Print how `ctok` counts the recorded texts, next to our count."""
    rebuilt: Callable[[str, str], int] = import_module("ctok").token_count
    count = exact_counter()
    texts: dict[str, list[str]] = defaultdict(list)
    for recording in recordings:
        for message in recording.messages[:40]:
            text = message.text[:3_000]
            if len(text) >= 2 * LEAST:
                texts[text_kind(text)].append(text)
    print(f"{'ctok':34} {'text':6} texts  median")
    for version in ("3.0", "4.7"):
        for kind, every in sorted(texts.items()):
            some = every[:: max(1, len(every) // 80)]
            ratios = [rebuilt(text, version) / count(text) for text in some]
            label = f"Claude {version} and later"
            print(f"{label:34} {kind:6} {len(some):5}  {statistics.median(ratios):6.2f}")


def main() -> None:
    """Print both tables."""
    folder = Path(os.environ.get("THALWEG_RECORDED", "")) / "trajectories"
    if not folder.is_dir():
        print("set THALWEG_RECORDED to a folder of recorded threads", file=sys.stderr)
        raise SystemExit(2)
    recordings = []
    for path in sorted((folder.parent / "originals").glob("*")) or sorted(folder.iterdir()):
        try:
            recordings.append(read_recording(path))
        except RecordingError:
            continue
    print_recorded(recordings)
    try:
        print_rebuilt(recordings)
    except ModuleNotFoundError:
        print("ctok is not installed: nothing to say of Chinese, nor of the newer vocabulary")


if __name__ == "__main__":
    main()
