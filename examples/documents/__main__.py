"""Run rows of docs/deerflow-features.md: what the documents describe, done through the public API.

    uv run python examples/documents               # all
    uv run python examples/documents 3 14 43       # these
    uv run python examples/documents --table       # print the table of the page
    uv run python examples/documents --policies    # print where policies compact, and what they keep
    uv run python examples/documents --write       # write both into the page
    uv run python examples/documents --blocks FOLDER WINDOW    # blocks of YAML in documents

Models are scripts, so that no key is needed. Each row prints what was seen; one that does not show
what it states fails, and the process exits with 1.
"""

import sys
import time
import traceback
from pathlib import Path

import deep_agents  # noqa: F401 (registers its rows)
import evals  # noqa: F401
import http_routes  # noqa: F401
import memory  # noqa: F401
import summaries  # noqa: F401
from blocks import effects
from policies import policies
from rows import ROWS, RowError, table

import subagents  # noqa: F401

PAGE = Path(__file__).parents[2] / "docs" / "deerflow-features.md"


def write(rows: str, where: str) -> None:
    """Write both tables into the page, between its comments."""
    text = PAGE.read_text(encoding="utf-8")
    for name, content in (("rows", rows), ("policies", where)):
        begin, end = f"<!-- BEGIN {name} -->\n", f"<!-- END {name} -->"
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}{content}{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run rows; return the exit code."""
    if arguments[:1] == ["--blocks"]:
        return 1 if effects(Path(arguments[1]), int(arguments[2])) else 0
    if "--write" in arguments:
        write(table(), policies())
        return 0
    if "--table" in arguments or "--policies" in arguments:
        print(table() if "--table" in arguments else policies(), end="")
        return 0
    numbers = [int(one) for one in arguments if one.isdecimal()] or sorted(ROWS)
    if unknown := [number for number in numbers if number not in ROWS]:
        print(f"no row {unknown[0]}: rows are 1 to {max(ROWS)}", file=sys.stderr)
        return 2
    failed: list[int] = []
    for number in numbers:
        row = ROWS[number]
        print(f"{number}. {row.feature}: {row.here}", flush=True)
        began, used = time.perf_counter(), time.process_time()
        try:
            row.run()
        except RowError as error:
            failed.append(number)
            print(f"    NOT SO: {error}")
        except Exception:  # noqa: BLE001 (one row must not end the others)
            failed.append(number)
            traceback.print_exc(file=sys.stdout)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        print(f"    ({seconds:.1f} s, {cpu:.1f} of CPU)", flush=True)
    print(f"{len(numbers) - len(failed)} of {len(numbers)} rows are so; others: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
