"""`thalweg chat`: its options and its start."""

import logging
import os
import sys
from dataclasses import dataclass, replace
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli.home import home_folder
from thalweg.cli.shared_options import Config, single_command
from thalweg.database.private_files import make_private_file, make_private_folder
from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError

if TYPE_CHECKING:
    from thalweg_server.client import ThalwegClient
    from thalweg_server.client.in_process import Application
    from thalweg_server.settings import Settings

_OWNER = "local"
_LOG_BYTES = 1_000_000
_WORDS = "The first message. Without a terminal, or with piped input, it is the only one."


@single_command
def chat(
    *,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help=_WORDS)] = "",
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="The model: a name in the settings' models; in process also "
            "ollama:NAME, provider:model or openai:NAME@http://host/v1.",
        ),
    ] = "",
    thread: Annotated[
        str, typer.Option("--thread", "-t", help="A thread's id. Default: a new thread.")
    ] = "",
    latest: Annotated[
        bool, typer.Option("--continue", "-c", help="Continue the thread that was used last.")
    ] = False,
    url: Annotated[
        str,
        typer.Option(
            "--url",
            envvar="THALWEG_URL",
            help="Address of a gateway. Default: run in this process.",
        ),
    ] = "",
    key: Annotated[
        str, typer.Option("--key", envvar="THALWEG_KEY", help="The key of that gateway.")
    ] = "",
    config: Config = None,
    has_place: Annotated[
        bool,
        typer.Option(
            "--folder/--no-folder",
            help="Include this folder, its project and branch in the agent's context.",
        ),
    ] = True,
) -> None:
    """Chat with an agent that remembers, forgets nothing, and shows its work.

    `echo "Which rivers meet here?" | thalweg chat` prints the answer and nothing else.
    """
    # What follows takes a second to load, and its extras may be missing.
    from thalweg_server.cli.chat.place import place  # noqa: PLC0415
    from thalweg_server.cli.chat.session import new_thread, newest_thread  # noqa: PLC0415

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    text = message if sys.stdin.isatty() else _piped(message)
    here = place(Path.cwd()) if has_place else ""
    options = _ChatOptions(model, thread, latest, url, key, config, here)
    if is_terminal:
        _on_a_terminal(options, text)
        return
    from thalweg_server.cli.chat.plain import final_answer  # noqa: PLC0415 (see above)

    _log_into(_folder() / "chat.log")
    if not text.strip():
        raise ConfigError("MESSAGE", "there is nothing to ask", "thalweg chat 'How many?'")
    with _client(options) as client:
        if not (model or _default(client)):
            raise ConfigError(
                "--model", "no model is configured", "run `thalweg chat` for instructions"
            )
        _check_model(client, model)
        where = thread or (newest_thread(client) if latest else new_thread())
        stream = client.stream(text, where, model=model or None, place=here or None)
        sys.stdout.write(final_answer(stream).rstrip("\n") + "\n")


@dataclass(frozen=True, slots=True)
class _ChatOptions:
    """Options of `thalweg chat`."""

    model: str
    thread: str
    latest: bool
    url: str
    key: str
    config: Path | None
    place: str


def _default(client: "ThalwegClient") -> str:
    return next((one.name for one in client.list_models().items if one.is_default), "")


def _chosen() -> str:
    """Ask a person for a model if none is configured; return an empty text if there is none."""
    from thalweg_server.cli.chat.setup import choose  # noqa: PLC0415 (see above)
    from thalweg_server.models import find_models  # noqa: PLC0415

    try:
        return choose(find_models(), typer.echo, input)
    except (EOFError, KeyboardInterrupt):
        return ""


def _piped(message: str) -> str:
    """Join the typed text and the piped text."""
    piped = sys.stdin.read()
    return f"{message}\n\n{piped}" if message and piped.strip() else message or piped


def _check_model(client: "ThalwegClient", model: str) -> None:
    """Look for a model before anything is typed; `provider:model` shows when it is made.

    Raises:
        ConfigError: There is none of that name.
    """
    if not model or ":" in model:
        return
    names = [one.name for one in client.list_models().items]
    if model not in names:
        fix = f"name one of {', '.join(names)}, or" if names else "add it to models:, or name"
        problem = f"no model is called {model!r}"
        raise ConfigError("--model", problem, f"{fix} provider:model, ollama:NAME")


