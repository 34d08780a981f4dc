"""Models by their names, and the error if one cannot be made."""

from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from strict_llm import Answer, StrictProvider
from thalweg.context.request.models import limits_of
from thalweg.engine.extras import install_line
from thalweg.errors import ConfigError
from thalweg_server.models import chat_model, model_by_name
from thalweg_server.models.compatible import CompatibleChat
from thalweg_server.models.making import make
from thalweg_server.models.providers import PROVIDERS
from thalweg_server.settings import ModelSettings, Settings

NONE = Settings()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's keys and addresses from the environment."""
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(variable, raising=False)
    for one in PROVIDERS:
        for key in one.keys:
            monkeypatch.delenv(key, raising=False)


def settings(**said: Any) -> ModelSettings:  # noqa: ANN401 (what a file may say)
    return ModelSettings(**{"name": "m", "model": "m", **said})


def test_a_name_of_the_settings_goes_before_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    fast = settings(name="openai:gpt-5.1", provider="anthropic", model="claude-x", api_key="k")
    model = model_by_name("openai:gpt-5.1", Settings(models=(fast,)))

    assert isinstance(model, ChatAnthropic)


def test_a_provider_and_its_model_are_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")

    assert isinstance(model_by_name("anthropic:claude-sonnet-4-6", NONE), ChatAnthropic)
    assert isinstance(model_by_name("claude-sonnet-4-6", NONE), ChatAnthropic)


def test_a_model_of_ollama_keeps_the_colon_in_its_name() -> None:
    model = model_by_name("ollama:qwen3:4b", NONE)

    assert isinstance(model, ChatOllama)
    assert model.model == "qwen3:4b"
    assert limits_of(model).window == model.num_ctx == 8_192


def test_a_class_is_named() -> None:
    options = {"temperature": 0.5, "api_key": "k"}
    model = make(settings(model="gpt-4o", use="langchain_openai:ChatOpenAI", options=options), "m")

    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.temperature) == ("gpt-4o", 0.5)


@pytest.mark.parametrize(
    "said",
    [
        {"provider": "openai", "model": "gpt-5.1", "api_key": "k"},
        {"provider": "anthropic", "model": "claude-sonnet-4-6", "api_key": "k"},
        {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"},
        {"use": "langchain_openai:ChatOpenAI", "api_key": "k"},
        {"provider": "ollama"},
    ],
)
@pytest.mark.parametrize("window", [4_096, 272_001, 1_000_000])
def test_what_the_settings_say_of_a_window_is_what_the_engine_keeps_to(
    said: dict[str, str], window: int
) -> None:
    limits = limits_of(chat_model(settings(**said, window=window, max_output=1_000)))

    assert (limits.window, limits.output, limits.note) == (window, 1_000, "")


def test_a_window_alone_leaves_room_for_an_answer() -> None:
    limits = limits_of(chat_model(settings(base_url="http://127.0.0.1:9/v1", window=4_096)))

    assert (limits.window, limits.output) == (4_096, 512)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            "openai:gpt-5.1",
            "OpenAI requires a key, and OPENAI_API_KEY is not set; export OPENAI_AP",
        ),
        (
            "xai:grok-4",
            f"the package langchain_xai is not installed; {install_line('langchain-xai')}",
        ),
        ("nobody:m", "Unsupported provider='nobody'"),
        ("gibberish", "Unable to infer model provider"),
        ("", "names no model"),
        ("openai:@http://127.0.0.1/v1", "names no model"),
        ("local:tiny.gguf", "Unsupported provider='local'"),
        ("local:tiny.gguf", "or openai:NAME@http://HOST:PORT/v1 for a server that you run"),
    ],
)
def test_what_is_missing_is_told_before_any_request(name: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model_by_name(name, NONE)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        (
            "langchain_nowhere:ChatX",
            f"langchain_nowhere is not installed; {install_line('langchain-nowhere')}",
        ),
        ("langchain_openai:ChatOpenAl", "has no chat model 'ChatOpenAl'; did you mean 'ChatOpenA"),
        ("langchain_openai.nowhere:ChatX", "there is no module langchain_openai.nowhere"),
        ("json:loads", "json has no chat model 'loads'"),
    ],
)
def test_a_class_that_cannot_be_had_is_told(use: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chat_model(settings(use=use, model="m"))

    assert problem in str(caught.value)
    assert str(caught.value).startswith("models.m")


def test_a_server_elsewhere_needs_no_key_and_answers_through_the_settings_alone() -> None:
    with StrictProvider(window=16_000) as provider:
        provider.answer = lambda _: Answer("hello")
        model = model_by_name(f"openai:strict-1@{provider.openai_url}", NONE)

        assert isinstance(model, CompatibleChat)
        assert model.invoke("hi").text == "hello"
        streamed = [*model.stream("hi")]

    assert "".join(chunk.text for chunk in streamed) == "hello"
    assert any(chunk.usage_metadata for chunk in streamed)


def test_tokens_are_counted_here_where_the_server_is_not_openais() -> None:
    @tool
    def ls(path: str) -> str:
        """List a folder."""
        return path

    model = model_by_name("openai:any@http://127.0.0.1:9/v1", NONE)

    assert model.get_num_tokens("hello world") == 2
    asked: list[BaseMessage] = [HumanMessage("hello world")]
    assert 2 < model.get_num_tokens_from_messages(asked) < 10
    assert model.get_num_tokens_from_messages(asked, tools=[ls]) > 20
