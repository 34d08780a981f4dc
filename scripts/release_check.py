"""Check a release before it is published: `python -m scripts.release_check`.

Builds the sdist of every package and the wheel from it, and checks with them in new environments:
metadata, files, all packages on every Python that is here, the command line, each extra one by one
with the packages that it needs, the container image. Each check is one line: `ok`, `FAIL`, or `--`
with the reason why it was not run. Exit code 1 after a FAIL.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.workspace import ROOT, find_python, import_name, projects, with_required
from thalweg.engine.extras import EXTRAS

PROJECTS = projects()
IMAGE = "thalweg-server"
"""The package that the container image runs."""
NAMES = [extra for extras in EXTRAS.values() for extra in extras]
PYTHONS = ("3.11", "3.12", "3.13")
RUNTIMES = ("docker", "podman", "buildah")
_PYTHON = "Programming Language :: Python :: "
_TYPED = "import importlib.resources as r; assert r.files('thalweg').joinpath('py.typed').is_file()"
_NAMES = "import thalweg; [getattr(thalweg, name) for name in thalweg.__all__]"
_IMPORTS = f"import {', '.join(map(import_name, PROJECTS))}"
Wheels = dict[str, Path]
"""The wheel of each package."""
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


def built(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Build the sdist of every package, and the wheel from it; yield its name and both files."""
    build = ["uv", "build", "-q", "--all-packages", "-o", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True)  # noqa: S603
    for name, project in PROJECTS.items():
        stem = f"{import_name(name)}-{project['version']}"
        (wheel,), (sdist,) = folder.glob(f"{stem}-*.whl"), folder.glob(f"{stem}.tar.gz")
        yield name, wheel, sdist


def contents(name: str, wheel: Path, sdist: Path) -> Iterator[tuple[str, Result]]:
    """Check metadata and files of the wheel and the sdist of a package."""
    yield f"{name}: metadata", ran("uvx", "twine", "check", "--strict", wheel, sdist)
    names, folder = set(zipfile.ZipFile(wheel).namelist()), import_name(name)
    version = PROJECTS[name]["version"]
    needed = {f"{folder}/py.typed", f"{folder}-{version}.dist-info/licenses/LICENSE"}
    foreign = sorted(one for one in names if not one.startswith((f"{folder}/", f"{folder}-")))
    wrong = [*(f"{one} is missing" for one in needed - names), *foreign[:3]]
    size = f"{len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB"
    yield f"{name}: wheel", ("FAIL", "; ".join(wrong)) if wrong else ("ok", size)
    with tarfile.open(sdist) as archive:
        count = len(archive.getnames())
    size = f"{count} files, {sdist.stat().st_size / 1e6:.1f} MB; the wheel is of it"
    yield f"{name}: sdist", ("ok", size)


def environment(folder: Path, python: str, wanted: list[str]) -> Result:
    """Install into a new environment and check that its requirements agree."""
    shutil.rmtree(folder, ignore_errors=True)
    made = ran("uv", "venv", "-q", "--python", python, folder)
    if made[0] != "ok":
        return made
    installed = ran("uv", "pip", "install", "-q", "--python", folder / "bin/python", *wanted)
    if installed[0] != "ok":
        return installed
    return ran("uv", "pip", "check", "--python", folder / "bin/python")


def on_python(folder: Path, python: str, wheels: Wheels) -> Result:
    """Install all wheels on a Python; import them, run the command line, replay the sample."""
    found = find_python(python)
    if not found and ran("uv", "python", "install", "-q", python)[0] != "ok":
        return "--", f"there is no Python {python} here, and uv cannot download one"
    python = found or python
    at, home = folder / "env", folder / "home"
    home.mkdir(exist_ok=True)
    checks: tuple[Callable[[], Result], ...] = (
        lambda: environment(at, python, [*map(str, wheels.values())]),
        lambda: ran(
            at / "bin/python", "-W", "error", "-c", f"{_NAMES}; {_TYPED}; {_IMPORTS}", home=home
        ),
        lambda: ran(at / "bin/thalweg", "replay", "--policy", "thalweg", folder=home, home=home),
        lambda: ran(at / "bin/thalweg", "--version", folder=home, home=home),
    )
    for check in checks:
        result = check()
        if result[0] != "ok":
            return result
    return result


