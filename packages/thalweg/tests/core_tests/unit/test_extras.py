"""How an extra is installed: its own requirements are named, never a package of this repository."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from thalweg.engine.extras import EXTRAS, install_command, install_line, needs_extra
from thalweg.errors import MissingExtraError

PACKAGES = Path(__file__).parents[4]
NAMES = [(package, extra) for package, extras in EXTRAS.items() for extra in extras]


def declared(package: str) -> dict[str, list[str]]:
    text = (PACKAGES / package / "pyproject.toml").read_text(encoding="utf-8")
    extras: dict[str, list[str]] = tomllib.loads(text)["project"].get("optional-dependencies", {})
    return extras


def test_the_table_has_every_extra_of_every_package() -> None:
    found = {file.parent.name: declared(file.parent.name) for file in PACKAGES.glob("*/pypr*.toml")}
    assert {package: set(extras) for package, extras in found.items() if extras} == {
        package: set(extras) for package, extras in EXTRAS.items() if extras
    }


def test_no_two_packages_have_an_extra_of_one_name() -> None:
    names = [extra for _, extra in NAMES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("package", "extra"), NAMES)
def test_the_command_names_the_requirements_and_no_package_of_this_repository(
    package: str, extra: str
) -> None:
    command = install_command(extra)
    wanted = [re.match(r"[\w.-]+", each) for each in declared(package)[extra]]
    names = [each[0] for each in wanted if each]
    assert names
    for name in names:
        if name.startswith("thalweg"):
            assert command == install_line("--editable", f"{PACKAGES / name}")
        else:
            assert re.search(rf" pip install .*\b{name}[\[<>]", command)
            assert "thalweg" not in command.partition(" install ")[2].replace(sys.executable, "")


def test_the_command_has_the_ranges_of_the_metadata() -> None:
    assert re.search(r" 'langchain-openai<2,>=[\d.]+'$", install_command("openai"))
    assert "'psycopg[binary]<4,>=" in install_command("postgres")


def test_the_command_is_that_of_an_installer_which_the_environment_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("thalweg.engine.extras.find_spec", lambda name: name == "pip")
    monkeypatch.chdir(Path(sys.prefix).parent)
    assert re.fullmatch(r"\S*python\S* -m pip install 'numpy<3'", install_line("numpy<3"))
    folder = "install the folder packages/thalweg-memory of Thalweg's repository"
    assert install_command("memory") == folder  # pip would search the names of the others
    monkeypatch.setattr("thalweg.engine.extras.find_spec", lambda _: None)
    name = Path(sys.prefix).name
    assert install_line("numpy<3") == f"uv pip install --python {name} 'numpy<3'"
    monkeypatch.chdir("/")
    assert Path(install_line("numpy").split()[4]).is_dir()


def test_an_unknown_extra_is_an_error() -> None:
    with pytest.raises(KeyError, match="birds"):
        install_command("birds")


def test_an_extra_of_a_package_that_is_not_installed_names_its_folder(tmp_path: Path) -> None:
    """In a process that finds the source of the packages and no metadata."""
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGES / 'thalweg' / 'src')!r})\n"
        "from thalweg.engine.extras import install_command; print(install_command('inspect'))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "install the folder packages/thalweg-evals of Thalweg's repository\n"


def test_a_missing_module_of_an_extra_names_what_needs_it_and_the_command() -> None:
    with (
        pytest.raises(MissingExtraError) as raised,
        needs_extra("sqlite"),
    ):
        raise ModuleNotFoundError(name="aiosqlite.core")
    assert str(raised.value) == (
        f"sqlite: the package aiosqlite.core is not installed; {install_command('sqlite')}"
    )


def test_another_missing_module_is_raised_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="birds"), needs_extra("sqlite"):
        raise ModuleNotFoundError("birds", name="birds")
