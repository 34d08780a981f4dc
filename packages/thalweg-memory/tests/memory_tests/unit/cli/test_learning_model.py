"""The model of `thalweg memory learn`, by its name."""

import pytest
from langchain_openai import ChatOpenAI

from thalweg.errors import ConfigError
from thalweg_memory.cli.learning import learning_model


@pytest.mark.parametrize("key", ["", "k1"])
def test_a_server_at_an_address_needs_no_key(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    model = learning_model("openai:qwen3:4b@http://127.0.0.1:8080/v1")
    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.openai_api_base) == ("qwen3:4b", "http://127.0.0.1:8080/v1")
    assert model.openai_api_key.get_secret_value() == (key or "none")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "--model: '' names no model; write provider:model"),
        ("@http://127.0.0.1", "names no model; write provider:model"),
        ("nobody:nothing", "nobody:nothing: Unable to infer model provider"),
        ("openai:gpt-5.4", "openai:gpt-5.4: Missing credentials"),
        ("mistralai:x", "mistralai:x: Initializing ChatMistralAI requires"),
    ],
)
def test_a_model_that_cannot_be_made_is_one_sentence(
    name: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigError) as caught:
        learning_model(name)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
