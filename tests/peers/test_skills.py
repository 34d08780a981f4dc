"""Skills compared with installed Deep Agents: the same files, calls, templates on both sides."""

# ruff: noqa: SLF001 (what peers' users reach is private there)

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.runtime import Runtime

pytest.importorskip("deepagents")

from deepagents.backends.filesystem import FilesystemBackend as TheirFolder
from deepagents.middleware import _skill_tools as their_tools
from deepagents.middleware import skills as theirs

from thalweg.context.ready_tools import tool_name
from thalweg.testing import ScriptedModel
from thalweg_agent.backends.filesystem import FilesystemBackend as OurFolder
from thalweg_agent.middleware.skills import middleware as ours
from thalweg_agent.middleware.skills import tools as our_tools
from thalweg_agent.middleware.skills.middleware import source_label
from thalweg_agent.skills.format import SkillMetadata, parse_skill, validate_skill_name

lines = st.one_of(
    st.sampled_from(
        (
            "name: pdf",
            "name: Not Valid",
            "name: 3",
            "name:",
            "description: Fill in forms",
            "description: >\n  folded\n  text",
            f"description: {'long ' * 300}",
            "description: [a",
            "description: true",
            "license: MIT",
            "license: ''",
            "license: 2024-01-02",
            "compatibility: Python 3.11",
            f"compatibility: {'x' * 700}",
            "metadata:\n  author: Ada\n  version: 1.0",
            "metadata: text",
            "metadata: [a, b]",
            "metadata:\n  include_tools: a, b",
            "allowed-tools: Bash(git:*) Read,Write",
            "allowed-tools: [Read, 3, '  ', Write]",
            "allowed-tools: 3",
            "other: &x {a: 1}",
            "# a comment",
            "",
        )
    ),
    st.text(alphabet="ab: -'\"[]{}#\t", max_size=12),
)


def _is_known_difference(front: str, mine: SkillMetadata | None) -> bool:
    """Return whether ours is right and theirs is not: null is no text, colons may be unquoted."""
    fields = front.splitlines()
    nothing = {"name:", "description:", "license:", "compatibility:"}
    if any(line.strip() in nothing or line.rstrip().endswith((": null", ": ~")) for line in fields):
        return True
    return mine is not None and any(line.count(": ") > 1 for line in fields)


@given(st.lists(lines, max_size=7), st.sampled_from(("\n# Body\n", "\n---\nmore\n", " \n\nx")))
@example(["name: pdf", "description: Fill in forms"], "\nBody\n")
def test_front_matter_says_the_same(fields: list[str], after: str) -> None:
    """Field by field."""
    front = "\n".join(fields)
    content = f"---\n{front}\n---{after}"

    mine = parse_skill(content, "/s/pdf/SKILL.md", "pdf").skill

    if not _is_known_difference(front, mine):
        assert mine == theirs._parse_skill_metadata(content, "/s/pdf/SKILL.md", "pdf")


@given(st.text(alphabet="ab-A1é日_ ", max_size=70), st.text(alphabet="ab-", max_size=3))
def test_names_are_judged_the_same(name: str, folder: str) -> None:
    """In the same words."""
    for directory in (name, folder):
        mine = validate_skill_name(name, directory)
        assert mine == theirs._validate_skill_name(name, directory)


@given(
    st.one_of(
        st.text(alphabet="/.~ab_-\\", max_size=12),
        st.sampled_from(("/x/skills", "/built_in_skills/", "skills", "C:\\a\\skills\\")),
    ),
    st.text(max_size=5),
)
def test_sources_have_the_same_labels(path: str, label: str) -> None:
    """A label is passed or derived."""
    for source in (path, (path, label)):
        assert source_label(source) == theirs._derive_source_label(source)


def _folder(root: Path) -> None:
    for source, name, text in (
        ("base", "pdf", "name: pdf\ndescription: Base"),
        ("base", "csv", "name: csv\ndescription: Tables\nlicense: MIT"),
        ("base", "broken", "name: broken\ndescription: [x"),
        ("team", "pdf", "name: pdf\ndescription: Team"),
        ("team", "other", "name: renamed\ndescription: Odd"),
    ):
        path = root / source / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{text}\n---\n\nBody of {name}\n")
    (root / "base" / "none").mkdir()
    (root / "base" / "file.md").write_text("x")


@pytest.mark.parametrize("virtual", [True, False])
def test_the_same_skills_are_found(tmp_path: Path, *, virtual: bool) -> None:
    """Both find the skills in the same order; ours reports what could not be loaded."""
    _folder(tmp_path)
    prefix = "" if virtual else str(tmp_path)
    sources = [f"{prefix}/base/", f"{prefix}/team", f"{prefix}/nowhere"]
    theirs_found = theirs.SkillsMiddleware(
        backend=TheirFolder(root_dir=tmp_path, virtual_mode=virtual), sources=sources
    ).before_agent({"messages": []}, Runtime(), {})
    ours_found = ours.SkillsMiddleware(
        backend=OurFolder(root_dir=tmp_path, virtual_mode=virtual), sources=sources
    ).before_agent({"messages": []}, Runtime(), {})

    assert theirs_found is not None
    assert ours_found is not None
    assert ours_found["skills_metadata"] == theirs_found["skills_metadata"]
    said = [e for e in ours_found["skills_load_errors"] if "broken" not in e]
    assert len(said) == len(theirs_found["skills_load_errors"])
    assert len(ours_found["skills_load_errors"]) == len(said) + 1


