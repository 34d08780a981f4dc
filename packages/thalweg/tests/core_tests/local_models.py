"""Real models for tests: weights that `scripts/fetch_test_model.py` fetched, and their server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[4] / "scripts/serve_test_model.py"


def weights(name: str) -> Path:
    """Return the file of a model, or skip the test that needs it."""
    folder = os.environ.get("THALWEG_TEST_MODELS") or Path.home() / ".cache" / "thalweg-tests"
    path = Path(folder) / "models" / f"{name}.gguf"
    if not path.is_file():
        pytest.skip(f"no weights: run `uv run python scripts/fetch_test_model.py {name}`")
    return path


@pytest.fixture(scope="session")
def smol() -> Path:
    """Return the file of 135 million weights: fast, and next to nonsense."""
    return weights("smol")


@pytest.fixture(scope="session")
def qwen() -> Path:
    """Return the file of 1.5 billion weights: can call tools."""
    return weights("qwen")


@contextmanager
def served(path: Path, window: int, template: str = "") -> Iterator[str]:
    """Serve a model in a process of its own, and yield the address of its OpenAI API.

    Args:
        path: The GGUF file.
        window: Tokens of a request and its answer.
        template: A Jinja file in place of the model's own chat template.
    """
    command = [sys.executable, str(SERVER), str(path), str(window), template]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=sys.stderr, text=True) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            assert address, f"{path} was not loaded"
            yield address
        finally:
            server.kill()
