"""Checks of configured features: models and their servers, storage, sandbox, MCP servers."""

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from thalweg.errors import ConfigError, ThalwegError
from thalweg_server.cli.doctor import storage
from thalweg_server.cli.doctor.finding import Finding, State
from thalweg_server.cli.doctor.machine import without_password
from thalweg_server.models import model_by_name
from thalweg_server.models.finding import ollama_address
from thalweg_server.settings import Settings
from thalweg_server.settings.loading import examine
from thalweg_server.settings.sections.gateway import is_loopback
from thalweg_server.settings.usage import used_models

_TIMEOUT_S: Final = 1.0
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_ADDRESSES: Final = ("openai_api_base", "anthropic_api_url", "base_url")
"""Fields of LangChain's chat models that hold an address."""


def settings_of(path: Path | None) -> tuple[Settings | None, tuple[Finding, ...]]:
    """Read the settings, and return their errors as findings."""
    try:
        report = examine(path)
    except ThalwegError as error:
        return None, (Finding("configuration", f"{error}", "thalweg config init", "broken"),)
    name = report.file or "config.yaml"
    if report.problems:
        check = f"thalweg config check {name}"
        seen = f"{name}: {report.problems[0]}"
        return report.settings, (Finding("configuration", seen, check, "broken"),)
    if not report.file:
        seen = "no config.yaml here; every setting has its default"
        return report.settings, (Finding("configuration", seen, "thalweg config init", "off"),)
    return report.settings, (Finding("configuration", f"{name} is valid"),)


def configured(settings: Settings) -> Iterator[Finding]:
    """Check everything that the settings name."""
    yield from _models(settings)
    if settings.storage.address is not None:
        yield storage.server(settings.storage.address)
    if settings.sandbox.is_on:
        yield _sandbox(settings)
    for name, server in settings.mcp_servers.items():
        if not server.enabled:
            continue
        if server.command and shutil.which(server.command) is None:
            fix = f"install {server.command}, or set enabled: false"
            yield Finding(f"MCP server {name}", f"no command {server.command}", fix, "broken")
        elif server.url:
            yield _listening(f"MCP server {name}", server.url)
        else:
            yield Finding(f"MCP server {name}", f"{server.command} is installed")
    yield _gateway(settings)


def _models(settings: Settings) -> Iterator[Finding]:
    """Make each model without asking it; check that its server listens."""
    used = used_models(settings)
    for name in dict.fromkeys((*sorted(used), *(one.name for one in settings.models))):
        what = f"model {name}"
        try:
            model = model_by_name(name, settings)
        except ConfigError as error:
            state: State = "broken" if name in used else "off"
            yield Finding(what, error.problem, error.fix, state)
            continue
        address = _address(model)
        ready = "used; its package and key are here" if name in used else "ready"
        yield _listening(what, address) if address else Finding(what, ready)


def _address(model: object) -> str:
    """Return the address of a model's server on this machine; empty for a provider's own."""
    for field in _ADDRESSES:
        address = getattr(model, field, None)
        if isinstance(address, str) and is_loopback(urlsplit(address).hostname or ""):
            return address
    if type(model).__name__ == "ChatOllama":
        return getattr(model, "base_url", None) or ollama_address(os.environ)
    return ""


def _listening(what: str, address: str) -> Finding:
    parts, shown = urlsplit(address), without_password(address)
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80)
    if _listens(host, port):
        return Finding(what, f"a server listens at {shown}")
    return Finding(what, f"no server listens at {shown}", f"start the server at {shown}", "broken")


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_TIMEOUT_S):
            return True
    except OSError:
        return False


def _sandbox(settings: Settings) -> Finding:
    from thalweg_server.app.files.sandboxes import check_sandbox  # noqa: PLC0415 (LangChain)

    use = settings.sandbox.use
    try:
        check_sandbox(settings.sandbox)
    except ThalwegError as error:
        problem, fix = getattr(error, "problem", f"{error}"), getattr(error, "fix", "")
        return Finding(f"sandbox {use}", problem, fix or "set sandbox.use: none", "broken")
    return Finding(f"sandbox {use}", "commands of the agent run here")


def _gateway(settings: Settings) -> Finding:
    gateway = settings.gateway
    place = f"{gateway.host}:{gateway.port}"
    if _listens(gateway.host, gateway.port):
        return Finding("gateway", f"something listens on {place}")
    return Finding("gateway", f"none runs on {place}", "thalweg serve", "off")
