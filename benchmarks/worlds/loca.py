"""Tasks of LOCA-bench, through the same agents and with the same bill.

    uv run --group arena --with pandas --with openpyxl --with requests
        python -m benchmarks.worlds.loca CHECKOUT [--task canvas,ab,warning,machines]
        [--window 64000] [--policy none,balanced,careful,deepagents] [--driver gather,direct]
        [--size 0.5,1.0] [--json]

CHECKOUT is a clone of https://github.com/hkust-nlp/LOCA-bench (MIT), from which the environments,
their data and their checks are executed; nothing of it is copied here. The driver follows a plan of
its own: `gather` first reads everything, then writes one result after another; `direct` reads what
a result needs and writes it at once. A fact that it writes must be in its request; what is not, it
reads with the task's own tools.
"""

import argparse
import contextlib
import csv
import importlib
import io
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.worlds.__main__ import table
from benchmarks.worlds.agents import Row, run_agent
from benchmarks.worlds.driver import joined, progress
from benchmarks.worlds.engine import limit_of
from benchmarks.worlds.worlds import World
from thalweg.errors import ConfigError
from thalweg_evals.moves import Respond, Use, View
from thalweg_evals.trace import written

GROUP = 10
"""Students about whom one step decides."""
GOAL = 60
"""Characters of the request without which the driver does not know what to do. Everybody's
summaries have its line (`driver.GIST`)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One result: what must be in sight for it, and the call that writes it."""

    needs: Sequence[tuple[Use, Sequence[str]]]
    """Calls that read it again, each with the texts of which one message must have all."""
    write: Use


@dataclass(frozen=True, slots=True)
class Task:
    """An environment as a world, and the plan of its driver."""

    world: World
    reads: Sequence[Sequence[Use]]
    units: Sequence[Unit]


def decide_task(view: View, task: Task) -> Respond | Use:
    """Return the driver's move: the next step of its plan whose number is in sight."""
    texts = [written(message) for message in view.messages]
    if not any(task.world.request[:GOAL] in text for text in texts):
        return Respond("I do not see what I have to do.")
    steps = len(task.reads) + len(task.units)
    number = progress(texts)[0] + 1
    if number > steps:
        return Respond("The task is done.")
    label = f"Step {number} of {steps}"
    if number <= len(task.reads):
        return joined(task.reads[number - 1], f"{label}: I read what the task is about.")
    unit = task.units[number - len(task.reads) - 1]
    missing = [
        use for use, marks in unit.needs if not any(all(m in t for m in marks) for t in texts)
    ]
    if missing:
        return joined(missing, f"Before step {number} of {steps} I read again what I do not see.")
    return joined([unit.write], f"{label}: I write it.")


_created: dict[str, Any] = {}


def created_once(create: Callable[[], Any], folder: str) -> Any:  # noqa: ANN401 (theirs)
    """Return an environment whose folder is as after its creation, which may take minutes.

    Args:
        create: Creates it, and writes the folder.
        folder: Of one environment; a copy is kept next to it, and replaces it in later calls.
    """
    if folder in _created:
        shutil.rmtree(folder)
        shutil.copytree(f"{folder}.new", folder)
    else:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            _created[folder] = create()
        shutil.copytree(folder, f"{folder}.new")
    return _created[folder]


def _environment(module: str, name: str, folder: str, **sizes: int) -> tuple[Any, str]:
    """Return an environment of the checkout, and its request."""
    found = importlib.import_module(f"gem.envs.{module}.{module}")
    create = partial(getattr(found, name), task_dir=folder, **sizes)
    request = " ".join(found.TASK_INSTRUCTION.split())
    return created_once(create, folder), f"TASK: {request}"


def _score(env: Any) -> Callable[[], str]:  # noqa: ANN401 (theirs)
    def wrong() -> str:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            _, reward, *_, info = env.step("done")
        return "" if reward == 1 else f"reward {reward}: {str(info.get('error'))[:200]}"

    return wrong