def _client(options: _ChatOptions) -> "ThalwegClient":
    from thalweg.archive import parse_thread_id  # noqa: PLC0415 (see above)
    from thalweg_server.client import ThalwegClient  # noqa: PLC0415

    url, key = options.url, options.key or None
    if url and options.config is not None:
        raise ConfigError("--config", f"the settings are those of {url}", "remove one of them")
    if url and not url.startswith(("http://", "https://")):
        raise ConfigError("--url", f"{url!r} is no address", "write http://HOST:PORT")
    if options.thread:
        parse_thread_id(options.thread)
    if key and not url:
        raise ConfigError("--key", "it is for a gateway elsewhere", "name it with --url")
    if url:
        return ThalwegClient(url, key=key)
    return ThalwegClient(_in_process(options))


def _in_process(options: _ChatOptions) -> "Application":
    """Make the gateway of this process; who sits here may have any model answer."""
    from thalweg_server.app import open_app  # noqa: PLC0415 (see above)
    from thalweg_server.gateway.create import create_app  # noqa: PLC0415
    from thalweg_server.settings.loading import load_settings  # noqa: PLC0415

    source: Settings | Path | None = options.config
    settings = load_settings(options.config)
    if ":" in options.model and settings.model_named(options.model) is None:
        # What learns, titles and compacts is then the model that was asked for, too.
        agent = settings.agent.model_copy(update={"model": options.model})
        source = settings.model_copy(update={"agent": agent})
    return create_app(open_app(source, any_model=True, is_eager=True), owner=_OWNER)


def _on_a_terminal(options: _ChatOptions, first: str) -> None:
    with needs_extra("thalweg chat"):
        from thalweg_server.cli.chat.prompt import MessagePrompt  # noqa: PLC0415 (an extra)
    from thalweg_server.cli.chat.lines import PrintedLine  # noqa: PLC0415 (see above)
    from thalweg_server.cli.chat.rendering import Renderer  # noqa: PLC0415
    from thalweg_server.cli.chat.screen import Screen, has_colours, terminal_size  # noqa: PLC0415
    from thalweg_server.cli.chat.session import ChatSession, newest_thread  # noqa: PLC0415
    from thalweg_server.cli.chat.status import Status  # noqa: PLC0415

    folder = _folder()
    _log_into(folder / "chat.log")
    screen = Screen(sys.stdout, Renderer(colour=has_colours()), terminal_size)
    if not (options.url or options.key or options.model or _configured(options.config)):
        options = replace(options, model=_chosen())
        if not options.model:
            return
    screen.show([], [PrintedLine("note", "starting…")])
    try:
        with _client(options) as client:
            default = _default(client)
            if not (options.model or default):
                problem = f"{options.url} has no model of its own"
                raise ConfigError("--model", problem, "name one it can reach")
            _check_model(client, options.model)
            thread = options.thread or (newest_thread(client) if options.latest else "")
            screen.show([])
            status = Status(
                model=options.model or default, chosen_model=options.model, thread=thread
            )
            session = ChatSession(client, screen, status, options.place)
            session.run(
                MessagePrompt(folder / "chat_history", session.status_line, session.names), first
            )
    finally:
        screen.show([])


def _configured(config: Path | None) -> bool:
    from thalweg_server.settings.loading import load_settings  # noqa: PLC0415 (see above)

    return load_settings(config).default_model is not None


def _folder() -> Path:
    """Name the folder of what chats keep for themselves."""
    return Path(os.environ.get("THALWEG_HOME") or home_folder() / ".thalweg")


def _log_into(path: Path) -> None:
    """Keep what parts of this process log away from the screen."""
    try:
        make_private_folder(path.parent)
        make_private_file(path)
        handler: logging.Handler = RotatingFileHandler(
            path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
    except OSError:
        handler = logging.NullHandler()  # a home that cannot be written to
    logging.basicConfig(
        handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.captureWarnings(capture=True)
