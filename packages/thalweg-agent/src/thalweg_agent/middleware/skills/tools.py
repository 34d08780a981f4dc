"""Tools that become visible once the agent has read a skill that names them.

The builder of the agent supplies the tools; a skill selects among them by `metadata.include_tools`.
So a skill never extends the tools that an agent may call: it reveals granted ones. A skill that the
user or a tool named is put into the conversation, and counts as read.
"""

import html
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from thalweg.context.ready_tools import Tool, is_deferred, tool_name, with_deferral
from thalweg_agent.backends.paths import path_or_none
from thalweg_agent.backends.protocol import FileDownloadResponse
from thalweg_agent.skills.format import (
    INCLUDE_TOOLS,
    MAX_SKILL_FILE_SIZE,
    SkillMetadata,
    split_front_matter,
)
from thalweg_agent.tools.asking import BackendRequest, Steps

PINNED = "pinned_skill"
"""Value of `lc_source` in such a message: the harness wrote it, not the user."""
SkillToolResolver = Callable[
    [str, Runtime[Any]], Sequence[BaseTool] | Awaitable[Sequence[BaseTool]]
]
"""Returns the tools for a name in `metadata.include_tools`: none, one or several.

It is called before every model call after a skill with that name was read, and again before one of
its tools runs. Within a thread it should return the same tools for a name, and quickly. An async
resolver needs an agent that is called asynchronously."""
Tools = Sequence[BaseTool | Callable[..., Any]] | SkillToolResolver | None


def pin_skills(names: Sequence[str], skills: Sequence[SkillMetadata]) -> Steps[dict[str, Any]]:
    """Read the skills named, each once, and make the update that pins them.

    A name that no skill has is passed over, as is a skill that cannot be read.
    """
    by_name = {skill["name"]: skill for skill in skills}
    pinned = [by_name[name] for name in dict.fromkeys(names) if name in by_name]
    paths = [skill["path"] for skill in pinned]
    answers = (yield BackendRequest("download_files", (paths,))) if paths else []
    update: dict[str, Any] = {"pinned_skills": Overwrite([])}
    rows = zip(pinned, answers, strict=True)
    messages = [message for skill, answer in rows if (message := _message(skill, answer))]
    if messages:
        update["messages"] = messages
    return update


