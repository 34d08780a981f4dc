"""What providers answer when a request is too large, and what only looks like it."""

from typing import Any

import anthropic
import httpx
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError, ModelRateLimitError

from thalweg.context.request.refusals import Overflow, overflow_of

REFUSALS = [
    # Anthropic, Messages API
    ("prompt is too long: 208656 tokens > 200000 maximum", Overflow("tokens", 208656, 200000)),
    (
        "Number of input tokens exceeds maximum length. Please update the input to try again.",
        Overflow("tokens"),
    ),
    # Anthropic, older models: input and answer together
    (
        (
            "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, "
            "decrease input length or `max_tokens` and try again"
        ),
        Overflow("sum", 199759, 200000, 8192),
    ),
    # Anthropic on Bedrock, Converse
    (
        (
            "An error occurred (ValidationException) when calling the ConverseStream operation: "
            "The model returned the following errors: prompt is too long: 903884 tokens > 200000 "
            "maximum"
        ),
        Overflow("tokens", 903884, 200000),
    ),
    # Bedrock, every model
    (
        (
            "An error occurred (ValidationException) when calling the InvokeModel operation: "
            "Input is too long for requested model."
        ),
        Overflow("tokens"),
    ),
    # Bedrock, models of Amazon
    (
        (
            "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token "
            "count: 9279"
        ),
        Overflow("tokens", 9279, 8192),
    ),
    # OpenAI, Chat Completions, older models
    (
        (
            "This model's maximum context length is 4097 tokens. However, you requested 4203 "
            "tokens (3703 in the messages, 500 in the completion). Please reduce the length of "
            "the messages or completion."
        ),
        Overflow("sum", 3703, 4097, 500),
    ),
    # OpenAI, Completions API
    (
        (
            "This model's maximum context length is 8191 tokens, however you requested 8238 "
            "tokens (8238 in your prompt; 0 for the completion). Please reduce your prompt; or "
            "completion length."
        ),
        Overflow("tokens", 8238, 8191),
    ),
    # OpenAI and Azure, Chat Completions
    (
        (
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in 202868 tokens (202767 in the messages, 101 in the functions). Please "
            "reduce the length of the messages or functions."
        ),
        Overflow("tokens", 202767, 128000),
    ),
    (
        (
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in 204308 tokens. Please reduce the length of the messages."
        ),
        Overflow("tokens", 204308, 128000),
    ),
    # OpenAI, Responses API and reasoning models
    (
        (
            "Your input exceeds the context window of this model. Please adjust your input and "
            "try again."
        ),
        Overflow("tokens"),
    ),
    (
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted "
            "in 300005 tokens. Please reduce the length of the messages."
        ),
        Overflow("tokens", 300005, 272000),
    ),
    # DeepSeek
    (
        (
            "This model's maximum context length is 131072 tokens. However, you requested 131134 "
            "tokens (122942 in the messages, 8192 in the completion). Please reduce the length "
            "of the messages or completion."
        ),
        Overflow("sum", 122942, 131072, 8192),
    ),
    # Gemini API
    (
        (
            "400 INVALID_ARGUMENT. {'error': {'code': 400, 'message': 'The input token count "
            "(1200293) exceeds the maximum number of tokens allowed (1048576).', 'status': "
            "'INVALID_ARGUMENT'}}"
        ),
        Overflow("tokens", 1200293, 1048576),
    ),
    (
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        Overflow("tokens", None, 1048576),
    ),
    # Gemini on Vertex
    (
        (
            "Unable to submit request because the input token count is 1251952 but model only "
            "supports up to 1048576. Reduce the input token count and try again."
        ),
        Overflow("tokens", 1251952, 1048576),
    ),
    # Mistral
    (
        "Prompt contains 300000 tokens, too large for model with 131072 maximum context length",
        Overflow("tokens", 300000, 131072),
    ),
    # Groq
    ("Please reduce the length of the messages or completion.", Overflow("tokens")),
    # Together and Text Generation Inference
    (
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: "
            "6204 `inputs` tokens and 2047 `max_new_tokens`"
        ),
        Overflow("sum", 6204, 8192, 2047),
    ),
    (
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: "
            "79993 `inputs` tokens and 1024 `max_new_tokens`"
        ),
        Overflow("tokens", 79993, 65537, 1024),
    ),
    (
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 4545",
        Overflow("tokens", 4545, 4096),
    ),
    # OpenRouter
    (
        (
            "This endpoint's maximum context length is 32768 tokens. However, you requested "
            "about 42832 tokens (42832 of text input). Please reduce the length of either one, "
            'or use the "middle-out" transform to compress your prompt automatically.'
        ),
        Overflow("tokens", 42832, 32768),
    ),
    (
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested "
            "about 132463 tokens (1463 of text input, 131000 in the output). Please reduce the "
            "length of either one."
        ),
        Overflow("sum", 1463, 131072, 131000),
    ),
    # OpenRouter, a provider behind it
    (
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        Overflow("tokens", 131393, 131040),
    ),
    # A server that speaks OpenAI's API
    (
        "Input length (265330) exceeds model's maximum context length (262144).",
        Overflow("tokens", 265330, 262144),
    ),
    # vLLM, from 0.4 on
    (
        (
            "This model's maximum context length is 6048 tokens. However, you requested 6616 "
            "tokens (568 in the messages, 6048 in the completion). Please reduce the length of "
            "the messages or completion."
        ),
        Overflow("sum", 568, 6048, 6048),
    ),
    # vLLM, from 0.9 on
    (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 32768. This model's maximum "
            "context length is 32768 tokens and your request has 1200 input tokens (32768 > "
            "32768 - 1200)."
        ),
        Overflow("sum", 1200, 32768, 32768),
    ),
    # vLLM, from 0.15 on
    (
        (
            "This model's maximum context length is 262144 tokens. However, you requested 128000 "
            "output tokens and your prompt contains at least 134145 input tokens, for a total of "
            "at least 262145 tokens. Please reduce the length of the input prompt or the number "
            "of requested output tokens. (parameter=input_tokens, value=134145)"
        ),
        Overflow("sum", 134145, 262144, 128000),
    ),
    (
        (
            "This model's maximum context length is 262144 tokens. However, you requested 0 "
            "output tokens and your prompt contains at least 262145 input tokens, for a total of "
            "at least 262145 tokens."
        ),
        Overflow("tokens", 262145, 262144),
    ),
    # vLLM, with images
    (
        (
            "The prompt (total length 25938) is too long to fit into the model (context length "
            "4096). Make sure that `max_model_len` is no smaller than the number of text tokens "
            "plus multimodal tokens."
        ),
        Overflow("tokens", 25938, 4096),
    ),
    # SGLang
    (
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        Overflow("tokens", 61709, 40960),
    ),
    (
        (
            "Requested token count exceeds the model's maximum context length of 40960 tokens. "
            "You requested a total of 45000 tokens: 36808 tokens from the input messages and "
            "8192 tokens for the completion."
        ),
        Overflow("sum", 36808, 40960, 8192),
    ),
    (
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
        Overflow("tokens", 160062, 59862),
    ),
    # llama.cpp server
    (
        (
            '{"error":{"code":400,"message":"the request exceeds the available context size. try '
            "increasing the context size or enable context "
            'shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}'
        ),
        Overflow("tokens", 14429, 8192),
    ),
    (
        (
            "request (65646 tokens) exceeds the available context size (65536 tokens), try "
            "increasing it"
        ),
        Overflow("tokens", 65646, 65536),
    ),
    # llama-cpp-python
    ("Requested tokens (516) exceed context window of 512", Overflow("tokens", 516, 512)),
    # Ollama
    ("prompt too long; exceeded max context length by 4096 tokens", Overflow("tokens")),
    (
        "The prompt is too long: 450028, model maximum context length: 262144 (status code: 400)",
        Overflow("tokens", 450028, 262144),
    ),
    ("the input length exceeds the context length (status code: 400)", Overflow("tokens")),
    # LM Studio
    (
        (
            "Trying to keep the first 15857 tokens when context the overflows. However, the "
            "model is loaded with context length of only 4096 tokens, which is not enough."
        ),
        Overflow("tokens", 15857, 4096),
    ),
    (
        (
            "The number of tokens to keep from the initial prompt is greater than the context "
            "length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context "
            "length"
        ),
        Overflow("tokens", 13055, 4096),
    ),
    ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", Overflow("tokens", 15028, 7424)),
    # Cohere
    (
        (
            "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 "
            "- received 6354. Try using a shorter prompt or a smaller max_tokens value."
        ),
        Overflow("tokens", 6354, 2048),
    ),
    (
        (
            "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer "
            "inputs. The limit for this model is 128000 tokens."
        ),
        Overflow("tokens", None, 128000),
    ),
    # xAI
    (
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        Overflow("tokens", 136973, 131072),
    ),
    # Qwen on DashScope
    (
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",
        Overflow("tokens", None, 983616),
    ),
    # Moonshot
    (
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
        Overflow("tokens", 291351, 262144),
    ),
    # Volcengine, Zhipu, Novita
    ("Total tokens of image and text exceed max message tokens.", Overflow("tokens")),
    (
        "Error code: 400 - {'code': '1261', 'message': 'Prompt exceeds max length'}",
        Overflow("tokens"),
    ),
    (
        "length of prompt_tokens (68122) must be less than max_seq_len (32768).",
        Overflow("tokens", 68122, 32768),
    ),
    # MiniMax
    ("invalid params, context window exceeds limit", Overflow("tokens")),
    # GitHub Copilot and GitHub Models
    (
        "prompt token count of 145000 exceeds the limit of 128000",
        Overflow("tokens", 145000, 128000),
    ),
    (
        "Request body too large for gpt-4o-mini model. Max size: 8000 tokens.",
        Overflow("tokens", None, 8000),
    ),
    # LiteLLM, before any of the above
    ("litellm.ContextWindowExceededError: context_length_exceeded", Overflow("tokens")),
    # Anthropic, HTTP 413
    (
        '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
        Overflow("bytes"),
    ),
    # Proxies
    ("413 Request Entity Too Large", Overflow("bytes")),
    # Gemini API
    ("Request payload size exceeds the limit: 20971520 bytes.", Overflow("bytes")),
    ("Maximum request body size 1048576 exceeded, actual body size 1056562", Overflow("bytes")),
    # OpenAI: one text of a message is too long to be read
    (
        (
            "Invalid 'messages[17].content': string too long. Expected a string with maximum "
            "length 1048576, but got a string with length 1744259 instead."
        ),
        Overflow("bytes"),
    ),
    # Bedrock
    (
        (
            "1 validation error detected: Value at 'body' failed to satisfy constraint: Member "
            "must have length less than or equal to 25000000"
        ),
        Overflow("bytes"),
    ),
    # Anthropic, about images
    ("too many images and documents: 104 + 1 > 100", Overflow("media")),
    ("Too much media: 0 document pages + 107 images > 100", Overflow("media")),
    (
        (
            "messages.19.content.27.image.source.base64.data: At least one of the image "
            "dimensions exceed max allowed size for many-image requests: 2000 pixels"
        ),
        Overflow("media"),
    ),
    (
        (
            "messages.58.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 "
            "bytes > 5242880 bytes"
        ),
        Overflow("media"),
    ),
    # Groq, MiniMax, vLLM
    ("Too many images provided. This model supports up to 3 images", Overflow("media")),
    (
        "request contains 52 images, exceeding the maximum of 50 allowed per request",
        Overflow("media"),
    ),
    ("At most 1 image(s) may be provided in one prompt.", Overflow("media")),
]


