"""How often the search for deferred tools finds the expected ones: recall at 1 and at 5.

    uv run python -m benchmarks.tool_search SET.json

The set has `catalogues` (lists of tools with `name`, `description` and `parameters`) and `queries`
(`catalogue`, `query`, the names `expected`, each of which would do, and a `kind`). A query that
expects none counts as found if the search returns nothing, in a row of its own.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from thalweg.engine.deferral import MAX_FOUND_TOOLS, ToolCard, find_cards, searchable_text


def main(path: str) -> None:
    """Print the recall for each kind of query and for each catalogue."""
    given = json.loads(Path(path).read_text(encoding="utf-8"))
    cards = {
        name: [ToolCard(tool["name"], searchable_text(tool)) for tool in tools]
        for name, tools in given["catalogues"].items()
    }
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in given["queries"]:
        names = [
            card.name for card in find_cards(cards[one["catalogue"]], one["query"], MAX_FOUND_TOOLS)
        ]
        if not (expected := set(one["expected"])):
            found["nothing expected"].append((float(not names), float(not names)))
            continue
        first, most = (float(bool(expected & set(names[:k]))) for k in (1, MAX_FOUND_TOOLS))
        for group in ("all", f"kind {one['kind']}", f"catalogue {one['catalogue']}"):
            found[group].append((first, most))
    print(f"{'':32} queries  at 1  at {MAX_FOUND_TOOLS}")
    for group, shares in sorted(found.items()):
        first, most = (fmean(column) for column in zip(*shares, strict=True))
        print(f"{group:32} {len(shares):7}  {first:.2f}  {most:.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