def _rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write_rows(path: str, rows: Sequence[dict[str, Any]]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


@dataclass(slots=True)
class _Cloud:
    """The tools of the environments over the local BigQuery."""

    database: Any

    def query(self, query: str) -> str:
        """Run a query in BigQuery, and return the rows as JSON."""
        found = self.database.run_bigquery_query(query)
        return json.dumps(found["results"] if "error" not in found else found)

    def marks(self, query: str) -> list[str]:
        """Return the rows of a query, as its result has them."""
        return [json.dumps(row) for row in json.loads(self.query(query))]


def _cloud(folder: str) -> _Cloud:
    module = importlib.import_module("mcp_convert.mcps.google_cloud.database_utils")
    return _Cloud(module.GoogleCloudDatabase(data_dir=f"{folder}/local_db/google_cloud"))


def _query(query: str) -> Use:
    return Use("bigquery_run_query", {"query": query})


def ab(folder: str, size: float) -> Task:
    """Return ABTesting: conversion rates of scenarios, from all of their rows."""
    scenarios = max(2, int(9 * size))
    env, request = _environment(
        "ab_testing_s2l", "ABTestingS2LEnv", folder, num_scenarios=scenarios, num_days=4, seed=1
    )
    cloud = _cloud(folder)
    expected = _rows(f"{folder}/groundtruth_workspace/expected_ratio.csv")
    rows: list[dict[str, str]] = []

    def add_record(row: dict[str, str]) -> str:
        """Add a row to record.csv."""
        rows.append(row)
        _write_rows(f"{folder}/agent_workspace/record.csv", rows)
        return f"record.csv has {len(rows)} rows."

    def conclude(winner: str) -> str:
        """Create the bucket of the promotion, or write the log of the tests."""
        if winner == "B":
            cloud.database.create_storage_bucket("promo-assets-for-b", {})
        else:
            entry = {"status": "AB_Test_Concluded", "winner": "A", "action": "No_Change"}
            cloud.database.write_log_entry("abtesting_logging", {"json_payload": entry})
        return "Done."

    tools: dict[str, Callable[..., str]] = {
        "bigquery_run_query": cloud.query,
        "add_record": add_record,
        "conclude": conclude,
    }
    reads, units, shares = [], [], [0.0, 0.0]
    for row in expected:
        scenario, *values = row.values()
        rates = [float(value.strip("%")) for value in values]
        if scenario.startswith("overall"):
            shares = rates
            units.append(Unit([], Use("add_record", {"row": row})))
            continue
        use = _query(f"SELECT * FROM `ab_testing.ab_{scenario}`")  # noqa: S608 (a local table)
        reads.append([use])
        marks = cloud.marks(str(use.arguments["query"]))
        units.append(Unit([(use, marks)], Use("add_record", {"row": row})))
    winner = "B" if shares[1] > shares[0] else "A"
    units.append(Unit([], Use("conclude", {"winner": winner})))
    return Task(World("ab", request, tools, _score(env)), reads, units)


def warning(folder: str, size: float) -> Task:
    """Return AcademicWarning: compares the rows of each student in eight tables."""
    students = max(20, int(200 * size))
    env, request = _environment(
        "academic_warning_s2l", "AcademicWarningS2LEnv", folder, num_students=students, seed=1
    )
    cloud = _cloud(folder)
    latest = f"{folder}/agent_workspace/latest_quiz_scores.csv"
    expected = {
        row["student_id"]: row
        for row in _rows(f"{folder}/groundtruth_workspace/expected_alerts.csv")
    }
    bad: list[dict[str, str]] = []

    def read_file(name: str, ids: list[str] | None = None) -> str:
        """Read a file of the workspace, or its lines that begin with one of some ids."""
        lines = Path(f"{folder}/agent_workspace/{name}").read_text("utf-8").splitlines()
        return "\n".join(one for one in lines if ids is None or one.split(",")[0] in ids)

    def add_students(rows: list[dict[str, str]]) -> str:
        """Add rows to bad_student.csv, and a critical log for a drop of more than 45 %."""
        bad.extend(rows)
        if bad:
            _write_rows(f"{folder}/agent_workspace/bad_student.csv", bad)
        for row in rows:
            if float(row["drop_ratio"]) > CRITICAL:
                text = f"CRITICAL: {row['name']} ({row['student_id']})"
                entry = {"severity": "CRITICAL", "text_payload": text}
                cloud.database.write_log_entry("exam_log", entry)
        return f"bad_student.csv has {len(bad)} rows."

    names = sorted(path.stem for path in Path(folder, "files").glob("scores_*.csv"))
    tools: dict[str, Callable[..., str]] = {
        "bigquery_run_query": cloud.query,
        "read_file": read_file,
        "add_students": add_students,
    }
    file = Use("read_file", {"name": Path(latest).name})
    reads = [[file], *([_query(f"SELECT * FROM `academic_warning.{one}`")] for one in names)]  # noqa: S608
    units, ids = [], [row["student_id"] for row in _rows(latest)]
    for at in range(0, len(ids), GROUP):
        chosen = ids[at : at + GROUP]
        again = Use("read_file", {"name": Path(latest).name, "ids": chosen})
        needs = [(again, read_file(Path(latest).name, chosen).splitlines())]
        listed = ", ".join(f"'{one}'" for one in chosen)
        for one in names:
            query = f"SELECT * FROM `academic_warning.{one}` WHERE student_id IN ({listed})"  # noqa: S608
            needs.append((_query(query), cloud.marks(query)))
        rows = [expected[one] for one in chosen if one in expected]
        units.append(Unit(needs, Use("add_students", {"rows": rows})))
    return Task(World("warning", request, tools, _score(env)), reads, units)


CRITICAL = 0.45


def machines(folder: str, size: float) -> Task:
    """Return MachineOperating: compares readings of machines with their normal ranges."""
    count = max(4, int(10 * size))
    env, request = _environment(
        "machine_operating_s2l",
        "MachineOperatingS2LEnv",
        folder,
        hours=3,
        total_machines=count,
        seed=1,
    )
    cloud = _cloud(folder)
    expected = _rows(f"{folder}/groundtruth_workspace/anomaly_report.csv")
    openpyxl = importlib.import_module("openpyxl")
    book = f"{folder}/agent_workspace/machine_operating_parameters.xlsx"
    lines = [
        ",".join(str(cell) for cell in row)
        for sheet in openpyxl.load_workbook(book).worksheets
        for row in sheet.iter_rows(values_only=True)
    ]
    report: list[dict[str, str]] = []

    def read_parameters(machine: str = "") -> str:
        """Read the normal ranges of all machines, or of one."""
        return "\n".join(one for one in lines if machine in one)

    def add_anomalies(rows: list[dict[str, str]]) -> str:
        """Add rows to anomaly_report.csv, and upload it."""
        report.extend(rows)
        report.sort(key=lambda row: (row["timestamp"], row["machine_id"], row["sensor_type"]))
        path = f"{folder}/agent_workspace/anomaly_report.csv"
        if report:
            _write_rows(path, report)
            cloud.database.create_storage_bucket("iot_anomaly_reports", {})
            content = {"content": Path(path).read_text("utf-8")}
            cloud.database.upload_storage_object(
                "iot_anomaly_reports", "anomaly_report.csv", content
            )
        return f"The report has {len(report)} rows."

    tools: dict[str, Callable[..., str]] = {
        "bigquery_run_query": cloud.query,
        "read_parameters": read_parameters,
        "add_anomalies": add_anomalies,
    }
    reads, units = [[Use("read_parameters", {})]], []
    for one in sorted({row["machine_id"] for row in expected}):
        query = (
            f"SELECT * FROM `machine_operating.live_sensor` WHERE machine_id = '{one}' "  # noqa: S608
            "AND timestamp >= '2025-08-19 11:30' AND timestamp < '2025-08-19 12:31'"
        )
        reads.append([_query(query)])
        parameters = (Use("read_parameters", {"machine": one}), read_parameters(one).splitlines())
        rows = [row for row in expected if row["machine_id"] == one]
        needs = [parameters, (_query(query), cloud.marks(query))]
        units.append(Unit(needs, Use("add_anomalies", {"rows": rows})))
    return Task(World("machines", request, tools, _score(env)), reads, units)


def canvas(folder: str, size: float) -> Task:
    """Return CanvasListTest: what is to be submitted in each course, by announcements and tests."""
    env, request = _environment(
        "canvas_list_test_s2l",
        "CanvasListTestS2LEnv",
        folder,
        num_courses=max(4, int(50 * size)),
        seed=1,
    )
    source = Path(sys.modules["gem"].__path__[0], "envs/canvas_list_test_s2l/main_simplified.py")
    mail = re.findall(r'target_student_email = "([^"]+)"', source.read_text("utf-8"))[0]
    data = env.db
    user = next(one for one in data.users.values() if one.get("login_id") == mail)
    data.login(mail, user["password"])
    head = {
        kind: list(_rows(f"{folder}/groundtruth_workspace/{kind}_info.csv"))
        for kind in ("quiz", "assignment")
    }
    made: dict[str, list[dict[str, str]]] = {kind: [] for kind in head}

    def read(kind: str) -> Callable[[int], str]:
        def reader(course_id: int) -> str:
            """List what a course has of one kind."""
            return json.dumps(getattr(data, f"list_{kind}")(course_id))

        return reader

    def memory_read_graph() -> str:
        """Read the whole memory."""
        return Path(folder, "agent_workspace/memory/memory.json").read_text("utf-8")

    def add_course(quiz: list[dict[str, str]], assignment: list[dict[str, str]]) -> str:
        """Add rows to both files."""
        for kind, rows in (("quiz", quiz), ("assignment", assignment)):
            made[kind] += rows
            made[kind].sort(key=lambda row: (row["deadline"], row["course_code"]))
            if made[kind]:
                _write_rows(f"{folder}/agent_workspace/{kind}_info.csv", made[kind])
        return "Done."

    kinds = ("announcements", "assignments", "quizzes")
    tools: dict[str, Callable[..., str]] = {
        "memory_read_graph": memory_read_graph,
        "add_course": add_course,
        **{f"canvas_list_{kind}": read(kind) for kind in kinds},
    }
    memory = Use("memory_read_graph", {})
    notes = json.loads(memory_read_graph())["observations"]
    reads, units = [[memory]], []
    for course in data.list_courses():
        uses = [Use(f"canvas_list_{kind}", {"course_id": course["id"]}) for kind in kinds]
        reads.append(uses)
        needs = [
            (use, [json.dumps(one)[1:-1] for one in getattr(data, f"list_{kind}")(course["id"])])
            for use, kind in zip(uses, kinds, strict=True)
        ]
        code = course["course_code"]
        needs.append((memory, [note for note in notes if re.search(rf"\b{code}\b", note)]))
        rows = {k: [row for row in head[k] if row["course_code"] == code] for k in head}
        units.append(Unit(needs, Use("add_course", rows)))
    return Task(World("canvas", request, tools, _score(env)), reads, units)


TASKS: dict[str, Callable[[str, float], Task]] = {
    "ab": ab,
    "canvas": canvas,
    "machines": machines,
    "warning": warning,
}


def open_checkout(folder: str) -> None:
    """Make the packages of a checkout importable, here and in the processes that it starts.

    Raises:
        ConfigError: It is no checkout of LOCA-bench.
    """
    if not Path(folder, "gem", "envs").is_dir():
        problem = f"{folder!r} has no folder gem/envs"
        raise ConfigError("CHECKOUT", problem, "clone https://github.com/hkust-nlp/LOCA-bench")
    place = str(Path(folder).resolve())
    sys.path.insert(0, place)
    os.environ["PYTHONPATH"] = place


def main() -> int:
    """Run the tasks, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout")
    parser.add_argument("--task", default=",".join(TASKS))
    parser.add_argument("--window", default="64000", help="tokens, with commas")
    parser.add_argument("--policy", default="none,balanced,careful,frugal,langchain,deepagents")
    parser.add_argument("--driver", default="gather,direct")
    parser.add_argument("--size", default="1.0", help="1: about 50,000 tokens; with commas")
    parser.add_argument("--json", action="store_true", help="a line for each run")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    open_checkout(given.checkout)
    rows = []
    with tempfile.TemporaryDirectory(prefix="thalweg-loca-", ignore_cleanup_errors=True) as folder:
        cells = product(
            given.task.split(","),
            map(float, given.size.split(",")),
            given.driver.split(","),
            map(int, given.window.split(",")),
            given.policy.split(","),
        )
        for name, size, how, window, policy in cells:
            rows.append(run_task(name, size, window, policy, how, f"{folder}/{name}-{size}"))
            if given.json:
                print(json.dumps(rows[-1].to_dict()), flush=True)
    if not given.json:
        print(table(rows))
    return 0


def run_task(name: str, size: float, window: int, policy: str, how: str, folder: str) -> Row:
    """Run an agent in a task.

    Args:
        name: One of `TASKS`.
        size: Of the task.
        window: Tokens that the model accepts.
        policy: Name of the policy, see `agent_policy`.
        how: One of `DRIVERS`.
        folder: Of the task's files, which are created by the first run.
    """
    limit, base, least = _base(name, size, how, folder)
    task = _task(name, size, how, folder)
    wrong, bill = run_agent(task.world, policy, window, limit, partial(decide_task, task=task))
    return Row.of(
        bill,
        world=f"{name} {how}",
        policy=policy,
        window=window,
        load=size,
        seed=1,
        mode="own",
        wrong=wrong,
        base=base,
        lookups=len(task.world.calls) - least,
    )


def _task(name: str, size: float, how: str, folder: str) -> Task:
    task = TASKS[name](folder, size)
    return task if how == "gather" else replace(task, reads=())


@lru_cache
def _base(name: str, size: float, how: str, folder: str) -> tuple[int, int, int]:
    """Return the limit of calls, and the calls of the model and of tools with the whole context."""
    task = _task(name, size, how, folder)
    limit, base = limit_of(task.world, partial(decide_task, task=task))
    return limit, base, len(task.world.calls)


if __name__ == "__main__":
    sys.exit(main())
