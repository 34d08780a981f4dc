"""`thalweg ui`: the web page over an archive, without a configuration."""

import asyncio
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli.home import user_folder
from thalweg.cli.shared_options import bounded, single_command
from thalweg.errors import ConfigError
from thalweg_server.cli.serve import page_address

if TYPE_CHECKING:
    from thalweg_server.app import App
    from thalweg_server.gateway.local_token import LocalToken


@single_command
def ui(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of the data: .thalweg of a project, or of a gateway. Default: that of "
            "recorded sessions, THALWEG_HOME or ~/.thalweg."
        ),
    ] = None,
    *,
    port: Annotated[
        int | None,
        typer.Option(help="Port; 0 for a free one. Default: 8001 or a free one.", callback=bounded),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Show your threads and recorded sessions in the browser.

    It needs no configuration, no model and no key: `thalweg record import` adds the sessions of
    the coding agents of this machine. Only this machine is listened to; the address that is
    printed has the token of the page. Ctrl-C ends it.
    """
    from thalweg_server.gateway import serving  # noqa: PLC0415 (seconds)
    from thalweg_server.settings import Settings  # noqa: PLC0415

    home = folder or user_folder()
    if not (home / "thalweg.db").is_file():
        fix = "`thalweg record import` makes one of the sessions of your coding agents"
        raise ConfigError("FOLDER", f"{home} has no archive, thalweg.db", fix)
    settings = Settings.from_mapping({"storage": {"home": str(home)}})
    serving.logs("warning")
    host, usual = settings.gateway.host, settings.gateway.port
    try:
        taken = serving.bound(host, usual if port is None else port)
    except ConfigError:
        if port is not None:
            raise
        taken = serving.bound(host, 0)
    with taken:

        def ready(app: "App", token: "LocalToken | None") -> None:
            del app
            address = page_address(serving.address_of(taken), token)
            typer.echo(f"Threads of {home}: {address}\nCtrl-C ends it.")
            if open_browser:
                webbrowser.open(address)

        asyncio.run(serving.serve(settings, taken, ready))
