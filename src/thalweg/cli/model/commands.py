"""`thalweg model`: fetch a model in a file, see what could answer, remove one."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from thalweg.archive import home
from thalweg.cli import layout
from thalweg.cli.asking import agrees
from thalweg.cli.printing import print_lines, tell
from thalweg.cli.shared_options import AsJson, Yes, command_group
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError
from thalweg.server.models import AvailableModel, find_models
from thalweg.server.models.local.catalogue import CATALOGUE, CatalogueModel, catalogue_model
from thalweg.server.models.local.folder import FileOrigin, ModelFolder
from thalweg.server.models.local.gguf import Gguf, read_gguf
from thalweg.server.models.local.pulling import pull

model = command_group(
    name="model",
    help="Download model files, list available models, remove files.",
)
Name = Annotated[str, typer.Argument(help="The name of the model: local:NAME.")]
Known = Annotated[str, typer.Argument(help="Name of a downloaded model.")]
From = Annotated[
    str,
    typer.Option(
        "--from", help="Where it is, if not in the catalogue: an http(s) address or a GGUF file."
    ),
]
Hash = Annotated[str, typer.Option("--sha256", help="The expected hash. Required over plain http.")]


@model.command("pull", short_help="Fetch a model of the catalogue, or from an address.")
def pull_command(name: Name, where: From = "", sha256: Hash = "") -> None:
    """Fetch a GGUF file into Thalweg's folder, check it, and give it a name.

    Without --from, NAME is one of `thalweg model list --available`.

    A download with a known hash resumes where it stopped when the same command is run again. The
    file gets its name only when it is whole, is a GGUF file, and has the hash you gave.
    """
    if not where:
        known = catalogue_model(name)
        where, sha256 = known.url, sha256 or known.sha256
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(printable(name), total=None)

        def show(done: int, whole: int | None) -> None:
            bar.update(task, completed=done, total=whole)

        path, origin = pull(ModelFolder(home()), name, where, sha256=sha256, progress=show)
    print_lines(_told(path, origin))


def _told(path: Path, origin: FileOrigin) -> Iterator[str]:
    name, gguf = path.stem, read_gguf(path)
    yield f"{name}: {_described(gguf, origin.size)}"
    yield f"  in {path}"
    if origin.is_pinned:
        yield f"  its hash is the expected one: {origin.sha256}"
    else:
        yield f"  no hash was passed; it is {origin.sha256}"
        yield "  compare it with the publisher's hash, and pass it as --sha256 the next time"
    if not gguf.template:
        yield "  it is a base model without a chat template: it continues texts, it cannot chat"
    yield f"  thalweg chat --model local:{name}"


@model.command("list", short_help="List downloaded models, and other models available here.")
def list_command(
    *,
    available: Annotated[
        bool, typer.Option("--available", help="The catalogue of models to pull, instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the models that were pulled, and whatever else could answer: servers, keys."""
    models = ModelFolder(home())
    if available:
        rows = [*CATALOGUE.values()]
        plain = {"models": [{**asdict(one), "dated": str(one.dated)} for one in rows]}
        tell(_catalogue(rows, set(models.names())), plain, as_json=as_json)
        return
    files = [_one(models, name) for name in models.names()]
    others = [offer for offer in find_models() if offer.kind != "file"]
    plain = {
        "models": [one for one, _ in files],
        "others": [asdict(offer) for offer in others],
    }
    tell(_listed([line for _, line in files], others), plain, as_json=as_json)


def _catalogue(rows: list[CatalogueModel], pulled: set[str]) -> Iterator[str]:
    head = ("name", "model", "size", "window", "licence", "")
    yield from layout.columns(
        [
            head,
            *(
                (
                    one.name,
                    one.title,
                    f"{one.size / 1e9:.1f} GB",
                    f"{one.window:,}",
                    one.license,
                    "pulled" if one.name in pulled else "",
                )
                for one in rows
            ),
        ]
    )
    yield ""
    yield f"thalweg model pull {rows[0].name}   then: thalweg chat --model local:{rows[0].name}"
    yield "Any other GGUF file: thalweg model pull NAME --from ADDRESS --sha256 HASH"


def _listed(files: list[str], others: list[AvailableModel]) -> Iterator[str]:
    yield from files or ["no model was pulled; `thalweg model list --available` lists some"]
    if others:
        yield ""
        yield "also available:"
    for offer in others:
        first = f"; first: {offer.missing}" if offer.missing else ""
        yield f"  {offer.name}  {offer.what}{first}"


def _one(models: ModelFolder, name: str) -> tuple[dict[str, Any], str]:
    """Describe one model, for programs and for people."""
    path = models.path(name)
    size, origin = path.stat().st_size, models.origin(name)
    plain: dict[str, Any] = {"name": name, "path": str(path), "size": size}
    plain["origin"] = asdict(origin) if origin else None
    try:
        gguf = read_gguf(path)
    except ConfigError as error:
        return {**plain, "problem": error.problem}, f"{name}  {error.problem}"
    told = {
        "model": gguf.name,
        "context": gguf.context,
        "template": gguf.abilities,
    }
    return {**plain, **told}, f"local:{name}  {_described(gguf, size)}{_unsure(origin)}"


def _described(gguf: Gguf, size: int) -> str:
    said = (
        printable(gguf.name) or "a model without a name",
        f"{size / 1e9:.2f} GB",
        f"context {gguf.context:,}" if gguf.context else "context not said",
        gguf.abilities,
    )
    return ", ".join(said)


def _unsure(origin: FileOrigin | None) -> str:
    if origin is None:
        return ", of unknown origin"
    return "" if origin.is_pinned else ", hash not checked"


@model.command("remove", short_help="Remove a downloaded model.")
def remove_command(name: Known, *, yes: Yes = False) -> None:
    """Remove a model that was pulled, or what is left of one that did not come to its end."""
    models = ModelFolder(home())
    path = models.path(name)
    if path.is_file() and not yes:
        size = path.stat().st_size / 1e9
        if not agrees(f"Remove {path} ({size:.2f} GB)?", "to remove it"):
            raise typer.Exit(1)
    freed = models.remove(name)
    sys.stdout.write(f"removed {Path(name).name}: {freed / 1e9:.2f} GB\n")
