"""The page on memory names every setting, command and key, with its default."""

import json
import re
from pathlib import Path
from typing import get_args

from typer.core import TyperGroup
from typer.main import get_command

from thalweg_memory.cli.commands import memory
from thalweg_memory.facts.document import read_document
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Status

PAGE = (Path(__file__).parents[2] / "docs" / "memory.md").read_text(encoding="utf-8")


def test_every_document_is_one() -> None:
    for document in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL):
        assert read_document(document).facts


def test_every_setting_stands_there_with_its_default() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|", PAGE, re.MULTILINE)
    told: dict[str, str] = {}
    for keys, defaults in rows:
        names = re.findall(r"`(\w+)`", keys)
        values = [value.strip(" `") for value in defaults.split(", ")]
        told |= dict(zip(names, values, strict=False))
    for name, field in MemorySettings.model_fields.items():
        assert name in told, name
        if isinstance(field.default, (bool, int, float)):
            assert told[name] == json.dumps(field.default), name


def test_every_command_and_status_stands_there() -> None:
    named = set(re.findall(r"thalweg memory (\w+)", PAGE)) | {"import"}
    group = get_command(memory)
    assert isinstance(group, TyperGroup)
    assert set(group.commands) <= named
    assert all(f"| `{status}` |" in PAGE for status in get_args(Status))
