"""Whether the cache simulator reads what real providers read, on recorded threads.

    THALWEG_RECORDED=folder python -m benchmarks.cache_check [--misses] [--sessions]

A recorded answer states how many input tokens its request had and how many of them were read from
the cache. Each session is sent to the simulator again, with the recorded times, and the cached
tokens of each call are compared. The logs have neither system prompt nor tools: they are a
constant of the session, taken from its first call, which is not compared. Sizes are taken in
two ways: *reported*, what the input grew by from call to call, so that the rules alone are
checked; *counted*, our own count of the messages, times one factor from the other sessions of
the same kind of log. How long Claude Code asked for its cache to be kept is in the
original logs (`originals/`).
"""

import argparse
import gzip
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter, measure
from thalweg.engine.window.items import WindowItem
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.registry import WIRES
from thalweg_recorder.replay.cache import PrefixCache

KINDS = {"cc": "Claude Code", "pi": "pi", "gemini": "Gemini CLI"}
"""Logs that record what was cached, by the beginning of their names."""
LEAST_ANSWERS = 2
CLOSE = 0.05
"""Relative error above which a call is looked into."""
TARGET = 0.05
"""Most that the median of the relative errors may be."""
CLEARED_TOKENS = 12
LIFETIMES = {
    seconds: re.compile(rf'"ephemeral_{name}_input_tokens": ?(\d+)')
    for seconds, name in ((300, "5m"), (3_600, "1h"))
}
"""Tokens written to be kept so many seconds, in an original log."""


@dataclass(frozen=True, slots=True)
class Row:
    """One message of a log, with what the recorder noted with it."""

    message: Message
    tokens: int
    usage: Usage | None
    at: datetime | None
    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One call: what was read by the record, and what by the simulator."""

    session: str
    call: int
    recorded: int
    simulated: int
    input: int
    grew_by: int
    """Tokens of the input that the call before did not have."""
    why: str
    """What the call was about, should the two differ."""

    @property
    def error(self) -> float:
        """Relative to what was recorded; 1 where nothing was and something was expected."""
        if not self.recorded:
            return float(self.simulated > 0)
        return abs(self.simulated - self.recorded) / self.recorded

    def is_break(self, cached: int) -> bool:
        """Return whether less than half of what the call before had was read."""
        return cached < (self.input - self.grew_by) / 2


def read_session(path: Path) -> list[Row]:
    """Read a log."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    wire, count, rows = WIRES["openai-chat"], exact_counter(), list[Row]()
    for line in raw.decode().splitlines():
        body = json.loads(line)
        notes = body.pop("x", None) or {}
        usage = as_usage(notes.get("usage")) or as_usage(notes.get("tokens"))
        read, _ = wire.read([body])
        at = datetime.fromisoformat(notes["timestamp"]) if notes.get("timestamp") else None
        for n, message in enumerate(read):
            tokens = measure(message, count).tokens
            rows.append(Row(message, tokens, usage if n == 0 else None, at, notes))
    return rows


