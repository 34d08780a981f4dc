"""Settings of every test run."""

import asyncio
import compileall
import gc
import os
import re
import sys
from collections.abc import Generator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.assertion import rewrite
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, Phase, settings

from core_tests.browsers import browser
from core_tests.local_models import qwen, smol
from core_tests.postgres import (
    _emptied_again,
    _served_template,
    emptied,
    own_postgres,
    plain_postgres_url,
    pooled,
    postgres_server,
    postgres_url,
    served,
)
from memory_tests.memories import _memories_closed

__all__ = [
    "_emptied_again",
    "_memories_closed",
    "_served_template",
    "browser",
    "emptied",
    "own_postgres",
    "plain_postgres_url",
    "pooled",
    "postgres_server",
    "postgres_url",
    "qwen",
    "served",
    "smol",
]  # fixtures, for any test

ROOT = Path(__file__).parent
INSPECT = "packages/thalweg-evals/src/thalweg_evals/inspect_tasks.py"
collect_ignore = (
    [] if find_spec("inspect_ai") else [INSPECT]
)  # its doctests, where it can be imported

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=25,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "nightly", parent=settings.get_profile("ci"), derandomize=False, max_examples=300
)
settings.register_profile("deep", parent=settings.get_profile("ci"), max_examples=1_000)
settings.register_profile("fast", parent=settings.get_profile("ci"), phases=[Phase.generate])
settings.load_profile("ci")

# Tests connect to this machine alone, and a client that loads a bundle of authorities takes 25 ms.
os.environ.pop("SSL_CERT_FILE", None)

# No event loop is made implicitly, as from Python 3.14 on: a library that asks for one leaves it
# open, and the next test that runs a loop of its own is charged with it.
asyncio.set_event_loop(None)

# Until everything is imported and collected: none of it is garbage.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Compile once what each worker, and each process that a test starts, would compile."""
    if hasattr(config, "workerinput"):
        return
    for source in sorted(ROOT.glob("packages/*/src")):
        compileall.compile_dir(source, quiet=2)
    if config.getoption("numprocesses", None):
        _compile_tests(config)


def _compile_tests(config: pytest.Config) -> None:
    """Compile test modules with their assertions as pytest does, and what they import."""
    for folder in (*sorted(ROOT.glob("packages/*/tests")), ROOT / "tests", ROOT / "benchmarks"):
        compileall.compile_dir(folder, quiet=2, rx=re.compile(r"/test_\w+\.py$"))
        for path in folder.rglob("test_*.py"):
            cache = rewrite.get_cache_dir(path)
            compiled = cache / f"{path.stem}{rewrite.PYC_TAIL}"
            if compiled.exists() and compiled.stat().st_mtime > path.stat().st_mtime:
                continue
            # A worker reports what cannot be parsed, and compiles what cannot be written here.
            with suppress(OSError, SyntaxError):
                cache.mkdir(exist_ok=True)
                digest, code = rewrite._rewrite_test(path, config)  # noqa: SLF001
                state = config.stash[rewrite.assertstate_key]
                rewrite._write_pyc(state, code, digest, compiled)  # noqa: SLF001


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect doctests of sources alone: to search each test for them takes long."""
    found = yield
    if "tests" not in file_path.relative_to(ROOT).parts:
        return found
    return [one for one in found if not isinstance(one, DoctestModule)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one more worker than cores: many tests wait, and each worker imports everything."""
    return (os.cpu_count() or 1) + 1


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that use a PostgreSQL server, so that they can run on another version."""
    used = set(getattr(item, "fixturenames", ()))
    is_parameter = "postgres" in item.name.lower().partition("[")[2]
    if is_parameter or used & {"postgres_server", "own_postgres"}:
        item.add_marker("postgres")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow tests first, so that none runs alone on one worker at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exempt what is imported and collected from garbage collection, and write no more bytecode.

    Bytecode is matched to its source by a time in whole seconds, and some tests write a module
    twice within one.
    """
    gc.enable()
    gc.freeze()
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Collect garbage at the end of each test, and report a leak as this test's error.

    Else pytest would report it at the setup of the next test. Surviving objects are exempt from
    then on, or each collection would visit all that tests imported.
    """
    yield
    gc.collect()
    gc.freeze()
    reports = item.config.pluginmanager.get_plugin("unraisableexception")
    if reports is not None:
        reports.pytest_runtest_teardown(item)
