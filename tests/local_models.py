"""Real models for tests, where `scripts/fetch_test_model.py` has put them."""

import os
from pathlib import Path

import pytest

from thalweg.server.models.local.folder import ModelFolder


def weights(name: str) -> Path:
    """Find the weights of a model, or skip the test that needs them."""
    folder = os.environ.get("THALWEG_TEST_MODELS") or Path.home() / ".cache" / "thalweg-tests"
    path = ModelFolder(Path(folder)).path(name)
    if not path.is_file():
        pytest.skip(f"no weights: run `uv run python scripts/fetch_test_model.py {name}`")
    return path


@pytest.fixture(scope="session")
def smol() -> Path:
    """Give 135 million weights: fast, and next to nonsense."""
    return weights("smol")


@pytest.fixture(scope="session")
def qwen() -> Path:
    """Give 1.5 billion weights: can call tools."""
    return weights("qwen")
