"""What the engine costs per model call: on a thread without end, and compared with a peer.

    python -m benchmarks.engine growth [--messages 50000]
    uv run --group bench python -m benchmarks.engine beside [--turns 120] [--block 20]

`growth`: time of the engine per call (taking in what is new, and making the request), early and
late in one thread. `beside`: CPU time per call of the engine and of the summarization hook of
`deepagents`, on the same histories, in turns, in the same run.
"""

import argparse
import resource
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import median

from benchmarks.threads import made_up_thread
from thalweg.archive import Archive, Logged, Span, ThreadKey, open_archive
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Entry, Message
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget

WINDOW = 128_000
EARLY = slice(250, 750)
LATE = slice(-500, None)
HISTORIES = (500, 2_000, 5_000)
MOST_GROWTH = 1.5
LEAST_TIMES = 20
ENDLESS = 10**12
"""A window in which nothing is ever too much."""
FREE = Tariff(name="free", read=0.0, write=1.25)
"""Re-reading costs nothing, so that nothing is folded; all is weighed as with any other."""


@dataclass(slots=True)
class Driver:
    """An engine with the archive that names its spans, driven as a harness would drive it."""

    budget: Budget
    tariff: Tariff
    archive: Archive = field(default_factory=lambda: open_archive(":memory:"))
    key: ThreadKey = field(default_factory=lambda: ThreadKey("bench", "thread"))
    engine: Engine = field(init=False)
    logged: int = 0

    def __post_init__(self) -> None:
        self.engine = Engine(
            budget=self.budget,
            policy=RentOrBuy(self.tariff),
            count=exact_counter(),
            name_span=lambda first, last: self.archive.handle(self.key, Span(first, last)),
        )

    def receive(self, messages: Sequence[Message]) -> list[Entry]:
        """Take in what is new."""
        return [self.engine.receive(message) for message in messages]

    def log(self, entries: Sequence[Entry]) -> None:
        """Store what is new, before anything may be removed from the context."""
        new = [Logged(e.message, e.answers.brief if e.answers else "") for e in entries]
        self.logged = self.archive.append(self.key, new, expected=self.logged)


def calls_of(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """Part a thread into what is new at each model call: the last answer, and what followed."""
    starts = [n for n, message in enumerate(messages) if message.role == "assistant"]
    return [messages[a:b] for a, b in zip([0, *starts], [*starts, len(messages)], strict=True)]


def growth(messages: int) -> bool:
    """Drive one long thread; print the time per call early and late, and their ratio."""
    driver = Driver(Budget(window=WINDOW), TARIFFS["anthropic"])
    calls = calls_of(list(made_up_thread(messages)))
    engine_ms: list[float] = []
    archive_ms: list[float] = []
    folding_ms: list[float] = []
    for new in calls:
        start = time.perf_counter()
        entries = driver.receive(new)
        received = time.perf_counter()
        driver.log(entries)
        logged = time.perf_counter()
        fold = driver.engine.window.fold
        driver.engine.prepare()
        engine_ms.append((time.perf_counter() - logged + received - start) * 1e3)
        archive_ms.append((logged - received) * 1e3)
        if driver.engine.window.fold is not fold:
            folding_ms.append(engine_ms[-1])
    early, late = median(engine_ms[EARLY]), median(engine_ms[LATE])
    tokens = sum(entry.tokens for entry in driver.engine.window.entries.values())
    print(f"{messages} messages, {len(calls)} calls, {len(driver.engine.history)} edits")
    print(f"tokens in the last request: {driver.engine.window.tokens} ({tokens} live)")
    print(f"{'engine, ms per call':28}{'p50':>8}{'p95':>8}{'max':>8}")
    for name, times in (
        (f"calls {EARLY.start} to {EARLY.stop}", engine_ms[EARLY]),
        (f"the last {-LATE.start}", engine_ms[LATE]),
        ("all", engine_ms),
        *((f"folding calls, {name}", times) for name, times in _halves(folding_ms)),
        ("archive, all (beside it)", archive_ms),
    ):
        ordered = sorted(times)
        high = ordered[int(len(ordered) * 0.95)]
        print(f"{name:28}{median(times):8.3f}{high:8.3f}{ordered[-1]:8.3f}")
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"late / early: {late / early:.2f} (at most {MOST_GROWTH}); peak memory {rss_mb:.0f} MB")
    return late / early <= MOST_GROWTH


