"""`thalweg serve`: the gateway, and one screen that describes it."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer

from thalweg.cli.printing import count
from thalweg.cli.shared_options import bounded, single_command
from thalweg.errors import ConfigError
from thalweg_server.settings.sections import GatewaySettings, is_loopback

if TYPE_CHECKING:
    from thalweg_server.app import App
    from thalweg_server.gateway.local_token import LocalToken
    from thalweg_server.settings import Settings
    from thalweg_server.settings.loading import SettingsReport

_MOST_NAMES = 6
_LAST_PORT = 65_535


@single_command
def serve(
    file: Annotated[
        Path | None, typer.Argument(help="Path of config.yaml. Default: the usual places.")
    ] = None,
    *,
    host: Annotated[str, typer.Option(help="Address to listen on. Default: gateway.host.")] = "",
    port: Annotated[
        int | None,
        typer.Option(help="Port; 0 for a free one. Default: gateway.port.", callback=bounded),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The same as FILE.")] = None,
    reload_config: Annotated[
        bool, typer.Option("--reload-config", help="Read config.yaml again when it changes.")
    ] = False,
    no_token: Annotated[
        bool,
        typer.Option("--no-token", help="Without keys, accept every process of this machine."),
    ] = False,
    role: Annotated[
        Literal["all", "api", "worker"],
        typer.Option(help="all; api: accept runs for others to perform; worker: perform them."),
    ] = "all",
    workers: Annotated[
        int, typer.Option(help="Processes that share the address.", min=1, callback=bounded)
    ] = 1,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="Log level; info has one line per request."),
    ] = "info",
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option(help="Format of log lines; json has run and trace ids."),
    ] = "text",
) -> None:
    """Serve the HTTP API: threads, runs as streams of events, memory, files.

    Without keys in config.yaml (gateway.keys, gateway.oidc) it listens to this machine alone, and
    asks for a token that it makes at its first start. `thalweg chat` and the client find it.
    Ctrl-C or SIGTERM ends it; runs under way are resumed at the next start, or by another
    gateway on the same PostgreSQL.
    """
    if workers > 1 and not hasattr(os, "fork"):
        raise ConfigError("--workers", "this system cannot fork", "start one process, or more")
    if file is not None and config is not None:
        raise ConfigError("--config", f"{file} is set as well", "name the file once")
    from thalweg_server.settings.loading import examine  # noqa: PLC0415 (reads YAML)

    report = examine(file or config)
    settings = report.unless_wrong()
    at = address(settings.gateway, host, port)
    # Seconds: agents and all that they need come with it.
    from thalweg_server.app.opening import folder_of  # noqa: PLC0415
    from thalweg_server.gateway import serving  # noqa: PLC0415

    serving.logs(log_level, as_json=log_format == "json")
    with nullcontext() if role == "worker" else serving.bound(*at) as taken:
        name = taken.getsockname()[1] if taken else f"worker-{os.getpid()}"
        metrics = folder_of(settings) / f"metrics-{name}"
        number = serving.start_workers(workers, metrics) if workers > 1 else 0

        def ready(app: "App", token: "LocalToken | None") -> None:
            if number:
                return
            if taken is None:
                typer.echo(f"Thalweg {version('thalweg')} performs runs of other processes")
                return
            typer.echo("\n".join(screen(app.settings, serving.address_of(taken), report, token)))

        source = report.file if report.file and reload_config else settings
        asyncio.run(serving.serve(source, taken, ready, is_tokenless=no_token, role=role))


def address(gateway: GatewaySettings, host: str, port: int | None) -> tuple[str, int]:
    """Return the address to listen on.

    Raises:
        ConfigError: Other machines would reach it without authentication.
    """
    host, port = host or gateway.host, gateway.port if port is None else port
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError("--port", f"{port} is none", f"pass one from 0 to {_LAST_PORT}")
    if gateway.is_open and not is_loopback(host):
        problem = f"other machines reach {host}, and no authentication is configured"
        raise ConfigError("--host", problem, "add gateway.keys or gateway.oidc to config.yaml")
    return host, port


def screen(
    settings: "Settings", url: str, report: "SettingsReport", token: "LocalToken | None" = None
) -> Iterator[str]:
    """Yield the lines that describe the served application.

    Args:
        settings: The settings in effect.
        url: Its address.
        report: The file of the settings, with its settings that have no effect.
        token: The token of callers if there are no keys; shown if it was just created.
    """
    yield f"Thalweg {version('thalweg')} serves at {url}"
    yield ""
    rows = {
        "page": page_address(url, token if token and token.is_new else None),
        "docs": f"{url}/docs",
        "callers": _callers(settings.gateway, token),
        "models": _models(settings),
        "storage": _storage(settings),
        "settings": _file(report) or "by default; `thalweg config init` writes a config.yaml",
    }
    for name, text in rows.items():
        first, *more = text.splitlines()
        yield f"  {name:<9} {first}"
        yield from (f"  {'':<9} {line}" for line in more)
    yield ""
    yield "Ctrl-C stops it; unfinished runs resume at the next start."


def page_address(url: str, token: "LocalToken | None") -> str:
    """Return the address of the web page; its fragment, which no server receives, has the token.

    Example:
        >>> page_address("http://127.0.0.1:8001", None)
        'http://127.0.0.1:8001/'
    """
    return f"{url}/" if token is None else f"{url}/#token={token.value}"


def _file(report: "SettingsReport") -> str:
    idle = [notice.position.key for notice in report.notices if notice.kind == "no effect"]
    if not idle:
        return report.file
    more = f" and {len(idle) - _MOST_NAMES} more" if len(idle) > _MOST_NAMES else ""
    return (
        f"{report.file}, of which {', '.join(idle[:_MOST_NAMES])}{more} "
        f"{'has' if len(idle) == 1 else 'have'} no effect here;\n"
        f"`thalweg config show {report.file}` shows what happens instead"
    )


def _callers(gateway: GatewaySettings, token: "LocalToken | None") -> str:
    if gateway.is_open and token is not None:
        shown = f"{token.value}\n(new, shown only now; it is in {token.path})"
        return f"this machine, with the token {shown if token.is_new else f'in {token.path}'}"
    if gateway.is_open:
        return "this machine alone, without a key; everything belongs to the owner `local`"
    ways = []
    if gateway.keys:
        owners = len({each.owner for each in gateway.keys})
        ways.append(f"{count(len(gateway.keys), 'key')} of {count(owners, 'owner')}")
    if gateway.oidc is not None:
        named = f"{gateway.oidc.owner_prefix}`{gateway.oidc.owner_claim}`"
        ways.append(f"tokens of {gateway.oidc.issuer}; the owner is {named}")
    return "\n".join(ways)


def _models(settings: "Settings") -> str:
    default = settings.default_model
    names = [model.name for model in settings.models if model.name != default]
    if default is None:
        return (
            "none: everything works but answers; name one in config.yaml, such as\n"
            "agent: {model: ollama:NAME} or openai:NAME@http://host/v1"
        )
    names.insert(0, default)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more + _small_agent(settings, default)


def _small_agent(settings: "Settings", name: str) -> str:
    """Return a line about a model whose window gives its agent fewer tools."""
    # A model's own profile is not asked: LangChain may be loading in another thread.
    if name not in settings.short_models:
        return ""
    return f"\n{name} has a short window and a small agent:\n{settings.small_agent}"


def _storage(settings: "Settings") -> str:
    storage = settings.storage
    if storage.address is None:
        return f"SQLite in {Path(storage.home).absolute()}"
    found = urlsplit(storage.address)
    return f"PostgreSQL at {found.hostname}{found.path}"
