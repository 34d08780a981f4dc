"""Rules about paths, kept by every tool that touches or shows a path."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from langchain.tools.tool_node import ToolCallRequest

from agent_tests.unit.agent.tools.calls import WAYS, Way, call, runtime
from thalweg.errors import ConfigError
from thalweg_agent.backends.bubblewrap import BubblewrapBackend
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import BackendProtocol, GrepMatch, GrepResult
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.middleware.filesystem import FilesystemMiddleware, shell_paths
from thalweg_agent.middleware.permissions import (
    FilesystemPermission,
    Mode,
    Rights,
    both,
    interrupts,
    rights,
)
from thalweg_agent.tools import places

HIDDEN = "the word is opal"


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """Call a tool the blocking and the awaited way."""
    found: Way = request.param
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with something in it that is nobody's business."""
    root = tmp_path / "root"
    for name in ("secrets/key.txt", "secrets/.env", "secrets/deep/.hidden/key", "public/a.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(HIDDEN if "secrets" in name else "anybody's")
    (root / "link").symlink_to("secrets")
    (root / "public" / "key-link").symlink_to("../secrets/key.txt")
    return root


def deny(*paths: str) -> list[FilesystemPermission]:
    """Make a rule that denies everything."""
    return [FilesystemPermission(["read", "write"], list(paths), "deny")]


def guarded(folder: Path, permissions: list[FilesystemPermission] | Rights) -> FilesystemMiddleware:
    """Make tools over a folder, with rules."""
    backend = FilesystemBackend(folder, virtual_mode=True)
    return FilesystemMiddleware(backend=backend, permissions=permissions)


@pytest.mark.parametrize(
    "path",
    [
        "/secrets/key.txt",
        "secrets/key.txt",
        "/secrets//key.txt",
        "/./secrets/./key.txt",
        "/secrets\\key.txt",
        "/secrets/.env",
        "/secrets/deep/.hidden/key",
        "/link/key.txt",
        "/link/.env",
        "/public/key-link",
        "/public/../secrets/key.txt",
    ],
)
def test_no_name_of_a_denied_file_opens_it(folder: Path, path: str, way: Way) -> None:
    """Neither another spelling, nor a link, nor a dot before its name."""
    tools = guarded(folder, deny("/secrets/**"))
    before = {p: p.read_text() for p in folder.rglob("*") if p.is_file()}

    told = [
        call(tools, "read_file", way=way, file_path=path),
        call(tools, "write_file", way=way, file_path=path, content="mine"),
        call(tools, "edit_file", way=way, file_path=path, old_string="opal", new_string="jade"),
        call(tools, "delete", way=way, file_path=path),
    ]

    assert {answer.status for answer in told} == {"error"}
    assert not any("opal" in str(answer.content) for answer in told)
    assert {p: p.read_text() for p in folder.rglob("*") if p.is_file()} == before


def test_links_are_followed_in_a_backend_around_another(folder: Path, way: Way) -> None:
    """A backend that logs calls, for example, passes on what the inner one has."""

    class Around:
        def __init__(self, inner: BackendProtocol) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            if name == "inner":
                raise AttributeError(name)
            return getattr(self.inner, name)

    disk = FilesystemBackend(folder, virtual_mode=True)
    around: Any = Around(disk)
    routed: Any = Around(CompositeBackend(StateBackend(), {"/d/": disk}))
    inside = CompositeBackend(StateBackend(), {"/d/": around})
    for backend, at in ((around, ""), (routed, "/d"), (inside, "/d")):
        tools = FilesystemMiddleware(backend=backend, permissions=deny(f"{at}/secrets/**"))

        told = call(tools, "read_file", way=way, file_path=f"{at}/link/key.txt")

        assert told.status == "error"
        assert "denied" in str(told.content)
        assert "opal" not in str(told.content)


def test_no_listing_and_no_search_shows_a_denied_path(folder: Path, way: Way) -> None:
    """Nor what is in it, nor that it is there under another name."""
    tools = guarded(folder, deny("/secrets", "/secrets/**"))

    told = [
        call(tools, "ls", way=way, path="/"),
        call(tools, "ls", way=way, path="/public"),
        call(tools, "glob", way=way, pattern="**/*"),
        call(tools, "glob", way=way, pattern="key*"),
        call(tools, "glob", way=way, pattern="*", path="/link"),
        call(tools, "grep", way=way, pattern="opal", output_mode="content"),
        call(tools, "grep", way=way, pattern="opal", path="/link"),
        call(tools, "ls", way=way, path="/link"),
    ]

    shown = "\n".join(str(answer.content) for answer in told)
    assert "opal" not in shown
    assert "key" not in shown
    assert "/public/a.txt" in shown


@pytest.mark.parametrize("found", [5, 50])
def test_a_search_is_repeated_only_if_its_bound_ended_it(found: int, way: Way) -> None:
    """A search that time ended returns another number of hidden matches each time."""

    class Hidden(BackendProtocol):
        bounds: list[int | None] = []  # noqa: RUF012

        def grep(
            self,
            pattern: str,
            path: str | None = None,
            glob: str | None = None,
            *,
            max_count: int | None = None,
        ) -> GrepResult:
            del path, glob
            self.bounds.append(max_count)
            count = min(max_count or 0, found + len(self.bounds))
            matches = [GrepMatch(path="/a.txt", line=n, text=pattern) for n in range(count)]
            return GrepResult(matches=matches, truncated=True)

    backend = Hidden()
    backend.bounds = []
    tools = FilesystemMiddleware(backend=backend, permissions=deny("/a.txt"))
    answer = call(tools, "grep", way=way, pattern="heron", max_count=10)
    assert "stopped early" in str(answer.content)
    assert backend.bounds == ([10] if found == 5 else [10, 20, 40, 80])


def test_hidden_matches_take_no_place_of_others(folder: Path, way: Way) -> None:
    (folder / "a.txt").write_text("heron\n" * 9)
    (folder / "b.txt").write_text("heron\n" * 2)
    tools = guarded(folder, deny("/a.txt"))

    whole = call(tools, "grep", way=way, pattern="heron", max_count=2, output_mode="content")
    cut = call(tools, "grep", way=way, pattern="heron", max_count=1, output_mode="content")
    assert str(whole.content) == "/b.txt:\n  1: heron\n  2: heron"
    assert "2: heron" not in str(cut.content)
    assert "stopped early" in str(cut.content)


@pytest.mark.parametrize("target", ["/", "/secrets", "/secrets/deep", "/link", "/public"])
def test_a_folder_goes_only_if_everything_in_it_may(folder: Path, target: str, way: Way) -> None:
    """Rule order has no effect; a denied folder's own content may not be deleted, either."""
    allowing = FilesystemPermission(["write"], ["/**"], "allow")
    rules = [allowing, *deny("/secrets/deep/**", "/public/a.txt")]
    tools = guarded(folder, rules)

    told = call(tools, "delete", way=way, file_path=target)

    assert told.status == "error"
    assert (folder / "secrets/deep/.hidden/key").exists()
    assert (folder / "public/a.txt").exists()


def test_a_file_goes_by_the_first_rule_that_matches(folder: Path, way: Way) -> None:
    """There is nothing in it that another rule could protect."""
    allowing = FilesystemPermission(["write"], ["/public/a.txt"], "allow")
    tools = guarded(folder, [allowing, *deny("/public/**")])

    assert call(tools, "delete", way=way, file_path="/public/a.txt").content == (
        "Deleted /public/a.txt"
    )


def test_a_refusal_says_what_is_refused(folder: Path, way: Way) -> None:
    """In the words that programs look for."""
    tools = guarded(folder, deny("/secrets/**"))

    told = [
        call(tools, "read_file", way=way, file_path="/secrets/key.txt").content,
        call(tools, "read_file", way=way, file_path="/link/key.txt").content,
        call(tools, "delete", way=way, file_path="/secrets").content,
    ]

    assert told == [
        "Error: permission denied for read on /secrets/key.txt",
        "Error: permission denied for read on /link/key.txt (resolves to /secrets/key.txt)",
        "Error: permission denied for write on /secrets (matches deny rule(s): /secrets/**)",
    ]


def test_a_search_without_a_folder_is_told_to_name_one(folder: Path, way: Way) -> None:
    """It is judged by the top, which the rule denies."""
    tools = guarded(folder, [FilesystemPermission(["read"], ["/"], "deny")])

    told = call(tools, "glob", way=way, pattern="/public/*.txt")

    assert told.status == "error"
    assert "permission denied for read on /. Without a 'path'" in str(told.content)


def test_links_are_followed_below_a_route_too(folder: Path, tmp_path: Path, way: Way) -> None:
    """Names there are those that everybody uses."""
    disk = FilesystemBackend(folder, virtual_mode=True)
    other = FilesystemBackend(tmp_path / "other", virtual_mode=True)
    backend = CompositeBackend(default=other, routes={"/work/": disk})
    tools = FilesystemMiddleware(backend=backend, permissions=deny("/work/secrets/**"))

    told = call(tools, "read_file", way=way, file_path="/work/link/key.txt")

    assert told.content == (
        "Error: permission denied for read on /work/link/key.txt "
        "(resolves to /work/secrets/key.txt)"
    )


def test_a_medium_that_takes_one_case_for_another_is_not_outwitted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, `/SECRETS` is the folder that the rule denies."""
    monkeypatch.setattr(places, "_folds", lambda _folder: True)
    tools = guarded(folder, deny("/Secrets/**", "/caf\u00e9/**"))

    backend = FilesystemBackend(folder, virtual_mode=True)
    when = interrupts(ASK, backend)

    assert when["ls"]["when"](request("ls", path="/SECRETS"))
    assert when["read_file"]["when"](request("read_file", file_path="/Secrets/Key"))
    for path in ("/secrets/key.txt", "/SECRETS/KEY.TXT", "/cafe\u0301/menu"):
        told = call(tools, "read_file", file_path=path)
        assert "permission denied" in str(told.content)
    assert call(tools, "read_file", file_path="/public/a.txt").status == "success"


def test_a_child_keeps_its_parents_rules(folder: Path) -> None:
    """Its own come on top; a rule that allows takes nothing back."""
    parent = guarded(folder, deny("/secrets/**"))
    child = parent.with_permissions(
        both(
            parent.rights,
            [*deny("/public/**"), FilesystemPermission(["read", "write"], ["/**"], "allow")],
        )
    )

    assert call(child, "read_file", file_path="/secrets/key.txt").status == "error"
    assert call(child, "read_file", file_path="/public/a.txt").status == "error"
    assert call(parent, "read_file", file_path="/public/a.txt").status == "success"


names = st.sampled_from(
    ["secrets", "public", "link", "key.txt", ".env", "a.txt", "..", ".", "", "~"]
)
spellings = st.tuples(
    st.lists(names, min_size=1, max_size=5), st.sampled_from(["/", "//", "\\", "/./"])
).map(lambda drawn: drawn[1].join(drawn[0]))


@given(st.sampled_from(["", "/"]), spellings, st.sampled_from(["read_file", "grep", "ls", "glob"]))
def test_no_spelling_of_a_path_shows_what_is_denied(
    tmp_path_factory: pytest.TempPathFactory, start: str, spelled: str, tool: str
) -> None:
    """This holds for any path that a model makes up."""
    root = tmp_path_factory.getbasetemp() / "spelled"
    if not root.exists():
        for name in ("secrets/key.txt", "secrets/.env", "public/a.txt"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(HIDDEN if "secrets" in name else "anybody's")
        (root / "link").symlink_to("secrets")
    tools = guarded(root, deny("/secrets", "/secrets/**"))
    path = start + spelled
    args: dict[str, dict[str, Any]] = {
        "read_file": {"file_path": path},
        "grep": {"pattern": "opal", "path": path, "output_mode": "content"},
        "ls": {"path": path},
        "glob": {"pattern": "*key*", "path": path},
    }

    told = call(tools, tool, **args[tool])

    event(f"{tool}: {told.status}")
    assert "opal" not in str(told.content)
    assert told.status == "error" or "key.txt" not in str(told.content)


@pytest.mark.parametrize("mode", ["allow", "deny"])
def test_rules_and_a_shell_do_not_go_together(tmp_path: Path, mode: Mode) -> None:
    """A command could touch what they deny; rules about backends out of its reach are fine."""
    shell = LocalShellBackend(tmp_path, virtual_mode=True)
    disk = FilesystemBackend(tmp_path, virtual_mode=True)
    routed = CompositeBackend(default=shell, routes={"/memories/": StateBackend()})
    on_disk = CompositeBackend(default=shell, routes={"/memories/": disk})
    deep = CompositeBackend(StateBackend(), {"/deep/": disk})
    on_disk_below = CompositeBackend(default=shell, routes={"/memories/": deep})
    inside = [FilesystemPermission(["write"], ["/memories/**"], mode)]
    outside = [FilesystemPermission(["write"], ["/**"], mode)]

    refused_pairs = (
        (shell, inside),
        (routed, outside),
        (on_disk, inside),
        (on_disk_below, inside),
    )
    for backend, rules in refused_pairs:
        with pytest.raises(NotImplementedError, match="execute") as refused:
            FilesystemMiddleware(backend=backend, permissions=rules)
        assert isinstance(refused.value, ConfigError)
    assert FilesystemMiddleware(backend=routed, permissions=inside).rights


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_rules_hold_below_folders_that_a_sandbox_does_not_show(tmp_path: Path) -> None:
    """Folders in it, around it, and below its read-only mounts are refused."""
    for name in ("work/in", "other/in", "docs"):
        (tmp_path / name).mkdir(parents=True)
    shell = BubblewrapBackend(tmp_path / "work", read_only=[tmp_path / "docs"])
    rules = [FilesystemPermission(["write"], ["/memories/**"], "deny")]

    def routed(folder: Path, *, virtual_mode: bool = True) -> CompositeBackend:
        disk = FilesystemBackend(folder, virtual_mode=virtual_mode)
        return CompositeBackend(shell, {"/memories/": disk})

    apart = routed(tmp_path / "other")
    assert FilesystemMiddleware(backend=apart, permissions=rules).rights
    assert "\n- `/memories/`\n" in f"{shell_paths(apart)}\n"
    for backend, path in (
        (routed(tmp_path / "work" / "in"), "/workspace/in/"),
        (routed(tmp_path / "docs"), f"{tmp_path}/docs/"),
        (routed(Path("/usr/bin")), "/usr/bin/"),
        (routed(tmp_path), None),
        (routed(tmp_path / "other", virtual_mode=False), None),
    ):
        with pytest.raises(NotImplementedError, match="execute"):
            FilesystemMiddleware(backend=backend, permissions=rules)
        line = f"- `/memories/` -> `{path}`" if path else "\n- `/memories/`"
        assert line in shell_paths(backend)


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ((["read"], ["src/**"]), ValueError, "Permission path must start with '/'"),
        ((["read"], ["/a/**", "/b/../c"]), ValueError, "must not contain '..'"),
        ((["read"], ["/a\\..\\b"]), ValueError, "must not contain '..'"),
        ((["read"], ["/~/a"]), NotImplementedError, "must not contain '~'"),
        ((["execute"], ["/a"]), ValueError, "there is no such operation"),
        ((["read"], ["/a"], "denied"), ValueError, "there is no such mode"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(
    args: tuple[Any, ...], error: type[Exception], words: str
) -> None:
    """When it is made: a mistyped mode would allow what it should deny."""
    with pytest.raises(error, match=words.replace("..", r"\.\.")):
        FilesystemPermission(*args)


def request(name: str, **args: object) -> ToolCallRequest:
    """Make a request to call a tool."""
    asked: Any = {"id": "1", "name": name, "args": args, "type": "tool_call"}
    return ToolCallRequest(tool_call=asked, tool=None, state={}, runtime=runtime())


def waiting(permissions: list[FilesystemPermission] | Rights, name: str, **args: object) -> bool:
    """Return whether a call waits for a human."""
    asked = interrupts(permissions)
    return name in asked and asked[name]["when"](request(name, **args))


ASK = [FilesystemPermission(["read"], ["/secrets/**"], "interrupt")]


def test_only_tools_that_a_rule_could_stop_wait() -> None:
    """Every decision is open to the person who is asked."""
    writing = [FilesystemPermission(["write"], ["/secrets/**"], "interrupt")]

    assert set(interrupts(ASK)) == {"ls", "read_file", "glob", "grep"}
    assert set(interrupts(writing)) == {"write_file", "edit_file", "delete"}
    assert interrupts(deny("/a")) == interrupts([]) == {}
    assert interrupts(ASK)["ls"]["allowed_decisions"] == ["approve", "edit", "reject", "respond"]


@pytest.mark.parametrize(
    ("path", "waits"),
    [
        ("/secrets/key", True),
        ("/secrets/.env", True),
        ("/public/a", False),
        ("/secrets", False),
        ("/../x", False),
        (None, False),
    ],
)
def test_a_call_for_one_path_waits_if_a_rule_matches_it(path: str | None, *, waits: bool) -> None:
    """A path that cannot be one is refused by the tool."""
    assert waiting(ASK, "read_file", file_path=path) is waits


@pytest.mark.parametrize(
    ("args", "waits"),
    [
        ({}, True),
        ({"path": None}, True),
        ({"path": ""}, True),
        ({"path": "."}, True),
        ({"path": "/"}, True),
        ({"path": "/secrets"}, True),
        ({"path": "/secrets/sub"}, True),
        ({"path": "/secret"}, False),
        ({"path": "/public"}, False),
        ({"path": "/public", "pattern": "*.txt"}, False),
        ({"path": "/public", "pattern": "/secrets/*"}, True),
        ({"path": "/public", "pattern": "/**/key"}, True),
        ({"path": "/public", "pattern": "../secrets/*"}, True),
    ],
)
def test_a_search_waits_if_it_could_show_what_waits(args: dict[str, Any], *, waits: bool) -> None:
    """Or could lead anywhere."""
    assert waiting(ASK, "glob", **args) is waits


def test_a_call_that_is_denied_does_not_wait() -> None:
    """Its tool refuses it; and of two layers either can ask or deny."""
    denied = [*deny("/secrets/**"), *ASK]

    assert not waiting(denied, "read_file", file_path="/secrets/key")
    assert not waiting(both(ASK, deny("/secrets/**")), "read_file", file_path="/secrets/key")
    assert waiting(both([], ASK), "read_file", file_path="/secrets/key")
    assert waiting(both(ASK, []), "ls", path="/secrets")


def test_a_link_to_what_waits_waits(folder: Path) -> None:
    """It waits under any name by which it is requested."""
    backend: BackendProtocol = FilesystemBackend(folder, virtual_mode=True)
    when = interrupts(ASK, backend)
    read, listed = (when[name]["when"] for name in ("read_file", "ls"))

    assert read(request("read_file", file_path="/link/key.txt"))
    assert listed(request("ls", path="/link"))
    assert not read(request("read_file", file_path="/public/a.txt"))


def test_rules_are_kept_as_they_were_given() -> None:
    """They are for anyone who inspects what an agent may do."""
    middleware = FilesystemMiddleware(permissions=ASK)

    assert middleware._permissions == ASK  # noqa: SLF001  # programs look there
    assert rights(middleware.rights) is middleware.rights
    assert list(middleware.rights) == ASK


@pytest.mark.parametrize("pattern", ["/caf\u00e9/**", "/cafe\u0301/**"])
@pytest.mark.parametrize("path", ["/caf\u00e9/a.txt", "/cafe\u0301/a.txt"])
def test_a_rule_is_about_letters_in_either_form(pattern: str, path: str) -> None:
    """A rule is typed with one character for `é`, and a Mac writes names with two."""
    rules = rights(deny(pattern))
    assert rules.verdict("read", path) == "deny"
    assert rules.forbidding(path, is_folder=False) == [pattern]
    assert rules.forbidding(path.rpartition("/")[0]) == [pattern]
