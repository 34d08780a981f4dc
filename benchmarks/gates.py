"""Does what a gate takes grow in proportion to the text, for any repetitions in the text?

    uv run python -m benchmarks.gates [--chars 10000] [--only own_words]

Each function of the gates that reads a whole message is passed one fragment, repeated to so many
characters and to twice as many. `ms` is CPU time for the longer one, `ratio` its time over that
of the shorter one: 2 is linear, 4 is quadratic. Only rows above the marks are printed: more than
`MOST_RATIO` times, and more than `MOST_MS` milliseconds. A function that takes longer than
`PATIENCE` is cut off.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from itertools import product

from thalweg.redaction.secrets import redact
from thalweg_memory.facts.gates import (
    find_hidden_text,
    find_others_text,
    find_quote,
    new_address,
    normalize_compatible,
    own_words,
    visible,
)

MOST_RATIO = 3.0
MOST_MS = 50.0
PATIENCE = 5.0
FRAGMENTS = (
    " ", "\t", "a ", "a", "A", "é", "我", "_", "1", "1 ", "-", "*", "=", "#", ",", "|", "(", "<",
    "[", "{", '"', "'", "`", "“", "\n", "\n ", "\n\t", "\n> ", "\n- ", "\na: ", "a,", "a;", "a.",
    "a: ", "a=", "<a ", "![", "[[", '{"', "<!--", "<|", "://", "www.", "a@", "$ ", "12:00 ",
    "2020-", "I ", "my ", "if ", "when ", "every ", "ask ", "always ", "user ", "password ",
    "my key is ", "token ", "BEGIN ", "Al said ", "mail ", "write ", "you are ", "以后", "用",
    "请", "问", "你是", "我说", "\uff0c", "。", "\uff1a", "\uff1f ", "1:", "1:1:", "~", "-=",
)  # fmt: skip
BEGINNINGS = ("I am here: ", "", "--", "[")
"""What is before the first fragment: a sentence, or the beginning of a line."""


GATES: dict[str, Callable[[str], object]] = {
    "own_words": own_words,
    "find_others_text": find_others_text,
    "visible": visible,
    "normalize_compatible": normalize_compatible,
    "find_hidden_text": lambda text: find_hidden_text(text + "\u200b"),
    "redact": redact,
    "find_quote": lambda text: list(find_quote("I live in Porto", text)),
    "new_address": lambda text: new_address(text, text),
}
"""What each gate is called with: the text of a whole message."""


class _OutOfTimeError(BaseException):
    """A gate took longer than `PATIENCE`."""


def _raise(*_: object) -> None:
    raise _OutOfTimeError


def seconds(gate: Callable[[str], object], text: str) -> float:
    """Measure the CPU time of one call; `PATIENCE` where it was cut off."""
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    start = time.process_time()
    try:
        gate(text)
    except _OutOfTimeError:
        return PATIENCE
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - start


def repeated(fragment: str, chars: int, beginning: str) -> str:
    """Make a message of one fragment, inside a sentence or at the beginning of a line."""
    return f"{beginning}{fragment * (chars // len(fragment))} x"


def main() -> int:
    """Print what grows faster than its text; fail where anything does."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--chars", type=int, default=10_000, help="of the shorter text")
    parser.add_argument("--only", choices=GATES, action="append")
    options = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _raise)
    missed = 0
    for name in options.only or GATES:
        gate, total = GATES[name], 0.0
        for fragment, beginning in product(FRAGMENTS, BEGINNINGS):
            took = seconds(gate, repeated(fragment, 2 * options.chars, beginning))
            total += took
            if 1_000 * took <= MOST_MS:
                continue
            shorter = seconds(gate, repeated(fragment, options.chars, beginning))
            if took >= PATIENCE or took > MOST_RATIO * shorter:
                missed += 1
                print(f"{name:<16} {fragment!r:<14} {1_000 * took:>7.0f} ms {took / shorter:>5.1f}")
        mean = 1e9 * total / (len(FRAGMENTS) * len(BEGINNINGS)) / (2 * options.chars)
        print(f"{name:<16} {'all':<14} {mean:>7.0f} ns a character", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
