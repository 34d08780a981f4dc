"""Commands by argparse: options in any order, help, and errors in one sentence."""

from argparse import Namespace

import pytest

from thalweg.cli.parsing import AS_JSON, CommandGroup, argument
from thalweg.errors import ConfigError

SEE_COUNT = "see thalweg birds count --help"
group = CommandGroup(
    "Counts birds.", argument("--owner", metavar="NAME", default="local", help="Whose."), AS_JSON
)
done: list[Namespace] = []


@group.command(
    "count",
    "Count them.",
    argument("bank", metavar="BANK"),
    argument("names", metavar="NAMES", nargs="+"),
    argument("--limit", metavar="N", type=int),
)
def count(options: Namespace) -> int:
    """Count the birds of a bank."""
    done.append(options)
    return 3


@group.command("export", "Write them.", unused=("--json",))
def export(options: Namespace) -> None:
    """Write the birds."""
    done.append(options)


def parsed(*arguments: str) -> Namespace:
    """Return what a command gets."""
    return group.parse(arguments, "thalweg birds")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--owner", "ada", "--json", "count", "b1", "heron", "owl"),
        ("count", "b1", "heron", "owl", "--owner", "ada", "--json"),
        ("--owner", "bob", "count", "b1", "--json", "heron", "--owner=ada", "owl"),
    ],
)
def test_options_of_a_group_precede_or_follow_the_name_of_a_command(
    arguments: tuple[str, ...],
) -> None:
    options = parsed(*arguments)
    assert (options.bank, options.names) == ("b1", ["heron", "owl"])
    assert (options.owner, options.as_json, options.limit) == ("ada", True, None)


def test_an_option_that_is_not_given_is_the_default() -> None:
    options = parsed("count", "b1", "heron")
    assert (options.owner, options.as_json) == ("local", False)


def test_what_follows_two_dashes_is_no_option() -> None:
    options = parsed("count", "--limit", "2", "b1", "--", "--heron", "-o")
    assert (options.names, options.limit) == (["--heron", "-o"], 2)


def test_a_command_is_performed_and_its_exit_code_returned() -> None:
    assert group(["count", "b1", "owl"], prog_name="thalweg birds") == 3
    assert done.pop().names == ["owl"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("cuont",), "birds cuont: there is no such command; did you mean 'count'?"),
        (("zzz",), "birds zzz: there is no such command; see thalweg birds --help"),
        (("--lim", "1", "count"), "birds: unrecognized arguments: --lim; see thalweg birds --help"),
        (
            ("count", "b1"),
            f"birds count: the following arguments are required: NAMES; {SEE_COUNT}",
        ),
        (
            ("count", "b1", "owl", "--lim", "1"),
            "birds count: unrecognized arguments: --lim 1; see thalweg birds count --help",
        ),
        (
            ("count", "b1", "owl", "--limit"),
            "birds count: argument --limit: expected one argument; see thalweg birds count --help",
        ),
        (("--json", "export"), "--json: export has no such option; leave it out"),
        (
            ("export", "--json"),
            "birds export: unrecognized arguments: --json; see thalweg birds export --help",
        ),
    ],
)
def test_an_error_names_the_command_and_a_remedy(arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        group(arguments, prog_name="thalweg birds")
    assert str(caught.value) == sentence


def test_without_a_command_the_help_is_printed_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert group([], prog_name="thalweg birds") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.endswith("Commands:\n  count   Count them.\n  export  Write them.\n")


def test_the_help_of_a_command_has_the_options_of_its_group(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command, options in (("count", {"--owner", "--json", "--limit"}), ("export", {"--owner"})):
        with pytest.raises(SystemExit) as ended:
            group([command, "--help"], prog_name="thalweg birds")
        assert ended.value.code == 0
        words = capsys.readouterr().out.replace("]", " ").split()
        assert {word.strip("[") for word in words if word.lstrip("[").startswith("--")} - {
            "--help"
        } == options
