"""A chat model in a file: LangChain's client of OpenAI's API, speaking to a process of ours."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from thalweg.models.compatible import CompatibleChat
from thalweg.models.local.calls import Listener, as_chunk, with_calls
from thalweg.models.local.process import Host, Load, host_of

TEMPERATURE = 0.2
"""Small models that draw more freely invent tools and facts."""
_log = logging.getLogger("thalweg.models")
_NOWHERE = "http://127.0.0.1:9/v1"
"""Where the client points until the model is loaded."""
_DIRECT: Mapping[str, Any] = {"trust_env": False, "headers": {"Connection": "close"}}
"""Not through a proxy; and no connection is kept for an event loop that may be over, or for a
process that may be another."""
_UNREADABLE = "does not match the expected"
"""How llama.cpp says that an answer is not of the form its template has: mostly a tool that is
not there."""


class LocalChat(CompatibleChat):
    """A GGUF file as a chat model. It is loaded when it is first asked, once in a process.

    Beyond `ChatOpenAI`: a request is counted by the model's own vocabulary before it is sent, and
    refused where it and the longest answer do not fit its window, for the context engine to make
    a smaller one; one tool that must be called is the only one that is offered, since llama.cpp
    knows only that some tool must be; and a call of a tool that is not there reaches the agent,
    where llama.cpp has but an error for it.
    """

    _host: Host = PrivateAttr()

    @classmethod
    def of(
        cls, load: Load, name: str, max_output: int, options: Mapping[str, Any], *, calls: bool
    ) -> Self:
        """Make one; nothing is loaded yet.

        Args:
            load: The file and its window.
            name: What to call the model.
            max_output: Tokens of the longest answer.
            options: Other arguments of `ChatOpenAI`.
            calls: Whether agents should offer it tools.
        """
        given: dict[str, Any] = {
            "temperature": TEMPERATURE,
            "timeout": None,  # reading a full window takes minutes on a CPU
            "stream_chunk_timeout": None,  # and nothing is said meanwhile
            "max_retries": 0,  # nobody limits the rate, and a failure would only be repeated
            "http_client": openai.DefaultHttpxClient(**_DIRECT),
            "http_async_client": openai.DefaultAsyncHttpxClient(**_DIRECT),
            **options,
            "max_tokens": max_output,
            "base_url": _NOWHERE,
            "api_key": "none",
            "model": name,
        }
        model = cls(**given)
        model.profile = {
            "max_input_tokens": load.window,
            "max_output_tokens": max_output,
            "tool_calling": calls,
        }
        model._host = host_of(load)
        return model

    @property
    def host(self) -> Host:
        """The process that runs it; shared by all who load the file alike."""
        return self._host

    @property
    def window(self) -> int:
        """Tokens of a request and its answer together."""
        return self._host.load.window

    def load(self) -> None:
        """Load the model now; a request would as well.

        Raises:
            ConfigError: llama.cpp cannot load it.
        """
        server = self._host.server()
        for client in (self.root_client, self.root_async_client):
            client.base_url = f"{server.address}/v1"
            client.api_key = server.key

    def get_num_tokens(self, text: str) -> int:
        """Count the tokens of a text in the model's own vocabulary; loads it."""
        self.load()
        told: Any = self.root_client.post(
            self._host.server().address + "/tokenize", body={"content": text}, cast_to=object
        )
        return len(told["tokens"])

    def get_num_tokens_from_messages(
        self,
        messages: Sequence[BaseMessage],
        tools: "Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool] | None" = None,
        *,
        allow_fetching_images: bool = True,
    ) -> int:
        """Count the tokens of a request as the model is going to read it; loads it."""
        del allow_fetching_images  # files are not fetched
        self.load()
        schemas = {"tools": [convert_to_openai_tool(tool) for tool in tools]} if tools else {}
        body = self._question(messages, None, schemas)
        return int(self.root_client.post(_COUNT, body=body, cast_to=object)["input_tokens"])

    def _question(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write what decides how long a request is."""
        payload = self._get_request_payload([*messages], stop=stop, **kwargs)
        return {key: payload[key] for key in ("messages", "tools") if key in payload}

    def _check(self, counted: object, kwargs: Mapping[str, Any]) -> None:
        """Refuse a request that leaves no room for its answer."""
        tokens = int(counted["input_tokens"]) if isinstance(counted, Mapping) else 0
        answer = int(kwargs.get("max_tokens") or self.max_tokens or 0)
        if tokens + answer > self.window:
            msg = (
                f"input length and max_tokens exceed context limit: {tokens} + {answer} > "
                f"{self.window}"
            )
            raise ContextOverflowError(msg)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> ChatResult:
        self.load()
        kwargs = offering_one(kwargs)
        body = self._question(messages, stop, kwargs)
        self._check(self.root_client.post(_COUNT, body=body, cast_to=object), kwargs)
        try:
            result = super()._generate(messages, stop, run_manager, **kwargs)
        except openai.APIError as error:
            again = in_plain_words(error, kwargs)
            result = super()._generate(messages, stop, run_manager, **again)
        return with_calls(result) if kwargs.get("tools") else result

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> ChatResult:
        await asyncio.to_thread(self.load)
        kwargs = offering_one(kwargs)
        body = self._question(messages, stop, kwargs)
        self._check(await self.root_async_client.post(_COUNT, body=body, cast_to=object), kwargs)
        try:
            result = await super()._agenerate(messages, stop, run_manager, **kwargs)
        except openai.APIError as error:
            again = in_plain_words(error, kwargs)
            result = await super()._agenerate(messages, stop, run_manager, **again)
        return with_calls(result) if kwargs.get("tools") else result

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> Iterator[ChatGenerationChunk]:
        self.load()
        kwargs = offering_one(kwargs)
        body = self._question(messages, stop, kwargs)
        self._check(self.root_client.post(_COUNT, body=body, cast_to=object), kwargs)
        listener = Listener(is_offered=bool(kwargs.get("tools")))
        try:
            for chunk in super()._stream(messages, stop, run_manager, **kwargs):
                yield from listener.take(chunk)
            yield from listener.end()
        except openai.APIError as error:
            again = in_plain_words(error, kwargs)
            if not listener.has_told:
                again.pop("stream_usage", None)
                yield as_chunk(with_calls(super()._generate(messages, stop, run_manager, **again)))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> AsyncIterator[ChatGenerationChunk]:
        await asyncio.to_thread(self.load)
        kwargs = offering_one(kwargs)
        body = self._question(messages, stop, kwargs)
        self._check(await self.root_async_client.post(_COUNT, body=body, cast_to=object), kwargs)
        listener = Listener(is_offered=bool(kwargs.get("tools")))
        try:
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                for told in listener.take(chunk):
                    yield told
            for told in listener.end():
                yield told
        except openai.APIError as error:
            again = in_plain_words(error, kwargs)
            if not listener.has_told:
                again.pop("stream_usage", None)
                result = await super()._agenerate(messages, stop, run_manager, **again)
                yield as_chunk(with_calls(result))

    def _get_ls_params(
        self,
        stop: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> LangSmithParams:
        return {**super()._get_ls_params(stop, **kwargs), "ls_provider": "local"}


_COUNT = "/chat/completions/input_tokens"
"""Where llama.cpp counts a request without answering it."""


def offering_one(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Offer one tool alone where it must be the one that is called."""
    choice = kwargs.get("tool_choice")
    if not isinstance(choice, Mapping):
        return dict(kwargs)
    named = choice.get("function", {}).get("name")
    tools = [one for one in kwargs.get("tools", ()) if one.get("function", {}).get("name") == named]
    return {**kwargs, "tools": tools or kwargs.get("tools"), "tool_choice": "required"}


def in_plain_words(error: openai.APIError, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for the same answer unread, where llama.cpp could not read it; the prompt is the same.

    Raises:
        APIError: That was not what went wrong.
    """
    if _UNREADABLE not in str(error):
        raise error
    _log.info("the answer was not of the form the template has: asked again, to be read here")
    return {**kwargs, "tool_choice": "none"}
