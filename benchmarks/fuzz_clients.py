"""Does any accident kill a thread, overfill a window, or lose or double a message?

    nice uv run python -m benchmarks.fuzz_clients --requests 10000
    uv run python -m benchmarks.fuzz_clients --seed 17 --threads 1

Plays the generated threads of `tests/rules/client_fuzz.py`, one of each provider for a seed. Prints
one row per provider: threads, requests, refused by a rule, over the window (summaries included),
failed turns, dead threads (two failed turns at the end), lost, doubled, and removed content that
was sent; then an example of each fault with its seed.
"""

import argparse
import logging
import sys
import time
import warnings

from tests.rules.client_fuzz import Figures, threads
from tests.rules.rule import PROVIDERS, Provider

FAULTS = ("refused", "over", "failed", "dead", "lost", "doubled", "removed")


def report(figures: dict[Provider, Figures]) -> int:
    """Print the table and an example of each fault; returns the number of faults."""
    columns = ("threads", "requests", *FAULTS)
    print(f"{'':17}" + "".join(f"{column:>10}" for column in columns))
    for provider, found in figures.items():
        print(f"{provider:17}" + "".join(f"{found.numbers[c]:10,}" for c in columns))
        for kind, example in sorted(found.examples.items()):
            print(f"    {kind[:44]:44} {example[:200]}")
    return sum(found.numbers[kind] for found in figures.values() for kind in FAULTS)


def main() -> None:
    """Print the table; exit with 1 if there is a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=1_000, help="how many at least")
    parser.add_argument("--threads", type=int, help="how many seeds instead")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    figures = {provider: Figures() for provider in PROVIDERS}
    start = time.process_time()
    for played, requests in enumerate(threads(arguments.seed, figures), 1):
        enough = requests >= arguments.requests
        if played == arguments.threads or (not arguments.threads and enough):
            break
    faults = report(figures)
    print(f"{time.process_time() - start:.0f} CPU seconds")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