@pytest.mark.parametrize(("said", "meant"), REFUSALS, ids=[said[:50] for said, _ in REFUSALS])
def test_a_refusal_is_recognised_with_the_numbers_it_names(said: str, meant: Overflow) -> None:
    assert overflow_of(ValueError(said)) == meant


OTHERS = [
    # OpenAI: tokens per minute
    (
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit "
        "30000, Requested 40000. The input or output tokens must be reduced in order to run "
        "successfully."
    ),
    # Groq: the same with HTTP 413
    (
        "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service "
        "tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce "
        "your message size and try again."
    ),
    # Bedrock
    "ThrottlingException: Too many tokens, please wait before trying again.",
    # OpenAI, Anthropic, Bedrock, Groq: more output than the model can give
    (
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
        "whereas you provided 100000."
    ),
    "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens for claude-x",
    (
        "The maximum tokens you requested exceeds the model limit of 32768. Try again with a "
        "maximum tokens value that is lower than 32768."
    ),
    (
        "`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` "
        "is less than the `context_window` for this model"
    ),
    # OpenAI's client: an answer that was cut off
    "Could not parse response content as the length limit was reached - CompletionUsage(...)",
    # OpenAI, about names and ids
    (
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum "
        "length 64, but got a string with length 70 instead."
    ),
    (
        "Invalid 'messages[10].tool_calls[0].id': string too long. Expected a string with "
        "maximum length 40, but got a string with length 52 instead."
    ),
    # Gemini
    (
        "429 RESOURCE_EXHAUSTED. You exceeded your current quota, metric: input_token_count, "
        "limit: 250000"
    ),
    # OpenRouter
    (
        "This request requires more credits, or fewer max_tokens. You requested up to 65536 "
        "tokens, but can only afford 1000."
    ),
    "Invalid schema for function 'read': array schema missing items",
    "The tool name exceeds the maximum allowed length of 64 characters",
    "Connection error.",
    "",
]


