"""The lock of the container image agrees with the packages' metadata, and pins what it names."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock import GROUP, LOCK
from scripts.workspace import name_of, projects, with_required

ROOT = Path(__file__).parents[2]
WORKSPACE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
IMAGE = [Requirement(each) for each in WORKSPACE["dependency-groups"][GROUP]]
EXTRAS = sorted(extra for each in IMAGE for extra in each.extras)


def packages() -> list[str]:
    """Return the packages of this repository in the image, each after those that it requires."""
    found = [name for each in IMAGE for name in with_required(each.name)]
    return list(dict.fromkeys(found))


def requirements() -> list[str]:
    """Return what the image's packages and extras require of others."""
    known = projects()
    plain = [each for name in packages() for each in known[name]["dependencies"]]
    optional = [known[each.name]["optional-dependencies"] for each in IMAGE]
    extra = [
        requirement
        for image, extras in zip(IMAGE, optional, strict=True)
        for name in image.extras
        for requirement in extras[name]
    ]
    return sorted({each for each in [*plain, *extra] if name_of(each) not in known})


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


def test_it_has_no_package_of_this_repository() -> None:
    assert not {*locked()} & {*projects()}


@pytest.mark.parametrize("requirement", requirements())
def test_it_is_within_the_ranges_of_the_packages(requirement: str) -> None:
    wanted = Requirement(requirement)
    assert locked()[canonicalize_name(wanted.name)] in wanted.specifier


def test_the_image_installs_the_lock_and_its_packages_by_their_paths() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes" in dockerfile
    *_, ours = re.findall(r"^RUN uv pip install ((?:.*\\\n)*.*)", dockerfile, re.MULTILINE)
    assert "--no-deps" in ours
    assert sorted(re.findall(r"\./packages/([\w-]+)", ours)) == sorted(packages())


def test_the_documentation_names_the_extras_of_the_image() -> None:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"`python -m scripts\.lock` \| (.*)", text)
    named = [extra for listed in re.findall(r"\[([a-z,]+)\]", row) for extra in listed.split(",")]
    assert sorted(named) == EXTRAS
