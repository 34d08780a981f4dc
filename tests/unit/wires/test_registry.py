"""The wires by name."""

import subprocess
import sys

from thalweg.wires.registry import WIRES


def test_every_wire_bears_the_name_it_is_found_under() -> None:
    """A recording names the wire it was read with."""
    assert {name: wire.name for name, wire in WIRES.items()} == {name: name for name in WIRES}
    assert len(WIRES) == 5


def test_no_wire_is_imported_before_it_is_asked_for() -> None:
    """LangChain alone takes half a second; even its wire reads without it."""
    code = (
        "import sys; from thalweg.wires.registry import WIRES; "
        "assert not [m for m in sys.modules if m.endswith(('.langchain', '.gemini'))]; "
        "WIRES['langchain'].read([{'type': 'human', 'content': 'hi'}]); "
        "assert 'langchain_core' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
