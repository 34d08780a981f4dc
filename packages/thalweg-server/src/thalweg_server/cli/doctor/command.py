"""`thalweg doctor`: its options, its checks of configured features, and their findings.

The features are the models and their servers, storage, sandbox, and MCP servers.
"""

import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import typer

from thalweg import archive
from thalweg.cli.home import home_folder
from thalweg.cli.printing import Row, count, fold, print_result, table
from thalweg.cli.shared_options import AsJson, Config, single_command
from thalweg.errors import ConfigError, ThalwegError
from thalweg_server.cli.doctor import machine, storage
from thalweg_server.cli.doctor.finding import Finding, State
from thalweg_server.cli.doctor.machine import without_password
from thalweg_server.models import find_models, model_by_name
from thalweg_server.models.discovery import ollama_address
from thalweg_server.settings import Settings
from thalweg_server.settings.loading import examine
from thalweg_server.settings.sections import is_loopback

_TIMEOUT_S: Final = 1.0
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_ADDRESSES: Final = ("openai_api_base", "anthropic_api_url", "base_url")
"""Fields of LangChain's chat models that hold an address."""
MARKS: Final = {"ok": "ok  ", "off": "--  ", "broken": "FAIL"}


def settings_of(path: Path | None) -> tuple[Settings | None, tuple[Finding, ...]]:
    """Read the settings, and return their errors as findings."""
    try:
        report = examine(path)
    except ThalwegError as error:
        return None, (Finding("configuration", f"{error}", "thalweg config init", "broken"),)
    name = report.file or "config.yaml"
    if report.problems:
        check = f"thalweg config show {name}"
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
    used = settings.used_models
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
    from thalweg_server.app.configured import check_sandbox  # noqa: PLC0415 (LangChain)

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


@single_command
def doctor(
    *,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Check what works here, and print the command that fixes what does not.

    Checks Python, SQLite, the data folder and its databases, extras, keys, models, servers that
    listen, the sandbox, the recorder, and everything that config.yaml names. Nothing is written and
    no model is asked. `ok` works, `--` is not set up and nothing needs it, `FAIL` is needed or
    configured and does not work: then the exit code is 1.
    """
    findings = [*_findings(config)]
    broken = [finding for finding in findings if finding.state == "broken"]
    plain = {"works": not broken, "findings": [asdict(finding) for finding in findings]}
    lines = [*finding_lines(findings), "", *fold(_verdict(findings, broken))]
    print_result(lines, plain, as_json=as_json)
    if broken:
        raise typer.Exit(1)


def _findings(config: Path | None) -> Iterator[Finding]:
    yield from machine.installation()
    yield from machine.variables()
    settings, findings = settings_of(config)
    yield from findings
    home = archive.home()
    if settings is not None and "home" in settings.storage.model_fields_set:
        home = Path(settings.storage.home)
    yield from storage.folder(home)
    if settings is not None:
        yield from configured(settings)
    yield from machine.models(find_models())
    if settings is None or not settings.sandbox.is_on:
        yield machine.sandbox()
    yield from machine.recorder(home_folder())
    yield from machine.extras()


def finding_lines(findings: list[Finding]) -> list[str]:
    """Format findings as three columns, each with the command that fixes it below, whole."""
    return table(
        Row(
            (MARKS[finding.state], finding.what, finding.seen),
            below=[f"      → {finding.fix}"] if finding.fix else [],
        )
        for finding in findings
    )


def _verdict(findings: list[Finding], broken: list[Finding]) -> str:
    if broken:
        names = ", ".join(finding.what for finding in broken)
        return f"{count(len(broken), 'check')} failed: {names}"
    answers = any(
        finding.state == "ok" and finding.what.startswith("model ") for finding in findings
    )
    more = "" if answers else " `thalweg chat` shows three ways to a model."
    return f"Everything that is set up works.{more}"
