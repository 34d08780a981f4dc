"""What a chat model accepts, read from the objects people hand over."""

import ast
import gc
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.chat_models import init_chat_model
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.outputs import ChatResult
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from thalweg.context.request.models import (
    DEFAULT_WINDOW,
    MOST_OUTPUT,
    ModelLimits,
    is_stand_in,
    limits_for,
    limits_of,
    model_name,
    provider_of,
)
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel


class Stub(BaseChatModel):
    """A chat model of another package, with the fields that a test passes to it."""

    model: str = "stub-1"
    max_tokens: object = None
    max_completion_tokens: object = None
    max_output_tokens: object = None
    num_predict: object = None
    num_ctx: object = None
    n_ctx: object = None
    traced: str = ""

    @property
    def _llm_type(self) -> str:
        return "stub"

    def _get_ls_params(self, stop: list[str] | None = None, **_: Any) -> Any:  # noqa: ANN401
        del stop
        return {"ls_provider": self.traced, "ls_model_name": self.model}

    def _generate(self, *_: Any, **__: Any) -> ChatResult:  # noqa: ANN401
        raise NotImplementedError


def stub(**fields: Any) -> Stub:  # noqa: ANN401
    """Make one whose fields hold anything; a model of an older LangChain checks none of them."""
    return Stub.model_construct(**fields)


def openai(model: str, **settings: Any) -> ChatOpenAI:  # noqa: ANN401
    made: Any = ChatOpenAI
    return cast("ChatOpenAI", made(model=model, api_key="none", **settings))


def claude(model: str, **settings: Any) -> ChatAnthropic:  # noqa: ANN401
    made: Any = ChatAnthropic
    return cast("ChatAnthropic", made(model=model, api_key="none", **settings))


def test_claude_keeps_free_what_its_client_asks_for() -> None:
    """Anthropic refuses a request whose input and `max_tokens` are more than the window."""
    found = limits_of(claude("claude-sonnet-4-5"))
    assert found == ModelLimits(200_000, 64_000, "anthropic:claude-sonnet-4-5", "profile")
    assert found.input == 136_000
    assert limits_of(claude("claude-sonnet-4-5", max_tokens=4_096)).input == 195_904


def test_a_profile_that_counts_the_input_alone_leaves_all_of_it_to_the_input() -> None:
    for answer in (None, 1_000, 100_000):
        assert limits_of(openai("gpt-5.1", max_tokens=answer)).input == 272_000
    assert limits_of(openai("gpt-5.1")).window == 272_000 + MOST_OUTPUT


def test_a_profile_that_counts_the_longest_answer_in_leaves_the_rest_to_the_input() -> None:
    """The profiles are passed: older clients have none of these models."""
    large: Any = {"max_input_tokens": 1_050_000, "max_output_tokens": 128_000}
    small: Any = {"max_input_tokens": 400_000, "max_output_tokens": 128_000}
    for answer in (None, 1_000, 100_000):
        model = openai("gpt-5.4", max_tokens=answer, profile=large)
        assert limits_of(model).input == 1_050_000 - 128_000
        model = openai("gpt-5.4-mini", max_tokens=answer, profile=small)
        assert limits_of(model).input == 272_000


def test_a_profile_that_counts_the_context_is_shared_with_the_answer() -> None:
    assert limits_of(openai("gpt-4o")).window == 128_000
    assert limits_of(openai("gpt-4o")).output == MOST_OUTPUT
    assert limits_of(openai("gpt-4o", max_tokens=16_000)).input == 112_000
    assert limits_of(openai("gpt-4-turbo")).output == 4_096


def test_gemini_states_input_and_output_beside_each_other() -> None:
    profile: Any = {"max_input_tokens": 1_048_576, "max_output_tokens": 65_536}
    model = Stub(model="gemini-2.5-pro", traced="google_genai", profile=profile)
    assert limits_of(model).input == 1_048_576
    model = model.model_copy(update={"max_output_tokens": 65_536})
    assert limits_of(model).window == 1_048_576 + 65_536
    assert limits_of(model).input == 1_048_576


@pytest.mark.parametrize(
    "name", ["max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"]
)
def test_every_name_of_the_same_setting_is_read(name: str) -> None:
    assert limits_of(stub(**{name: 777}), window=100_000).output == 777


@pytest.mark.parametrize("nothing", [None, 0, -1, -2, "", "many", math.nan, math.inf, True, 10**30])
def test_what_is_no_count_is_not_taken_for_one(nothing: object) -> None:
    profile: Any = {"max_input_tokens": nothing, "max_output_tokens": nothing}
    model = stub(max_tokens=nothing, num_ctx=nothing, profile=profile)
    found = limits_of(model)
    assert (found.window, found.output, found.source) == (DEFAULT_WINDOW, 4_000, "default")
    assert f"{DEFAULT_WINDOW:,}" in found.note


