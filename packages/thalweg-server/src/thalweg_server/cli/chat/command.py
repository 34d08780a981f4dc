"""`thalweg chat`: its options and its start."""

import io
import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli.home import user_folder
from thalweg.cli.shared_options import Config, single_command
from thalweg.database.private_files import make_private_file, make_private_folder
from thalweg.engine.extras import needs_extra
from thalweg.errors import ClientError, ConfigError

if TYPE_CHECKING:
    from thalweg_server.cli.chat.session import ChatSession
    from thalweg_server.client import BlockingStream, ThalwegClient
    from thalweg_server.settings import Settings

_LOG_BYTES = 1_000_000
_PAGE = 100
"""Threads that are listed at once."""
_MESSAGE = "The first message. Without a terminal, or with piped input, it is the only one."
_MODEL = """The model: a name in the settings' models; in process also ollama:NAME, provider:model
or openai:NAME@http://host/v1."""
_THREAD = "A thread's id. Default: a new thread."
_LATEST = "Continue the thread that was used last."
_URL = "A gateway. Default: this process."
_KEY = "The key of that gateway."
_PLACE = "Show the agent this folder and its branch."


@single_command
def chat(
    *,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help=_MESSAGE)] = "",
    model: Annotated[str, typer.Option("--model", "-m", help=_MODEL)] = "",
    thread: Annotated[str, typer.Option("--thread", "-t", help=_THREAD)] = "",
    latest: Annotated[bool, typer.Option("--continue", "-c", help=_LATEST)] = False,
    url: Annotated[str, typer.Option("--url", envvar="THALWEG_URL", help=_URL)] = "",
    key: Annotated[str, typer.Option("--key", envvar="THALWEG_KEY", help=_KEY)] = "",
    config: Config = None,
    has_place: Annotated[bool, typer.Option("--folder/--no-folder", help=_PLACE)] = True,
) -> None:
    """Chat with an agent that remembers, forgets nothing, and shows its work.

    `echo "Which rivers meet here?" | thalweg chat` prints the answer and nothing else.
    """
    # What follows takes a second to load, and an extra may be missing.
    from thalweg.archive import parse_thread_id  # noqa: PLC0415
    from thalweg_server.cli.chat.commands import new_thread  # noqa: PLC0415

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    text = message if sys.stdin.isatty() else _piped(message)
    about = place(Path.cwd()) if has_place else ""
    _log_into(_private_file("chat.log"))
    if is_terminal and not (url or model or _configured(config)):
        return
    if not (is_terminal or text.strip()):
        raise ConfigError("MESSAGE", "there is nothing to ask", "thalweg chat 'How many?'")
    if thread:
        parse_thread_id(thread)
    if is_terminal:
        typer.echo("starting…\r", nl=False)
    with _client(url, key, config, model) as client:
        answers = _answering_model(client, model, is_remote=bool(url))
        thread = thread or (_newest_thread(client) if latest else "")
        if is_terminal:
            _session(client, model, answers, about).run(thread, text)
            return
        stream = client.stream(
            text, thread or new_thread(), model=model or None, place=about or None
        )
        sys.stdout.write(_answer(client, stream, answers).rstrip("\n") + "\n")


def _session(client: "ThalwegClient", model: str, answers: str, about: str) -> "ChatSession":
    """Begin a chat on this terminal: the first line has model, folder, memory and commands."""
    with needs_extra("thalweg chat"):
        from thalweg_server.cli.chat.session import ChatSession, LineEditor  # noqa: PLC0415
    from thalweg_server.cli.chat.printing import Printer  # noqa: PLC0415 (see above)

    has_dim = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    printer = Printer(sys.stdout, dims=has_dim)
    memory = "memory on" if client.get_memory_config()["enabled"] else "memory off"
    printer.line(" · ".join(filter(None, (answers, about, memory, "/help, /context, /retry"))))
    printer.end_line()
    return ChatSession(client, printer, LineEditor(_private_file("chat_history")), model, about)


def _answer(client: "ThalwegClient", stream: "BlockingStream", model: str) -> str:
    """Return the answer of a run; silence is reported on standard error.

    Raises:
        ThalwegError: The run failed.
        ClientError: It was cancelled, or waits for a person.
    """
    from thalweg_server.api.events import RunCompleted, RunFailed, RunInterrupted  # noqa: PLC0415
    from thalweg_server.cli.chat.printing import Printer, RunPrinter, follow  # noqa: PLC0415
    from thalweg_server.client.problems import error_of  # noqa: PLC0415

    unseen, notes = RunPrinter(Printer(io.StringIO()), model), Printer(sys.stderr)
    match follow(client, stream, unseen, notes).end:
        case RunCompleted(text=text):
            return text
        case RunFailed(problem=problem):
            raise error_of(problem)
        case RunInterrupted():
            fix = f"answer with `thalweg chat --thread {stream.thread}`"
            detail = f"the agent asks for a person's decision; {fix}"
            raise ClientError(0, "run.interrupted", detail)
        case _:
            raise ClientError(0, "run.cancelled", "the run was cancelled")


