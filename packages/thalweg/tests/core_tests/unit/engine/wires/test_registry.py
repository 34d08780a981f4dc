"""The wires by name."""

import subprocess
import sys

import pytest

from thalweg.engine.entries import Message, Text
from thalweg.engine.wires import WIRES, split_system
from thalweg.errors import ConfigError


def test_every_wire_bears_the_name_it_is_found_under() -> None:
    """A recording names the wire it was read with."""
    assert {name: wire.name for name, wire in WIRES.items()} == {name: name for name in WIRES}
    assert WIRES


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
    with pytest.raises(ConfigError, match=r"'openai'.*openai-chat, openai-responses, anthropic"):
        WIRES["openai"]
    with pytest.raises(ConfigError, match="known are"):
        split_system("openai", [])
    assert "openai" not in WIRES
    assert WIRES.get("openai") is None


@pytest.mark.parametrize("name", sorted(WIRES))
def test_the_system_prompt_is_parted_where_a_provider_wants_it_so(name: str) -> None:
    """The others have it among the messages."""
    said = [Message("system", (Text("Be brief."),)), Message("user", (Text("hi"),))]
    items = WIRES[name].write(said)

    system, messages = split_system(name, items)

    beside = name in {"anthropic", "gemini"}
    assert ("Be brief." in str(system)) == beside
    assert messages == (items[1:] if beside else items)
