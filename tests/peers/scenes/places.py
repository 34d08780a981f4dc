"""Backends by themselves, and several as one tree."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore

from tests.peers.scenes.stage import invoke, of, scene
from thalweg.testing import ScriptedModel


@scene
def backends_by_themselves(package: str, folder: Path) -> Any:  # noqa: ANN401
    """The same calls on three backends, outside of any agent."""
    disk = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    kept_in = of(package, "backends:StoreBackend")(
        store=InMemoryStore(), namespace=lambda _: ("files",)
    )
    return [_asked(disk, "/d"), _asked(kept_in, "/s")]


@scene
def a_routed_backend(package: str, folder: Path) -> Any:  # noqa: ANN401
    """The same calls on a tree of two backends."""
    disk = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    kept_in = of(package, "backends:StoreBackend")(
        store=InMemoryStore(), namespace=lambda _: ("files",)
    )
    both = of(package, "backends:CompositeBackend")(default=disk, routes={"/kept/": kept_in})
    said = [_asked(both, "/kept"), _asked(both, "/e")]
    for root, method in (("/", "grep"), ("/", "glob"), ("/kept", "glob")):
        found = getattr(both, method)("e" if method == "grep" else "**/*.md", root)
        said.append(sorted(match["path"] for match in found.matches or []))
    return _without_routes(said)


def _without_routes(value: Any) -> Any:  # noqa: ANN401
    """Remove the prefix of a routed path: in errors theirs names it without its route."""
    if isinstance(value, str):
        return value.replace("'/kept/", "'/")
    if isinstance(value, dict):
        return {key: _without_routes(each) for key, each in value.items()}
    return [_without_routes(each) for each in value] if isinstance(value, list) else value


def _asked(backend: Any, root: str) -> list[Any]:  # noqa: ANN401
    said = [
        backend.write(f"{root}/a.txt", "one\ntwo\n"),
        backend.write(f"{root}/b/c.md", "three\n"),
        backend.edit(f"{root}/a.txt", "two", "2"),
        backend.edit(f"{root}/a.txt", "nothing", "2"),
        backend.read(f"{root}/a.txt"),
        backend.read(f"{root}/a.txt", offset=1, limit=1),
        backend.read(f"{root}/none.txt"),
        backend.grep("one", root),
        backend.grep("e", root, glob="*.md"),
        backend.glob("**/*.md", root),
        backend.delete(f"{root}/a.txt"),
        backend.delete(f"{root}/a.txt"),
        backend.upload_files([(f"{root}/up.bin", b"\x00\x01")]),
        backend.download_files([f"{root}/up.bin", f"{root}/none.bin"]),
        sorted(entry["path"] for entry in backend.ls(root).entries or []),
    ]
    return [_plain(value) for value in said]


LEFT_OUT = {"modified_at", "created_at", "skipped"}


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Write a result as plain values, without times and without `skipped`, which ours alone has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k not in LEFT_OUT}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


@scene
def a_shell_beside_other_folders(package: str, folder: Path) -> Any:  # noqa: ANN401
    """The system prompt names the folder where the shell finds what a route shows elsewhere."""
    prompts: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        prompts.append("\n".join(m.text for m in messages if m.type == "system"))
        return "Done."

    there = folder / "there"
    there.mkdir()
    disk = of(package, "backends:FilesystemBackend")(root_dir=there, virtual_mode=True)
    shell = of(package, "backends:LocalShellBackend")(root_dir=folder, virtual_mode=True)
    both = of(package, "backends:CompositeBackend")(default=shell, routes={"/common/": disk})
    for backend in (both, shell):
        agent = of(package, ":create_deep_agent")(
            model=ScriptedModel(script=script), backend=backend
        )
        invoke(agent, {"messages": "Go."})
    return [(str(there) in prompt, "/common/" in prompt) for prompt in prompts]
