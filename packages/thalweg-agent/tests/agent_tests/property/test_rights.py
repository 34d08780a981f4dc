"""A law of rights: under any spec, the child may do no more than its parent."""

from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware

from agent_tests.property.test_approvals import TOOLS, approvals, asks, sizes
from thalweg.context.middleware import ContextMiddleware
from thalweg.testing import ScriptedModel
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.graph.build import Recipe, child, stack
from thalweg_agent.middleware.approval import Approvals, approvals_of
from thalweg_agent.middleware.filesystem import FilesystemMiddleware
from thalweg_agent.tools.rights import FilesystemPermission, Mode, Rights, rights

Middleware = AgentMiddleware[Any, Any, Any]
STRICTNESS: dict[Mode, int] = {"allow": 0, "interrupt": 1, "deny": 2}
PATTERNS = ("/**", "/etc/**", "/etc/*", "/work/{a,b}", "/work/**/key*", "/work/a")
PATHS = ("/etc/passwd", "/etc/deep/er", "/work/a", "/work/b", "/work/x/key.txt", "/elsewhere")
MODEL = ScriptedModel(script=lambda _: "ok")
BACKEND = StateBackend()


@st.composite
def permissions(draw: st.DrawFn) -> list[FilesystemPermission]:
    """Draw rules about paths."""
    kinds: tuple[Mode, ...] = ("allow", "deny", "interrupt")
    operations: Any = st.lists(st.sampled_from(["read", "write"]), min_size=1, unique=True)
    return [
        FilesystemPermission(
            draw(operations),
            draw(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2)),
            draw(st.sampled_from(kinds)),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]


@st.composite
def stacks(draw: st.DrawFn) -> list[Middleware]:
    """Draw middleware of a user's that takes the place of ours, rights and all."""
    made: list[Middleware] = []
    if draw(st.booleans()):
        made.append(FilesystemMiddleware(backend=BACKEND, permissions=draw(permissions())))
    if draw(st.booleans()):
        made.append(HumanInTheLoopMiddleware(dict(draw(approvals))))
    return made


@pytest.fixture(scope="module")
def context() -> ContextMiddleware:
    """Share the engine, as an agent does with its subagents."""
    return ContextMiddleware(archive=":memory:")


def recipe(
    context: ContextMiddleware, allowed: Rights, asked: Approvals, middleware: list[Middleware]
) -> Recipe:
    """Make the recipe of an agent."""
    return Recipe(
        model=MODEL,
        tools=(),
        system_prompt=None,
        middleware=middleware,
        subagents=(),
        skills=None,
        memory=None,
        permissions=allowed,
        backend=BACKEND,
        interrupt_on=asked,
        state_schema=None,
        context=context,
    )


def verdict(made: list[Middleware], operation: Any, path: str) -> int:  # noqa: ANN401
    """Return how strict the file tools of an agent are about a path."""
    (files,) = (one for one in made if isinstance(one, FilesystemMiddleware))
    return STRICTNESS[files.rights.verdict(operation, path)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_spec_widens_what_its_parent_may(
    context: ContextMiddleware, data: st.DataObject
) -> None:
    """For every path, operation, tool and call; and for the child of a child."""
    parent = recipe(
        context,
        rights(data.draw(permissions())),
        data.draw(approvals),
        data.draw(stacks()),
    )
    operation: Any = data.draw(st.sampled_from(["read", "write"]))
    path, name, size = (
        data.draw(st.sampled_from(PATHS)),
        data.draw(st.sampled_from(TOOLS)),
        data.draw(sizes),
    )
    above = stack(parent)
    for _ in range(2):
        spec: Any = {
            "name": "child",
            "description": "Works.",
            "system_prompt": "Work.",
            "permissions": data.draw(permissions()),
            "interrupt_on": data.draw(approvals),
            "middleware": data.draw(stacks()),
            "mode": data.draw(st.sampled_from(["isolated", "fork"])),
        }
        parent = child(parent, spec)
        below = stack(parent)
        was, now = verdict(above, operation, path), verdict(below, operation, path)
        event(f"{was} -> {now}")
        assert now >= was
        assert asks(approvals_of(None, below), name, size) >= asks(
            approvals_of(None, above), name, size
        )
        above = below
