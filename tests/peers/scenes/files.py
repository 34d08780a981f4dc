"""What agents do with files."""

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from tests.peers.scenes.stage import (
    IS_ASYNC,
    PIXEL,
    TREE,
    call,
    invoke,
    of,
    play,
    ran,
    scene,
    told,
    tools,
)


@scene
def lists(package: str, _: Path) -> Any:  # noqa: ANN401
    """Look at folders, one of which is not there."""
    return tools(
        package, call("ls", path="/"), call("ls", path="/app"), call("ls", path="/none"), files=TREE
    )


@scene
def reads(package: str, _: Path) -> Any:  # noqa: ANN401
    """Read whole, in parts, past the end, and what is not there."""
    return tools(
        package,
        call("read_file", file_path="/notes.txt"),
        call("read_file", file_path="/notes.txt", offset=1, limit=1),
        call("read_file", file_path="/notes.txt", offset=9),
        call("read_file", file_path="/none.txt"),
        call("read_file", file_path="../notes.txt"),
        call("read_file", file_path="/empty.txt"),
        files={**TREE, "/empty.txt": ""},
    )


@scene
def writes(package: str, _: Path) -> Any:  # noqa: ANN401
    """Write a new file, write it again, and outside."""
    return tools(
        package,
        call("write_file", file_path="/new.txt", content="a\n"),
        call("write_file", file_path="/new.txt", content="b\n"),
        call("write_file", file_path="/../up.txt", content="b\n"),
        call("write_file", file_path="~/home.txt", content="b\n"),
        call("read_file", file_path="/new.txt"),
    )


@scene
def edits(package: str, _: Path) -> Any:  # noqa: ANN401
    """Edit what is there once, often, never."""
    return tools(
        package,
        call("edit_file", file_path="/notes.txt", old_string="two", new_string="2"),
        call("edit_file", file_path="/notes.txt", old_string="four", new_string="4"),
        call("edit_file", file_path="/notes.txt", old_string="e", new_string="E"),
        call("edit_file", file_path="/notes.txt", old_string="e", new_string="E", replace_all=True),
        call("edit_file", file_path="/none.txt", old_string="a", new_string="b"),
        files=TREE,
    )


@scene
def deletes(package: str, _: Path) -> Any:  # noqa: ANN401
    """Delete a file, and one that is not there."""
    return tools(
        package,
        call("delete", file_path="/notes.txt"),
        call("delete", file_path="/notes.txt"),
        call("ls", path="/"),
        files=TREE,
    )


@scene
def searches(package: str, _: Path) -> Any:  # noqa: ANN401
    """Search by name and by text, in all ways."""
    return tools(
        package,
        call("glob", pattern="**/*.py"),
        call("glob", pattern="*.md", path="/app"),
        call("glob", pattern="nothing/*"),
        call("grep", pattern="one"),
        call("grep", pattern="one", output_mode="content"),
        call("grep", pattern="one", output_mode="count"),
        call("grep", pattern="one", glob="*.py", output_mode="content"),
        call("grep", pattern="one", path="/app"),
        call("grep", pattern="(", output_mode="content"),
        call("grep", pattern="nothing here"),
        files=TREE,
    )


@scene
def has_no_shell(package: str, _: Path) -> Any:  # noqa: ANN401
    """Ask for a shell where there is none."""
    return tools(package, call("execute", command="ls"), files=TREE)


@scene
def runs_commands(package: str, folder: Path) -> Any:  # noqa: ANN401
    """Run commands that print something, fail, and print something on the other channel."""
    backend = of(package, "backends:LocalShellBackend")(root_dir=folder, virtual_mode=True)
    return tools(
        package,
        call("execute", command="echo one; echo two"),
        call("execute", command="echo oops >&2; exit 3"),
        call("execute", command="true"),
        call("execute", command="pwd | tail -c 1", timeout=5),
        call("execute", command="sleep 5", timeout=1),
        backend=backend,
    )


@scene
def works_on_the_disk(package: str, folder: Path) -> Any:  # noqa: ANN401
    """Read and write files in a folder, and try to read outside of it."""
    (folder / "a.txt").write_text("a\n", encoding="utf-8")
    (folder / "pixel.png").write_bytes(PIXEL)
    backend = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    said = tools(
        package,
        call("read_file", file_path="/a.txt"),
        call("write_file", file_path="/b/c.txt", content="c\n"),
        call("edit_file", file_path="/a.txt", old_string="a", new_string="A"),
        call("read_file", file_path="/../../etc/passwd"),
        call("read_file", file_path="/pixel.png"),
        call("glob", pattern="**/*"),
        backend=backend,
    )
    texts = [(p.name, p.read_text()) for p in sorted(folder.rglob("*.txt"))]
    return said, texts


