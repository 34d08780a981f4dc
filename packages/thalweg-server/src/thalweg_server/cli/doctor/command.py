"""`thalweg doctor`: its options, and how findings are printed."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Final

import typer

from thalweg import archive
from thalweg.cli.home import home_folder
from thalweg.cli.layout import count
from thalweg.cli.printing import print_result
from thalweg.cli.shared_options import AsJson, Config, single_command
from thalweg_server.cli.doctor import machine, storage
from thalweg_server.cli.doctor.configured import configured, settings_of
from thalweg_server.cli.doctor.finding import Finding
from thalweg_server.models import find_models

MARKS: Final = {"ok": "ok  ", "off": "--  ", "broken": "FAIL"}
_WIDEST: Final = 22
_LEAST_WIDTH: Final = 60


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
    print_result([*_lines(findings), "", _verdict(findings, broken)], plain, as_json=as_json)
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


def _lines(findings: list[Finding]) -> Iterator[str]:
    """Format findings as three columns; a fix that does not fit has a line of its own."""
    column = min(_WIDEST, max(len(finding.what) for finding in findings))
    room = max(_LEAST_WIDTH, get_terminal_size((80, 24)).columns) - column - 8
    for finding in findings:
        fix = f"→ {finding.fix}" if finding.fix else ""
        lines = wrap(finding.seen, room, break_long_words=False, break_on_hyphens=False)
        if fix and len(lines) == 1 and len(f"{lines[0]}  {fix}") <= room:
            lines, fix = [f"{lines[0]}  {fix}"], ""
        first, *more = [*lines, *filter(None, [fix])]
        yield f"{MARKS[finding.state]}  {finding.what:<{column}}  {first}"
        yield from (f"{'':{column + 8}}{line}" for line in more)


def _verdict(findings: list[Finding], broken: list[Finding]) -> str:
    if broken:
        names = ", ".join(finding.what for finding in broken)
        return f"{count(len(broken), 'check')} failed: {names}"
    answers = any(
        finding.state == "ok" and finding.what.startswith("model ") for finding in findings
    )
    more = "" if answers else " No model can answer yet: `thalweg chat` shows three ways to one."
    return f"Everything that is set up works.{more}"
