"""The lock of the container image agrees with `pyproject.toml`, and pins what it names."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock import EXTRAS, LOCK

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY = re.compile(
    r"^([A-Za-z0-9._-]+)==([^ ;\\]+)[^\n]*(\n    --hash=sha256:[0-9a-f]{64}[^\n]*)+", re.MULTILINE
)


def locked() -> dict[str, str]:
    found = ENTRY.findall(LOCK.read_text(encoding="utf-8"))
    return {canonicalize_name(name): version for name, version, _ in found}


def test_every_entry_has_a_version_and_hashes() -> None:
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if "==" in line]
    assert len(ENTRY.findall(LOCK.read_text(encoding="utf-8"))) == len(lines)


def test_it_names_no_index() -> None:
    assert "://" not in LOCK.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "given",
    [
        *PROJECT["dependencies"],
        *(each for extra in EXTRAS for each in PROJECT["optional-dependencies"][extra]),
    ],
)
def test_it_is_within_the_ranges_of_the_project(given: str) -> None:
    requirement = Requirement(given)
    if requirement.name != "thalweg":
        version = locked()[canonicalize_name(requirement.name)]
        assert version in requirement.specifier


def test_the_image_installs_what_is_locked() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes" in dockerfile
    (installed,) = re.findall(
        r"\.\[([a-z,]+)\]", (ROOT / "docs/supply-chain.md").read_text("utf-8")
    )
    assert set(installed.split(",")) == set(EXTRAS)
