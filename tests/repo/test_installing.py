"""Each package is installed from a clone, with uv and with pip; no index is searched for ours.

uv gets one path and finds the others in the clone; pip gets the paths of all that the package
requires. Both print every name that they request from an index.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from scripts.workspace import import_name, projects, with_required
from tests.repo.installing import copy_clone, run_there, run_uv

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

UV_REQUEST = re.compile(r"(?:request|response) for: \S+/([\w.-]+)/$", re.MULTILINE)
PIP_REQUEST = re.compile(r"location\(s\) to search for versions of ([\w.-]+):$", re.MULTILINE)
LIST = (
    "import json, importlib.metadata as m; print(json.dumps([d.name for d in m.distributions()]))"
)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_clone(tmp_path_factory.mktemp("clone"))


def requested_names(pattern: re.Pattern[str], output: str) -> set[str]:
    """Return the names in the requests of an installer to an index."""
    names = {name.lower().replace("_", "-") for name in pattern.findall(output)}
    assert "pypdf" in names, output[-3_000:]  # of the core and of strict-llm
    return names


def check_import(programs: Path, package: str, folder: Path) -> None:
    """Import every module and name of a package, and those of ours that it requires."""
    walk = Path(__file__).with_name("bare_names.py")
    names = map(import_name, with_required(package))
    done = run_there([programs / "python", "-W", "ignore", walk, *names], folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["failures"] == []


def installed_names(programs: Path) -> set[str]:
    """Return the packages of this repository in an environment."""
    listed = run_uv("pip", "list", "--format", "json", "--python", programs / "python").stdout
    return {each["name"] for each in json.loads(listed)} & {*projects()}


@pytest.mark.parametrize("package", projects())
def test_uv_installs_a_package_by_its_path_alone(package: str, clone: Path, tmp_path: Path) -> None:
    programs = tmp_path / "env/bin"
    run_uv("venv", "-q", tmp_path / "env")
    path = clone / "packages" / package
    install = ("pip", "install", "-v", "--python", programs / "python")
    done = run_uv(*install, path, folder=tmp_path)
    assert not requested_names(UV_REQUEST, done.stderr) & {*projects()}
    assert installed_names(programs) == {*with_required(package)}
    if "thalweg" in with_required(package):
        check_import(programs, package, tmp_path)


@pytest.mark.parametrize("package", projects())
def test_pip_installs_a_package_with_the_paths_of_all_that_it_requires(
    package: str, clone: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "env/bin"
    run_uv("venv", "-q", "--seed", tmp_path / "env")
    run_uv("pip", "install", "-q", "--python", programs / "python", "hatchling>=1.27,<2")
    paths = [clone / "packages" / name for name in with_required(package)]
    quick = ["--no-compile", "--no-build-isolation"]
    command: list[str | Path] = [programs / "python", "-m", "pip", "install", "-vv"]
    done = subprocess.run(
        [*command, *quick, *paths], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3_000:]
    assert not requested_names(PIP_REQUEST, done.stdout) & {*projects()}
    assert installed_names(programs) == {*with_required(package)}
    name = import_name(package)
    assert run_there([programs / "python", "-c", f"import {name}"], tmp_path).returncode == 0


def test_the_requests_of_an_installer_are_seen(tmp_path: Path) -> None:
    """The names of both, for a requirement that is no path."""
    run_uv("venv", "-q", "--seed", tmp_path / "env")
    python = tmp_path / "env/bin/python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "-vv", "--dry-run", "pypdf"]
    by_pip = subprocess.run(pip, capture_output=True, text=True, check=True)
    assert requested_names(PIP_REQUEST, by_pip.stdout) == {"pypdf"}
    by_uv = run_uv("pip", "install", "-v", "--dry-run", "--python", python, "pypdf")
    assert "pypdf" in requested_names(UV_REQUEST, by_uv.stderr)


def test_the_first_command_of_the_readme_works_in_a_clone_without_development_tools(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path))
    run = ("run", "--quiet", "--no-dev")
    run_uv(*run, "thalweg", "replay", "--policy", "thalweg", folder=clone)
    done = run_uv(*run, "python", "-c", LIST, folder=clone)
    names = {*json.loads(done.stdout)}
    assert {*with_required("thalweg-recorder")} == names & {*projects()}
    assert not names & {"pytest", "mypy", "ruff", "hypothesis"}


def test_the_server_alone_checks_an_installation_without_the_recorder(
    clone: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "env/bin"
    run_uv("venv", "-q", tmp_path / "env")
    path = clone / "packages/thalweg-server"
    run_uv("pip", "install", "-q", "--python", programs / "python", path)
    done = run_there([programs / "thalweg", "doctor", "--json"], tmp_path)
    assert done.returncode == 0, done.stderr
    subjects = {each["what"] for each in json.loads(done.stdout)["findings"]}
    assert {"Python", "extras"} <= subjects
    assert "sessions" not in subjects
