"""The check that contributors run while they work: which tests it finds."""

from pathlib import Path

from scripts.check import related_tests


def write(root: Path, path: str, text: str = "") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def test_the_nearest_importers_come_first_and_other_modules_of_the_package_have_none(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "packages/thalweg/src/thalweg/archive/__init__.py",
        "from thalweg.archive.opening import start",
    )
    write(
        tmp_path,
        "packages/thalweg/src/thalweg/archive/opening.py",
        "from thalweg.archive.table_rows import pack",
    )
    write(tmp_path, "packages/thalweg/src/thalweg/archive/lines.py")
    write(
        tmp_path,
        "packages/thalweg/tests/core_tests/unit/test_opening.py",
        "from thalweg.archive import start",
    )
    write(
        tmp_path,
        "packages/thalweg/tests/core_tests/unit/test_package.py",
        "import thalweg.archive.opening",
    )
    write(
        tmp_path,
        "packages/thalweg/tests/core_tests/property/test_module.py",
        "from thalweg.archive import table_rows as blobs",
    )
    write(
        tmp_path,
        "packages/thalweg/tests/core_tests/unit/test_lines.py",
        "from thalweg.archive.lines import Line",
    )

    assert related_tests(["packages/thalweg/src/thalweg/archive/table_rows.py"], tmp_path) == [
        "packages/thalweg/src/thalweg/archive/table_rows.py",
        "packages/thalweg/tests/core_tests/property/test_module.py",
        "packages/thalweg/tests/core_tests/unit/test_opening.py",
        "packages/thalweg/tests/core_tests/unit/test_package.py",
    ]
    of_package = related_tests(["packages/thalweg/src/thalweg/archive/__init__.py"], tmp_path)
    assert "packages/thalweg/tests/core_tests/unit/test_opening.py" in of_package
    assert "packages/thalweg/tests/core_tests/unit/test_lines.py" not in of_package


def test_tests_that_use_a_changed_suite_are_related(tmp_path: Path) -> None:
    suite = "packages/thalweg-memory/tests/memory_tests/contract/suites/memory/jobs.py"
    write(tmp_path, suite, "from thalweg_memory import open_memory")
    write(
        tmp_path,
        "packages/thalweg-memory/tests/memory_tests/contract/suites/memory/__init__.py",
        "from memory_tests.contract.suites.memory.jobs import JobsContract",
    )
    write(
        tmp_path,
        "packages/thalweg-memory/tests/memory_tests/contract/test_sqlite.py",
        "from memory_tests.contract.suites.memory import JobsContract",
    )

    assert related_tests([suite], tmp_path) == [
        "packages/thalweg-memory/tests/memory_tests/contract/test_sqlite.py"
    ]


def test_a_long_test_is_related_if_it_imports_the_changed_module_itself(tmp_path: Path) -> None:
    write(
        tmp_path,
        "packages/thalweg-server/src/thalweg_server/app.py",
        "from thalweg_server.runs import start",
    )
    write(
        tmp_path,
        "packages/thalweg-server/tests/server_tests/e2e/test_app.py",
        "from thalweg_server.app import App",
    )
    write(
        tmp_path,
        "packages/thalweg-server/tests/server_tests/e2e/test_runs.py",
        "from thalweg_server.runs import start",
    )
    write(
        tmp_path,
        "packages/thalweg/tests/core_tests/unit/test_runs.py",
        "from thalweg_server.runs import start",
    )

    assert related_tests(["packages/thalweg-server/src/thalweg_server/runs.py"], tmp_path) == [
        "packages/thalweg-server/src/thalweg_server/runs.py",
        "packages/thalweg/tests/core_tests/unit/test_runs.py",
        "packages/thalweg-server/tests/server_tests/e2e/test_runs.py",
    ]


def test_a_changed_test_is_related_wherever_it_is(tmp_path: Path) -> None:
    changed = [
        "packages/thalweg/tests/core_tests/e2e/test_long.py",
        "packages/thalweg/tests/core_tests/e2e/killed.py",
        "docs/a.md",
        "packages/thalweg/src/thalweg/py.typed",
    ]
    assert related_tests(changed, tmp_path) == [
        "packages/thalweg/tests/core_tests/e2e/test_long.py"
    ]


def test_tests_of_a_package_of_the_workspace_are_related(tmp_path: Path) -> None:
    test = "packages/strict-llm/tests/strict_llm_tests/test_chat.py"
    write(tmp_path, test, "from strict_llm.rules.chat import problems")
    write(
        tmp_path,
        "packages/thalweg/tests/core_tests/unit/test_strict.py",
        "import strict_llm.rules.chat",
    )
    changed = "packages/strict-llm/src/strict_llm/rules/chat.py"

    assert related_tests([changed], tmp_path) == [
        changed,
        test,
        "packages/thalweg/tests/core_tests/unit/test_strict.py",
    ]
    assert related_tests([test], tmp_path) == [test]


def test_tests_of_every_package_and_of_the_repository_are_related(tmp_path: Path) -> None:
    changed = "packages/thalweg/src/thalweg/archive/table_rows.py"
    package = "packages/thalweg-memory/src/thalweg_memory/store.py"
    of_package = "packages/thalweg-memory/tests/memory_tests/unit/test_store.py"
    write(tmp_path, package, "from thalweg.archive.table_rows import pack")
    write(tmp_path, of_package, "from thalweg_memory.store import Store")
    write(
        tmp_path,
        "packages/thalweg-memory/tests/memory_tests/e2e/test_kill.py",
        "from thalweg_memory.store import Store",
    )
    write(tmp_path, "benchmarks/sizes.py", "from thalweg.archive.table_rows import pack")
    write(tmp_path, "tests/repo/test_sizes.py", "from benchmarks.sizes import sizes")

    assert related_tests([changed], tmp_path) == [changed, of_package]
    of_benchmark = ["tests/repo/test_sizes.py"]
    assert related_tests(["benchmarks/sizes.py"], tmp_path) == of_benchmark


def test_tests_of_the_changed_package_come_first_also_by_a_module_that_is_imported_later(
    tmp_path: Path,
) -> None:
    changed = "packages/thalweg/src/thalweg/wires/gemini.py"
    registry = "packages/thalweg/src/thalweg/wires/registry.py"
    write(tmp_path, registry, 'PATHS = {"gemini": "thalweg.wires.gemini:GeminiWire"}')
    tests = [
        "packages/thalweg/tests/core_tests/unit/test_wires.py",
        "packages/thalweg-agent/tests/agent_tests/unit/test_agent.py",
    ]
    for test in tests:
        write(tmp_path, test, "from thalweg.wires.registry import PATHS")

    assert related_tests([changed], tmp_path) == [changed, *tests]


def test_who_imports_a_package_imports_what_it_exports(tmp_path: Path) -> None:
    changed = "packages/thalweg/src/thalweg/search/ranking.py"
    write(tmp_path, changed)
    write(
        tmp_path,
        "packages/thalweg/src/thalweg/search/__init__.py",
        "from thalweg.search.ranking import rank",
    )
    write(tmp_path, "packages/thalweg/src/thalweg/tables.py", "from thalweg import search")
    test = "packages/thalweg/tests/core_tests/contract/test_tables.py"
    write(tmp_path, test, "from thalweg.tables import Tables")

    assert related_tests([changed], tmp_path) == [changed, test]
