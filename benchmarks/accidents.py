"""Print whether a thread continues after each accident, over every wire, with every agent.

Run with `uv run python -m benchmarks.accidents`; names of agents, if passed, choose some. A cell
has the run of the accident and the three messages after it: `ok` for each that was answered.
"""

import sys
import warnings

from rich.console import Console
from rich.table import Table

from agent_tests.e2e.accidents import ACCIDENTS, AGENTS, table
from strict_llm_tests.chat_models import EVERY_WIRE


def main() -> int:
    """Play every accident; return how many threads of ours did not go on unrefused."""
    warnings.simplefilter("ignore")
    missed = 0
    for agent in sys.argv[1:] or AGENTS:
        shown = Table("accident", *EVERY_WIRE, title=agent)
        for row in table(tuple(ACCIDENTS), EVERY_WIRE, agent):
            shown.add_row(*row)
            missed += sum(cell != "ok ok ok ok" for cell in row[1:]) * (agent != "create_agent")
        Console(width=150).print(shown)
    return missed


if __name__ == "__main__":
    sys.exit(main())
