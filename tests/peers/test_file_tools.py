"""The file tools answer as those of the installed Deep Agents do."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from agent_tests.unit.agent.tools.calls import Way, call
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.middleware import filesystem
from thalweg_agent.middleware.filesystem import FilesystemMiddleware
from thalweg_agent.middleware.permissions import FilesystemPermission

pytest.importorskip("deepagents")

from deepagents.backends import FilesystemBackend as PeerDisk
from deepagents.backends import LocalShellBackend as PeerShell
from deepagents.middleware import filesystem as peer_module
from deepagents.middleware.filesystem import (
    FilesystemMiddleware as PeerMiddleware,
)
from deepagents.middleware.filesystem import (
    FilesystemPermission as PeerPermission,
)

Rule = tuple[Any, Any, Any]
Call = tuple[str, dict[str, Any]]
Told = tuple[object, str, object]

FILES = {
    "a.txt": "one\ntwo\nthree\n",
    "b.md": "# Title\n\ntwo | three\n",
    "src/main.py": "import os\n\n\ndef main():\n    return os.name\n",
    "src/deep/x.py": "x = 'two'\n",
    "src/.env": "KEY=two\n",
    "empty.txt": "",
    "blank.txt": " \n\n",
    "tail.txt": "no newline at the end",
    "crlf.txt": "one\r\ntwo\r\n",
    "long.txt": "y" * 1200 + "\nshort\n",
    "dot.png": "not really\n",
}
RULES: list[Rule] = [
    (["read", "write"], ["/src/deep/**"], "deny"),
    (["write"], ["/a.txt"], "deny"),
    (["read"], ["/b.md"], "interrupt"),
]
CALLS: list[Call] = [
    ("ls", {"path": "/"}),
    ("ls", {"path": "src"}),
    ("ls", {"path": "/src/"}),
    ("ls", {"path": "/nowhere"}),
    ("ls", {"path": "/src/deep"}),
    ("ls", {"path": "../up"}),
    ("ls", {"path": "~/x"}),
    ("ls", {"path": "C:\\x"}),
    *(
        ("read_file", {"file_path": f"/{name}"})
        for name in [*FILES, "missing.txt", "src", "src/../a.txt"]
        if name not in {"empty.txt", "blank.txt"}  # theirs puts the reminder under a status line
    ),
    ("read_file", {"file_path": "/a.txt", "limit": 2}),
    ("read_file", {"file_path": "/a.txt", "offset": 1, "limit": 1}),
    ("read_file", {"file_path": "/a.txt", "offset": 3}),
    ("read_file", {"file_path": "/a.txt", "offset": 99}),
    ("read_file", {"file_path": "/a.txt", "offset": -2}),
    ("read_file", {"file_path": "a.txt", "offset": 1, "limit": 100}),
    ("write_file", {"file_path": "/new/file.txt", "content": "fresh\n"}),
    ("write_file", {"file_path": "/a.txt", "content": "over\n"}),
    ("write_file", {"file_path": "/src/deep/y.py", "content": ""}),
    ("edit_file", {"file_path": "/a.txt", "old_string": "two", "new_string": "2"}),
    ("edit_file", {"file_path": "/tail.txt", "old_string": "n", "new_string": "N"}),
    (
        "edit_file",
        {"file_path": "/tail.txt", "old_string": "n", "new_string": "N", "replace_all": True},
    ),
    ("edit_file", {"file_path": "/tail.txt", "old_string": "end\n", "new_string": "End"}),
    ("edit_file", {"file_path": "/tail.txt", "old_string": "", "new_string": "x"}),
    ("edit_file", {"file_path": "/tail.txt", "old_string": "zebra", "new_string": "x"}),
    ("edit_file", {"file_path": "/missing.txt", "old_string": "a", "new_string": "b"}),
    ("delete", {"file_path": "/a.txt"}),
    ("delete", {"file_path": "/tail.txt"}),
    ("delete", {"file_path": "/src"}),
    ("delete", {"file_path": "/missing.txt"}),
    ("delete", {"file_path": "/../x"}),
    ("glob", {"pattern": "*.txt"}),
    ("glob", {"pattern": "**/*.py"}),
    ("glob", {"pattern": "*.py", "path": "/src"}),
    ("glob", {"pattern": "/*.md"}),
    ("glob", {"pattern": ".env"}),
    ("glob", {"pattern": "*.{py,md}"}),
    ("glob", {"pattern": "*.rs"}),
    ("glob", {"pattern": "*", "path": "/src/deep"}),
    ("glob", {"pattern": "*", "path": "../up"}),
    ("grep", {"pattern": "two"}),
    ("grep", {"pattern": "two", "output_mode": "content"}),
    ("grep", {"pattern": "two", "output_mode": "count"}),
    ("grep", {"pattern": "two", "glob": "*.py"}),
    ("grep", {"pattern": "two", "path": "/src", "output_mode": "content"}),
    ("grep", {"pattern": "two", "path": "/src/deep"}),
    ("grep", {"pattern": "one|two"}),
    ("grep", {"pattern": "nothing like it"}),
    ("grep", {"pattern": "two", "path": "/a/../b"}),
    ("execute", {"command": "ls"}),
]


def filled(folder: Path) -> Path:
    """Write the files that both sides begin with."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def told(middleware: Any, name: str, args: dict[str, Any], way: Way = "invoke") -> Told:  # noqa: ANN401
    """Call a tool; return what the model and the program see, but for our mark of a denied call."""
    answer = call(middleware, name, way=way, **args)
    artifact = None if answer.artifact == {"denied": True} else answer.artifact
    return answer.content, answer.status, artifact


