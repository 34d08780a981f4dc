"""`thalweg config`: check a configuration, show what holds, write one to start with."""

import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli.layout import count
from thalweg.cli.printing import print_json, print_lines, print_result
from thalweg.cli.shared_options import AsJson, command_group
from thalweg.errors import SettingsError
from thalweg_server.cli.config_start import init
from thalweg_server.settings.loading import SettingsReport, examine
from thalweg_server.settings.nodes import Node
from thalweg_server.settings.showing import ShownSetting, YamlLine, nested, shown, yaml_lines
from thalweg_server.settings.usage import unused_and_wanting, wanting
from thalweg_server.settings.whole import Settings

Place = Annotated[
    Path | None,
    typer.Argument(
        metavar="PATH",
        help="The file. Default: the one that THALWEG_CONFIG names, or config.yaml here.",
        show_default=False,
    ),
]
_Warning = tuple[str, str]
"""A position and the warning about it."""
_WIDEST = 60
"""The comment of a longer line of YAML is not aligned with the others."""
_PATIENCE_S = 0.2

config = command_group(
    name="config",
    help="Check a configuration, show its values and where they come from, or write an initial "
    "one.",
)


@config.command(short_help="Check a configuration and print its errors.")
def check(path: Place = None, *, as_json: AsJson = False) -> None:
    """Report every error of a configuration, settings without effect, and configured features.

    All errors are reported at once, with their lines. Exit code 1 when there are any.
    """
    report, problems, warnings = _looked_at(path)
    plain = {
        "file": report.file or None,
        "problems": [_plain(problem) for problem in problems],
        "notices": [
            {"file": n.place.file, "line": n.place.line, "key": n.place.key, "kind": n.kind}
            | {"told": n.message}
            for n in report.notices
        ],
        "warnings": [{"place": place, "told": message} for place, message in warnings],
    }
    print_result(_findings(report, problems, warnings), plain, as_json=as_json)
    if problems:
        raise typer.Exit(1)


@config.command(short_help="Show each value and where it comes from.")
def show(
    path: Place = None,
    *,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Include defaults.", show_default=False)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what holds, as YAML, with the line or the variable that each value comes from.

    Secrets are masked; a variable that holds one is named.
    """
    report = examine(path)
    settings = report.unless_wrong()
    rows = [row for row in shown(settings, report.root) if defaults or row.is_given]
    if as_json:
        print_json(_as_object(report, rows))
    elif rows:
        print_lines(_aligned(list(yaml_lines(rows))))
    else:
        named = report.file or "no config.yaml here"
        print_lines([f"# {named}: nothing is set; --defaults shows what holds"])


config.command("init", short_help="Write an initial configuration.")(init)


def _looked_at(
    path: Path | None,
) -> tuple[SettingsReport, tuple[SettingsError, ...], list[_Warning]]:
    """Look at a file, and at what of it is used here and now."""
    report = examine(path)
    settings = report.settings
    if settings is None:
        return report, report.problems, []
    problems = (*report.problems, *wanting(settings))
    warnings = [
        *map(_before_use, unused_and_wanting(settings)),
        *_not_installed(report.root),
        *_taken(settings, report.root),
    ]
    return report, tuple(sorted(problems, key=lambda problem: problem.line)), warnings


def _before_use(error: SettingsError) -> _Warning:
    place = f"{error.file}:{error.line}"
    return place, f"{error.key}: {error.problem}; {error.fix} before you use it"


def _not_installed(root: Node) -> Iterator[_Warning]:
    for section in ("models", "tools"):
        node = root.keys.get(section)
        for each in node.items if node is not None else ():
            use = each.keys.get("use")
            package = str(use.value).partition(":")[0].partition(".")[0] if use is not None else ""
            if use is not None and package.isidentifier() and find_spec(package) is None:
                named = repr(use.written if use.variables else package)
                problem = f"package {named} is not installed; install it before you use it"
                yield str(use.place), f"{use.place.key}: {problem}"


def _taken(settings: Settings, root: Node) -> Iterator[_Warning]:
    gateway = settings.gateway
    node = root.find(("gateway", "port"))
    place = "gateway" if node is None else node.place
    if not gateway.port:
        return
    try:
        with socket.create_connection((gateway.host, gateway.port), timeout=_PATIENCE_S):
            problem = f"something answers on {gateway.host}:{gateway.port} already"
            fix = "use another port, unless it is this gateway"
            yield str(place), f"gateway.port: {problem}; {fix}"
    except OSError:
        return


def _findings(
    report: SettingsReport, problems: tuple[SettingsError, ...], warnings: list[_Warning]
) -> Iterator[str]:
    for problem in problems:
        place = f"{problem.file}:{problem.line}" if problem.line else problem.file
        key = f"{problem.key}: " if problem.key else ""
        yield f"{place}: error: {key}{problem.problem}; {problem.fix}"
    for place, message in warnings:
        yield f"{place}: warning: {message}"
    for notice in report.notices:
        kind = "warning" if notice.kind == "warning" else "note"
        yield f"{notice.place}: {kind}: {notice.place.key} {notice.message}"
    configured = ", ".join(_configured(report.settings)) if report.settings is not None else ""
    if problems:
        yield f"{report.file}: {count(len(problems), 'error')}"
    elif report.file:
        yield f"{report.file} is good: {configured}"
    else:
        yield f"no config.yaml here, the defaults apply: {configured}"
        yield "`thalweg config init` writes an initial one"


def _configured(settings: Settings) -> Iterator[str]:
    models = len(settings.models)
    answers = f", {settings.default_model} answers" if settings.default_model else ""
    yield f"{count(models, 'model') if models else 'no models'}{answers}"
    yield f"memory {'on' if settings.memory.enabled else 'off'}"
    for what, parts in (("tool", settings.tools), ("MCP server", settings.mcp_servers)):
        if parts:
            yield count(len(parts), what)
    yield f"{'PostgreSQL' if settings.storage.url else f'SQLite in {settings.storage.home}'}"
    gateway = settings.gateway
    yield f"gateway on {gateway.host}:{gateway.port}{' without a key' if gateway.is_open else ''}"


def _plain(problem: SettingsError) -> dict[str, Any]:
    names = ("file", "line", "key", "problem", "fix")
    return {name: getattr(problem, name) for name in names}


def _aligned(lines: list[YamlLine]) -> Iterator[str]:
    """Put the places in a column of comments."""
    column = max((len(line.text) for line in lines if len(line.text) <= _WIDEST), default=0)
    for line in lines:
        yield f"{line.text:<{column}}  # {line.origin}" if line.origin else line.text


def _as_object(report: SettingsReport, rows: list[ShownSetting]) -> dict[str, Any]:

    origins = {row.key: row.origin for row in rows}
    return {"file": report.file or None, "settings": nested(rows), "origins": origins}
