"""What the lifetime of cached prefixes costs by the pauses of recorded sessions.

    uv run python -m benchmarks.cache_lifetimes [--tariff claude-opus-5] [--seed 7]

The prefix is the system prompt and the tools: constant, read at each call. For the sessions with
times in `THALWEG_RECORDED`, in two halves: its cost if it lives five minutes (1.00), an hour, and
as `StableLifetime` chooses from the pauses of the session so far. The rule has no fitted constant,
so both halves are tests.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from contextlib import suppress

from benchmarks.arena.sources import read_thread
from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg.engine.pricing.table import LIFE_1H, NAMED_TARIFFS, WRITE_1H
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.breakpoints import StableLifetime
from thalweg.errors import ThalwegError
from thalweg_recorder.replay.subject import waits_of

Chooser = Callable[[float, Tariff], bool]
"""Returns whether the prefix of a request at a time is marked for an hour."""


def cost_of(waits: Sequence[float], tariff: Tariff, choose: Chooser) -> float:
    """Return the cost of a prefix of one token over the calls of a session."""
    now, life, cost = 0.0, 0.0, 0.0
    for n, wait in enumerate(waits):
        now += wait
        is_hourly = choose(now, tariff)
        if n and wait <= life:
            cost += tariff.read
        else:
            cost += WRITE_1H if is_hourly else tariff.write
        life = LIFE_1H if is_hourly else tariff.lifetime_s or LIFE_1H
    return cost


def main() -> None:
    """Print the costs for each half."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tariff", default="claude-opus-5")
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    tariff, sessions = NAMED_TARIFFS[asked.tariff], list[list[float]]()
    for path in sorted((RECORDED / "trajectories").glob("*")):
        with suppress(ThalwegError):
            waits = [*waits_of(read_thread(path).messages).values()]
            sessions += [waits] if any(waits) else []
    if not sessions:
        raise SystemExit(WHY_SKIPPED)
    random.Random(asked.seed).shuffle(sessions)  # noqa: S311 (no secret)
    print("half  sessions  calls  rests  longer  five minutes  an hour  chosen")
    for name, half in (("one", sessions[::2]), ("two", sessions[1::2])):
        gaps = [wait for waits in half for wait in waits]
        short = tariff.lifetime_s or LIFE_1H
        rests = sum(short < wait <= LIFE_1H for wait in gaps)
        longer = sum(wait > LIFE_1H for wait in gaps)
        least = sum(cost_of(waits, tariff, lambda *_: False) for waits in half)
        hour = sum(cost_of(waits, tariff, lambda *_: True) for waits in half)
        chosen = sum(cost_of(waits, tariff, StableLifetime().send) for waits in half)
        print(
            f"{name:4} {len(half):9} {len(gaps):6} {rests:6} {longer:7} {1:13.2f} "
            f"{hour / least:8.2f} {chosen / least:7.3f}"
        )


if __name__ == "__main__":
    main()
