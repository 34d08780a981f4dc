"""`thalweg config`: check a configuration, show the values that apply, write a first one.

`thalweg config init` asks three questions, and writes a configuration of ten lines.
"""

import os
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from thalweg.cli.printing import count, fold, print_lines, print_result
from thalweg.cli.shared_options import AsJson, command_group
from thalweg.database.private_files import open_private
from thalweg.engine.sections import name_remedy
from thalweg.errors import ConfigError, SettingsError
from thalweg_server.settings.loading import (
    SettingNotice,
    SettingsReport,
    examine,
    examine_text,
    load_settings,
    unset_variables,
)
from thalweg_server.settings.nodes import Node
from thalweg_server.settings.sections import Settings
from thalweg_server.settings.showing import ShownSetting, inline, nested, shown, yaml_lines

_LOCAL: Final = "ollama:qwen3:4b"
_MOST_SHOWN: Final = 9
_PLACES: Final = {
    "none": "the agent runs no commands",
    "bubblewrap": "confined on this machine",
    "docker": "in a container",
    "podman": "in a container",
    "host": "unconfined, as you",
}
SANDBOXES: Final = tuple(_PLACES)
"""Values of `sandbox.use` that need no other setting."""
SHORT: Final = """\
# Settings of Thalweg. Check them: thalweg config show; see what works: thalweg doctor
agent:
  model: {model}
sandbox:
  use: {sandbox}  # where commands of the agent run: {places}
memory:
  enabled: {memory}
# Every setting with its default: thalweg config init --all everything.yaml
"""
"""A configuration with three decisions."""
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
config = command_group(
    name="config",
    help="Check and show a configuration, or write an initial one.",
)


