"""Every public name of deepagents imports; an absent one raises advice when it is used."""

import importlib

import pytest

import thalweg
import thalweg.backends
import thalweg.middleware
from thalweg import absent
from thalweg.errors import ConfigError


@pytest.mark.parametrize("module", ["", ".backends", ".middleware"])
def test_every_public_name_of_the_peer_imports(module: str) -> None:
    """Of the installed one; those of its profiles are all at the top."""
    theirs = pytest.importorskip(f"deepagents{module}")
    ours = importlib.import_module(f"thalweg{module}")

    assert [name for name in theirs.__all__ if not hasattr(ours, name)] == []
    assert set(theirs.__all__) - {"__version__"} <= set(ours.__all__)


@pytest.mark.parametrize("name", sorted(vars(absent)["__all__"]))
def test_an_absent_name_says_what_to_use(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: .*; [a-zC]"):
        getattr(absent, name)("openai", {})


def test_an_attribute_of_an_absent_class_is_advised_too() -> None:
    with pytest.raises(ConfigError, match="init_chat_model"):
        _ = thalweg.ProviderProfile.from_dict