@given(st.lists(st.text(max_size=40), max_size=25))
def test_a_template_of_the_user_is_filled_in_alike(errors: list[str]) -> None:
    """The pieces that a template places are the same where all skills fit."""
    skills = [
        SkillMetadata(
            path=f"/s/{n}/SKILL.md", name=n, description=f"Does {n}", license=None,
            compatibility="Linux", metadata={}, allowed_tools=["Read"],
        )
        for n in ("pdf", "csv")
    ]  # fmt: skip
    template = "L:{skills_locations}|S:{skills_list}|{skills_load_warnings}"
    texts: list[list[str]] = []
    for side in (ours, theirs):
        middleware: Any = side.SkillsMiddleware(
            backend=None,
            sources=["/a/skills", ("/b", "B")],
            system_prompt=template,
        )
        state: Any = {"messages": [], "skills_metadata": skills, "skills_load_errors": errors}
        request = ModelRequest(
            model=ScriptedModel(script=lambda _: "x"),
            messages=[HumanMessage("Hi")],
            system_message=SystemMessage("base"),
            state=state,
        )
        blocks = middleware.modify_request(request).system_message.content_blocks
        texts.append([block["text"].partition("<skill_load_warnings>")[0] for block in blocks])

    assert texts[0] == texts[1]


@tool
def greet() -> str:
    """Greet."""
    return "hello"


@tool(extras={"defer_loading": True})
def search() -> str:
    """Search."""
    return "found"


@given(
    st.lists(st.sampled_from(("greet", "search", "family", "missing")), max_size=4, unique=True),
    st.lists(
        st.tuples(
            st.sampled_from(("read_file", "ls")),
            st.sampled_from(
                ("/s/a/SKILL.md", "/s//a/./SKILL.md", "/s/b/SKILL.md", "/s/../s/a/SKILL.md", "/x")
            ),
            st.sampled_from(("success", "error")),
        ),
        max_size=4,
    ),
)
def test_the_same_reads_bring_the_same_tools_into_view(
    include: list[str], reads: list[tuple[str, str, Any]]
) -> None:
    """The same names refer to the tools when they are called."""
    skills: list[Any] = [
        {"path": f"/s/{n}/SKILL.md", "name": n, "metadata": {"include_tools": " ".join(names)}}
        for n, names in (("a", include), ("b", include[::-1]))
    ]
    messages: list[Any] = []
    for n, (name, path, status) in enumerate(reads):
        call = {"name": name, "args": {"file_path": path}, "id": f"c{n}"}
        messages += [
            AIMessage("", tool_calls=[call]),
            ToolMessage("x", tool_call_id=f"c{n}", status=status),
        ]
    resolved = {"greet": [greet], "family": [greet, search]}
    tools: list[Any] = [search]

    their_reads = their_tools._find_skill_reads(messages, skills)
    our_reads = our_tools.skills_read(messages, skills, ())
    by_path = {one["path"]: one for one in skills}
    read = [by_path[path] for path in our_reads]
    assert our_reads == list(dict.fromkeys(skill["path"] for _, skill in their_reads))
    assert our_tools.names_to_resolve(read, tools) == their_tools._unclaimed_include_names(
        their_reads, tools
    )
    mine = our_tools.disclose(read, tools, resolved)
    other = their_tools._plan_disclosure(their_reads, tools, resolved)
    assert mine.record == other.record()
    assert set(mine.deferred) == set(other.deferred)
    assert [tool_name(one) for one in mine.shown(tools)] == [
        tool_name(one) for one in their_tools._bind_disclosures(tools, other)
    ]


def test_a_pinned_skill_is_the_same_message(tmp_path: Path) -> None:
    """Text and marks."""
    _folder(tmp_path)
    messages: list[list[Any]] = []
    for side, folder in ((ours, OurFolder), (theirs, TheirFolder)):
        backend: Any = folder(root_dir=tmp_path, virtual_mode=True)
        middleware: Any = side.SkillsMiddleware(backend=backend, sources=["/base"])
        state = {"messages": [], **middleware.before_agent({"messages": []}, Runtime(), {})}
        state["pinned_skills"] = ["pdf", "none", "csv", "pdf"]
        update = middleware.before_model(state, Runtime())
        messages.append([(m.content, m.additional_kwargs) for m in update["messages"]])

    assert messages[0] == messages[1]
    assert len(messages[0]) == 2