def with_extra(folder: Path, python: str, wheels: Wheels, extra: str) -> Result:
    """Install an extra of a package and import its modules; resolve it if nothing downloads."""
    (package,) = (name for name, extras in EXTRAS.items() if extra in extras)
    needed = {name: str(wheels[name]) for name in with_required(package, [extra])}
    wanted = [*(needed | {package: f"{wheels[package]}[{extra}]"}).values()]
    at, modules = folder / "env", EXTRAS[package][extra]
    result = environment(at, python, wanted)
    if result[0] != "ok":
        dry = ran("uv", "pip", "install", "--dry-run", "--python", at / "bin/python", *wanted)
        return ("--", f"only resolved: {result[1]}") if dry[0] == "ok" else result
    imports = "; ".join(f"import {module}" for module in modules)
    result = ran(at / "bin/python", "-c", imports, home=folder)
    return (result[0], result[1] or f"imports {', '.join(modules)}")


def classifiers(tested: set[str]) -> Result:
    """Compare the Pythons that the metadata claims with those that were tested."""
    lines = (each for project in PROJECTS.values() for each in project["classifiers"])
    listed = (each.removeprefix(_PYTHON) for each in lines)
    claimed = {version for version in listed if re.fullmatch(r"3\.\d+", version)}
    if claimed - tested:
        return "FAIL", f"claimed and not tested: {', '.join(sorted(claimed - tested))}"
    more = tested - claimed
    return "ok", f"all of {', '.join(sorted(claimed))}" + (f"; could claim {more}" if more else "")


def locked(folder: Path, wheels: Wheels) -> Result:
    """Install what the image installs, with the hashes of its lock, and import the gateway."""
    (python,) = re.findall(r"^FROM python:(\d+\.\d+)", _dockerfile(), re.MULTILINE)
    at = folder / "env"
    shutil.rmtree(at, ignore_errors=True)
    found = find_python(python)
    if not found or ran("uv", "venv", "-q", "--python", found, at)[0] != "ok":
        return "--", f"not installed: there is no Python {python} here"
    install = ("uv", "pip", "install", "-q", "--python", at / "bin/python")
    imports = "import thalweg_server.gateway.serving"
    for command in (
        (*install, "--require-hashes", "-r", ROOT / "requirements.lock"),
        (*install, "--no-deps", *(wheels[name] for name in with_required(IMAGE))),
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
    is_script = bool(entry) and entry[-1] in PROJECTS["thalweg"]["scripts"]
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
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheels, tested = Wheels(), set[str]()
        for name, wheel, sdist in built(folder / "dist"):
            yield from contents(name, wheel, sdist)
            wheels[name] = wheel
        for python in pythons:
            result = on_python(folder, python, wheels)
            if result[0] == "ok":
                tested.add(python)
            yield f"Python {python}", result
        if pythons == [*PYTHONS]:
            yield "classifiers", classifiers(tested)
        own = f"{sys.version_info[0]}.{sys.version_info[1]}"
        for extra in extras:
            yield f"extra {extra}", with_extra(folder, own, wheels, extra)
        yield "image: lock", locked(folder, wheels)
        yield from container()


def main() -> None:
    """Run all checks, or those that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="only this Python; may be repeated")
    parser.add_argument("--extra", action="append", help="only this extra; may be repeated")
    given = parser.parse_args()
    has_failed = False
    for what, (state, said) in checks(given.python or [*PYTHONS], given.extra or NAMES):
        has_failed |= state == "FAIL"
        print(f"{state:<4}  {what:<31} {said}", flush=True)
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