def test_counts_written_as_words_are_read() -> None:
    profile: Any = {"max_input_tokens": "200,000", "max_output_tokens": " 8_000 "}
    found = limits_of(stub(profile=profile))
    assert (found.window, found.output) == (200_000, 8_000)


def test_what_a_server_was_told_counts_more_than_what_the_model_could() -> None:
    profile: Any = {"max_input_tokens": 131_072}
    found = limits_of(Stub(num_ctx=16_384, traced="ollama", profile=profile))
    assert (found.window, found.source) == (16_384, "attribute")
    assert limits_of(Stub(n_ctx=8_192)).window == 8_192


def test_ollama_serves_a_small_window_unless_told() -> None:
    found = limits_of(Stub(model="qwen3", traced="ollama"))
    assert (found.window, found.source) == (4_096, "default")
    assert found.note


def test_what_the_caller_gives_counts_most() -> None:
    found = limits_of(claude("claude-sonnet-4-5"), window=50_000, max_output=2_000)
    assert found == ModelLimits(50_000, 2_000, "anthropic:claude-sonnet-4-5", "given")


def test_an_answer_as_large_as_the_window_is_mended_and_said() -> None:
    found = limits_of(claude("claude-sonnet-4-5"), window=50_000)
    assert found.output == 6_250
    assert "64000" in found.note
    assert "6250" in found.note


@pytest.mark.parametrize("given", [{"window": 0}, {"window": -1}, {"max_output": 0}])
def test_a_caller_who_gives_no_count_is_told(given: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(given))):
        limits_of(stub(), **given)


def test_a_window_too_small_for_a_chat_is_not_believed() -> None:
    profile: Any = {"max_input_tokens": 1, "max_output_tokens": 1}
    assert limits_of(stub(profile=profile)).source == "default"


def test_bindings_are_looked_through() -> None:
    model = claude("claude-sonnet-4-5")
    assert limits_of(model.bind(stop=["x"])) == limits_of(model)  # type: ignore[arg-type]
    assert limits_of(model.bind_tools([])) == limits_of(model)  # type: ignore[arg-type]
    assert limits_of(model.bind(max_tokens=500)).output == 500  # type: ignore[arg-type]
    retried: Any = model.bind(max_tokens=500).with_retry()
    assert limits_of(retried).output == 500
    assert provider_of(retried) == "anthropic"


def test_a_configurable_model_is_read_by_its_default() -> None:
    model: Any = init_chat_model("openai:gpt-4o", configurable_fields="any", api_key="none")
    assert limits_of(model) == limits_of(openai("gpt-4o"))
    assert limits_of(model.bind_tools([])) == limits_of(openai("gpt-4o"))
    nobody: Any = init_chat_model()
    assert limits_of(nobody).source == "default"


@pytest.mark.parametrize(
    ("model", "window"),
    [
        (claude("claude-fable-5-2", max_tokens=4_096), 1_000_000),
        (openai("anthropic/claude-opus-4-5", base_url="http://localhost/v1"), 200_000),
        (openai("kimi-k3", base_url="http://localhost/v1"), 1_048_576),
    ],
    ids=["newer than its client", "behind a gateway", "another provider's"],
)
def test_a_model_without_a_profile_takes_its_window_from_the_table(
    model: BaseChatModel, window: int
) -> None:
    found = limits_of(model)
    assert (found.window, found.source, found.note) == (window, "table", "")


def test_an_assumed_window_names_the_setting() -> None:
    note = limits_of(stub()).note
    assert f"{DEFAULT_WINDOW:,} tokens are assumed" in note
    assert "ContextPolicy(window=…)" in note


def test_a_configurable_model_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = init_chat_model("openai:gpt-4o", configurable_fields="any", api_key="none")
    first = limits_of(model), provider_of(model), model_name(model)
    monkeypatch.setattr(type(model), "_model", None)  # what builds it; LangChain's
    assert (limits_of(model), provider_of(model), model_name(model)) == first


def test_a_setting_that_changes_is_read_again() -> None:
    model = openai("gpt-4o", max_tokens=500, model_kwargs={})
    bound: Any = model.bind(stop=["x"])
    assert limits_of(model).output == limits_of(bound).output == 500
    model.max_tokens = 600
    assert limits_of(model).output == limits_of(bound).output == 600
    model.max_tokens = None
    model.model_kwargs["max_completion_tokens"] = 700
    assert limits_of(model).output == limits_of(bound).output == 700
    assert limits_of(model, max_output=800).output == 800
    model.openai_api_base = "http://localhost:8000/v1"
    assert provider_of(model) == "openai"  # by its name
    model.model_name = "mine"
    assert (provider_of(model), model_name(model)) == ("", "openai:mine")