def _message(skill: SkillMetadata, answer: FileDownloadResponse) -> HumanMessage | None:
    content = answer.content
    if answer.error or not content or len(content) > MAX_SKILL_FILE_SIZE:
        return None
    try:
        _, body = split_front_matter(content.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    name, path = (html.escape(text, quote=True) for text in (skill["name"], skill["path"]))
    text = re.sub(r"\A\s*\n", "", body).rstrip()
    pinned = {"name": skill["name"], "path": skill["path"], "description": skill["description"]}
    return HumanMessage(
        f'<skill name="{name}" path="{path}">\n{_fenced(text)}\n</skill>',
        additional_kwargs={"lc_source": PINNED, "skill": pinned},
    )


def _fenced(text: str) -> str:
    return re.sub(r"<(?=\s*/\s*skill\b)", r"<\\", text, flags=re.IGNORECASE)


def as_resolver(tools: Tools) -> SkillToolResolver:
    """Return the resolver of a list of tools: each by its own name.

    Raises:
        TypeError: It is neither a list of tools nor a resolver.
        ValueError: Two tools have one name.
    """
    if not _is_usable(tools):
        kind = type(tools).__name__
        msg = f"tools must be a list of tools or a resolver function, got {kind}"
        raise TypeError(msg)
    if callable(tools):
        return tools
    given = [_as_tool(one) for one in (() if tools is None else tools)]
    by_name = {one.name: one for one in given}
    if len(by_name) < len(given):
        names = [one.name for one in given]
        twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
        msg = f"tools contains duplicate tool name(s): {twice}"
        raise ValueError(msg)

    def by_exact_name(name: str, runtime: Runtime[Any]) -> list[BaseTool]:
        del runtime
        return [by_name[name]] if name in by_name else []

    return by_exact_name


def _is_usable(tools: object) -> bool:
    is_one = isinstance(tools, BaseTool)
    return not is_one and (tools is None or callable(tools) or isinstance(tools, Sequence))


def _as_tool(given: object) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    if not callable(given):
        msg = (
            "tools entries must be BaseTool instances or callables; "
            "provider-native tool dicts are not supported"
        )
        raise TypeError(msg)
    return as_tool(given)


def resolved(resolver: SkillToolResolver, name: str, runtime: Runtime[Any]) -> list[BaseTool]:
    """Call a resolver in sync code.

    Raises:
        TypeError: It is async, or returns something else than tools.
    """
    answer = resolver(name, runtime)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        msg = (
            f"skill tool resolver returned an awaitable for {name!r}; "
            "an async resolver needs the agent's async entry point (e.g. `ainvoke`)"
        )
        raise TypeError(msg)
    return _checked(name, answer)


async def aresolved(
    resolver: SkillToolResolver, name: str, runtime: Runtime[Any]
) -> list[BaseTool]:
    """Call a resolver, and await its result if it is async.

    Raises:
        TypeError: It returns something else than tools.
    """
    answer = resolver(name, runtime)
    return _checked(name, await answer if inspect.isawaitable(answer) else answer)


def _checked(name: str, answer: object) -> list[BaseTool]:
    if not isinstance(answer, Sequence) or isinstance(answer, str):
        kind = type(answer).__name__
        msg = f"skill tool resolver must return a sequence of BaseTool for {name!r}, got {kind}"
        raise TypeError(msg)
    for one in answer:
        if not isinstance(one, BaseTool):
            kind = type(one).__name__
            msg = f"skill tool resolver returned a {kind} for {name!r}; expected BaseTool instances"
            raise TypeError(msg)
    return list({one.name: one for one in reversed(answer)}.values())[::-1]


def skills_read(
    messages: Iterable[AnyMessage], skills: Sequence[SkillMetadata], before: Sequence[str]
) -> list[str]:
    """Return the paths of the skills with tools that were read or pinned, in that order.

    Args:
        messages: Those of the state, which may lack older ones.
        skills: All skills.
        before: The result of the last call: a thread keeps the skills that it has read.
    """
    paths = {path_or_none(skill["path"]): skill["path"] for skill in skills if include_names(skill)}
    read = dict.fromkeys(path for path in before if path in paths.values())
    if not paths:
        return list(read)
    called: dict[str, object] = {}
    for message in messages:
        path: object = None
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                if call["name"] == "read_file" and call["id"]:
                    called[call["id"]] = call["args"].get("file_path")
        elif isinstance(message, ToolMessage) and message.status != "error":
            path = called.get(message.tool_call_id)
        elif isinstance(message, HumanMessage):
            pinned = message.additional_kwargs.get("skill")
            is_pinned = message.additional_kwargs.get("lc_source") == PINNED
            path = pinned.get("path") if is_pinned and isinstance(pinned, dict) else None
        if isinstance(path, str) and (known := paths.get(path_or_none(path))):
            read[known] = None
    return list(read)


def include_names(skill: SkillMetadata) -> list[str]:
    """List the names under which a skill asks for tools."""
    return (skill.get("metadata") or {}).get(INCLUDE_TOOLS, "").split()


def names_to_resolve(read: Sequence[SkillMetadata], tools: Sequence[Tool]) -> list[str]:
    """List the names that skills ask for and that are not just tools of the request."""
    present = {tool_name(one) for one in tools}
    names = (name for skill in read for name in include_names(skill))
    return list(dict.fromkeys(name for name in names if name not in present))


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The tools that become visible by the skills that were read."""

    gated: dict[str, BaseTool] = field(default_factory=dict[str, BaseTool])
    """Tools that may be called only through this."""
    deferred: frozenset[str] = frozenset()
    """Tools of the request that its provider holds back."""
    record: dict[str, str] = field(default_factory=dict[str, str])
    """The name in a skill for each gated tool, to find it when it is called; sorted."""

    def shown(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return the tools of a request plus the visible gated ones, new ones last."""
        if not self.gated and not self.deferred:
            return tools
        seen = [
            with_deferral(one, deferred=False) if tool_name(one) in self.deferred else one
            for one in tools
        ]
        return [*seen, *(self.gated[name] for name in sorted(self.gated))]


def disclose(
    read: Sequence[SkillMetadata],
    tools: Sequence[Tool],
    resolved: Mapping[str, Sequence[BaseTool]],
) -> Disclosure:
    """Decide which tools the skills that were read reveal.

    A tool that the request already has is not replaced.

    Args:
        read: The skills, in the order in which they were read.
        tools: Those of the request.
        resolved: The tools for other names.
    """
    present = {tool_name(one): one for one in tools}
    gated: dict[str, BaseTool] = {}
    deferred: set[str] = set()
    record: dict[str, str] = {}
    for name in (name for skill in read for name in include_names(skill)):
        own = present.get(name)
        for one in [own] if own is not None else resolved.get(name, ()):
            if not isinstance(one, BaseTool) or one.name in gated:
                continue
            there = present.get(one.name)
            if there is None:
                gated[one.name] = one
                record[one.name] = name
            elif is_deferred(there):
                deferred.add(one.name)
    return Disclosure(gated, frozenset(deferred), dict(sorted(record.items())))


def disclosed(state: Mapping[str, object]) -> dict[str, str]:
    """Read from a state which gated tools the model was last shown, and under which name."""
    record = state.get("_skill_tools_disclosed")
    if not isinstance(record, dict):
        return {}
    is_whole = all(isinstance(k, str) and isinstance(v, str) for k, v in record.items())
    return record if is_whole else {}
