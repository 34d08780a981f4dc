"""The entries of the recorder in the configuration of coding agents.

Everything here is a pure function of a file's text; `recorder.installing` reads and writes.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.errors import ConfigError
from thalweg_recorder.recordings.agents import AgentPlaces, Machine

SERVER = "thalweg"
"""Name of the MCP server in every configuration."""
_MARK = re.compile(r"thalweg[_/]recorder/hook\.py")
"""Matches a hook of this version or an earlier one, wherever Thalweg is installed."""
_BEGIN, _END = "# >>> thalweg >>>", "# <<< thalweg <<<"

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HostCommands:
    """The commands that an agent is to run."""

    hook: Sequence[str]
    server: Sequence[str]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One file of a host's, and how our part is put into it and taken out."""

    path: Path
    add: Callable[[str, HostCommands], str]
    """Takes the file's text, empty if there is none."""
    remove: Callable[[str], str]


def _json(
    path: Path,
    *,
    hooks: Mapping[str, str] | None = None,
    server: str = "",
    entry: Mapping[str, object] | None = None,
    is_one_list: bool = False,
    timeout: int = 5,
) -> Configuration:
    """Describe a JSON configuration.

    Args:
        path: Its place.
        hooks: Events and their matchers.
        server: Key under which MCP servers are listed; empty where ours is not among them.
        entry: What its entry has besides the command.
        is_one_list: The entry has the program and its arguments as one list.
        timeout: Of a hook, in the unit that the host takes.
    """

    def add(text: str, commands: HostCommands) -> str:
        document = _without(_parsed(path, text, hooks or {}, server), server)
        for event, matcher in (hooks or {}).items():
            run = {"type": "command", "command": shlex.join(commands.hook), "timeout": timeout}
            group = {"matcher": matcher, "hooks": [run]} if matcher else {"hooks": [run]}
            document.setdefault("hooks", {}).setdefault(event, []).append(group)
        if server:
            program, *arguments = commands.server
            split = {"command": program, "args": arguments}
            command = {"command": [*commands.server]} if is_one_list else split
            document.setdefault(server, {})[SERVER] = {**(entry or {}), **command}
        return _written(document, text)

    def remove(text: str) -> str:
        document = _parsed(path, text, (), server)
        kept = _without(document, server)
        return text if kept == document else _written(kept, text)

    return Configuration(path, add, remove)


def _parsed(path: Path, text: str, events: Iterable[str], server: str) -> JsonObject:
    try:
        document = json.loads(text) if text.strip() else {}
    except ValueError as error:
        fix = "fix it; a file with comments cannot be changed without losing them"
        raise ConfigError(str(path), f"it is not JSON ({error})", fix) from None
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    if not (
        isinstance(hooks, dict)
        and isinstance(document.get(server, {}), dict)
        and all(isinstance(hooks.get(event, []), list) for event in events)
    ):
        fix = "put right its `hooks`, an object of lists, or its MCP servers, an object"
        raise ConfigError(str(path), "it is not a JSON object of the expected form", fix)
    return document


def _without(document: JsonObject, server: str) -> JsonObject:
    """Copy a configuration without our hooks, our server, and containers that then are empty."""
    kept = {**document}
    if isinstance(document.get("hooks"), dict):
        events = {event: _others(groups) for event, groups in document["hooks"].items()}
        left = {e: g for e, g in events.items() if g or not document["hooks"][e]}
        kept["hooks"] = left
        if not left and document["hooks"]:
            del kept["hooks"]
    servers = document.get(server)
    if isinstance(servers, dict) and SERVER in servers:
        kept[server] = {name: one for name, one in servers.items() if name != SERVER}
        if not kept[server]:
            del kept[server]
    return kept


def _others(groups: object) -> object:
    if not isinstance(groups, list):
        return groups
    others: list[object] = []
    for group in groups:
        if not _MARK.search(json.dumps(group)):
            others.append(group)
        elif isinstance(group, dict) and (left := _others(group.get("hooks"))):
            others.append({**group, "hooks": left})  # its owner added a hook to our group
    return others


def _written(document: JsonObject, like: str) -> str:
    """Write JSON with the indent and the last line end of a text."""
    indent = re.search(r"\n([ \t]+)\S", like)
    end = "\n" if like.endswith("\n") or not like else ""
    return json.dumps(document, indent=indent[1] if indent else 2, ensure_ascii=False) + end


def _add_to_toml(text: str, commands: HostCommands) -> str:
    """Append our server as a marked block; the user's text is unchanged to the byte."""
    kept = _remove_from_toml(text)
    command, *arguments = commands.server
    block = [
        _BEGIN,
        f"[mcp_servers.{SERVER}]",
        f"command = {json.dumps(command)}",
        f"args = {json.dumps(arguments)}",
        'startup_readiness = "connection"',  # else a first request may lack the tools
        _END,
    ]
    separator = "" if not kept or kept.endswith("\n") else "\n"
    added = f"{kept}{separator}" + "".join(f"{line}\n" for line in block)
    try:
        tomllib.loads(added)
    except tomllib.TOMLDecodeError as error:
        fix = f"fix it, or remove its own [mcp_servers.{SERVER}]"
        raise ConfigError(".codex/config.toml", f"it is not TOML ({error})", fix) from None
    return added


def _remove_from_toml(text: str) -> str:
    return re.sub(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}\n?", "", text, flags=re.DOTALL)


_PLUGIN = Path(__file__).with_name("opencode_plugin.js").read_text("utf-8")


def _add_plugin(text: str, commands: HostCommands) -> str:
    del text
    return _PLUGIN.replace("COMMAND", json.dumps([*commands.hook]), 1)


def _remove_plugin(text: str) -> str:
    return "" if _MARK.search(text) else text


def configurations(agent: AgentPlaces, machine: Machine) -> list[Configuration]:
    """Return the files of an agent that are changed, the one with its hooks first."""
    folder = agent.settings_folder(machine)
    found = []
    for row in agent.files:
        described = {**row}
        names = described.pop("path")
        path = next(iter(machine.places(one for one in names if one[0] in "~$")), folder / names[0])
        match path.suffix:
            case ".toml":
                found.append(Configuration(path, _add_to_toml, _remove_from_toml))
            case ".js":
                found.append(Configuration(path, _add_plugin, _remove_plugin))
            case _:
                found.append(_json(path, **described))
    return found