def test_no_model_is_kept_alive() -> None:
    model = openai("gpt-4o")
    limits_of(model)
    gone = ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_model_that_tells_nothing_gets_the_default_and_it_is_said() -> None:
    fake = FakeListChatModel(responses=["hi"])
    assert limits_of(fake).window == DEFAULT_WINDOW
    assert limits_of(fake).note
    nothing: Any = object()
    assert limits_of(nothing).window == DEFAULT_WINDOW
    assert model_name(nothing) == ":"
    assert provider_of(nothing) == ""


NUMBERS = st.one_of(
    st.none(),
    st.integers(-5, 3_000_000),
    st.floats(max_value=4e6),
    st.text(max_size=6),
    st.booleans(),
)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["", "openai", "google_genai"]))
def test_a_window_always_leaves_room_for_input_and_answer(
    inputs: object, outputs: object, asked: object, served: object, traced: str
) -> None:
    profile: Any = {"max_input_tokens": inputs, "max_output_tokens": outputs}
    model = stub(model="gpt-5", max_tokens=asked, num_ctx=served, traced=traced, profile=profile)
    found = limits_of(model)
    assert 0 < found.output < found.window < 10**7
    assert found.input > 0


def test_names_say_provider_and_model() -> None:
    assert model_name(openai("gpt-4o")) == "openai:gpt-4o"
    assert model_name(Stub(model="models/gemini-2.5-pro", traced="google_genai")) == (
        "google_genai:gemini-2.5-pro"
    )


PROVIDERS = [
    ("anthropic", "claude-sonnet-5", "anthropic"),
    ("amazon_bedrock", "eu.anthropic.claude-opus-4-6-v1", "anthropic"),
    ("amazon_bedrock", "amazon.nova-pro-v1:0", ""),
    ("google_genai", "gemini-2.5-pro", "google"),
    ("google_vertexai", "gemini-2.5-pro", "google"),
    ("openrouter", "deepseek/deepseek-chat", "deepseek"),
    ("openrouter", "openai/gpt-5", "openai"),
    ("azure", "gpt-4o", "openai"),
    ("deepseek", "deepseek-chat", "deepseek"),
    ("mistral", "mistral-large-latest", "mistral"),
    ("groq", "openai/gpt-oss-120b", "groq"),
    ("ollama", "deepseek-r1", "ollama"),
    ("xai", "grok-4", "xai"),
    ("stub", "own-model", ""),
]


@pytest.mark.parametrize(("traced", "name", "provider"), PROVIDERS)
def test_the_provider_is_whose_counts_and_prices_apply(
    traced: str, name: str, provider: str
) -> None:
    assert provider_of(Stub(model=name, traced=traced)) == provider


def test_behind_another_address_the_model_tells_the_provider() -> None:
    assert provider_of(openai("gpt-4o")) == "openai"
    assert provider_of(openai("gpt-4o", base_url="https://eu.api.openai.com/v1")) == "openai"
    assert provider_of(openai("deepseek-chat", base_url="https://api.deepseek.com")) == "deepseek"
    assert provider_of(openai("mine", base_url="http://localhost:8000/v1")) == ""
    made: Any = AzureChatOpenAI
    azure = made(
        azure_deployment="gpt-4o",
        api_key="none",
        azure_endpoint="https://example.org",
        api_version="2024-10-21",
    )
    assert provider_of(azure) == "openai"


def test_a_script_in_the_place_of_a_model_is_known() -> None:
    """No warning is needed that its prices are unknown."""
    fake = FakeListChatModel(responses=["hi"])
    scripted = ScriptedModel(script=lambda _: "hi")
    assert is_stand_in(fake)
    assert is_stand_in(scripted.bind_tools([]))
    assert not is_stand_in(ChatOpenAI(model="gpt-4o", api_key="none"))  # type: ignore[arg-type]


def test_the_policy_decides_for_the_model_whose_policy_it_is() -> None:
    """A model that is named for another purpose has limits of its own."""
    policy = ContextPolicy(window=50_000, max_output=2_000)
    assert limits_for(stub(), policy).input == 48_000
    assert limits_for(stub(), ContextPolicy()) == limits_for(stub(), None) == limits_of(stub())
    assert limits_for(stub(), None).window == DEFAULT_WINDOW


def test_limits_have_one_source() -> None:
    """Any code that asks for a model's limits uses `limits_for`, which has the policy."""
    home = find_spec("thalweg.context.request.models")
    assert home is not None
    assert home.origin is not None
    source = Path(home.origin).parents[2]
    users = []
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "limits_of" in text and str(path) != home.origin:
            names = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.alias))
            users += [path.name for name in names if name.name == "limits_of"]
    assert users == []