@dataclass(slots=True)
class Session:
    """One log, sent to the simulator call by call."""

    name: str
    rows: Sequence[Row]
    tariff: Tariff
    """The rules of the cache that it met."""
    factor: float
    """Tokens of the provider for one of ours."""
    is_counted: bool
    """Whether sizes are our counts; else what was reported."""
    items: list[WindowItem] = field(default_factory=list)
    """Of the next request."""
    beside: int = 0
    changed: str = ""
    """What happened to the items since the last call, other than growth."""
    fresh: int = 0
    """How many of the items came since the last call."""

    def compare(self) -> Iterator[Compared]:
        """Send all calls; compare all but the first."""
        cache, calls, before = PrefixCache(self.tariff), 0, 0
        last: datetime | None = None
        at: datetime | None = None
        for row in self.rows:
            if row.usage and row.usage.input and row.message.role == "assistant":
                self._fit(row.usage, is_first=not calls)
                charge = cache.send(
                    self.items, at=at or row.at, answered=row.at, overhead=self.beside
                )
                rested = (at - last) if at and last else timedelta()
                if calls:
                    why = self.changed or self._why(rested, row.usage, charge.cached)
                    yield Compared(
                        self.name,
                        calls,
                        row.usage.cached,
                        charge.cached,
                        row.usage.input,
                        row.usage.input - before,
                        why,
                    )
                calls, self.changed, self.fresh = calls + 1, "", 0
                before = row.usage.input
                last = row.at or at
            self._take(row)
            at = row.at or at

    def _why(self, rested: timedelta, usage: Usage, simulated: int) -> str:
        """Name the case of a call, should its figures differ."""
        expired = rested.total_seconds() > (self.tariff.lifetime_s or 0)
        if usage.cached > simulated:
            if usage.cached <= 2 * self.beside:
                return "the system prompt was kept warm by others"
            return "lived longer than its time" if expired else "more was read"
        if usage.cached > 2 * self.beside:
            return "less was read"
        return "no more than the system prompt was read, in time and unchanged"

    def _take(self, row: Row) -> None:
        """Take in a message, and what the recorded agent did to the thread before it."""
        if "compact_boundary" in row.notes or row.notes.get("compaction"):
            self.items, self.changed, self.fresh = [], "compacted", 0
        cleared = set((row.notes.get("microcompact_boundary") or {}).get("compactedToolIds") or ())
        if cleared:
            self.changed = "results cleared"
            self.items = [
                self._cleared(item) if item.message.answers in cleared else item
                for item in self.items
            ]
        if row.message.parts or row.message.role == "tool":
            self._add(row.message, round(row.tokens * self.factor))

    def _add(self, message: Message, tokens: int) -> None:
        self.items.append(WindowItem(message, len(self.items), tokens))
        self.fresh += 1

    def _cleared(self, item: WindowItem) -> WindowItem:
        return replace(
            item, message=replace(item.message, parts=(Text("cleared"),)), tokens=CLEARED_TOKENS
        )

    def _fit(self, usage: Usage, *, is_first: bool) -> None:
        """Take sizes from the report: all of them, or the constant of the first call alone."""
        counted = sum(item.tokens for item in self.items)
        if is_first:
            self.beside = usage.cached or max(0, usage.input - counted)
            if (rest := usage.input - self.beside - counted) > 0:
                reminder = Message("user", (Text("what is told at the beginning"),))
                self.items.insert(0, WindowItem(reminder, -1, rest))
                counted += rest
        if self.is_counted:
            return
        known = sum(item.tokens for item in self.items[: len(self.items) - self.fresh])
        room = usage.input - self.beside - known
        fresh = self.items[len(self.items) - self.fresh :]
        if room >= 0 and fresh:
            share = room / max(1, sum(item.tokens for item in fresh))
            sized = [replace(item, tokens=round(item.tokens * share)) for item in fresh]
            self.items[len(self.items) - self.fresh :] = sized
        else:
            self._shorten(usage.input - self.beside)

    def _shorten(self, tokens: int) -> None:
        """Make the thread smaller than it was: at its end, as the place was not recorded."""
        self.changed = self.changed or "smaller, nobody noted why"
        while self.items and sum(item.tokens for item in self.items) > tokens:
            self.items.pop()
        left = Message("user", (Text(f"what became of the rest at {tokens}"),))
        self.items.append(WindowItem(left, -1, max(0, tokens - sum(i.tokens for i in self.items))))


def tariff_of(name: str, rows: Sequence[Row], lifetime_s: float) -> Tariff:
    """Return the rules of the cache that a session met."""
    if name.startswith("gemini"):
        return TARIFFS["gemini"]
    models = Counter(str(row.notes.get("model")) for row in rows if row.usage)
    least = 4_096 if "opus" in models.most_common(1)[0][0] else 1_024
    return TARIFFS["anthropic"].model_copy(update={"minimum": least, "lifetime_s": lifetime_s})


def lifetime_of(original: Path) -> float:
    """Return for how many seconds a session asked its cache to be kept, if its log has it."""
    if not original.is_file():
        return 300
    text = gzip.decompress(original.read_bytes()).decode()
    written = {ttl: sum(map(int, re.findall(pattern, text))) for ttl, pattern in LIFETIMES.items()}
    return max(written, key=lambda ttl: written[ttl])


