"""What the context tools cost: sent with every request, or from the first reference on.

    uv run python -m benchmarks.tools_sent FOLDER [--window 128000] [--tariff anthropic openai …]

Repeats recorded sessions (FOLDER holds their files) with our engine and a simulated prefix cache.
Tools precede the messages, so a tool that appears in the middle of a thread invalidates the cached
prefix once; one that is always there is read with every request. Costs are in uncached input
tokens, summaries excluded: they are the same.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arena.sources import find_threads, read_thread
from thalweg.archive import RECALL_TOOL, ThreadKey, open_archive
from thalweg.context.request.last_check import tools_as_json
from thalweg.context.turn.context_tools import compact_tool
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.settings import ContextPolicy, ToolNames
from thalweg.engine.tokens import exact_counter
from thalweg_recorder.replay.cache import PrefixCache
from thalweg_recorder.replay.ours import ThalwegContestant
from thalweg_recorder.replay.policies import contestant_named
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.subject import ReplaySubject, subject_of, terms_of

COUNT = exact_counter()
BESIDE = {"without tools": 200, "with tools": 6_000}
"""Tokens of the system prompt and of the agent's own tools: a chat, and a coding agent."""


def tool_tokens() -> int:
    """Count the schemas of `recall` and `compact_conversation`."""
    compact = {"name": "compact_conversation", "description": compact_tool(ToolNames()).description}
    return COUNT(tools_as_json([RECALL_TOOL, compact]))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One session under one tariff."""

    name: str
    calls: int
    first: int
    """The call from which on a reference is in the request; 0 if there is none."""
    edit: str
    """The edit that brought it."""
    prefix: int
    """Tokens of messages that had been cached at that call, at most."""
    none: float
    always: float
    later: float


def outcomes(
    subject: ReplaySubject, window: int, tariff: Tariff, beside: int, ours: int
) -> Iterator[Outcome]:
    """Repeat a session, and charge each way of sending."""
    cold = terms_of(subject, tariff).cold
    budget = ContextPolicy().budget(window)
    none, always, later = PrefixCache(tariff), PrefixCache(tariff), PrefixCache(tariff)
    costs = [0.0, 0.0, 0.0]
    calls = first = prefix = last = 0
    edit = "-"
    with closing(open_archive(":memory:", secret=b"0" * 32)) as archive:
        key = ThreadKey("replay", subject.recording.name)
        contestant = contestant_named("thalweg", budget, tariff, archive, key)
        assert isinstance(contestant, ThalwegContestant)
        for position, message in enumerate(subject.recording.messages):
            if message.role == "assistant":
                request = contestant.request(cold=position in cold)
                calls += 1
                is_cold = position in cold
                shown = contestant.engine.window
                if not first and (shown.fold is not None or shown.rewrites):
                    first, edit, prefix = calls, type(request.edits[0]).__name__, last
                extra = ours if first else 0
                for k, (cache, size) in enumerate(
                    ((none, beside), (always, beside + ours), (later, beside + extra))
                ):
                    costs[k] += cache.send(request.items, cold=is_cold, overhead=size).cost
                last = sum(item.tokens for item in request.items)
            contestant.receive(message)
    if calls:
        yield Outcome(subject.recording.name, calls, first, edit, prefix, *costs)


def _row(name: str, found: Sequence[Outcome]) -> str:
    none, always, later = (sum(getattr(o, n) for o in found) for n in ("none", "always", "later"))
    with_reference = [o for o in found if o.first]
    evicted = sum(o.edit == "Evict" for o in with_reference)
    return (
        f"{name:34} {len(found):4} {len(with_reference):4} {evicted:4} {none:12,.0f} "
        f"{always - none:10,.0f} {100 * (always / none - 1):6.2f}% "
        f"{later - none:10,.0f} {100 * (later / none - 1):6.2f}%"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the costs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--window", type=int, nargs="+", default=[128_000])
    parser.add_argument(
        "--tariff", nargs="+", default=["anthropic", "openai", "google", "deepseek"]
    )
    parser.add_argument("--each", action="store_true", help="print each session, too")
    given = parser.parse_args(arguments)
    subjects = [subject_of(read_thread(path), Questions()) for path in find_threads([given.folder])]
    ours = tool_tokens()
    print(f"tokens of the two tools: {ours}")
    print(f"{'':34} sess  ref evic {'no tools':>12} {'always':>18} {'from reference':>18}")
    for window in given.window:
        for name in given.tariff:
            for kind, beside in BESIDE.items():
                some = [
                    s
                    for s in subjects
                    if any(e.answers for e in s.entries) == (kind == "with tools")
                ]
                found = [
                    o for s in some for o in outcomes(s, window, NAMED_TARIFFS[name], beside, ours)
                ]
                print(_row(f"{window:,} {name} {kind}", found), flush=True)
                for part, those in (
                    ("of them with a reference", [o for o in found if o.first]),
                    ("of them without", [o for o in found if not o.first]),
                ):
                    if those:
                        print(_row(f"    {part}", those), flush=True)
                if given.each:
                    for o in found:
                        costs = f"{o.always - o.none:,.0f} {o.later - o.none:,.0f}"
                        print(f"    {o.name:40} {o.first}/{o.calls} {o.edit} {o.prefix:,}: {costs}")


if __name__ == "__main__":
    main()
