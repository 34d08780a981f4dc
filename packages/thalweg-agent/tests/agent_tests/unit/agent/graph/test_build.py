"""Recipes of agents and of their subagents, and what cannot be one."""

import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest
from langchain_core.tools import tool

from agent_tests.unit.agent.graph.test_layers import MODEL, Mine, MyFiles, recipe
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent
from thalweg_agent.graph.build import as_model, child, parted, with_general_purpose
from thalweg_agent.middleware.filesystem import FilesystemPermission
from thalweg_agent.tools.rights import both, rights

if TYPE_CHECKING:
    from thalweg_agent import SubAgent

OTHER = ScriptedModel(script=lambda _: "Other.")
HELPER: Any = {"name": "helper", "description": "Helps.", "system_prompt": "Help."}


@tool
def look(path: str) -> str:
    """Look at a path."""
    return path


def test_a_child_has_what_its_parent_has() -> None:
    """Model, tools, backend and rules; its prompt, skills and middleware are its own."""
    denied = rights([FilesystemPermission(operations=["write"], paths=["/a/**"], mode="deny")])
    parent = recipe(Mine(), tools=(look,), permissions=denied)
    made = child(parent, HELPER)
    assert (made.model, made.tools, made.backend) == (MODEL, (look,), parent.backend)
    assert child(parent, cast("SubAgent", {**HELPER, "model": None})).model == MODEL
    assert (made.permissions, made.context) == (denied, parent.context)
    assert (made.system_prompt, made.skills, made.memory) == ("Help.", None, None)
    assert not made.middleware
    assert not made.has_base
    assert not made.subagents


def test_a_childs_own_goes_first() -> None:
    """The values of its spec take precedence; rules and approvals are added."""
    own = [FilesystemPermission(operations=["read"], paths=["/b/**"], mode="deny")]
    spec = {
        **HELPER,
        "model": OTHER,
        "tools": [],
        "middleware": [Mine()],
        "skills": ["/mine/"],
        "permissions": own,
        "interrupt_on": {"delete": False, "execute": True},
    }
    parent = recipe(permissions=rights(own))
    made = child(parent, cast("SubAgent", spec))
    assert (made.model, made.tools, made.skills) == (OTHER, [], ["/mine/"])
    assert made.permissions == both(parent.permissions, own)
    assert set(made.interrupt_on) == {"delete", "execute"}
    assert [one.name for one in made.middleware] == ["Mine"]


@pytest.mark.parametrize("mode", ["isolated", "fork"])
def test_rules_of_a_spec_that_inherits_none_replace_its_parents(mode: str) -> None:
    denied = [FilesystemPermission(operations=["write"], paths=["/a/**"], mode="deny")]
    own = [FilesystemPermission(operations=["write"], paths=["/a/b/**"])]
    more = [FilesystemPermission(operations=["write"], paths=["/a/b/c"], mode="deny")]
    parent = recipe(MyFiles(permissions=denied), permissions=rights(denied))
    spec: Any = {**HELPER, "permissions": own, "inherit": False, "mode": mode}

    made = child(parent, spec)

    (files,) = (one for one in made.middleware if isinstance(one, MyFiles))
    assert (made.permissions, files.rights) == (rights(own), rights(own))
    (added,) = child(
        parent, cast("SubAgent", {**spec, "middleware": [MyFiles(permissions=more)]})
    ).middleware
    assert isinstance(added, MyFiles)
    assert added.rights == both(own, more)


def test_what_takes_the_place_of_ours_does_so_in_children_too() -> None:
    """A limit on the parent's file tools is none if a child has all of them."""
    made = child(recipe(Mine(), MyFiles(tools=["read_file"])), HELPER)
    (files,) = made.middleware
    assert isinstance(files, MyFiles)
    assert [each.name for each in files.tools] == ["read_file"]


def test_a_fork_goes_on_with_all_its_parent_has() -> None:
    """Its own prompt follows its parent's."""
    mine = Mine()
    made = child(recipe(mine, system_prompt="CUSTOM"), cast("SubAgent", {**HELPER, "mode": "fork"}))
    assert (made.system_prompt, made.addendum) == ("CUSTOM", "Help.")
    assert made.has_base
    assert mine in made.middleware
    assert made.memory == ["/AGENTS.md"]


def test_there_is_always_a_general_purpose_subagent() -> None:
    """One of that name replaces it; it has the parent's skills."""
    made = with_general_purpose([HELPER], ["/skills/"])
    assert [spec["name"] for spec in made] == ["general-purpose", "helper"]
    assert made[0].get("skills") == ["/skills/"]
    own: list[Any] = [{**HELPER, "name": "general-purpose"}]
    assert with_general_purpose(own, None) == own


def test_a_subagent_with_the_address_of_a_graph_runs_in_the_background() -> None:
    """It is made in addition to the others, which `task` runs."""
    remote: Any = {"name": "far", "description": "Far away.", "graph_id": "agent"}
    here, elsewhere = parted([HELPER, remote])
    assert (here, elsewhere) == ([HELPER], [remote])

    node: Any = create_deep_agent(MODEL, subagents=[HELPER, remote]).nodes["tools"].bound
    assert {"task", "start_async_task"} <= set(node.tools_by_name)
    assert "far" not in node.tools_by_name["task"].description


@pytest.mark.parametrize("name", ["nobody:nothing", "no-such-model-at-all"])
def test_a_model_that_there_is_not_is_said_to_be_so(name: str) -> None:
    """Before anything else is made."""
    with pytest.raises(ConfigError, match="model"):
        as_model(name)


def test_no_model_is_the_peers_default_with_a_warning() -> None:
    """It needs Anthropic's package."""
    pytest.importorskip("langchain_anthropic")
    with pytest.warns(DeprecationWarning, match="no model is named"):
        model = as_model(None)
    assert "claude" in str(getattr(model, "model", ""))


def test_the_name_is_imported_without_langchain() -> None:
    """Importing costs nothing until an agent is made."""
    asked = (
        "import sys; from thalweg_agent import create_deep_agent; import thalweg_agent.backends; "
        "print([m for m in ('langchain', 'langgraph', 'wcmatch', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