@pytest.mark.parametrize("said", OTHERS, ids=[said[:40] for said in OTHERS])
def test_what_only_sounds_like_it_is_not_an_overflow(said: str) -> None:
    assert overflow_of(ValueError(said)) is None


class RefusedError(Exception):
    """An error of some client, with the fields that its tests pass to it."""

    def __init__(self, said: str = "", **fields: object) -> None:
        super().__init__(said)
        for name, value in fields.items():
            setattr(self, name, value)


LONG = "prompt is too long: 208656 tokens > 200000 maximum"
TOO_LONG = Overflow("tokens", 208_656, 200_000)


def _response(status: int, body: object) -> Any:  # noqa: ANN401 (openai and anthropic differ)
    return httpx.Response(status, json=body, request=httpx.Request("POST", "https://example.org"))


def _openai(status: int, body: dict[str, object]) -> BaseException:
    client = openai.OpenAI(api_key="none")
    response = _response(status, {"error": body})
    return client._make_status_error(f"Error code: {status}", body=body, response=response)  # noqa: SLF001


def test_an_error_of_openai_is_read_by_its_code() -> None:
    body: dict[str, object] = {"code": "context_length_exceeded", "message": "Too long."}
    assert overflow_of(_openai(400, body)) == Overflow("tokens")
    assert overflow_of(_openai(400, {"code": "invalid_api_key", "message": "No."})) is None