@scene
def odd_texts(package: str, folder: Path) -> Any:  # noqa: ANN401
    """No last line end, other alphabets, more lines than a page."""
    (folder / "many.txt").write_text("".join(f"line {n}\n" for n in range(250)), encoding="utf-8")
    backend = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    return tools(
        package,
        call("write_file", file_path="/中文.txt", content="你好"),
        call("read_file", file_path="/中文.txt"),
        call("read_file", file_path="/many.txt"),
        call("read_file", file_path="/many.txt", offset=240),
        call("grep", pattern="line 24", output_mode="count"),
        backend=backend,
    )


@scene
def line_ends_of_windows(package: str, folder: Path) -> Any:  # noqa: ANN401
    """A file with CRLF is read, found and edited as one without."""
    (folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    backend = of(package, "backends:FilesystemBackend")(root_dir=folder, virtual_mode=True)
    said = tools(
        package,
        call("read_file", file_path="/crlf.txt"),
        call("edit_file", file_path="/crlf.txt", old_string="one\ntwo", new_string="1\n2"),
        backend=backend,
    )
    return said, (folder / "crlf.txt").read_bytes()


@scene
def files_of_an_older_kind(package: str, _: Path) -> Any:  # noqa: ANN401
    """Content as a list of lines, as earlier versions kept it."""
    old = {"content": ["one", "two"], "created_at": "2024", "modified_at": "2024"}
    agent = of(package, ":create_deep_agent")(
        model=play(call("read_file", file_path="/old.txt"), "Done.")
    )
    result = invoke(agent, {"messages": "Go.", "files": {"/old.txt": old}})
    return told(result["messages"])


@scene
def a_tool_that_works_on_the_backend(package: str, _: Path) -> Any:  # noqa: ANN401
    """The agent's backend in the hands of a tool of one's own, within a run."""
    backend = of(package, "backends:StateBackend")()

    @tool
    def tidy(path: str) -> str:
        """Tidy up."""
        backend.write("/log.txt", f"deleted {path}\n")
        return str(backend.delete(path).error) + str(backend.read("/log.txt").file_data["content"])

    @tool
    async def atidy(path: str) -> str:
        """Tidy up."""
        return str((await backend.adelete(path)).error)

    own = [atidy] if IS_ASYNC.get() else [tidy]
    said = tools(
        package,
        call(own[0].name, path="/notes.txt"),
        call(own[0].name, "c2", path="/none.txt"),
        files=TREE,
        backend=backend,
        tools=own,
    )
    return said[0], sorted(said[1])


@scene
def remembers_across_threads(package: str, _: Path) -> Any:  # noqa: ANN401
    """`/memories/` outlives a thread, other files do not."""
    backends = {
        n: of(package, f"backends:{n}")
        for n in ("CompositeBackend", "StateBackend", "StoreBackend")
    }
    agent = of(package, ":create_deep_agent")(
        model=play(
            call("write_file", file_path="/memories/a.txt", content="a\n"),
            call("write_file", file_path="/b.txt", content="b\n"),
            call("ls", path="/"),
            "One.",
            call("ls", path="/"),
            call("read_file", file_path="/memories/a.txt"),
            call("grep", pattern="a"),
            "Two.",
        ),
        backend=backends["CompositeBackend"](
            default=backends["StateBackend"](),
            routes={"/memories/": backends["StoreBackend"](namespace=lambda _: ("me",))},
        ),
        store=InMemoryStore(),
        checkpointer=InMemorySaver(),
    )
    return [
        ran(agent, {"messages": f"Go {k}."}, {"configurable": {"thread_id": str(k)}})
        for k in range(2)
    ]


@scene
def only_some_tools(package: str, _: Path) -> Any:  # noqa: ANN401
    """File tools that are not listed are not there."""
    files = of(package, "middleware.filesystem:FilesystemMiddleware")
    agent = of(package, ":create_deep_agent")(
        model=play(call("write_file", file_path="/a.txt", content="a\n"), "Done."),
        middleware=[files(tools=["ls", "read_file"])],
    )
    names = set(agent.nodes["tools"].bound.tools_by_name)
    return sorted(names & {"ls", "read_file", "write_file", "edit_file", "glob", "grep", "delete"})


@scene
def in_a_plain_agent(package: str, _: Path) -> Any:  # noqa: ANN401
    """The middleware by itself, in an agent of LangChain."""
    files = of(package, "middleware.filesystem:FilesystemMiddleware")
    agent = create_agent(
        play(call("write_file", file_path="/a.txt", content="a\n"), call("ls", path="/"), "Done."),
        middleware=[files()],
    )
    return ran(agent)
