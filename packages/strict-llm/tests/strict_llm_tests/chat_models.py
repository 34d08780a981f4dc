"""LangChain's own chat models against a strict provider, and their connections closed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from langchain_anthropic import ChatAnthropic
from langchain_anthropic import _client_utils as anthropic_clients
from langchain_core.language_models import BaseChatModel
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models import _client_utils as openai_clients
from pydantic import SecretStr

from strict_llm import StrictProvider

WIRES = ("openai-chat", "openai-responses", "anthropic")
EVERY_WIRE = (*WIRES, "gemini")
KEY = SecretStr("x")
_Result = TypeVar("_Result")


@contextmanager
def chat_model(
    provider: StrictProvider, wire: str, *, timeout_s: float = 20.0, model: str = "strict-1"
) -> Iterator[BaseChatModel]:
    """Open a chat model of LangChain that calls a provider."""
    if wire == "anthropic":
        claude = ChatAnthropic(
            base_url=provider.anthropic_url,
            api_key=KEY,
            model_name=model,
            max_tokens_to_sample=1_000,
            max_retries=0,
            timeout=timeout_s,
            stop=None,
        )
        try:
            yield claude
        finally:
            claude._client.close()  # noqa: SLF001 (it has no other)
            anthropic_clients._get_default_httpx_client.cache_clear()  # noqa: SLF001
        return
    if wire == "gemini":
        gemini = ChatGoogleGenerativeAI(
            model=model,
            google_api_key=KEY,
            base_url=provider.anthropic_url,
            max_retries=1,
            timeout=timeout_s,
        )
        try:
            yield gemini
        finally:
            if gemini.client is not None:
                gemini.client.close()
        return
    gpt = ChatOpenAI(
        base_url=provider.openai_url,
        api_key=KEY,
        model=model,
        use_responses_api=wire == "openai-responses",
        output_version="responses/v1" if wire == "openai-responses" else None,
        max_retries=0,
        timeout=timeout_s,
        stream_usage=True,
    )
    try:
        yield gpt
    finally:
        gpt.root_client.close()
        openai_clients._cached_sync_httpx_client.cache_clear()  # noqa: SLF001 (as above)


def run_async(model: BaseChatModel, talk: Callable[[], Awaitable[_Result]]) -> _Result:
    """Run a coroutine that uses a model, and close the model's connections in its loop."""

    async def both() -> _Result:
        try:
            return await talk()
        finally:
            if isinstance(model, ChatAnthropic):
                await model._async_client.close()  # noqa: SLF001 (it has no other)
                anthropic_clients._get_default_async_httpx_client.cache_clear()  # noqa: SLF001
            elif isinstance(model, ChatOpenAI):
                await model.root_async_client.close()
                openai_clients._cached_async_httpx_client.cache_clear()  # noqa: SLF001

    return asyncio.run(both())
