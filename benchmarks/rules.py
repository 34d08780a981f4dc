"""How many requests would the providers refuse? Real clients, real agents, the table's rules.

    nice uv run python -m benchmarks.rules --histories 20000
    uv run python -m benchmarks.rules --provider anthropic --agent create_agent --seed 17

Plays generated histories (`tests/rules/story.py`) against loopback endpoints that apply every
rule of `tests/rules/table.py`, one third of them without accidents, and prints one row for each
provider and agent: requests sent, refused, over the window, turns that failed, texts that
cannot be read back. With `--seed`, plays that one history and prints each fault.
"""

import argparse
import logging
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

from tests.rules.endpoint import serving
from tests.rules.players import KINDS, AgentKind, Outcome, Theatre
from tests.rules.rule import PROVIDERS, Provider


def played(provider: Provider, kind: AgentKind, arguments: argparse.Namespace) -> Iterator[Outcome]:
    """Play this pair's share of the histories."""
    with ExitStack() as addresses:
        theatre = Theatre(provider, kind, lambda point: addresses.enter_context(serving(point)))
        if arguments.seed is not None:
            yield theatre.play(arguments.seed, calm=arguments.calm)
            return
        for seed in range(arguments.first, arguments.first + arguments.histories // 8):
            yield theatre.play(seed, calm=seed % 3 == 0)


def row(provider: Provider, kind: AgentKind, arguments: argparse.Namespace) -> None:
    """Print the figures of one provider and agent, then the rules broken, with a seed each."""
    total: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    example: dict[str, str] = {}
    for outcome in played(provider, kind, arguments):
        total["histories"] += 1
        total["requests"] += outcome.requests
        for name in ("refused", "over", "failed", "lost"):
            found = getattr(outcome, name)
            total[name] += len(found)
            for fault in found:
                rule = fault.partition(": ")[0] if name == "refused" else name
                rules[rule] += 1
                example.setdefault(rule, f"seed {outcome.seed}: {fault}")
                if arguments.seed is not None:
                    print(f"  {name}: {fault}")
    names = ("histories", "requests", "refused", "over", "failed", "lost")
    print(f"{provider:17} {kind:18}", *(f"{total[name]:9,}" for name in names), flush=True)
    for rule, times in rules.most_common():
        print(f"    {times:6,} {rule:34} {example[rule][:160]}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=800)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--provider", choices=PROVIDERS)
    parser.add_argument("--agent", choices=KINDS)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--calm", action="store_true", help="with --seed: without accidents")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print(f"{'':36} histories  requests   refused      over    failed      lost")
    for kind in KINDS:
        for provider in PROVIDERS:
            if arguments.provider in {None, provider} and arguments.agent in {None, kind}:
                row(provider, kind, arguments)


if __name__ == "__main__":
    main()