def test_an_error_of_anthropic_is_read_by_its_body() -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": LONG}}
    error = anthropic.BadRequestError("Error code: 400", response=_response(400, body), body=body)
    assert overflow_of(error) == TOO_LONG


def test_what_langchain_has_classified_needs_no_words() -> None:
    class AnthropicContextOverflowError(RefusedError, ContextOverflowError):
        pass

    assert overflow_of(AnthropicContextOverflowError("No.")) == Overflow("tokens")
    assert overflow_of(AnthropicContextOverflowError(LONG)) == TOO_LONG
    assert overflow_of(ModelRateLimitError("Too many tokens")) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"status_code": 413},
        {"code": 413},
        {"code": "413"},
        {"http_status": 413},
        {"response": {"ResponseMetadata": {"HTTPStatusCode": 413}}},
        {"response": _response(413, {})},
    ],
    ids=str,
)
def test_a_body_that_nobody_reads_is_too_many_bytes(fields: dict[str, object]) -> None:
    assert overflow_of(RefusedError("", **fields)) == Overflow("bytes")


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429, 529])
def test_a_status_that_speaks_of_something_else_settles_it(status: int) -> None:
    assert overflow_of(RefusedError("too many tokens", status_code=status)) is None


def test_a_rate_limit_with_the_status_of_a_large_body_is_a_rate_limit() -> None:
    said = "Request too large for model `x` on tokens per minute (TPM): Limit 6000"
    assert overflow_of(RefusedError(said, status_code=413)) is None


def test_a_response_that_was_not_read_is_left_alone() -> None:
    response = httpx.Response(400, stream=httpx.ByteStream(b"{}"))
    assert overflow_of(RefusedError("Error code: 400", response=response)) is None


def test_the_body_of_a_response_is_read() -> None:
    body = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}}
    assert overflow_of(RefusedError("400", response=_response(400, body))) == Overflow(
        "tokens", 1_407, 256
    )


def _raised(error: BaseException, cause: BaseException | None, *, handling: bool) -> BaseException:
    """Raise an error from another, or while the other is handled, and return it."""
    try:
        if not handling:
            raise error from cause
        try:
            raise cause or error
        except type(cause or error):
            raise error  # noqa: B904 (that is the point)
    except type(error) as caught:
        return caught


def test_causes_are_read() -> None:
    assert (
        overflow_of(_raised(RefusedError("It failed"), RefusedError(LONG), handling=False))
        == TOO_LONG
    )
    assert overflow_of(_raised(KeyError("x"), RefusedError(LONG), handling=True)) == TOO_LONG


