"""The pages on the client and the chat say what is so."""

import re
from pathlib import Path

import pytest

from tests.e2e.chat_gateway import Gateway
from tests.e2e.test_chat_terminal import SETTINGS, served
from thalweg.cli.chat.commands import COMMANDS
from thalweg.client import ThalwegClient

DOCS = Path(__file__).parents[2] / "docs"
CLIENT = (DOCS / "client.md").read_text(encoding="utf-8")
CHAT = (DOCS / "chat.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", CLIENT, re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES)
def test_every_example_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    with served(Gateway(pace_s=0.0)) as url:
        exec(compile(code.replace("http://127.0.0.1:8001", url), "client.md", "exec"), {})  # noqa: S102 (our own page)
    assert capsys.readouterr().out


def test_every_method_is_named() -> None:
    section = CLIENT[CLIENT.index("## Methods") :]
    methods = {name for name in vars(ThalwegClient) if not name.startswith("_")} - {"close"}
    assert set(re.findall(r"`(\w+)`", section)) >= methods


def test_every_command_is_named() -> None:
    assert set(re.findall(r"`/(\w+)", CHAT)) == set(COMMANDS)
