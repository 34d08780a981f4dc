"""What a subagent is made from, looked at before any run."""

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

from thalweg.errors import SpecError
from thalweg.sections import nearest
from thalweg.subagents.limits import Limits


class SubAgent(TypedDict):
    """A subagent to be made: what `create_agent` needs, in words of its own.

    Example:
        >>> from thalweg.middleware.subagents import SubAgent
        >>> reader: SubAgent = {
        ...     "name": "reader",
        ...     "description": "Reads long files and reports what matters.",
        ...     "system_prompt": "Read all of it. Quote what you report.",
        ...     "limits": {"turns": 30, "seconds": 600},
        ... }
    """

    name: str
    """What the parent's model calls it by; no two have the same."""
    description: str
    """What it is good for: by this the parent's model decides whom it gives a task."""
    system_prompt: NotRequired[str]
    """Its instructions. A fork has those of its parent in front of them."""
    tools: NotRequired[Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]]
    """Its tools; those of the main agent where they are not given."""
    model: NotRequired[str | BaseChatModel]
    """Its model; that of the main agent where it is not given."""
    middleware: NotRequired[list[AgentMiddleware[Any, Any, Any]]]
    """Middleware beside that which every subagent has."""
    interrupt_on: NotRequired[dict[str, bool | InterruptOnConfig]]
    """Calls that wait for a person, beside those of its parent."""
    skills: NotRequired[list[str]]
    """Folders of its skills."""
    permissions: NotRequired[list[Any]]
    """Rules for paths, on top of its parent's: both must allow."""
    response_format: NotRequired[ResponseFormat[Any] | type | dict[str, Any]]
    """The form of its answer, which the parent then gets as JSON."""
    mode: NotRequired[Literal["isolated", "fork"]]
    """`isolated` (the default) knows its task alone; `fork` continues its parent's conversation."""
    limits: NotRequired[Mapping[str, float | None] | Limits]
    """How far one run of it may go: `turns`, `tokens`, `seconds`, `depth`."""


class CompiledSubAgent(TypedDict):
    """A subagent that is made already: any runnable whose state has `messages`.

    Its answer is its `structured_response` as JSON, else the last words of its model. It is used
    as it is: it gets neither middleware nor a schema from its parent.
    """

    name: str
    """See `SubAgent.name`."""
    description: str
    """See `SubAgent.description`."""
    runnable: Runnable[Any, Any]
    """What is run. Limits of turns and tokens, and progress, need a LangGraph graph."""
    mode: NotRequired[Literal["isolated", "fork"]]
    """See `SubAgent.mode`; the runnable's prompt stays its own."""
    limits: NotRequired[Mapping[str, float | None] | Limits]
    """See `SubAgent.limits`."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One subagent's spec, found usable."""

    name: str
    description: str
    given: SubAgent | CompiledSubAgent
    limits: Limits
    is_fork: bool

    @property
    def runnable(self) -> Runnable[Any, Any] | None:
        """What is to be run, where it was given."""
        return self.given.get("runnable")  # type: ignore[return-value]  # only the compiled have it


_FORMER = {"prompt": "system_prompt", "graph": "runnable"}
"""What keys were called once, by what they were called."""
_MODES = (None, "isolated", "fork")


def read_specs(
    given: Sequence[SubAgent | CompiledSubAgent], limits: Limits, needs: Sequence[str] = ()
) -> dict[str, Spec]:
    """Look at specs, and put them by name in the order given.

    Args:
        given: The specs.
        limits: What goes where a spec says nothing of its limits.
        needs: Keys that those need which are still to be made.

    Raises:
        SpecError: One cannot be used, or two have one name.
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


def _read(given: SubAgent | CompiledSubAgent, limits: Limits, needs: Sequence[str]) -> Spec:
    keys = CompiledSubAgent if "runnable" in given else SubAgent
    allowed = keys.__annotations__
    for key in ("name", "description"):
        if not isinstance(given.get(key), str) or not given.get(key):
            named = given.get("name", "?")
            raise SpecError("subagents", f"SubAgent {named!r} has no {key}", "give one, as a str")
    name = given["name"]
    for key in given:
        if key not in allowed:
            problem = f"SubAgent '{name}' has the unknown key {key!r}"
            known = _FORMER.get(key, key)
            raise SpecError("subagents", problem, nearest(known, tuple(allowed)))
    mode = given.get("mode")
    if mode not in _MODES:
        problem = f"SubAgent '{name}' has invalid mode '{mode}'"
        raise SpecError("subagents", problem, "expected 'isolated' or 'fork'")
    if mode == "fork" and given.get("skills"):
        problem = f"SubAgent '{name}' cannot set skills under mode='fork'"
        raise SpecError("subagents", problem, "the parent's skills are inherited instead")
    for key in needs if "runnable" not in given else ():
        if key not in given:
            raise SpecError("subagents", f"SubAgent '{name}' must specify '{key}'", "add it")
    own = Limits.of(given.get("limits"), limits)
    return Spec(name, given["description"], given, own, is_fork=mode == "fork")
