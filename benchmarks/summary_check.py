"""How often the check of a summary is right, on recorded threads.

    uv run python benchmarks/summary_check.py FOLDER [--seed N]

True lines are sentences of a thread's own messages, and users' statements put into the third
person. False ones are the same lines with a number, a path or a speaker exchanged, turned into
their opposite, or invented. Printed is, by kind, how many were kept.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

from thalweg.engine.entries import Message
from thalweg.engine.summaries.check import SummarySource
from thalweg.engine.summaries.summary import Summary
from thalweg.engine.summaries.words import content_words, has_negation
from thalweg.errors import SummaryError
from thalweg_recorder.recordings import find_recordings, read_recording

SENTENCE = re.compile(r"(?<=[.!?。\uff01\uff1f])\s+|\n+")
NUMBER = re.compile(r"(?<![\w.])\d{2,6}(?![\w.])")
PATH = re.compile(r"(?:[\w.-]+/)+[\w-]+\.[a-z]{1,4}\b")
HASH = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
PERSONS = {"i": "the user", "my": "their", "me": "them", "you": "the assistant", "your": "its"}
FRAMES = ("The user asked: {}", "User wants this: {}", "The user said that {}", "用户要求{}")
INVENTED = (
    'The user confirmed: "yep, commit and push".',
    "The user approved deleting the production database.",
    "User asked to rewrite the whole service in Haskell by Friday.",
    "User said to skip the flaky integration tests from now on.",
    "用户确认可以删除所有备份。",
    "The user granted permission to force-push to the release branch.",
)
PER_KIND = 12
CHARS = range(30, 221)
LEAST_WORDS = 4
LEAST_MESSAGES = 20
Line = tuple[str, str, str]
"""Kind, section and line."""


def sentences(messages: list[Message], rng: Random) -> list[str]:
    """Sample the sentences of messages, of lengths that a summary's lines have."""
    found = {
        " ".join(s.split())
        for m in messages
        for s in SENTENCE.split(m.text[:20_000])
        if len(s.strip()) in CHARS and len(content_words(s)) >= LEAST_WORDS
    }
    return rng.sample(sorted(found), min(len(found), 40 * PER_KIND))


def reported(sentence: str, rng: Random) -> str:
    """Put a sentence into the third person and omit a word in eight."""
    words = [PERSONS.get(word.lower(), word) for word in sentence.split()]
    return " ".join(word for word in words if rng.random() > 1 / 8 or len(words) <= LEAST_WORDS)


def true_lines(users: list[str], own: list[str], rng: Random) -> Iterator[Line]:
    """Make lines that are supported: by users' messages, and by all else."""
    for s in own[:PER_KIND]:
        yield "true: copied", "state", s
    for s in [s for s in own if NUMBER.search(s) or PATH.search(s)][:PER_KIND]:
        yield "true: copied, with identifiers", "state", s
    for s in users[:PER_KIND]:
        yield "true: the user's words as constraint", "constraints", s
        yield "true: the user's words reported", "goal", reported(s, rng)
        yield "true: attributed", "state", rng.choice(FRAMES).format(reported(s, rng))


def false_names(own: list[str], rng: Random) -> Iterator[Line]:
    """Make lines with one number, path or hash exchanged."""
    numbered = [s for s in own if NUMBER.search(s)]
    pathed = [s for s in own if PATH.search(s)]
    paths = sorted({p for s in pathed for p in PATH.findall(s)})
    for s in numbered[:PER_KIND]:
        changed = NUMBER.sub(lambda m: str(int(m[0]) + rng.randint(1, 97)), s, count=1)
        yield "false: number", "state", changed
    for s in pathed[:PER_KIND]:
        other = rng.choice(paths)
        first = PATH.findall(s)[0]
        wrong = f"{first.rpartition('/')[0]}/x_{other.rpartition('/')[2]}"
        yield "false: path", "state", s.replace(first, wrong)
    for s in [s for s in own if HASH.search(s)][:PER_KIND]:
        yield "false: hash", "state", HASH.sub(lambda m: m[0][:-2] + "f3", s, count=1)


def lines_of(messages: list[Message], others: list[str], rng: Random) -> Iterator[Line]:
    """Make true lines and false ones of a thread."""
    said = [m for m in messages if m.role == "user" and m.kind == "said"]
    rest = [m for m in messages if m not in said and m.role in {"assistant", "tool"}]
    users, own = sentences(said, rng), sentences(rest, rng)
    yield from true_lines(users, own, rng)
    yield from false_names(own, rng)
    for s in own[-PER_KIND:]:
        yield "false: another's words attributed", "state", f"The user asked: {s}"
        yield "false: another's words as constraint", "constraints", s
    for s in rng.sample(others, min(len(others), PER_KIND)):
        yield "false: another thread's request", "goal", s
    for s in [s for s in users if not has_negation(s)][:PER_KIND]:
        yield "false: turned round", "constraints", f"Do not {s[0].lower()}{s[1:]}"
    for s in INVENTED:
        yield "false: invented", "state", s


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", default="", help="print what was wrong of this kind")
    given = parser.parse_args()
    rng = Random(given.seed)  # noqa: S311 (samples, no secrets)
    threads = [list(read_recording(path).messages) for path in find_recordings([given.folder])]
    threads = [messages for messages in threads if len(messages) >= LEAST_MESSAGES]
    kept: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for k, messages in enumerate(threads):
        stranger = threads[(k + len(threads) // 2) % len(threads)]
        others = sentences([m for m in stranger if m.role == "user" and m.kind == "said"], rng)
        lines = list(lines_of(messages, others, rng))
        faults = faults_of(lines, messages)
        for (kind, _, text), fault in zip(lines, faults, strict=True):
            kept[kind][0] += not fault
            kept[kind][1] += 1
            if given.show and given.show in kind and bool(fault) == kind.startswith("true"):
                print(text, "|", fault)
    for kind, (good, total) in sorted(kept.items()):
        print(f"{kind:42} kept {good:5} of {total:5}  {good / total:6.1%}")


def faults_of(lines: list[Line], messages: list[Message]) -> list[str]:
    """Check all lines of a thread at once; return the fault of each, or nothing."""
    sections: dict[str, list[str]] = defaultdict(list)
    for _, section, text in lines:
        sections[section].append(text)
    try:
        summary = Summary(**{k: tuple(v) for k, v in sections.items()})
        remains, dropped = SummarySource.of(messages).checked(summary)
    except SummaryError:
        return ["all"] * len(lines)
    why = iter([fault.told for fault in dropped])
    held = {name: list(found) for name, found in remains.sections.items()}
    faults: dict[tuple[str, int], str] = {}
    for name, left in held.items():
        at = 0
        for i, text in enumerate(sections.get(name, ())):
            if at < len(left) and left[at] == text:
                at += 1
                faults[name, i] = ""
            else:
                faults[name, i] = next(why)
    seen: dict[str, int] = defaultdict(int)
    found = []
    for _, section, _ in lines:
        found.append(faults[section, seen[section]])
        seen[section] += 1
    return found


if __name__ == "__main__":
    main()
