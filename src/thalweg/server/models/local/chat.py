"""A chat model in a GGUF file: LangChain's client of OpenAI's API and a process of llama.cpp."""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self

import openai
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from thalweg.engine.extras import install_command
from thalweg.errors import ConfigError, MissingExtraError
from thalweg.server.models.compatible import CompatibleChat
from thalweg.server.models.local.calls import with_calls
from thalweg.server.models.local.gguf import read_gguf
from thalweg.server.models.local.process import ModelLoad, ModelProcess, process_of
from thalweg.server.models.local.serving import ADDRESS, COUNT, client_options
from thalweg.server.settings import ModelSettings

LOCAL_WINDOW: Final = 8_192
"""Tokens of the default window, or the trained length of the model if that is less. On a CPU a full
one is processed in minutes, and its memory is a fraction of the model's; the tools of a whole agent
fit."""
TEMPERATURE: Final = 0.2
"""Small models that sample more freely invent tools and facts."""


class LocalChat(CompatibleChat):
    """A GGUF file as a chat model. It is loaded by the first request, once in a process.

    Beyond `ChatOpenAI`: tokens are counted in the model's own vocabulary; a request that leaves no
    room for its answer is refused (`serving`); and if one tool is required, only that one is
    offered, since llama.cpp can only require some tool. Of a model that was not trained for tools,
    a call in plain JSON is parsed, and an answer to a request with tools is not streamed.
    """

    _host: ModelProcess = PrivateAttr()

    @classmethod
    def of(cls, settings: ModelSettings, where: str, path: Path) -> Self:
        """Make one; nothing is loaded yet.

        Args:
            settings: Its `window`, `max_output` and options: `threads` (all cores), `tool_calling`
                (whether agents offer it tools; what its file says when not given),
                `chat_template` (a Jinja file in place of the file's own template) and
                arguments of `ChatOpenAI`.
            where: The place of the settings, for errors.
            path: The file.

        Raises:
            ConfigError: It is no GGUF file, a package is missing, the window is larger than what
                the model was trained for, or the template cannot be read.
        """
        if find_spec("xllamacpp") is None:
            problem = "the package xllamacpp is not installed"
            raise MissingExtraError(where, problem, install_command("local"))
        gguf, options = read_gguf(path), settings.arguments()
        window = settings.window or min(gguf.context or LOCAL_WINDOW, LOCAL_WINDOW)
        if gguf.context and window > gguf.context:
            problem = (
                f"a window of {window} tokens is more than the {gguf.context} it was trained for"
            )
            raise ConfigError(where, problem, f"set window to {gguf.context} or less")
        load = ModelLoad(
            path=path,
            window=window,
            threads=int(options.pop("threads", 0) or _cores()),
            template=_template(where, options.pop("chat_template", None)),
        )
        calls = bool(options.pop("tool_calling", gguf.calls_tools))
        process, answer = process_of(load), settings.max_output or longest_answer(window)
        given: dict[str, Any] = {
            "temperature": TEMPERATURE,
            "timeout": None,  # a CPU reads a full window in minutes
            "stream_chunk_timeout": None,  # and sends nothing meanwhile
            "max_retries": 0,  # there is no rate limit, and a failure would only be repeated
            "disable_streaming": False if gguf.calls_tools else "tool_calling",
            **options,
            "http_client": openai.DefaultHttpxClient(**client_options(process)),
            "http_async_client": openai.DefaultAsyncHttpxClient(**client_options(process)),
            "max_tokens": answer,
            "base_url": f"{ADDRESS}/v1",
            "api_key": "none",
            "model": path.stem,
        }
        model = cls(**given)
        model.profile = {
            "max_input_tokens": window,
            "max_output_tokens": answer,
            "tool_calling": calls,
        }
        model._host = process
        return model

    @property
    def host(self) -> ModelProcess:
        """The process that runs it; shared by all models of the same file and options."""
        return self._host

    def get_num_tokens(self, text: str) -> int:
        """Count the tokens of a text in the model's own vocabulary; loads it."""
        found: Any = self.root_client.post(
            f"{ADDRESS}/tokenize", body={"content": text}, cast_to=object
        )
        return len(found["tokens"])

    def get_num_tokens_from_messages(
        self,
        messages: Sequence[BaseMessage],
        tools: "Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool] | None" = None,
        *,
        allow_fetching_images: bool = True,
    ) -> int:
        """Count the tokens of a request as the model is going to read it; loads it."""
        del allow_fetching_images  # files are not fetched
        offered: dict[str, Any] = (
            {"tools": [convert_to_openai_tool(tool) for tool in tools]} if tools else {}
        )
        payload = self._get_request_payload([*messages], **offered)
        body = {key: payload[key] for key in ("messages", "tools") if key in payload}
        found: Any = self.root_client.post(f"{ADDRESS}{COUNT}", body=body, cast_to=object)
        return int(found["input_tokens"])

    def _get_request_payload(
        self,
        input_: LanguageModelInput,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> dict[str, Any]:
        return with_one_tool(super()._get_request_payload(input_, stop=stop, **kwargs))

    def _create_chat_result(
        self,
        response: dict[str, Any] | openai.BaseModel,
        generation_info: dict[str, Any] | None = None,
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        return with_calls(result) if self.disable_streaming else result

    def _get_ls_params(
        self,
        stop: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401 (of LangChain's method)
    ) -> LangSmithParams:
        return {**super()._get_ls_params(stop, **kwargs), "ls_provider": "local"}


def with_one_tool(payload: dict[str, Any]) -> dict[str, Any]:
    """Offer one tool alone where it must be the one that is called."""
    choice = payload.get("tool_choice")
    if not isinstance(choice, Mapping):
        return payload
    named = choice.get("function", {}).get("name")
    tools = payload.get("tools", [])
    only = [one for one in tools if one.get("function", {}).get("name") == named]
    return {**payload, "tools": only or tools, "tool_choice": "required"}


def longest_answer(window: int) -> int:
    """Return the default limit of an answer: a small model may never stop.

    Example:
        >>> longest_answer(4_096), longest_answer(32_768)
        (512, 4096)
    """
    return max(256, window // 8)


def _template(where: str, path: str | None) -> str:
    """Read the template that is to replace the file's own; empty where none is named."""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError) as error:
        place, problem = f"{where}.chat_template", f"{path} cannot be read: {error}"
        raise ConfigError(place, problem, "name a file with a Jinja template") from None


def _cores() -> int:
    """Count the cores that may be used."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
