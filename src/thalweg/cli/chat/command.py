"""`thalweg chat`: its options, and what it needs to begin."""

import logging
import os
import sys
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli.home import home_folder
from thalweg.errors import ConfigError

if TYPE_CHECKING:
    from thalweg.client import ThalwegClient

_LOG_BYTES = 1_000_000
_WORDS = "What to ask first. Without a terminal, or with what is piped in, it is all that is asked."


def chat(
    *,
    message: Annotated[str, typer.Argument(metavar="[MESSAGE]", help=_WORDS)] = "",
    model: Annotated[
        str, typer.Option("--model", "-m", help="Who answers: a name of the settings' models.")
    ] = "",
    thread: Annotated[
        str, typer.Option("--thread", "-t", help="Where: a thread's id; a new thread if not given.")
    ] = "",
    latest: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on in the thread that was used last.")
    ] = False,
    url: Annotated[
        str, typer.Option("--url", envvar="THALWEG_URL", help="A gateway; in process if not given.")
    ] = "",
    key: Annotated[
        str, typer.Option("--key", envvar="THALWEG_KEY", help="The key of that gateway.")
    ] = "",
    config: Annotated[
        Path | None, typer.Option("--config", help="The settings, if not config.yaml here.")
    ] = None,
) -> None:
    """Chat with an agent that remembers, forgets nothing, and shows what it does.

    `echo "Which rivers meet here?" | thalweg chat` prints the answer and nothing else.
    """
    # What follows takes a second to load, and its extras may be missing.
    from thalweg.cli.chat.threads import new_thread, newest_thread  # noqa: PLC0415

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    asked = message if sys.stdin.isatty() else _piped(message)
    if is_terminal:
        _on_a_terminal(_Wanted(model, thread, latest, url, key, config), asked)
        return
    from thalweg.cli.chat.plain import final_answer  # noqa: PLC0415 (see above)

    if not asked.strip():
        raise ConfigError("MESSAGE", "there is nothing to ask", "thalweg chat 'How many?'")
    with _client(url, key, config) as client:
        where = thread or (newest_thread(client) if latest else new_thread())
        if not (model or _default(client)):
            raise ConfigError("--model", "no model is configured", "`thalweg chat` says what to do")
        stream = client.stream(asked, where, model=model or None)
        sys.stdout.write(final_answer(stream).rstrip("\n") + "\n")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What was typed behind `thalweg chat`."""

    model: str
    thread: str
    latest: bool
    url: str
    key: str
    config: Path | None


def _default(client: "ThalwegClient") -> str:
    return next((one.name for one in client.list_models().items if one.is_default), "")


def _chosen(url: str) -> str:
    """Let a person choose a model where none is configured."""
    from thalweg.archive import home  # noqa: PLC0415 (see above)
    from thalweg.cli.chat.setup import choose  # noqa: PLC0415
    from thalweg.models import find_models  # noqa: PLC0415

    if url:
        raise ConfigError("--model", f"{url} has no model of its own", "name one it can reach")
    try:
        return choose(find_models(home=home()), typer.echo, input)
    except (EOFError, KeyboardInterrupt):
        return ""


def _piped(message: str) -> str:
    """Join what was typed and what was piped in."""
    piped = sys.stdin.read()
    return f"{message}\n\n{piped}" if message and piped.strip() else message or piped


def _client(url: str, key: str, config: Path | None) -> "ThalwegClient":
    from thalweg.client import ThalwegClient  # noqa: PLC0415 (see above)

    if url and config is not None:
        raise ConfigError("--config", f"the settings are those of {url}", "leave one of them out")
    return ThalwegClient(url or config, key=key or None)


def _on_a_terminal(wanted: _Wanted, first: str) -> None:
    try:
        from thalweg.cli.chat.prompt import Prompt  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("prompt_toolkit"):
            raise
        missing, mend = "prompt_toolkit is not installed", "pip install 'thalweg[chat]'"
        raise ConfigError(error.name, missing, mend) from None
    from thalweg.cli.chat.lines import Line  # noqa: PLC0415 (see above)
    from thalweg.cli.chat.rendering import Renderer  # noqa: PLC0415
    from thalweg.cli.chat.screen import Screen, has_colours, terminal_size  # noqa: PLC0415
    from thalweg.cli.chat.session import Session  # noqa: PLC0415
    from thalweg.cli.chat.status import Status  # noqa: PLC0415
    from thalweg.cli.chat.threads import newest_thread  # noqa: PLC0415

    folder = Path(os.environ.get("THALWEG_HOME") or home_folder() / ".thalweg")
    _log_into(folder / "chat.log")
    screen = Screen(sys.stdout, Renderer(colour=has_colours()), terminal_size)
    with _client(wanted.url, wanted.key, wanted.config) as client:
        screen.show([], [Line("note", "starting…")])
        try:
            default = _default(client)
            thread = wanted.thread or (newest_thread(client) if wanted.latest else "")
        finally:
            screen.show([])
        model = wanted.model or ("" if default else _chosen(wanted.url))
        if model or default:
            status = Status(model=model or default, wanted=model, thread=thread)
            session = Session(client, screen, status)
            session.run(Prompt(folder / "chat_history", session.status_line, session.names), first)


def _log_into(path: Path) -> None:
    """Keep what parts of this process log away from the screen."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = RotatingFileHandler(
            path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
    except OSError:
        handler = logging.NullHandler()  # a home that cannot be written to
    logging.basicConfig(
        handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.captureWarnings(capture=True)
