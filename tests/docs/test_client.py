"""The page on the clients names every method and every command."""

import re
from pathlib import Path

from thalweg_server.cli.chat.commands import COMMANDS
from thalweg_server.client import ThalwegClient

DOCS = Path(__file__).parents[2] / "docs"
CHAT, CLIENT, _ = (DOCS / "client.md").read_text(encoding="utf-8").split("\n## ")[1:]


def test_every_method_is_named() -> None:
    section = CLIENT[CLIENT.index("### Methods") :]
    methods = {name for name in vars(ThalwegClient) if not name.startswith("_")} - {"close"}
    assert set(re.findall(r"`(\w+)`", section)) >= methods


def test_every_command_is_named() -> None:
    assert set(re.findall(r"`/(\w+)", CHAT)) == set(COMMANDS)
