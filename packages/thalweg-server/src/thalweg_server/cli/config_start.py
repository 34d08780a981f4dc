"""`thalweg config init`: three questions, and a configuration of ten lines."""

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from thalweg.cli.printing import print_lines
from thalweg.engine.sections import nearest
from thalweg.errors import ConfigError
from thalweg_server.settings.loading import examine_text
from thalweg_server.settings.starting import SANDBOXES, short_file, starting_file

_MOST_SHOWN: Final = 9
_PLACES: Final = {
    "none": "the agent runs no commands",
    "bubblewrap": "confined on this machine",
    "docker": "in a container",
    "podman": "in a container",
    "host": "unconfined, as you",
}


def init(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file.")] = Path("config.yaml"),
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
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a config.yaml of ten lines from three answers: model, sandbox, memory.

    Each option answers one question. Without a terminal nothing is asked: --model is required,
    commands are off and memory is on by default.
    """
    if path.exists() and not force:
        raise _exists(path)
    text = starting_file() if everything else _answered(model, sandbox, memory)
    examine_text(text.encode(), str(path), os.environ).unless_wrong()
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise _exists(path) from None
    shown = "" if path == Path("config.yaml") else f" {path}"
    print_lines([f"{path}: written; edit it, then run: thalweg config check{shown}"])
    if not everything:
        print_lines(_next_steps(path))


def _exists(path: Path) -> ConfigError:
    fix = "name another file, or overwrite it with --force"
    return ConfigError(str(path), "the file exists already", fix)


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
        raise ConfigError("--sandbox", f"{sandbox!r} is none", nearest(sandbox, SANDBOXES, usual))
    if memory is None:
        memory = not is_interactive or typer.confirm(
            "3/3  Remember facts between threads?", default=True
        )
    return short_file(model=model, sandbox=sandbox, memory=memory)


def _prompt_model() -> str:
    from thalweg_server.models import find_models  # noqa: PLC0415 (only where it asks)

    found = [one for one in find_models() if one.is_ready][:_MOST_SHOWN]
    print_lines(["1/3  Which model answers?"])
    print_lines(f"  {number}  {one.name}  ({one.what})" for number, one in enumerate(found, 1))
    if not found:
        print_lines(["  none was found here; type one, such as ollama:qwen3:4b"])
    default = "1" if found else None
    while not (reply := typer.prompt("     A number, or a name", default=default).strip()):
        continue
    is_number = reply.isdecimal() and 1 <= int(reply) <= len(found)
    return found[int(reply) - 1].name if is_number else reply


def _prompt_sandbox() -> str:
    print_lines(["2/3  Where do commands of the agent run?"])
    print_lines(f"  {name:<10}  {about}" for name, about in _PLACES.items())
    reply: str = typer.prompt("     A name", default="none")
    return reply.strip()


def _next_steps(path: Path) -> list[str]:
    """Return the steps that remain before the model can answer."""
    from thalweg_server.models import model_by_name  # noqa: PLC0415 (LangChain)
    from thalweg_server.settings.loading import load_settings  # noqa: PLC0415 (the same)

    settings = load_settings(path)
    option = "" if path == Path("config.yaml") else f" --config {path}"
    try:
        model_by_name(settings.default_model or "", settings)
    except ConfigError as error:
        return [f"first: {error.fix} ({error.problem})", f"then:  thalweg chat{option}"]
    return [f"next:  thalweg chat{option}"]