def factor_of(rows: Sequence[Row]) -> float | None:
    """Return how many tokens a provider counts for one of ours, from what requests grew by.

    Counts are of all input, cached or not; steps at which the thread did not grow are skipped.
    """
    grown = counted = since = 0
    before: int | None = None
    for row in rows:
        if row.usage and row.usage.input and row.message.role == "assistant":
            if before is not None and row.usage.input > before:
                grown += row.usage.input - before
                counted += since
            before, since = row.usage.input, 0
        since += row.tokens
    return grown / counted if counted else None


def report(title: str, calls: Sequence[Compared]) -> float:
    """Print one line; return the median error."""
    errors = sorted(call.error for call in calls)
    p90 = quantiles(errors, n=10, method="inclusive")[8] if len(errors) > 1 else errors[0]
    recorded, simulated = sum(c.recorded for c in calls), sum(c.simulated for c in calls)
    sessions = len({call.session for call in calls})
    close = sum(error <= CLOSE for error in errors) / len(errors)
    broken = [call for call in calls if call.is_break(call.recorded)]
    foreseen = sum(call.is_break(call.simulated) for call in broken)
    alarms = sum(call.is_break(call.simulated) for call in calls) - foreseen
    print(
        f"{title:24}{sessions:>9}{len(calls):>7}{median(errors):>9.2%}{mean(errors):>8.1%}"
        f"{p90:>8.1%}{close:>9.1%}{recorded / 1e6:>11.2f}M{simulated / recorded - 1:>+8.1%}"
        f"{len(broken):>8}{foreseen:>9}{alarms:>7}"
    )
    return median(errors)


def main() -> int:
    """Compare and print; 1 when the median error of Claude Code's calls is over the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--misses", action="store_true", help="list calls that are far off")
    parser.add_argument("--sessions", action="store_true", help="one line for each session")
    options = parser.parse_args()
    beside = Path(__file__).parents[2] / "shared" / "data" / "recorded"
    folder = Path(os.environ.get("THALWEG_RECORDED") or beside) / "trajectories"
    paths = [p for kind in KINDS for p in sorted(folder.glob(f"{kind}-*.jsonl*"))]
    if not paths:
        print("set THALWEG_RECORDED to a folder of recorded threads", file=sys.stderr)
        return 0
    read = {path.name.partition(".")[0]: read_session(path) for path in paths}
    tariffs = {
        name: tariff_of(name, rows, lifetime_of(folder.parent / f"originals/{name}.orig.jsonl.gz"))
        for name, rows in read.items()
    }
    factors = {name: factor for name, rows in read.items() if (factor := factor_of(rows))}
    print(
        f"{'':24}{'sessions':>9}{'calls':>7}{'median':>9}{'mean':>8}{'p90':>8}{'in 5%':>9}"
        f"{'recorded':>12}{'in all':>8}{'breaks':>8}{'foreseen':>9}{'false':>7}"
    )
    missed = False
    for is_counted in (False, True):
        for kind, title in KINDS.items():
            calls = [
                call
                for name in factors
                if name.startswith(kind)
                for call in Session(
                    name, read[name], tariffs[name], _others(factors, name, kind), is_counted
                ).compare()
            ]
            if len(calls) < LEAST_ANSWERS:
                continue
            sizes = "counted" if is_counted else "reported"
            error = report(f"{title}, {sizes}", calls)
            missed |= kind == "cc" and error > TARGET
            if options.sessions:
                for name in sorted({call.session for call in calls}):
                    report(f"  {name[:21]}", [c for c in calls if c.session == name])
            explain(calls, listed=options.misses)
    return int(missed)


def _others(factors: Mapping[str, float], name: str, kind: str) -> float:
    """Return the factor of the other sessions of a kind; its own if there is no other."""
    others = [f for other, f in factors.items() if other.startswith(kind) and other != name]
    return median(others) if others else factors[name]


def explain(calls: Sequence[Compared], *, listed: bool) -> None:
    """Print what the calls that are far off were about."""
    far = [call for call in calls if call.error > CLOSE]
    for why, n in Counter(call.why for call in far).most_common():
        print(f"    {n:>4}  {why}")
        for call in far if listed else ():
            if call.why == why:
                print(
                    f"          {call.session} call {call.call}: of {call.input} recorded "
                    f"{call.recorded}, simulated {call.simulated}"
                )


if __name__ == "__main__":
    sys.exit(main())
