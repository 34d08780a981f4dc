"""Servers with OpenAI's API at another address: llama.cpp, vLLM, LM Studio, a proxy."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import Field

from thalweg.engine.tokens import count_json, exact_counter, measure
from thalweg.engine.wires.langchain import LangChainWire
from thalweg_server.settings.sections import is_loopback


class CompatibleChat(ChatOpenAI):
    """`ChatOpenAI` for a server that is not OpenAI's.

    It counts tokens with the included vocabulary: the client of OpenAI would download one, and has
    none for these models. It also requests usage in streams, which that client requests from OpenAI
    alone; if a server refuses this, set `stream_usage: false`.
    """

    stream_usage: bool | None = Field(default=True)

    def _get_ls_params(
        self,
        stop: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> LangSmithParams:
        """Name a server on this machine as such: prices of OpenAI do not apply to it."""
        params = super()._get_ls_params(stop, **kwargs)
        host = urlsplit(self.openai_api_base or "").hostname or ""
        return {**params, "ls_provider": "self-hosted"} if is_loopback(host) else params

    def get_token_ids(self, text: str) -> list[int]:
        """Number the tokens of a text; the numbers mean nothing, there are as many as tokens."""
        return list(range(self.get_num_tokens(text)))

    def get_num_tokens(self, text: str) -> int:
        """Count the tokens of a text, in OpenAI's vocabulary: near enough for all others."""
        return exact_counter()(text)

    def get_num_tokens_from_messages(
        self,
        messages: Sequence[BaseMessage],
        tools: "Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool] | None" = None,
        *,
        allow_fetching_images: bool = True,
    ) -> int:
        """Count the tokens of a request, its tools included."""
        del allow_fetching_images  # an image is counted by its size
        count = exact_counter()
        read, _notes = LangChainWire().read(messages)
        offered = count_json([convert_to_openai_tool(one) for one in tools], count) if tools else 0
        return offered + sum(measure(message, count).tokens for message in read)
