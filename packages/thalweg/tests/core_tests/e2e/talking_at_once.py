"""A process that asks every other question in a thread.

    python -m core_tests.e2e.talking_at_once ARCHIVE CHECKPOINTS FIRST ROUNDS DURABILITY

begins at a line on its input.
"""

import random
import sys
import time
from typing import cast

from core_tests.e2e.killed import Durability, ask, warm_up, worked_on

__all__ = ["warm_up"]  # called before it is forked


def main() -> None:
    """Ask, with pauses of any length in between."""
    archive, address, first, rounds, durability = sys.argv[1:]
    with worked_on(archive, address) as agent:
        print("ready", flush=True)  # noqa: T201
        sys.stdin.readline()
        dice = random.Random(first)  # noqa: S311 (moments, not secrets)
        for number in range(int(first), int(first) + 2 * int(rounds), 2):
            ask(agent, number, cast("Durability", durability))
            time.sleep(dice.choice((0, 0, 0.003, 0.01, 0.03)))
    print("done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
