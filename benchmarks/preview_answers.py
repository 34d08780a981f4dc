"""What a small model answers from the preview of a result, and from the whole result.

    uv run python -m benchmarks.preview_answers MODEL.gguf [--show whole,preview] [--preview FILE]

Ten questions, each for one value of one item in a result of an own format: a JSON list, nested
records, JSON lines, CSV, TSV, a Markdown table, a log and listings. `--preview FILE` takes the
function `preview` of another version's `preview.py`. An answer is right, asks for the rest
(`recall`), states the value of another item (`misled`), or is none of these (`other`).
"""

import argparse
import importlib.util
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from thalweg.engine.compaction.preview import preview
from thalweg.engine.tokens import exact_counter

SERVER = Path(__file__).parents[1] / "scripts/serve_test_model.py"
TOKENS = 600
"""Most tokens of a preview."""
POINTER = 'read it with recall(handle="3f9c1a7be2d04586")'
SYSTEM = (
    "You answer a question from the result of a tool call. A large result may be shown in part, "
    "and the rest is in an archive. If the value asked for is not shown, answer only: RECALL."
)
NAMES = (
    "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jana", "Karl", "Lena", "Mia",
    "Nils", "Olga", "Pia", "Quin", "Rosa",
)  # fmt: skip
CITIES = (
    "Oslo", "Lima", "Bern", "Kyiv", "Rome", "Cairo", "Lagos", "Quito", "Perth", "Turin", "Delhi",
    "Osaka", "Porto", "Sofia",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A result, a question for one value of it, and what the answers may be."""

    name: str
    text: str
    question: str
    answer: str
    others: frozenset[str]
    """The same field's values in other items."""


def make_cases(seed: int = 7) -> list[Case]:
    """Make the ten cases; the same for the same seed."""
    return [make(random.Random(seed + k)) for k, make in enumerate(_MAKERS)]  # noqa: S311


def _case(name: str, text: str, question: str, values: list[str], asked: int) -> Case:
    others = frozenset(values) - {values[asked]}
    return Case(name, text, question, values[asked], others)


def _amounts(dice: random.Random, count: int) -> list[str]:
    return [str(n) for n in dice.sample(range(110, 989), count)]


def _invoices(dice: random.Random) -> Case:
    totals = _amounts(dice, 60)
    items = [
        {
            "id": f"INV-{1001 + k}",
            "customer": f"{dice.choice(NAMES)} {dice.choice(CITIES)} Ltd",
            "issued": f"2026-0{1 + k % 9}-{1 + k % 28:02}",
            "currency": "EUR",
            "total": int(total),
            "status": dice.choice(["open", "paid"]),
        }
        for k, total in enumerate(totals)
    ]
    question = "What is the total of invoice INV-1023?"
    return _case("JSON list", json.dumps(items), question, totals, 22)


def _orders(dice: random.Random) -> Case:
    costs = _amounts(dice, 24)
    items = [
        {
            "order": {"number": f"SO-{700 + k}", "placed": f"2026-05-{1 + k:02}T08:00:00Z"},
            "customer": {"name": dice.choice(NAMES), "city": dice.choice(CITIES)},
            "shipping": {"carrier": "post", "cost": int(cost)},
            "lines": [{"sku": f"K{dice.randrange(10**4)}", "count": dice.randrange(9)}] * 2,
        }
        for k, cost in enumerate(costs)
    ]
    text = json.dumps({"orders": items, "next": None})
    return _case("nested JSON", text, "What is the shipping cost of order SO-717?", costs, 17)


def _issues(dice: random.Random) -> Case:
    assignees = [f"{dice.choice(NAMES).lower()}{k}" for k in range(30)]
    items = [
        {
            "number": 4100 + k,
            "title": f"{dice.choice(CITIES)} export fails for {dice.choice(NAMES)}",
            "user": {"login": dice.choice(NAMES).lower(), "type": "User"},
            "assignee": {"login": assignee, "type": "User"},
            "labels": ["bug"],
        }
        for k, assignee in enumerate(assignees)
    ]
    text = json.dumps(items, indent=1)
    question = "What is the login of the assignee of issue 4119?"
    return _case("JSON, indented", text, question, assignees, 19)


def _events(dice: random.Random) -> Case:
    durations = _amounts(dice, 40)
    lines = [
        json.dumps({"job": f"job-{300 + k}", "host": f"w{k % 5}", "ok": True, "ms": int(ms)})
        for k, ms in enumerate(durations)
    ]
    return _case("JSON lines", "\n".join(lines), "How many ms did job-331 take?", durations, 31)


def _rows(dice: random.Random, prefix: str, count: int) -> tuple[list[list[str]], list[str]]:
    stock = _amounts(dice, count)
    rows = [
        [f"{prefix}{500 + k}", dice.choice(CITIES), dice.choice(NAMES), units, "EUR"]
        for k, units in enumerate(stock)
    ]
    return rows, stock


def _csv(dice: random.Random) -> Case:
    rows, stock = _rows(dice, "SKU-", 80)
    text = "\n".join(",".join(row) for row in [["sku", "city", "buyer", "stock", "cur"], *rows])
    return _case("CSV", text, "What is the stock of SKU-541?", stock, 41)


def _tsv(dice: random.Random) -> Case:
    rows, stock = _rows(dice, "PT", 80)
    text = "\n".join("\t".join(row) for row in [["part", "city", "owner", "weight", "u"], *rows])
    return _case("TSV", text, "What is the weight of part PT527?", stock, 27)


def _markdown(dice: random.Random) -> Case:
    rows, stock = _rows(dice, "R-", 70)
    head = ["| room | city | host | seats | note |", "|---|---|---|---|---|"]
    text = "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])
    return _case("Markdown table", text, "How many seats has room R-533?", stock, 33)


def _log(dice: random.Random) -> Case:
    durations = _amounts(dice, 50)
    lines = [
        f"2026-11-02 10:{k:02}:07 INFO worker.{k % 4} request req-{8000 + k} done in {ms} ms"
        for k, ms in enumerate(durations)
    ]
    question = "How many ms did request req-8029 take?"
    return _case("log", "\n".join(lines), question, durations, 29)


def _listing(dice: random.Random) -> Case:
    sizes = [str(n) for n in dice.sample(range(10_000, 99_999), 45)]
    lines = [
        f"-rw-r--r-- 1 root root {size} Nov {1 + k % 28:2} 09:{k:02} report_{200 + k}.pdf"
        for k, size in enumerate(sizes)
    ]
    question = "What is the size of report_226.pdf in bytes?"
    return _case("listing", "\n".join(["total 2480", *lines]), question, sizes, 26)


def _settings(dice: random.Random) -> Case:
    ports = [str(n) for n in dice.sample(range(3_000, 9_999), 50)]
    lines = [
        f"deploy/{dice.choice(CITIES).lower()}/svc-{60 + k}.yaml:{12 + k}:  port: {port}"
        for k, port in enumerate(ports)
    ]
    return _case("matches", "\n".join(lines), "Which port has svc-94.yaml?", ports, 34)


_MAKERS: tuple[Callable[[random.Random], Case], ...] = (
    _invoices, _orders, _issues, _events, _csv, _tsv, _markdown, _log, _listing, _settings,
)  # fmt: skip


def grade(case: Case, answer: str) -> str:
    """Return `right`, `recall`, `misled` or `other`."""
    words = {word.strip(".,:;()[]`*\"'") for word in answer.replace(",", "").split()}
    if case.answer in words:
        return "right"
    if words & case.others:
        return "misled"
    return "recall" if "recall" in answer.lower() else "other"


@contextmanager
def served(model: Path, window: int) -> Iterator[str]:
    """Serve a model; yield the address of its API."""
    command = [sys.executable, str(SERVER), str(model), str(window)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.stdin.close()


def ask(address: str, case: Case, shown: str) -> str:
    """Return what the model answers from a result as it is shown."""
    content = f"{case.question}\n\nResult of the tool:\n{shown}\n\n{case.question} Only the value."
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]
    body = {"messages": messages, "temperature": 0, "max_tokens": 20}
    response = httpx.post(f"{address}/chat/completions", json=body, timeout=3_000)
    response.raise_for_status()
    return str(response.json()["choices"][0]["message"]["content"]).strip()


def load_preview(file: Path) -> Callable[..., str]:
    """Load the function `preview` of another version."""
    spec = importlib.util.spec_from_file_location("other_preview", file)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loaded: Callable[..., str] = module.preview
    return loaded


def main() -> None:
    """Print a row for each case as soon as it is answered, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--show", default="preview,whole")
    parser.add_argument("--preview", type=Path)
    options = parser.parse_args()
    make_preview = load_preview(options.preview) if options.preview else preview
    count, grades = exact_counter(), Counter[tuple[str, str]]()
    with served(options.model, 4_096) as address:
        for form in options.show.split(","):
            for case in make_cases():
                shown = case.text
                if form == "preview":
                    shown = make_preview(shown, TOKENS, count, POINTER, 10, case.question)
                answer = ask(address, case, shown)
                verdict = grade(case, answer)
                grades[form, verdict] += 1
                row = f"{form:8}{case.name:16}{count(shown):6}  {case.answer:8}{verdict:8}"
                print(row, answer.replace("\n", " ")[:60], flush=True)
    for (form, verdict), number in sorted(grades.items()):
        print(f"{form}: {verdict} {number}")


if __name__ == "__main__":
    main()
