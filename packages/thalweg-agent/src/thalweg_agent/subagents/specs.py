"""Specifications of subagents, validated before any run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware
from langchain.agents.structured_output import ResponseFormat
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from typing_extensions import TypedDict

from thalweg.engine.sections import name_remedy
from thalweg.errors import SpecError
from thalweg_agent.subagents.limits import SubagentLimits


class SubAgent(TypedDict):
    """A subagent to build: what `create_agent` needs, as a dictionary.

    Example:
        >>> from thalweg_agent.middleware.subagents.middleware import SubAgent
        >>> reader: SubAgent = {
        ...     "name": "reader",
        ...     "description": "Reads long files and reports what matters.",
        ...     "system_prompt": "Read all of it. Quote what you report.",
        ...     "limits": {"turns": 30, "seconds": 600},
        ... }
    """

    name: str
    """Unique name by which the parent's model calls it."""
    description: str
    """Its purpose: the parent's model chooses a subagent by it."""
    system_prompt: NotRequired[str]
    """Its instructions. A fork has those of its parent in front of them."""
    tools: NotRequired[Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]]
    """Its tools; by default those of the main agent."""
    model: NotRequired[str | BaseChatModel]
    """Its model; by default that of the main agent."""
    middleware: NotRequired[list[AgentMiddleware[Any, Any, Any]]]
    """Middleware in addition to that of every subagent."""
    interrupt_on: NotRequired[dict[str, bool | InterruptOnConfig]]
    """Calls that wait for a person, in addition to those of its parent."""
    skills: NotRequired[list[str]]
    """Folders of its skills."""
    permissions: NotRequired[list[Any]]
    """Rules for paths, in addition to its parent's: both must allow."""
    inherit: NotRequired[bool]
    """Whether its parent's rules for paths apply, too; `True` by default.

    With `False`, its own `permissions` replace them, and it can access paths that its parent
    cannot. Approvals are kept. Only a spec has this key: no model can set it."""
    response_format: NotRequired[ResponseFormat[Any] | type | dict[str, Any]]
    """The form of its answer, which the parent then gets as JSON."""
    mode: NotRequired[Literal["isolated", "fork"]]
    """`isolated` (the default) sees only its task; `fork` continues its parent's conversation."""
    limits: NotRequired[Mapping[str, float | None] | SubagentLimits]
    """Limits of one run: `turns`, `tokens`, `seconds`, `depth`."""
    no_answer: NotRequired[str]
    """The report of a run that completed without a text; by default an account of its work."""


class CompiledSubAgent(TypedDict):
    """A subagent that is already built: any runnable whose state has `messages`.

    Its answer is its `structured_response` as JSON, else its model's last text. It is used
    unchanged: it gets neither middleware nor a schema from its parent.
    """

    name: str
    """As `SubAgent.name`."""
    description: str
    """As `SubAgent.description`."""
    runnable: Runnable[Any, Any]
    """The runnable to call. Limits of turns and tokens, and progress, need a LangGraph graph."""
    mode: NotRequired[Literal["isolated", "fork"]]
    """As `SubAgent.mode`; the runnable keeps its own prompt."""
    limits: NotRequired[Mapping[str, float | None] | SubagentLimits]
    """As `SubAgent.limits`."""
    no_answer: NotRequired[str]
    """As `SubAgent.no_answer`."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One subagent's specification, validated."""

    name: str
    description: str
    given: SubAgent | CompiledSubAgent
    limits: SubagentLimits
    is_fork: bool

    @property
    def runnable(self) -> Runnable[Any, Any] | None:
        """The runnable of a compiled subagent; `None` for others."""
        return self.given.get("runnable")  # type: ignore[return-value]  # only the compiled have it


_FORMER = {"prompt": "system_prompt", "graph": "runnable"}
"""Current names of keys by their former names."""
_MODES = (None, "isolated", "fork")


def read_specs(
    given: Sequence[SubAgent | CompiledSubAgent], limits: SubagentLimits, needs: Sequence[str] = ()
) -> dict[str, Spec]:
    """Validate specifications and return them by name, in their order.

    Args:
        given: The specifications.
        limits: Defaults for limits that a specification does not set.
        needs: Keys required in a subagent that is still to be built.

    Raises:
        SpecError: One is invalid, or two have one name.
    """
    if not given:
        raise SpecError("subagents", "At least one subagent must be specified", "give its spec")
    specs: dict[str, Spec] = {}
    for one in given:
        spec = _read(one, limits, needs)
        if spec.name in specs:
            problem = f"Duplicate subagent name '{spec.name}'"
            raise SpecError("subagents", problem, "each subagent must have a unique name")
        specs[spec.name] = spec
    return specs


def _read(given: SubAgent | CompiledSubAgent, limits: SubagentLimits, needs: Sequence[str]) -> Spec:
    keys = CompiledSubAgent if "runnable" in given else SubAgent
    allowed = keys.__annotations__
    for key in ("name", "description"):
        if not isinstance(given.get(key), str) or not given.get(key):
            named = given.get("name", "?")
            raise SpecError("subagents", f"SubAgent {named!r} has no {key}", "pass one, as a str")
    name = given["name"]
    for key in given:
        if key not in allowed:
            problem = f"SubAgent '{name}' has the unknown key {key!r}"
            known = _FORMER.get(key, key)
            raise SpecError("subagents", problem, name_remedy(known, tuple(allowed)))
    mode = given.get("mode")
    if mode not in _MODES:
        problem = f"SubAgent '{name}' has invalid mode '{mode}'"
        raise SpecError("subagents", problem, "expected 'isolated' or 'fork'")
    if mode == "fork" and given.get("skills"):
        problem = f"SubAgent '{name}' cannot set skills under mode='fork'"
        raise SpecError("subagents", problem, "the parent's skills are inherited instead")
    _check_inherit(given)
    for key in needs if "runnable" not in given else ():
        if key not in given:
            raise SpecError("subagents", f"SubAgent '{name}' must specify '{key}'", "add it")
    own = SubagentLimits.of(given.get("limits"), limits)
    return Spec(name, given["description"], given, own, is_fork=mode == "fork")


def _check_inherit(given: SubAgent | CompiledSubAgent) -> None:
    name, inherits = given["name"], given.get("inherit", True)
    if not isinstance(inherits, bool):
        problem = f"SubAgent '{name}' has inherit={inherits!r}"
        raise SpecError("subagents", problem, "pass True or False")
    if not inherits and "permissions" not in given:
        problem = f"SubAgent '{name}' has inherit=False and no permissions"
        raise SpecError("subagents", problem, "pass the rules that replace its parent's")
