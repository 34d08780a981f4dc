# ruff: noqa: D102, ARG002 (methods of a backend, documented in the protocol)
"""A backend of another package is recognized by its methods."""

import copy
from types import SimpleNamespace

import anyio
import pytest

from thalweg_agent.backends import CompositeBackend, StateBackend
from thalweg_agent.backends.calls.foreign import BackendKindError, ForeignSandbox, as_backend
from thalweg_agent.backends.concurrency.shared import shared
from thalweg_agent.backends.protocol import GlobResult, ReadResult, SandboxBackendProtocol
from thalweg_agent.middleware.filesystem import FilesystemMiddleware


class OneFile:
    """A backend that subclasses nothing and takes options by keyword only."""

    def ls(self, path: str) -> SimpleNamespace:
        return SimpleNamespace(error=None, entries=[{"path": f"{path}a.txt"}])

    def read(self, path: str, *, offset: int = 0, limit: int = 10) -> SimpleNamespace:
        data = {"content": f"{offset} {limit}", "encoding": "utf-8"}
        return SimpleNamespace(error=None, file_data=data, a_new_field=1)

    def write(self, path: str, content: str) -> SimpleNamespace:
        return SimpleNamespace(error=None, path=path)

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> SimpleNamespace:
        return SimpleNamespace(error=None, path=path, occurrences=int(replace_all))

    def glob(self, pattern: str, *, path: str = "/home") -> SimpleNamespace:
        return SimpleNamespace(error=None, matches=[{"path": path}])

    def grep(
        self, pattern: str, *, path: str | None = None, glob: str | None = None
    ) -> SimpleNamespace:
        return SimpleNamespace(error=None, matches=[])

    async def als(self, path: str) -> SimpleNamespace:
        return self.ls(path)

    async def aread(self, path: str, *, offset: int = 0, limit: int = 10) -> SimpleNamespace:
        return self.read(path, offset=offset, limit=limit)

    async def awrite(self, path: str, content: str) -> SimpleNamespace:
        return self.write(path, content)

    async def aedit(
        self, path: str, old: str, new: str, *, replace_all: bool = False
    ) -> SimpleNamespace:
        return self.edit(path, old, new, replace_all=replace_all)

    async def aglob(self, pattern: str, *, path: str = "/home") -> SimpleNamespace:
        return self.glob(pattern, path=path)

    async def agrep(
        self, pattern: str, *, path: str | None = None, glob: str | None = None
    ) -> SimpleNamespace:
        return self.grep(pattern, path=path, glob=glob)


class OneShell(OneFile):
    """The same with a shell whose commands take no timeout."""

    id = "one"

    def execute(self, command: str) -> SimpleNamespace:
        return SimpleNamespace(output=command, exit_code=0)

    async def aexecute(self, command: str) -> SimpleNamespace:
        return self.execute(command)


def test_results_become_those_of_this_package() -> None:
    """By their attributes; one that this package does not know is dropped."""
    backend = as_backend(OneFile())

    read = backend.read("/a.txt", 3, 4)
    assert isinstance(read, ReadResult)
    assert read.file_data == {"content": "3 4", "encoding": "utf-8"}
    assert backend.edit("/a.txt", "a", "b", True).occurrences == 1  # noqa: FBT003
    assert backend.grep("x", "/", max_count=3).matches == []


def test_awaited_calls_give_the_same() -> None:
    backend = as_backend(OneShell())

    async def ask() -> tuple[object, ...]:
        return (
            await backend.als("/"),
            await backend.aread("/a.txt", 3, 4),
            await backend.awrite("/a.txt", "x"),
            await backend.aedit("/a.txt", "a", "b"),
            await backend.aglob("*"),
            await backend.agrep("x"),
        )

    assert anyio.run(ask) == (
        backend.ls("/"),
        backend.read("/a.txt", 3, 4),
        backend.write("/a.txt", "x"),
        backend.edit("/a.txt", "a", "b"),
        backend.glob("*"),
        backend.grep("x"),
    )


def test_a_search_without_a_path_uses_the_default_of_the_backend() -> None:
    assert as_backend(OneFile()).glob("*") == GlobResult(matches=[{"path": "/home"}])


def test_a_shell_makes_it_a_sandbox() -> None:
    sandbox = as_backend(OneShell())

    assert isinstance(sandbox, SandboxBackendProtocol)
    assert sandbox.id == "one"
    assert sandbox.execute("date", timeout=3).output == "date"
    assert not isinstance(as_backend(OneFile()), SandboxBackendProtocol)


def test_a_composite_of_another_package_runs_commands_in_its_default() -> None:
    class Composite(OneShell):
        id = property(lambda self: self.default.id)

        def __init__(self, default: object) -> None:
            self.default = default

    assert as_backend(Composite(OneShell())).execute("ls").output == "ls"  # type: ignore[attr-defined]
    assert not isinstance(as_backend(Composite(OneFile())), SandboxBackendProtocol)


def test_a_route_may_be_of_another_package() -> None:
    both = CompositeBackend(default=OneShell(), routes={"/m/": OneFile()})  # type: ignore[arg-type,dict-item]

    assert isinstance(both.default, ForeignSandbox)
    assert both.execute("date").output == "date"
    assert [entry["path"] for entry in both.ls("/m/").entries or ()] == ["/m/a.txt"]


def test_what_it_does_not_have_is_not_implemented() -> None:
    with pytest.raises(NotImplementedError, match="OneFile has no method delete"):
        as_backend(OneFile()).delete("/a.txt")


def test_a_result_of_another_kind_is_an_error() -> None:
    class Wrong(OneFile):
        def ls(self, path: str) -> list[str]:  # type: ignore[override]
            return [path]

    with pytest.raises(TypeError, match="returned list, not LsResult"):
        as_backend(Wrong()).ls("/")


@pytest.mark.parametrize("given", [StateBackend, lambda _runtime: StateBackend()])
def test_a_class_or_a_factory_is_no_backend(given: object) -> None:
    with pytest.raises(BackendKindError, match="factories were removed"):
        FilesystemMiddleware(backend=given)  # type: ignore[arg-type]


def test_an_object_without_the_methods_is_named_with_what_it_lacks() -> None:
    class Half:
        ls = als = print

    with pytest.raises(BackendKindError, match="Half has no read, write, edit, glob, grep"):
        as_backend(Half())


def test_a_shared_backend_can_be_copied() -> None:
    backend = StateBackend()
    assert copy.copy(shared(backend)).backend is backend