def _halves(times: list[float]) -> list[tuple[str, list[float]]]:
    half = len(times) // 2
    return [("first half", times[:half]), ("second half", times[half:])] if half else []


def beside(turns: int, block: int) -> bool:
    """Measure engine and peer in turns on the same histories; print the ratios."""
    print("CPU ms per call, median; 'times' is the peer's (without tools) over ours")
    print(
        f"{'history':>8}{'peer':>9}{'with tools':>12}{'ours':>9}{'times':>7}"
        f"{'ours, 128k':>12}{'times':>7}"
    )
    enough = True
    for length in HISTORIES:
        hook, tools, whole, default = (1e3 * spent for spent in _in_turns(length, turns, block))
        print(
            f"{length:8}{hook:9.3f}{tools:12.3f}{whole:9.3f}{hook / whole:7.1f}"
            f"{default:12.3f}{hook / default:7.1f}"
        )
        if length >= HISTORIES[1]:
            enough &= hook / default >= LEAST_TIMES
    print(f"wanted of the default policy: {LEAST_TIMES} times from {HISTORIES[1]} messages on")
    return enough


def _in_turns(length: int, turns: int, block: int) -> Iterator[float]:
    """Return the median CPU seconds per call: peer, peer with tools, ours endless, ours at 128k.

    From `length` messages on, every call of the thread is made by all of them, `block` calls
    at a time, each time beginning with another: who comes first finds the processor's caches
    cold.
    """
    from benchmarks.peer import Peer  # noqa: PLC0415 (only this needs the bench group)

    messages = list(made_up_thread(length + 8 * turns))
    amounts = dict.fromkeys(("result_tokens", "input_tokens"), ENDLESS)
    endless = Budget(window=ENDLESS, max_bytes=ENDLESS, max_media=ENDLESS, **amounts)
    ours = [Driver(endless, FREE), Driver(Budget(window=WINDOW), TARIFFS["anthropic"])]
    peers = [Peer(messages, with_tools=False), Peer(messages, with_tools=True)]
    calls = calls_of(messages)
    ends = list(accumulate(map(len, calls)))
    first = bisect_left(ends, length)
    for driver in ours:
        for new in calls[:first]:
            _call_s(driver, new)
    times: list[list[float]] = [[], [], [], []]
    for start in range(first, first + turns, block):
        shift = (start - first) // block % 4
        for who in [*range(shift, 4), *range(shift)]:
            for call in range(start, start + block):
                hook = who < len(peers)
                spent = (
                    peers[who].call_s(ends[call]) if hook else _call_s(ours[who - 2], calls[call])
                )
                times[who].append(spent)
    if ours[0].engine.history:
        msg = "something was folded in the endless window"
        raise RuntimeError(msg)
    return map(median, times)


def _call_s(driver: Driver, new: Sequence[Message]) -> float:
    """CPU seconds of one call: taking in what is new and making the request."""
    start = time.process_time()
    entries = driver.receive(new)
    spent = time.process_time() - start
    driver.log(entries)
    start = time.process_time()
    driver.engine.prepare()
    return spent + time.process_time() - start


def main() -> int:
    """Measure and print; fail when a figure is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("growth", "beside"))
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=120)
    parser.add_argument("--block", type=int, default=20, help="calls in a row by each (beside)")
    options = parser.parse_args()
    if options.what == "growth":
        good = growth(options.messages)
    else:
        good = beside(options.turns, options.block)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
