"""`SkillsMiddleware`: instructions for kinds of tasks, in files that are read when they apply.

A source of skills is a folder of skill folders, with a label for people and models.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    OmitFromOutput,
    PrivateStateAttr,
    ToolCallRequest,
    TracePolicy,
    omit_payload,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from thalweg.context.turn.additions import with_part
from thalweg.context.turn.effects import (
    Flow,
    ModelCallFlow,
    Response,
    Send,
    SyncOrAsync,
    ToolCallFlow,
    ToolResult,
    sync_and_async,
)
from thalweg.engine.additions import SKILLS, Addition
from thalweg.engine.tokens import exact_counter
from thalweg.errors import ConfigError
from thalweg_agent.backends.paths import to_posix_path
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.middleware.backend_calls import of_backend
from thalweg_agent.middleware.skills.finding import FIND_SKILLS, relevant_names
from thalweg_agent.middleware.skills.loading import LoadedSkills, find_skills_in
from thalweg_agent.middleware.skills.tools import (
    SkillToolResolver,
    Tools,
    aresolved,
    as_resolver,
    disclose,
    disclosed,
    names_to_resolve,
    pin_skills,
    resolved,
    skills_read,
)
from thalweg_agent.middleware.templates import check_template
from thalweg_agent.prompts import prompt
from thalweg_agent.skills.format import (
    MAX_SKILL_COMPATIBILITY_LENGTH,
    MAX_SKILL_DESCRIPTION_LENGTH,
    MAX_SKILL_FILE_SIZE,
    MAX_SKILL_NAME_LENGTH,
    SkillMetadata,
)
from thalweg_agent.skills.listing import (
    DEFAULT_BUDGET,
    LEAST_BUDGET,
    MAX_SKILL_LOAD_WARNING_LENGTH,
    MAX_SKILLS_LOAD_WARNINGS,
    Listing,
    list_skills,
    write_locations,
    write_warnings,
)
from thalweg_agent.tools.asking import Steps

SkillSource = str | tuple[str, str]
"""A folder of the backend, or one with a label. The label comes before the word Skills."""
__all__ = [
    "MAX_SKILLS_LOAD_WARNINGS",
    "MAX_SKILL_COMPATIBILITY_LENGTH",
    "MAX_SKILL_DESCRIPTION_LENGTH",
    "MAX_SKILL_FILE_SIZE",
    "MAX_SKILL_LOAD_WARNING_LENGTH",
    "MAX_SKILL_NAME_LENGTH",
    "SKILLS_SYSTEM_PROMPT",
    "SkillMetadata",
    "SkillSource",
    "SkillToolResolver",
    "SkillsMiddleware",
    "SkillsState",
    "disclosed_skill_tool_names",
]
SKILLS_SYSTEM_PROMPT = prompt("skills").text
_REMEMBERED = 8
"""Lists of skills that a middleware remembers."""
_log = logging.getLogger("thalweg.skills")
_SLOTS = ("skills_locations", "skills_load_warnings", "skills_list")


def source_path(source: SkillSource) -> str:
    """Return the folder of a source.

    Raises:
        TypeError: It is neither a path nor a path with a label.
    """
    given: object = source
    match given:
        case str() as path:
            return path
        case (str() as path, str()):
            return path
        case _:
            msg = f"Invalid skill source: expected str or (str, str) tuple, got {given!r}"
            raise TypeError(msg)


def source_label(source: SkillSource) -> str:
    """Return the label of a source: its own, or one derived from the end of its path.

    For a folder named just `skills` the label is derived from its parent.

    Example:
        >>> [source_label(s) for s in ("/skills/user/", "~/.claude/skills", ("/s", "Team"))]
        ['User', 'Claude', 'Team']
    """
    if isinstance(source, tuple):
        return source[1]
    parts = PurePosixPath(to_posix_path(source).rstrip("/")).parts
    if not parts:
        return "Unnamed"
    *above, leaf = parts
    if leaf.lower() == "built_in_skills":
        return "Built-in"
    parent = above[-1].lstrip(".") if above else ""
    if leaf.lower() == "skills" and parent and parent != "/":
        return parent.replace("_", " ").replace("-", " ").title()
    return leaf.capitalize()


def _appended(left: list[str] | None, right: list[str] | None) -> list[str]:
    return [*(left or []), *(right or [])]


class SkillsState(AgentState[Any]):
    """The middleware's part of an agent's state."""

    pinned_skills: NotRequired[Annotated[list[str], OmitFromOutput, _appended]]
    """Names of skills whose text is inserted in the conversation before the next model call;
    several writes add up. Reset to empty afterwards."""

    skills_metadata: NotRequired[Annotated[list[SkillMetadata] | None, OmitFromOutput]]
    """The skills there are. `None` or missing: they are loaded when the next run begins."""

    skills_load_errors: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """What could not be loaded, in sentences."""

    _skills_seen: NotRequired[Annotated[dict[str, str] | None, PrivateStateAttr]]
    """The modification time of each SKILL.md that was found; `None` if unknown. Missing: other code
    set the skills."""

    _skills_described: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """Names of the skills that are described, where not all of them fit: chosen once."""

    _skills_read: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """Paths of the skills with tools of their own that were read in this thread."""

    _skill_tools_disclosed: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """The gated tools that were visible in the last model call, each with its name in the skill."""


class SkillsMiddleware(ModelCallFlow, ToolCallFlow, AgentMiddleware[SkillsState, Any, Any]):
    """List the skills for an agent, within a budget; it reads one when it applies.

    The list is part of the system prompt, in a fixed order. If not all skills fit, it describes
    those that share words with the first request of the thread; the others are named or counted,
    and the tool `find_skills` finds them. The selection is made once: a new one for every request
    would rewrite the prompt, and invalidate the provider's cache. It is repeated when the
    skills themselves change, for the current request, and keeps other described skills as far as
    the budget allows.

    Changes are detected when a run begins, never during one: files whose size or date changed are
    read again, if the backend reports these. If it does not, a thread keeps its first version. Set
    `skills_metadata` to `None` to have everything read again.

    Args:
        backend: The backend of the skills.
        sources: Folders with a folder for each skill, as paths or as `(path, label)`. A later
            source overrides by name.
        system_prompt: Template with `{skills_locations}`, `{skills_load_warnings}` and
            `{skills_list}`; `None` adds nothing to the prompt.
        tools: Tools that the model sees only after it has read a skill that names them under
            `metadata.include_tools`, as a list or as a `SkillToolResolver`.
        budget: Maximum tokens of the list.

    Raises:
        TypeError: A source, the prompt or the tools have a wrong type.
        ValueError: The template lacks a slot, or two tools have one name.
        ConfigError: The budget is too small for any entry.
    """

    trace_policy = TracePolicy(process_inputs=omit_payload)
    state_schema = SkillsState

    def __init__(
        self,
        *,
        backend: BackendProtocol,
        sources: Sequence[SkillSource],
        system_prompt: str | None = SKILLS_SYSTEM_PROMPT,
        tools: Tools = None,
        budget: int = DEFAULT_BUDGET,
    ) -> None:
        super().__init__()
        check_template(system_prompt, _SLOTS)
        if budget < LEAST_BUDGET:
            problem = f"{budget} tokens are too few for the list of skills"
            raise ConfigError("budget", problem, f"pass {LEAST_BUDGET} or more")
        self._backend = backend
        self.sources: list[str] = [source_path(source) for source in sources]
        self.source_labels: list[str] = [source_label(source) for source in sources]
        self.system_prompt_template = system_prompt
        self._resolver = as_resolver(tools)
        self._budget = budget
        self._locations = write_locations(self.sources, self.source_labels)
        self._listings: dict[tuple[object, ...], Listing] = {}
        self.tools = [FIND_SKILLS]

    def _load(
        self, state: SkillsState, runtime: Runtime[Any], config: RunnableConfig | None = None
    ) -> Flow[dict[str, Any] | None]:
        """Load the skills when a thread begins, and what changed of them when a run does."""
        del runtime, config
        if (steps := self._find_skills(state)) is None:
            return None
        return self._update(state, (yield of_backend(steps, self._backend)))

    before_agent, abefore_agent = sync_and_async(_load)

    def _find_skills(self, state: SkillsState) -> Steps[LoadedSkills | None] | None:
        known, seen = state.get("skills_metadata"), state.get("_skills_seen")
        is_followed = hasattr(self._backend, "glob") or hasattr(self._backend, "aglob")
        if known is None:
            return find_skills_in(self.sources, is_followed=is_followed)
        return None if seen is None else find_skills_in(self.sources, known, seen)

    def _update(self, state: SkillsState, found: LoadedSkills | None) -> dict[str, Any] | None:
        if found is None:
            return None
        update: dict[str, Any] = {
            "skills_metadata": found.skills,
            "skills_load_errors": found.errors,
            "_skills_seen": found.seen,
        }
        before = state.get("_skills_described") or ()
        listing = self._listing(found.skills, before)
        if not listing.is_complete:
            relevant = relevant_names(found.skills, state.get("messages") or ())
            listing = self._listing(found.skills, [*relevant, *before])
        if before or not listing.is_complete:
            update["_skills_described"] = list(listing.described)
        return update

    def _pin(self, state: SkillsState, runtime: Runtime[Any]) -> Flow[dict[str, Any] | None]:
        """Put the skills that were named into the conversation, each as a message of its own."""
        del runtime
        if not (names := state.get("pinned_skills")):
            return None
        update: dict[str, Any] = yield of_backend(pin_skills(names, _skills(state)), self._backend)
        return update

    before_model, abefore_model = sync_and_async(_pin)

    def modify_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Add the list of skills to the system prompt."""
        if self.system_prompt_template is None:
            return request
        state: Mapping[str, Any] = request.state
        text = self.system_prompt_template.format(
            skills_locations=self._locations,
            skills_load_warnings=write_warnings(state.get("skills_load_errors") or ()),
            skills_list=self._list(state).text
            or prompt("skills_none").render(sources=" or ".join(self.sources)),
        )
        skills = _skills(state)
        return with_part(request, Addition(SKILLS, text, f"{len(skills):,} known"))

    def _list(self, state: Mapping[str, Any]) -> Listing:
        return self._listing(_skills(state), state.get("_skills_described") or ())

    def _listing(self, skills: Sequence[SkillMetadata], first: Sequence[str]) -> Listing:
        """List skills; the same ones are listed with every call of a run, so it is remembered."""
        key = (*(_row(skill) for skill in skills), "", *first)
        if (known := self._listings.get(key)) is None:
            known = list_skills(skills, first, self._budget, exact_counter())
            if len(self._listings) >= _REMEMBERED:
                self._listings.clear()
            self._listings[key] = known
        return known

    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Add the skills to the system prompt, and the tools of those that the model has read."""
        read, names = self._read(request)
        found = yield self._resolving(names, request.runtime)
        request, update = self._shown(request, read, dict(zip(names, found, strict=True)))
        return _with_update((yield Send(request)), update)

    def _resolving(self, names: Sequence[str], runtime: Runtime[Any]) -> SyncOrAsync:
        given = [(self._resolver, name, runtime) for name in names]
        return SyncOrAsync(
            lambda: [resolved(*one) for one in given],
            lambda: asyncio.gather(*(aresolved(*one) for one in given)),
        )

    def _read(self, request: ModelRequest[Any]) -> tuple[list[SkillMetadata], list[str]]:
        """List the skills that were read, and the names under which they ask for tools."""
        state: Mapping[str, Any] = request.state
        skills = _skills(state)
        paths = skills_read(request.messages, skills, state.get("_skills_read") or ())
        by_path = {skill["path"]: skill for skill in skills}
        read = [by_path[path] for path in paths]
        return read, names_to_resolve(read, request.tools)

    def _shown(
        self,
        request: ModelRequest[Any],
        read: Sequence[SkillMetadata],
        found: Mapping[str, Sequence[BaseTool]],
    ) -> tuple[ModelRequest[Any], dict[str, Any]]:
        disclosure = disclose(read, request.tools, found)
        tools = list(disclosure.shown(request.tools))
        if self._list(request.state).is_complete:
            tools = [one for one in tools if one is not FIND_SKILLS]
        values = {
            "_skills_read": [skill["path"] for skill in read],
            "_skill_tools_disclosed": disclosure.record,
        }
        update = {key: value for key, value in values.items() if request.state.get(key) != value}
        if not read and not request.state.get("_skills_read"):
            update.pop("_skills_read", None)
        return self.modify_request(request).override(tools=tools), update

    def tool_call(self, request: ToolCallRequest) -> Flow[ToolResult]:
        """Run a tool that a skill revealed; any other unknown one is an error."""
        if (name := _revealed_by(request)) is not None:
            (tools,) = yield self._resolving([name], get_runtime())
            request = _running(request, name, tools)
        result: ToolResult = yield Send(request)
        return result


def disclosed_skill_tool_names(state: Mapping[str, object]) -> frozenset[str]:
    """Return the names of tools that skills revealed in the latest model call.

    Middleware with an allowlist of tools should allow these as well.
    """
    return frozenset(disclosed(state))


def _skills(state: Mapping[str, Any]) -> Sequence[SkillMetadata]:
    return state.get("skills_metadata") or ()


def _row(skill: SkillMetadata) -> tuple[object, ...]:
    named = (skill["name"], skill["description"], skill["path"])
    return (*named, skill["license"], skill["compatibility"], *skill["allowed_tools"])


def _with_update(response: ModelResponse[Any], update: dict[str, Any]) -> Response:
    return ExtendedModelResponse(response, Command(update=update)) if update else response


def _revealed_by(request: ToolCallRequest) -> str | None:
    """Return the name under which a skill revealed the called tool, or `None`."""
    if request.tool is not None:
        return None
    return disclosed(request.state).get(request.tool_call["name"])


def _running(request: ToolCallRequest, name: str, tools: Sequence[BaseTool]) -> ToolCallRequest:
    called = request.tool_call["name"]
    tool = next((one for one in tools if one.name == called), None)
    if tool is None:
        _log.warning(
            "Skill tool '%s' was disclosed via '%s', but the resolver no longer returns it",
            called,
            name,
        )
        return request
    return request.override(tool=tool)