def test_the_error_of_a_second_attempt_is_not_that_of_the_first() -> None:
    second = _raised(
        RefusedError("Bad request", status_code=400), RefusedError(LONG), handling=True
    )
    assert overflow_of(second) is None
    second = _raised(
        RefusedError("Rate limit", status_code=429), RefusedError(LONG), handling=False
    )
    assert overflow_of(second) is None


def test_groups_and_circles_are_read_once() -> None:
    circle = RefusedError("round")
    circle.__cause__ = other = RefusedError("and round")
    other.__cause__ = circle
    assert overflow_of(circle) is None
    group = ExceptionGroup("all", [ValueError("x"), ExceptionGroup("more", [RefusedError(LONG)])])
    assert overflow_of(group) == TOO_LONG


@pytest.mark.parametrize("body", [object(), [float("nan")], {1: {2}}, b"bytes", 7])
def test_a_body_of_any_make_does_no_harm(body: object) -> None:
    assert overflow_of(RefusedError(LONG, body=body, code=body, message=body)) == TOO_LONG


def test_numbers_with_separators_are_read() -> None:
    said = "Prompt has 300,000 tokens, but the configured context size is 131,072 tokens"
    assert overflow_of(RefusedError(said)) == Overflow("tokens", 300_000, 131_072)


def test_a_code_that_says_so_outweighs_other_words() -> None:
    said = "quota of this model: its maximum context length is 8192 tokens"
    error = RefusedError(said, status_code=400, code="context_length_exceeded")
    assert overflow_of(error) == Overflow("tokens", None, 8_192)


LARGE_WITH_WORDS_OF_USE = (
    "This model's maximum context length is 4096 tokens, you requested 5000; see your quota page",
    "prompt is too long: 210000 tokens > 200000 maximum. Request a quota increase for more.",
    "Input is too long for requested model. Service quotas: https://docs.example/quotas",
    "maximum context length is 8192 tokens. Learn about rate limits at https://x.example/limits",
    "Maximum context length is 128000 tokens. Messages: 130000. (rate_limit remaining: 58)",
    "input token count (1200293) exceeds the maximum (1048576). {'quota_user': 'a1'}",
    "upstream: Your input exceeds the context window of this model. retry policy: throttle=off",
    "exceed context window. x-ratelimit-remaining: 12",
    "the request exceeds the available context size. If the server is overloaded, use fewer slots",
    "Input tokens exceed the configured limit of 272000 tokens. See https://aka.example/oai/quota",
    "inputs must have less than 4096 tokens. Given: 5000. rate limiting is disabled",
    "Prompt contains 300000 tokens, too large for model with 131072 [quota group: free]",
    "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000 (quota tier 1)",
    "prompt too long; exceeded max context length by 4200 tokens; throttled: false",
    "Please reduce the length of the messages or completion. Need more? Upgrade your rate limit",
)
USE_WITH_WORDS_OF_SIZE = (
    "Too many tokens, please wait before trying again.",
    "An error occurred (ThrottlingException) when calling the Converse operation: Too many tokens",
    "You exceeded your current quota, please check your plan and billing details.",
    "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
    "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000",
    "This request would exceed the rate limit for your organization of 400,000 input tokens",
    "Rate limit reached: too many input tokens in this minute",
    "Token limit exceeded for today, your quota resets at 00:00",
    "Too many requests, token limit exceeded",
    "tokens_limit_reached: rate limit of the free tier",
    "The engine is currently overloaded; too many tokens are in its queue",
    "rate_limit_error: number of request tokens has exceeded your per-minute rate limit",
    "Your credit balance is too low for a prompt of 200000 tokens",
    "This request requires more credits, or fewer max_tokens. You requested up to 65535 tokens",
    "Quota of input tokens per day is used up; context caching counts, too",
)
"""Both were written before the rule between them. The one before read none of the first."""


@pytest.mark.parametrize("text", LARGE_WITH_WORDS_OF_USE)
def test_a_hint_at_quotas_does_not_hide_the_size(text: str) -> None:
    overflow = overflow_of(ValueError(text))
    assert overflow is not None
    assert overflow.kind in {"tokens", "sum"}


@pytest.mark.parametrize("text", USE_WITH_WORDS_OF_SIZE)
def test_tokens_of_a_rate_are_no_size(text: str) -> None:
    assert overflow_of(ValueError(text)) is None
