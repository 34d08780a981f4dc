"""Both clients can do the same, and importing them costs nothing."""

import inspect
import re
import subprocess
import sys

import pytest

from thalweg_server.client import AsyncThalwegClient, ThalwegClient

RENAMED = {"aclose": "close"}
STREAMS = {"RunStream": "BlockingStream"}


def surface(client: type) -> dict[str, str]:
    """Return each public method's signature."""
    return {
        RENAMED.get(name, name): re.sub(
            r"'?RunStream'?", "BlockingStream", str(inspect.signature(member))
        ).replace("thalweg_server.client.blocking.", "")
        for name, member in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_")
    }


def test_every_method_has_a_blocking_twin_with_the_same_signature() -> None:
    """A method added to one side and forgotten on the other fails here."""
    assert surface(ThalwegClient) == surface(AsyncThalwegClient)


def test_both_are_made_alike() -> None:
    made = [inspect.signature(each.__init__) for each in (ThalwegClient, AsyncThalwegClient)]
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "words",
    [
        "import thalweg_server.client",
        "from thalweg_server.client import ThalwegClient, AsyncThalwegClient",
    ],
)
def test_an_import_brings_no_server_and_no_http(words: str) -> None:
    heavy = "{'fastapi', 'httpx2', 'langchain', 'langchain_core', 'sqlalchemy', 'uvicorn'}"
    check = f"{words}; import sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