def _configured(config: Path | None) -> bool:
    """Return whether a model is configured; if none is, show how to get one."""
    from thalweg_server.models import find_models, how_to_answer  # noqa: PLC0415 (see above)
    from thalweg_server.settings.loading import load_settings  # noqa: PLC0415

    if load_settings(config).default_model is not None:
        return True
    typer.echo(how_to_answer(find_models()))
    typer.echo("\nTo keep your choice, write it into config.yaml: thalweg config init")
    return False


def _piped(message: str) -> str:
    """Join the typed text and the piped text."""
    piped = sys.stdin.read()
    return f"{message}\n\n{piped}" if message and piped.strip() else message or piped


def place(folder: Path) -> str:
    """Describe a folder on one line: its path, and the branch of git.

    A worktree's `.git` is a file that names the folder.
    """
    for git in (one / ".git" for one in (folder, *folder.parents)):
        try:
            if git.is_file():
                git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()  # noqa: PLW2901
            head = (git / "HEAD").read_text("utf-8").strip()
        except (OSError, ValueError):
            continue
        return f"{folder}, git branch {head.removeprefix('ref: refs/heads/')}"
    return str(folder)


def _answering_model(client: "ThalwegClient", model: str, *, is_remote: bool) -> str:
    """Return the name of the model that answers: the one that was named, or the default.

    Raises:
        ConfigError: There is no such model, or none at all.
    """
    models = client.list_models().items
    names = [one.name for one in models]
    model = model or next((one.name for one in models if one.is_default), "")
    if not model:
        fix = "name one that it can reach" if is_remote else "run `thalweg chat` for instructions"
        raise ConfigError("--model", "no model is configured", fix)
    if model not in names and ":" not in model:  # provider:model is checked when it is made
        fix = f"name one of {', '.join(names)}, or" if names else "add it to models:, or name"
        problem = f"no model is called {model!r}"
        raise ConfigError("--model", problem, f"{fix} provider:model, ollama:NAME")
    return model


def _newest_thread(client: "ThalwegClient") -> str:
    """Return the thread that was used last; imported sessions cannot be continued."""
    before: str | None = None
    while True:
        page = client.list_threads(limit=_PAGE, before=before)
        if ids := [thread.id for thread in page.items if not thread.recorded_by]:
            return ids[0]
        if (before := page.before) is None:
            raise ConfigError("--continue", "there is no thread yet", "omit it to begin one")


def _client(url: str, key: str, config: Path | None, model: str) -> "ThalwegClient":
    """Connect to a gateway, or make one in this process, whose user may have any model answer."""
    from thalweg_server.app import open_app  # noqa: PLC0415 (see above)
    from thalweg_server.client import ThalwegClient  # noqa: PLC0415
    from thalweg_server.client.places import OWNER  # noqa: PLC0415
    from thalweg_server.gateway.create import create_app  # noqa: PLC0415
    from thalweg_server.settings.loading import load_settings  # noqa: PLC0415

    if url and config is not None:
        raise ConfigError("--config", f"the settings are those of {url}", "remove one of them")
    if url and not url.startswith(("http://", "https://")):
        raise ConfigError("--url", f"{url!r} is no address", "write http://HOST:PORT")
    if key and not url:
        raise ConfigError("--key", "it is for a gateway elsewhere", "name it with --url")
    if url:
        return ThalwegClient(url, key=key or None)
    settings: Settings | Path | None = config
    if ":" in model and (loaded := load_settings(config)).model_named(model) is None:
        # The model that was named also learns, titles and compacts.
        agent = loaded.agent.model_copy(update={"model": model})
        settings = loaded.model_copy(update={"agent": agent})
    return ThalwegClient(create_app(open_app(settings, any_model=True, is_eager=True), owner=OWNER))


def _private_file(name: str) -> Path | None:
    """Make a file that only its user can read; `None` if the home cannot be written to."""
    path = user_folder() / name
    try:
        make_private_folder(path.parent)
        make_private_file(path)
    except OSError:
        return None
    return path


def _log_into(path: Path | None) -> None:
    """Write the log of this process to a file."""
    handler: logging.Handler = logging.NullHandler()
    if path is not None:
        handler = RotatingFileHandler(
            path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(handlers=[handler], format=form)
    logging.captureWarnings(capture=True)
