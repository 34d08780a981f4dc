"""The plug-in point, with distributions as an installer writes them."""

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_tests.distributions import install
from thalweg.cli import main
from thalweg.cli.plugins import TABLES_GROUP, installed_commands, load_plugins

GOOD = """
COMMANDS = {"birds": ("%s_commands:birds", "Count birds.")}
def birds(arguments, *, prog_name):
    print("%s", prog_name, *arguments)
    return 3
"""


def install_commands(folder: Path, name: str, code: str) -> None:
    """Write a distribution whose module has a table of commands."""
    (folder / f"{name}_commands.py").write_text(code)
    install(folder, name, f"{name}_commands:COMMANDS")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed distributions."""
    (folder := tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    yield folder
    for name in {*sys.modules} - before:
        if name.endswith("_commands") and "." not in name:
            del sys.modules[name]


class Ended:
    """How a command ended, and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["thalweg", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
        self.code = ended.value.code
        self.out, self.err = capsys.readouterr()


def test_a_package_adds_a_command(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install_commands(site, "ada", GOOD % ("ada", "ada"))
    ended = Ended(capsys, "birds", "--of", "bank", "-h")
    assert (ended.code, ended.out, ended.err) == (3, "ada thalweg birds --of bank -h\n", "")
    assert "\n More\n  birds   Count birds.\n" in Ended(capsys, "--help").out


BROKEN = {
    "raising": ('raise RuntimeError("no\\nmoon")', "(RuntimeError: no moon)"),
    "ending": ("raise SystemExit(5)", "(SystemExit: 5)"),
    "importing": ("import no_such_module", "(ModuleNotFoundError: No module named"),
    "nothing": ("", "has no attribute 'COMMANDS')"),
    "number": ("COMMANDS = 3", "(AttributeError: 'int' object has no attribute 'items')"),
    "short": ('COMMANDS = {"birds": ("a:b",)}', "(ValueError: not enough values to unpack"),
    "typed": ('COMMANDS = {"birds": ("a:b", 3)}', "(TypeError: a row of the table is not three"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_one_line_and_stops_no_other_command(
    name: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, reason = BROKEN[name]
    install_commands(site, name, code)
    install_commands(site, "other", GOOD.replace("birds", "fish") % ("other", "other"))

    for arguments, code_of in ((("--help",), 0), (("fish",), 3), (("prices", "gpt-5.4"), 0)):
        ended = Ended(capsys, *arguments)
        assert ended.code == code_of
        assert ended.err.count("\n") == 1
        start = f"thalweg: {name}: its entry point 'main' in the group thalweg.commands cannot be"
        assert ended.err.startswith(start)
        assert reason in ended.err
        assert ended.err.endswith(f"; reinstall {name} with what it requires, or uninstall it\n")


def test_an_entry_point_that_an_uninstalled_package_left_is_one_line(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "gone", "gone_package.commands:COMMANDS")
    ended = Ended(capsys, "--help")
    assert ended.code == 0
    assert "  thread " in ended.out
    assert ended.err == (
        "thalweg: gone: its entry point 'main' in the group thalweg.commands cannot be loaded "
        "(ModuleNotFoundError: No module named 'gone_package'); reinstall gone with what it "
        "requires, or uninstall it\n"
    )


def test_metadata_without_a_name_stops_nothing(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "torn", "torn_commands:COMMANDS")
    (site / "torn-1.0.dist-info/METADATA").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a missing field, from Python 3.12 on
        ended = Ended(capsys, "--help")
    assert ended.code == 0
    assert "cannot be loaded" in ended.err


@pytest.mark.parametrize("table", ["missing_module:birds", "ada_commands:missing"])
def test_a_command_whose_module_is_missing_names_its_package(
    table: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install_commands(site, "ada", f'COMMANDS = {{"birds": ("{table}", "Count birds.")}}')
    assert Ended(capsys, "--help").err == ""
    ended = Ended(capsys, "birds")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"thalweg: birds: {table} cannot be imported (")
    assert ended.err.endswith("; reinstall ada with what it requires, or uninstall it\n")


def test_of_two_packages_with_one_name_the_first_is_called(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("zoe", "ada"):
        install_commands(site, name, GOOD % (name, name))
    ended = Ended(capsys, "birds")
    assert ended.out == "ada thalweg birds\n"
    assert ended.err == (
        "thalweg: the command 'birds' of zoe is ignored: ada has one of this name; "
        "uninstall one of them\n"
    )


def test_tables_of_a_broken_package_are_reported_and_skipped(site: Path) -> None:
    install(site, "ada", "json:dumps", TABLES_GROUP)
    install(site, "bob", "no_such_module:create", TABLES_GROUP)
    reported: list[str] = []
    found = list(load_plugins(TABLES_GROUP, lambda _, function: function, reported.append))
    assert json.dumps in found
    assert len(found) == 2
    (sentence,) = reported
    assert sentence.startswith("bob: its entry point 'main' in the group thalweg.tables cannot")


FORMER = "there is no such command any more"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("nonsense",), "nonsense: there is no such command; see thalweg --help"),
        (("chta",), "chta: there is no such command; did you mean 'chat'?"),
        (("search",), f"search: {FORMER}; use thalweg record search"),
        (
            ("thread", "history", "t1"),
            f"thread history: {FORMER}; use thalweg thread show --messages",
        ),
        (
            ("thread", "--archive", "clear", "--owner=x", "--json", "read", "t1"),
            f"thread read: {FORMER}; use thalweg thread show ID HANDLE",
        ),
        (
            ("memory", "--owner", "x", "forget", "a"),
            f"memory forget: {FORMER}; use thalweg memory delete --forever",
        ),
        (
            ("thread", "--owner", "history", "nonsense"),
            "thread nonsense: there is no such command; see thalweg thread --help",
        ),
        (("memory", "clear"), f"memory clear: {FORMER}; use thalweg memory delete --all"),
        (("db", "grants", "ada"), f"db grants: {FORMER}; use thalweg db status --role ROLE"),
        (("--nonsense",), "options: unrecognized arguments: --nonsense; see thalweg --help"),
    ],
)
def test_what_is_no_command_is_one_sentence(
    arguments: tuple[str, ...], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = Ended(capsys, *arguments)
    assert (ended.code, ended.out, ended.err) == (2, "", f"thalweg: {error}\n")


def test_a_command_of_an_absent_package_is_no_mistyped_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = installed_commands()
    commands.pop("serve", None)
    monkeypatch.setattr("thalweg.cli.app.installed_commands", lambda: commands)
    error = "the package of this command is not installed; docs/install.md has its name"
    assert Ended(capsys, "serve").err == f"thalweg: serve: {error}\n"


def test_without_any_package_the_help_is_printed_with_a_remedy(tmp_path: Path) -> None:
    """As from a folder of sources that was never installed."""
    source = Path(main.__code__.co_filename).parents[2]
    code = f"import sys; sys.path.insert(0, {str(source)!r}); from thalweg.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == (
        "thalweg: no commands are installed: install thalweg again, as docs/install.md says\n"
    )
    assert done.stdout.endswith("Commands:\n")


def test_the_module_is_the_command(site: Path) -> None:
    install_commands(site, "ada", GOOD % ("ada", "ada"))
    done = subprocess.run(
        [sys.executable, "-m", "thalweg", "birds", "x"],
        env={"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "ada thalweg birds x\n", "")
