"""Check a release before it is published: `python -m scripts.release_check`.

Builds the sdist and the wheel from it, and checks with them in new environments: metadata, files,
every Python that uv finds, the command line, each extra one by one, the container image. Each check
is one line: `ok`, `FAIL`, or `--` with the reason why it was not run. Exit code 1 after a FAIL.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from thalweg.engine.extras import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13")
RUNTIMES = ("docker", "podman", "buildah")
_PYTHON = "Programming Language :: Python :: "
_TYPED = "import importlib.resources as r; assert r.files('thalweg').joinpath('py.typed').is_file()"
_NAMES = "import thalweg; [getattr(thalweg, name) for name in thalweg.__all__]"
Result = tuple[str, str]
"""`ok`, `FAIL` or `--`, and what was found."""


def ran(*command: str | Path, folder: Path | None = None, home: Path | None = None) -> Result:
    """Run a command in an environment without Thalweg's variables; return the end of its output."""
    kept = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)} if home else None
    done = subprocess.run(  # noqa: S603 (ours)
        [str(part) for part in command],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    said = (done.stdout + done.stderr).strip().splitlines()
    return ("FAIL" if done.returncode else "ok"), (said[-1] if said else "")


def built(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it."""
    subprocess.run(["uv", "build", "-q", "-o", folder, ROOT], check=True)  # noqa: S603, S607
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def contents(wheel: Path, sdist: Path) -> Iterator[tuple[str, Result]]:
    """Check metadata and files of both."""
    yield "metadata", ran("uvx", "twine", "check", "--strict", wheel, sdist)
    names = set(zipfile.ZipFile(wheel).namelist())
    version = PROJECT["version"]
    needed = {"thalweg/py.typed", f"thalweg-{version}.dist-info/licenses/LICENSE"}
    foreign = sorted(name for name in names if not name.startswith(("thalweg/", "thalweg-")))
    wrong = [*(f"{name} is missing" for name in needed - names), *foreign[:3]]
    size = f"{len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB"
    yield "wheel", ("FAIL", "; ".join(wrong)) if wrong else ("ok", size)
    with tarfile.open(sdist) as archive:
        count = len(archive.getnames())
    yield "sdist", ("ok", f"{count} files, {sdist.stat().st_size / 1e6:.1f} MB; the wheel is of it")


def environment(folder: Path, python: str, wanted: str) -> Result:
    """Install into a new environment and check that its requirements agree."""
    shutil.rmtree(folder, ignore_errors=True)
    made = ran("uv", "venv", "-q", "--python", python, folder)
    if made[0] != "ok":
        return made
    installed = ran("uv", "pip", "install", "-q", "--python", folder / "bin/python", wanted)
    if installed[0] != "ok":
        return installed
    return ran("uv", "pip", "check", "--python", folder / "bin/python")


def on_python(folder: Path, python: str, wheel: Path) -> Result:
    """Install the wheel on a Python; import it, run its command line, replay the sample."""
    found = ran("uv", "python", "find", "--system", "--no-python-downloads", python)
    if found[0] != "ok":
        found = ran("uv", "python", "install", "-q", python)
        if found[0] != "ok":
            return "--", f"uv has no Python {python} here and cannot download one"
    at, home = folder / "env", folder / "home"
    home.mkdir(exist_ok=True)
    checks: tuple[Callable[[], Result], ...] = (
        lambda: environment(at, python, str(wheel)),
        lambda: ran(at / "bin/python", "-W", "error", "-c", f"{_NAMES}; {_TYPED}", home=home),
        lambda: ran(at / "bin/thalweg", "replay", "--policy", "thalweg", folder=home, home=home),
        lambda: ran(at / "bin/thalweg", "--version", folder=home, home=home),
    )
    for check in checks:
        result = check()
        if result[0] != "ok":
            return result
    return result


def with_extra(folder: Path, python: str, wheel: Path, extra: str) -> Result:
    """Install one extra and import its modules; where nothing can be downloaded, resolve it."""
    wanted, at, modules = f"{wheel}[{extra}]", folder / "env", EXTRAS[extra]
    result = environment(at, python, wanted)
    if result[0] != "ok":
        dry = ran("uv", "pip", "install", "--dry-run", "--python", at / "bin/python", wanted)
        return ("--", f"only resolved: {result[1]}") if dry[0] == "ok" else result
    imports = "; ".join(f"import {module}" for module in modules)
    result = ran(at / "bin/python", "-c", imports, home=folder)
    return (result[0], result[1] or f"imports {', '.join(modules)}")


def classifiers(tested: set[str]) -> Result:
    """Compare the Pythons that the metadata claims with those that were tested."""
    listed = (each.removeprefix(_PYTHON) for each in PROJECT["classifiers"])
    claimed = {version for version in listed if re.fullmatch(r"3\.\d+", version)}
    if claimed - tested:
        return "FAIL", f"claimed and not tested: {', '.join(sorted(claimed - tested))}"
    more = tested - claimed
    return "ok", f"all of {', '.join(sorted(claimed))}" + (f"; could claim {more}" if more else "")


def locked(folder: Path, wheel: Path) -> Result:
    """Install what the image installs, with the hashes of its lock, and import the gateway."""
    (python,) = re.findall(r"^FROM python:(\d+\.\d+)", _dockerfile(), re.MULTILINE)
    at = folder / "env"
    shutil.rmtree(at, ignore_errors=True)
    if ran("uv", "venv", "-q", "--no-python-downloads", "--python", python, at)[0] != "ok":
        return "--", f"not installed: uv has no Python {python} here"
    install = ("uv", "pip", "install", "-q", "--python", at / "bin/python")
    imports = "import thalweg_server.gateway.serving"
    for command in (
        (*install, "--require-hashes", "-r", ROOT / "requirements.lock"),
        (*install, "--no-deps", wheel),
        (at / "bin/python", "-c", imports),
    ):
        result = ran(*command, folder=folder)
        if result[0] != "ok":
            return result
    return "ok", f"on Python {python}; the gateway imports"


def _dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text(encoding="utf-8")


def container() -> Iterator[tuple[str, Result]]:
    """Check the Dockerfile, and build the image where a container runtime works."""
    text = _dockerfile()
    users = re.findall(r"^USER (.+)$", text, re.MULTILINE)
    is_bound = bool(users) and users[-1] not in {"root", "0"}
    yield "image: user", ("ok" if is_bound else "FAIL", users[-1] if users else "root")
    entry = re.findall(r'^ENTRYPOINT \["(.+)"\]$', text, re.MULTILINE)
    is_script = bool(entry) and entry[-1] in PROJECT["scripts"]
    yield "image: entry point", ("ok" if is_script else "FAIL", str(entry))
    runtime = next((one for one in RUNTIMES if shutil.which(one) and _works(one)), None)
    if runtime is None:
        yield "image: build", ("--", f"not built: none of {', '.join(RUNTIMES)} works here")
        return
    result = ran(runtime, "build", "-t", "thalweg:check", ROOT)
    yield "image: build", result
    if result[0] == "ok" and runtime != "buildah":
        yield "image: runs as", ran(runtime, "run", "--rm", "--entrypoint", "id", "thalweg:check")
        yield "image: starts", ran(runtime, "run", "--rm", "thalweg:check", "--version")


def _works(runtime: str) -> bool:
    return ran(runtime, "info")[0] == "ok"


def checks(pythons: list[str], extras: list[str]) -> Iterator[tuple[str, Result]]:
    """Yield every check with its result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = built(folder / "dist")
        yield from contents(wheel, sdist)
        tested = set()
        for python in pythons:
            result = on_python(folder, python, wheel)
            if result[0] == "ok":
                tested.add(python)
            yield f"Python {python}", result
        if pythons == [*PYTHONS]:
            yield "classifiers", classifiers(tested)
        own = f"{sys.version_info[0]}.{sys.version_info[1]}"
        for extra in extras:
            yield f"extra {extra}", with_extra(folder, own, wheel, extra)
        yield "image: lock", locked(folder, wheel)
        yield from container()


def main() -> None:
    """Run all checks, or those that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="only this Python; may be repeated")
    parser.add_argument("--extra", action="append", help="only this extra; may be repeated")
    given = parser.parse_args()
    has_failed = False
    for what, (state, said) in checks(given.python or [*PYTHONS], given.extra or [*EXTRAS]):
        has_failed |= state == "FAIL"
        print(f"{state:<4}  {what:<20} {said}", flush=True)
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
