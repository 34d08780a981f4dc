"""The wires by name."""

import subprocess
import sys

import pytest

from thalweg.engine.wires import READERS, WIRES
from thalweg.errors import ConfigError


def test_every_wire_bears_the_name_it_is_found_under() -> None:
    """A recording names the wire it was read with."""
    assert {name: one.name for name, one in READERS.items()} == {name: name for name in READERS}
    assert READERS.keys() - WIRES.keys() == {"anthropic", "gemini"}


def test_no_wire_is_imported_before_it_is_asked_for() -> None:
    """LangChain alone takes half a second; even its wire reads without it."""
    code = (
        "import sys; from thalweg.engine.wires import WIRES; "
        "assert not [m for m in sys.modules if m.endswith(('.langchain', '.gemini'))]; "
        "WIRES['langchain'].read([{'type': 'human', 'content': 'hi'}]); "
        "assert 'langchain_core' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    """And a mapping remains a mapping."""
    with pytest.raises(ConfigError, match=r"'openai'.*openai-chat, openai-responses, langchain"):
        WIRES["openai"]
    assert "openai" not in WIRES
    assert WIRES.get("openai") is None
