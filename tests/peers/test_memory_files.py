"""Memory files, compared with the installed Deep Agents."""

# ruff: noqa: SLF001 (what peers' users reach is private there)

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langgraph.runtime import Runtime

pytest.importorskip("deepagents")

from deepagents.backends.filesystem import FilesystemBackend as TheirFolder
from deepagents.middleware import memory as theirs

from thalweg_agent.backends.filesystem import FilesystemBackend as OurFolder
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.middleware.memory import MemoryFilesMiddleware

TEMPLATE = "<<{agent_memory}>>"
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(("note\n", "<!--", "-->", " x ", "{a}", "\n\n")), max_size=9).map(
        "".join
    ),
)


@given(
    st.dictionaries(st.sampled_from(("/a", "/b", "/c", "/d")), texts),
    st.permutations(("/a", "/b", "/c")),
)
def test_files_are_written_the_same_where_all_of_them_fit(
    contents: dict[str, str], sources: list[str]
) -> None:
    """Order, paths, comments."""
    assume(not any("agent_memory" in text for text in contents.values()))
    middleware = theirs.MemoryMiddleware(backend=None, sources=sources)
    written = MemoryFilesMiddleware(backend=BackendProtocol(), sources=sources).write(
        contents, TEMPLATE
    )

    assert written == middleware._format_agent_memory(contents, TEMPLATE)


def test_the_same_files_are_read(tmp_path: Path) -> None:
    """Missing ones are skipped on both sides; a folder stops both with the same words."""
    (tmp_path / "AGENTS.md").write_text("Be brief.\n")
    (tmp_path / "folder").mkdir()
    found: list[Any] = []
    said: list[str] = []
    for side, folder in (
        (MemoryFilesMiddleware, OurFolder),
        (theirs.MemoryMiddleware, TheirFolder),
    ):
        backend: Any = folder(root_dir=tmp_path, virtual_mode=True)
        middleware: Any = side(backend=backend, sources=["/AGENTS.md", "/none.md"])
        found.append(middleware.before_agent({}, Runtime(), {})["memory_contents"])
        assert middleware.before_agent({"memory_contents": {}}, Runtime(), {}) is None
        wrong: Any = side(backend=backend, sources=["/folder"])
        with pytest.raises(ValueError, match="Failed to download") as error:
            wrong.before_agent({}, Runtime(), {})
        said.append(str(error.value))

    assert found[0] == found[1] == {"/AGENTS.md": "Be brief.\n"}
    assert said[0] == said[1]


@pytest.mark.parametrize(("template", "error_type"), [(0, TypeError), ("no slot", ValueError)])
def test_the_same_templates_are_refused(template: Any, error_type: type[Exception]) -> None:  # noqa: ANN401
    """Ours uses one sentence for memory and skills."""
    for side in (MemoryFilesMiddleware, theirs.MemoryMiddleware):
        middleware: Any = side
        with pytest.raises(error_type, match="system_prompt"):
            middleware(backend=None, sources=[], system_prompt=template)
