"""The wires by name."""

import subprocess
import sys

from thalweg.engine.wires import READERS, WIRES


def test_the_providers_that_are_read_and_written() -> None:
    """A recording names the wire it was read with."""
    assert WIRES.keys() == {"openai-chat", "openai-responses", "langchain"}
    assert READERS.keys() - WIRES.keys() == {"anthropic", "gemini"}


def test_reading_messages_of_langchain_does_not_import_it() -> None:
    """It alone takes half a second."""
    code = (
        "import sys; from thalweg.engine.wires import WIRES; "
        "WIRES['langchain'].read([{'type': 'human', 'content': 'hi'}]); "
        "assert 'langchain_core' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