def init(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            help="The file. Default: config.yaml; with --from, thalweg.yaml.",
            show_default=False,
        ),
    ] = None,
    *,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="The model that answers: provider:model, ollama:NAME or "
            "openai:NAME@http://host/v1.",
        ),
    ] = "",
    sandbox: Annotated[
        str, typer.Option("--sandbox", help=f"Where commands run: {', '.join(SANDBOXES)}.")
    ] = "",
    memory: Annotated[
        bool | None, typer.Option("--memory/--no-memory", help="Whether facts are remembered.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Write every setting, as a comment with its default.")
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="Convert this config.yaml of DeerFlow; nothing is asked."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a config.yaml of ten lines from three answers: model, sandbox, memory.

    Each option answers one question. Without a terminal nothing is asked: --model is required,
    commands are off and memory is on by default. With --from, each key that is left out is
    listed, and why; the file that is read stays as it is, and comments are not copied.

    Raises:
        ConfigError: The file exists, is the one that is converted, or an option has no effect.
    """
    path = path or Path("config.yaml" if source is None else "thalweg.yaml")
    whole = "--from" if source is not None else "--all" if everything else ""
    answers = {"--model": model, "--sandbox": sandbox, "--memory": memory is not None}
    given = [option for option, value in {**answers, "--all": everything}.items() if value]
    if whole and (unused := [option for option in given if option != whole]):
        raise ConfigError(unused[0], f"it has no effect with {whole}", "leave it out")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise ConfigError(str(path), "--from reads this file", "name another file to write")
    _validate_new(path, force=force)
    lines: list[str] = []
    if source is not None:
        text, lines = _convert(source, path)
    else:
        starting = files("thalweg_server.settings").joinpath("starting.yaml")
        text = starting.read_text("utf-8") if everything else _answered(model, sandbox, memory)
        examine_text(text.encode(), str(path), os.environ).unless_wrong()
    _write(path, text, force=force)
    named = "" if path == Path("config.yaml") else f" {path}"
    serve = "" if source is None else f" && thalweg serve{named}"
    print_lines([*lines, f"{path}: written; edit it, then run: thalweg config show{named}{serve}"])
    if not whole:
        print_lines(_next_steps(path))


def _validate_new(path: Path, *, force: bool) -> None:
    if path.exists() and not force:
        fix = "name another file, or overwrite it with --force"
        raise ConfigError(str(path), "the file exists already", fix)


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write a file that only its owner can read: it may have keys."""
    try:
        with open(
            path, "w" if force else "x", encoding="utf-8", newline="\n", opener=open_private
        ) as file:
            file.write(text)
    except FileExistsError:
        _validate_new(path, force=force)
        raise


def _answered(model: str, sandbox: str, memory: bool | None) -> str:  # noqa: FBT001 (an option)
    """Ask what no option answers, and return the file."""
    is_interactive = sys.stdin.isatty()
    if not model and not is_interactive:
        problem = "there is no terminal to ask which model answers"
        raise ConfigError("--model", problem, "pass --model provider:model, or --all")
    model = model or _prompt_model()
    sandbox = sandbox or (_prompt_sandbox() if is_interactive else "none")
    if sandbox not in SANDBOXES:
        usual = f"use {', '.join(SANDBOXES)}"
        raise ConfigError(
            "--sandbox", f"{sandbox!r} is none", name_remedy(sandbox, SANDBOXES, usual)
        )
    if memory is None:
        memory = not is_interactive or typer.confirm(
            "3/3  Remember facts between threads?", default=True
        )
    places = ", ".join(SANDBOXES)
    return SHORT.format(
        model=inline(model), sandbox=sandbox, places=places, memory=str(memory).lower()
    )


def _prompt_model() -> str:
    from thalweg_server.models import find_models, how_to_answer  # noqa: PLC0415 (only where it asks)

    found = [one for one in find_models() if one.is_ready][:_MOST_SHOWN]
    print_lines(["1/3  Which model answers?"])
    print_lines(f"  {number}  {one.name}  ({one.what})" for number, one in enumerate(found, 1))
    if not found:
        print_lines([how_to_answer()])
    default, what = ("1", "A number, or a name") if found else (_LOCAL, "A name, as after --model")
    reply: str = typer.prompt(f"     {what}", default=default).strip()
    is_number = reply.isdecimal() and 1 <= int(reply) <= len(found)
    return found[int(reply) - 1].name if is_number else reply


def _prompt_sandbox() -> str:
    print_lines(["2/3  Where do commands of the agent run?"])
    print_lines(f"  {name:<10}  {about}" for name, about in _PLACES.items())
    return str(typer.prompt("     A name", default="none")).strip()


def _next_steps(path: Path) -> list[str]:
    """Return the steps that remain before the model can answer."""
    from thalweg_server.models import model_by_name  # noqa: PLC0415 (LangChain)

    settings = load_settings(path)
    option = "" if path == Path("config.yaml") else f" --config {path}"
    try:
        model_by_name(settings.default_model or "", settings)
    except ConfigError as error:
        return [f"first: {error.fix} ({error.problem})", f"then:  thalweg chat{option}"]
    return [f"next:  thalweg chat{option}"]


@config.command(short_help="Check a configuration; show each value and where it comes from.")
def show(
    path: Place = None,
    *,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Include defaults.", show_default=False)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a configuration as YAML, with the line or the variable that each value comes from.

    Below it are settings without effect, warnings, and configured features, as comments. Secrets
    are masked; a variable that holds one is named. All errors are reported at once, with their
    lines; the exit code is 1 then. Without valid settings they are on stderr.
    """
    report, problems, warnings = _looked_at(path)
    findings = [*_findings(report, problems, warnings)]
    settings = None if report.problems else report.settings
    rows = shown(settings, report.root) if settings is not None else []
    rows = [row for row in rows if defaults or row.is_given]
    plain = {
        **_as_object(report, rows),
        "problems": [_plain(problem) for problem in problems],
        "notices": [_notice(notice) for notice in report.notices],
        "warnings": [{"place": place, "message": message} for place, message in warnings],
    }
    if settings is None and not as_json:
        sys.stderr.writelines(f"{part}\n" for line in findings for part in fold(line, ""))
    else:
        lines = [*_aligned(rows), *(part for line in findings for part in fold(line, "# "))]
        print_result(lines, plain, as_json=as_json)
    if problems:
        raise typer.Exit(1)


def _convert(source: Path, path: Path) -> tuple[str, list[str]]:
    """Return DeerFlow's configuration as one of ours, and a line for each key left out."""
    from thalweg_server.settings.deerflow import convert  # noqa: PLC0415 (only here)

    try:
        given = source.read_bytes()
    except OSError as error:
        problem = f"it cannot be read: {(error.strerror or str(error)).lower()}"
        raise ConfigError(str(source), problem, "name another file") from None
    text, notices = convert(given, str(source), os.environ)
    lines = [f"{n.position}: {n.kind}: {n.position.key or path} {n.message}" for n in notices]
    left_out = sum(notice.kind == "left out" for notice in notices)
    return text, [*lines, f"{count(left_out, 'key')} left out"]


config.command("init", short_help="Write an initial configuration.")(init)


def _looked_at(
    path: Path | None,
) -> tuple[SettingsReport, tuple[SettingsError, ...], list[_Warning]]:
    """Look at a file, and at what of it is used here and now."""
    report = examine(path)
    settings = report.settings
    if settings is None:
        return report, report.problems, []
    used, unused = unset_variables(settings)
    problems = (*report.problems, *used)
    warnings = [*map(_before_use, unused), *_not_installed(report.root)]
    return report, tuple(sorted(problems, key=lambda problem: problem.line)), warnings


def _before_use(error: SettingsError) -> _Warning:
    place = f"{error.file}:{error.line}:{error.column}"
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
                yield str(use.position), f"{use.position.key}: {problem}"


def _findings(
    report: SettingsReport, problems: tuple[SettingsError, ...], warnings: list[_Warning]
) -> Iterator[str]:
    for problem in problems:
        place = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
        key = f"{problem.key}: " if problem.key else ""
        yield f"{place}: error: {key}{problem.problem}; {problem.fix}"
    for place, message in warnings:
        yield f"{place}: warning: {message}"
    for notice in report.notices:
        kind = "warning" if notice.kind == "warning" else "note"
        yield f"{notice.position}: {kind}: {notice.position.key} {notice.message}"
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
    access = ""
    if gateway.is_open:
        access = " with the token of this machine" if gateway.local_token else " without a key"
    yield f"gateway on {gateway.host}:{gateway.port}{access}"


def _plain(problem: SettingsError) -> dict[str, Any]:
    names = ("file", "line", "column", "key", "problem", "fix")
    return {name: getattr(problem, name) for name in names}


def _notice(notice: SettingNotice) -> dict[str, Any]:
    at, names = notice.position, ("file", "line", "column", "key")
    place = {name: getattr(at, name) for name in names}
    return {**place, "kind": notice.kind, "message": notice.message}


def _aligned(rows: list[ShownSetting]) -> Iterator[str]:
    """Yield the YAML of settings, with their origins in a column of comments."""
    lines = list(yaml_lines(rows))
    column = max((len(text) for _, text in lines if len(text) <= _WIDEST), default=0)
    origins = {row.path: row.origin for row in rows}
    for path, text in lines:
        yield f"{text:<{column}}  # {origins[path]}" if path in origins else text


def _as_object(report: SettingsReport, rows: list[ShownSetting]) -> dict[str, Any]:

    origins = {row.key: row.origin for row in rows}
    return {"file": report.file or None, "settings": nested(rows), "origins": origins}
