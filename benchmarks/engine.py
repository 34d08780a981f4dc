"""What the engine costs per model call: on a thread without end, and beside a peer.

    python -m benchmarks.engine growth [--messages 50000]
    uv run --group bench python -m benchmarks.engine beside [--turns 40]

`growth`: time of the engine per call (taking in what is new, and making the request), early and
late in one thread. `beside`: CPU time per call of the engine and of the summarization hook of
`deepagents`, on the same histories, in turns, in the same run.
"""

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.threads import made_up_thread
from thalweg.archive import Archive, Logged, Span, ThreadKey, open_archive
from thalweg.context.budget import Budget
from thalweg.context.engine import Engine
from thalweg.context.policy import RentOrBuy
from thalweg.context.pricing import TARIFFS, Tariff
from thalweg.entries import Entry, Message
from thalweg.tokens import exact_counter

WINDOW = 128_000
EARLY = slice(250, 750)
LATE = slice(-500, None)
HISTORIES = (500, 2_000, 5_000)
MOST_GROWTH = 1.5
LEAST_SHARE = 20
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
        """Store what is new, before anything may leave the context."""
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
    for new in calls:
        start = time.perf_counter()
        entries = driver.receive(new)
        received = time.perf_counter()
        driver.log(entries)
        logged = time.perf_counter()
        driver.engine.prepare()
        engine_ms.append((time.perf_counter() - logged + received - start) * 1e3)
        archive_ms.append((logged - received) * 1e3)
    early, late = median(engine_ms[EARLY]), median(engine_ms[LATE])
    tokens = sum(entry.tokens for entry in driver.engine.window.entries.values())
    print(f"{messages} messages, {len(calls)} calls, {len(driver.engine.history)} edits")
    print(f"tokens in the last request: {driver.engine.window.tokens} ({tokens} live)")
    print(f"{'engine, ms per call':28}{'p50':>8}{'p95':>8}{'max':>8}")
    for name, times in (
        (f"calls {EARLY.start} to {EARLY.stop}", engine_ms[EARLY]),
        (f"the last {-LATE.start}", engine_ms[LATE]),
        ("all", engine_ms),
        ("archive, all (beside it)", archive_ms),
    ):
        ordered = sorted(times)
        high = ordered[int(len(ordered) * 0.95)]
        print(f"{name:28}{median(times):8.3f}{high:8.3f}{ordered[-1]:8.3f}")
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"late / early: {late / early:.2f} (at most {MOST_GROWTH}); peak memory {rss_mb:.0f} MB")
    return late / early <= MOST_GROWTH


def beside(turns: int) -> bool:
    """Measure engine and peer in turns on the same histories; print the ratios."""
    from benchmarks.peer import Peer  # noqa: PLC0415 (only this needs the bench group)

    print("CPU ms per call, median; 'times' is the peer's over ours")
    print(f"{'history':>8}{'peer':>10}{'ours':>10}{'times':>8}{'ours, 128k':>12}{'times':>8}")
    enough = True
    for length in HISTORIES:
        messages = list(made_up_thread(length + 8 * turns))
        calls = calls_of(messages)
        endless = Budget(
            window=ENDLESS, result_tokens=ENDLESS, max_bytes=ENDLESS, max_media=ENDLESS
        )
        ours = [Driver(endless, FREE), Driver(Budget(window=WINDOW), TARIFFS["anthropic"])]
        peer, seen = Peer(messages), 0
        times: list[list[float]] = [[], [], []]
        for new in calls:
            seen += len(new)
            measured = seen >= length
            if len(times[0]) == turns:
                break
            spent = [_call_s(driver, new) for driver in ours]
            if measured:
                times[0].append(peer.call_s(seen))
                times[1].append(spent[0])
                times[2].append(spent[1])
        if ours[0].engine.history:
            msg = "something was folded in the endless window"
            raise RuntimeError(msg)
        hook, whole, default = (median(some) * 1e3 for some in times)
        print(
            f"{length:8}{hook:10.3f}{whole:10.3f}{hook / whole:8.1f}"
            f"{default:12.3f}{hook / default:8.1f}"
        )
        if length >= HISTORIES[1]:
            enough &= hook / max(whole, default) >= LEAST_SHARE
    print(f"wanted: at least {LEAST_SHARE} times from {HISTORIES[1]} messages on")
    return enough


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("growth", "beside"))
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=40)
    options = parser.parse_args()
    good = growth(options.messages) if options.what == "growth" else beside(options.turns)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