def sides(
    folder: Path,
    rules: Sequence[Rule] = (),
    **options: Any,  # noqa: ANN401
) -> tuple[FilesystemMiddleware, Any]:
    """Make both, each over files of its own."""
    make: Callable[..., Any] = FilesystemPermission
    ours = FilesystemMiddleware(
        backend=FilesystemBackend(filled(folder / "ours"), virtual_mode=True),
        permissions=[make(*rule) for rule in rules],
        **options,
    )
    make = PeerPermission
    theirs = PeerMiddleware(
        backend=PeerDisk(filled(folder / "theirs"), virtual_mode=True),
        permissions=[make(*rule) for rule in rules],
        **options,
    )
    return ours, theirs


@pytest.mark.parametrize("rules", [[], RULES], ids=["free", "ruled"])
@pytest.mark.parametrize(("name", "args"), CALLS, ids=lambda given: str(given)[:60])
def test_a_call_is_answered_alike(
    tmp_path: Path, name: str, args: dict[str, Any], rules: list[Rule]
) -> None:
    """With and without rules, to the letter."""
    ours, theirs = sides(tmp_path, rules)

    assert told(ours, name, args) == told(theirs, name, args)


@pytest.mark.parametrize("rules", [[], RULES], ids=["free", "ruled"])
def test_awaited_calls_are_answered_alike(tmp_path: Path, rules: list[Rule]) -> None:
    """All of them, one after the other."""
    ours, theirs = sides(tmp_path, rules)

    for asked in CALLS:
        assert told(ours, *asked, "ainvoke") == told(theirs, *asked, "ainvoke")


@settings(max_examples=25)
@given(st.lists(st.sampled_from(CALLS), min_size=2, max_size=8), st.booleans())
def test_calls_one_after_the_other_are_answered_alike(calls: list[Call], is_ruled: bool) -> None:  # noqa: FBT001
    """Each call works on the result of those before it."""
    with TemporaryDirectory() as folder:
        ours, theirs = sides(Path(folder), RULES if is_ruled else [])
        event("ruled" if is_ruled else "free")

        assert [told(ours, *c) for c in calls] == [told(theirs, *c) for c in calls]


@pytest.mark.parametrize("timeout", [None, 0, 5, -1, 4000])
@pytest.mark.parametrize("command", ["echo hello", "echo oops >&2; exit 3", "printf 'a\\nb'", ""])
def test_a_command_is_answered_alike(tmp_path: Path, command: str, timeout: int | None) -> None:
    """Both sides agree on the output, the exit, and what programs learn of them."""
    args = {"command": command} | ({} if timeout is None else {"timeout": timeout})
    ours = FilesystemMiddleware(backend=LocalShellBackend(tmp_path, virtual_mode=True))
    theirs = PeerMiddleware(backend=PeerShell(tmp_path, virtual_mode=True))

    assert told(ours, "execute", args) == told(theirs, "execute", args)


@pytest.mark.parametrize("mode", ["allow", "deny", "interrupt"])
@pytest.mark.parametrize(
    ("path", "error"),
    [("src/**", ValueError), ("/a/../b", ValueError), ("/~/x", NotImplementedError)],
)
def test_a_rule_is_refused_alike(path: str, error: type[Exception], mode: Any) -> None:  # noqa: ANN401
    """By the class of the error and the beginning of its words."""
    with pytest.raises(error) as theirs:
        PeerPermission(["read"], [path], mode)
    with pytest.raises(error, match="Permission path must") as ours:
        FilesystemPermission(["read"], [path], mode)

    assert str(ours.value).startswith(str(theirs.value))


def test_schemas_take_what_theirs_take_and_no_less() -> None:
    """By names, types and defaults; `read_file` takes two more, both optional."""

    def fields(middleware: Any) -> dict[str, dict[str, object]]:  # noqa: ANN401
        return {
            tool.name: {
                name: (field.annotation, field.is_required(), field.default)
                for name, field in tool.args_schema.model_fields.items()
            }
            for tool in middleware.tools
        }

    ours, theirs = fields(FilesystemMiddleware()), fields(PeerMiddleware())

    more = {name: ours["read_file"].pop(name) for name in ("char_offset", "char_limit")}
    assert more == {"char_offset": (int, False, 0), "char_limit": (int | None, False, None)}
    assert ours == theirs


def test_every_public_name_of_theirs_is_here() -> None:
    """Where they have it, but for schemas, descriptions and limits that no program imports."""
    theirs = {
        name
        for name, value in vars(peer_module).items()
        if not name.startswith("_")
        and (name.isupper() or getattr(value, "__module__", "") == peer_module.__name__)
    }

    of_tools = re.compile(r".*(Schema|_DESCRIPTION|_MSG|_BYTES|_MESSAGES)|DEFAULT_READ_\w+")
    missing = {name for name in theirs if not hasattr(filesystem, name)}
    assert {name for name in missing if not of_tools.fullmatch(name)} == set()
