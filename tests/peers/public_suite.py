"""The public unit tests of deepagents, run against Thalweg: `python tests/peers/public_suite.py`.

The tests are read from the folder `THALWEG_PEER_SUITE`, with a file `cases.txt` next to them that
lists the cases to run. They import a package `deepagents` whose modules are here Thalweg's modules
of the same path. `public_suite.toml` lists the cases that are not expected to pass, with reasons.
"""

import argparse
import asyncio
import inspect
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

PEER = "deepagents"
OURS = "thalweg_agent"
WAIVED = Path(__file__).with_suffix(".toml")


def suite_folder() -> Path | None:
    """Return the folder of the peer's tests, or `None` where there is none."""
    named = os.environ.get("THALWEG_PEER_SUITE")
    beside = Path(__file__).resolve().parents[3] / "shared/peers/deepagents"
    folder = Path(named) if named else beside
    return folder if (folder / "cases.txt").is_file() else None


class MissingNameError(Exception):
    """A test used a name that Thalweg does not have."""


class _MissingName(type):
    """A class for a name that is not there: importing it is fine, using it raises.

    One missing name thus fails the cases that use it, not all cases of the file.
    """

    def __call__(cls, *_args: object, **_options: object) -> NoReturn:
        raise MissingNameError(cls.__name__)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        message = f"{cls.__name__}.{name}"
        raise MissingNameError(message)


def _private_names() -> Mapping[str, Mapping[str, object]]:
    """Load the adapters by their path (`tests` is here the peer's package); install methods."""
    spec = spec_from_file_location("private_names", Path(__file__).with_name("private_names.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    names: Mapping[str, Mapping[str, object]] = module.PRIVATE_NAMES
    for owner, methods in module.PRIVATE_METHODS.items():
        for name, method in methods.items():
            setattr(owner, name, method)
    return names


ADAPTERS = _private_names()
"""Private names of the peer, for tests of behaviour that Thalweg has under other names."""


class _Mirror(ModuleType):
    """A module of the peer's name; attributes are read from and set on Thalweg's module."""

    def __init__(self, name: str, ours: ModuleType | None) -> None:
        super().__init__(name)
        vars(self).update(_ours=ours, _originals={}, __path__=[], **ADAPTERS.get(name, {}))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any attribute of a module
        ours = vars(self)["_ours"]
        if ours is not None and hasattr(ours, name):
            return getattr(ours, name)
        if name.startswith("__"):
            raise AttributeError(name)
        return _MissingName(name, (), {})

    def __setattr__(self, name: str, value: object) -> None:
        ours = vars(self)["_ours"]
        if ours is None or name.startswith("__") or isinstance(value, _Mirror):
            super().__setattr__(name, value)
        else:
            vars(self)["_originals"].setdefault(name, getattr(self, name))
            setattr(ours, name, value)

    def __delattr__(self, name: str) -> None:
        # `mock.patch` ends this way where the patched name is not in `__dict__`.
        if name in vars(self):
            super().__delattr__(name)
        else:
            setattr(vars(self)["_ours"], name, vars(self)["_originals"].pop(name))


class PeerFinder(MetaPathFinder, Loader):
    """Finds `deepagents` and every module below it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  # the finder's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return a spec for the peer's modules only."""
        if fullname != PEER and not fullname.startswith(f"{PEER}."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the mirror of Thalweg's module, or of nothing where there is none."""
        name = OURS + spec.name.removeprefix(PEER)
        return _Mirror(spec.name, import_module(name) if _is_module(name) else None)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the mirrored module was executed when it was imported."""


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def waived_cases() -> dict[str, str]:
    """Return the reason of each waived id; an id names a file, a class, a test or one case."""
    groups = tomllib.loads(WAIVED.read_text("utf-8"))["group"]
    return {case: group["reason"] for group in groups for case in group["cases"]}


def reason_of(case: str, waived: Mapping[str, str]) -> str | None:
    """Return why a case is waived, or `None`.

    Example:
        >>> reason_of("t/test_a.py::test_x[1]", {"t/test_a.py::test_x": "no video"})
        'no video'
        >>> reason_of("t/test_a.py::test_xy", {"t/test_a.py::test_x": "no video"})
    """
    parts = case.partition("[")[0].split("::")
    names = [case, *("::".join(parts[:count]) for count in range(len(parts), 0, -1))]
    return next((waived[name] for name in names if name in waived), None)


class PeerSuite:
    """A pytest plugin: keeps the listed cases, runs the async ones, counts outcomes."""

    def __init__(self, cases: set[str], *, is_waived: bool) -> None:
        self.cases = cases
        self.is_waived = is_waived
        self.waived = waived_cases()
        self.outcomes: dict[str, str] = {}

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the listed cases: the waived ones or the others."""
        kept = [item for item in items if self._wants(item.nodeid)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def _wants(self, case: str) -> bool:
        is_waived = reason_of(case, self.waived) is not None
        return case in self.cases and is_waived == self.is_waived

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a coroutine function on a loop of its own."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        names = inspect.signature(pyfuncitem.obj).parameters
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a case ended; a failure in set-up or tear-down counts."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome


def run_suite(folder: Path, options: Sequence[str], *, is_waived: bool) -> dict[str, str]:
    """Run the cases in this process and return `passed`, `failed` or `skipped` for each."""
    cases = (folder / "cases.txt").read_text("utf-8").splitlines()
    suite = PeerSuite(set(cases), is_waived=is_waived)
    sys.meta_path.insert(0, PeerFinder())
    os.environ["RUN_SANDBOX_TESTS"] = "true"
    os.chdir(folder)
    pytest.main(["-p", "no:cacheprovider", "-q", *options], plugins=[suite])
    return suite.outcomes


def main() -> int:
    """Run the suite; exit with 1 if a case fails that is not waived, or passes though waived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waived", action="store_true", help="run the waived cases instead")
    chosen, options = parser.parse_known_args()
    folder = suite_folder()
    if folder is None:
        sys.stdout.write("deepagents' tests are not here: set THALWEG_PEER_SUITE to their folder\n")
        return 0
    outcomes = run_suite(folder, options, is_waived=chosen.waived)
    counts = Counter(outcomes.values())
    sys.stdout.write(f"{dict(counts)}\n")
    return int(bool(counts["passed" if chosen.waived else "failed"]) or not outcomes)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
