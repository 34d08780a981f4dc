"""Detection of a provider's refusal of a request that is too large.

Providers have no status code for it, and hardly two use the same words. So an error is parsed as
text: first for other causes (a rate, an output limit, a name), then for the words of each kind of
refusal, then for its numbers. The words are in tables.
"""

import re
from dataclasses import dataclass
from typing import Literal

from thalweg.middleware.request.provider_errors import error_chain, status_of, text_of

Kind = Literal["tokens", "sum", "bytes", "media"]
"""What was too much: the input, the input with the answer asked for, the body, the images."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """A provider's refusal of a request that is too large, with the numbers it named."""

    kind: Kind
    """`tokens`: the input is over the window. `sum`: the input fits, but not with the answer that
    was asked for, so a smaller answer helps as well. `bytes`: the body or a text in it is too
    long to be read at all. `media`: too many images or documents, or one that is too large."""
    counted: int | None = None
    """Tokens the provider counted in the input; where it names only the whole, input and answer
    together."""
    limit: int | None = None
    """Tokens the provider accepts."""
    output: int | None = None
    """Tokens that were asked for as the answer."""


def overflow_of(error: BaseException) -> Overflow | None:
    """Read an error and what caused it as a request that was too large.

    Causes and the members of a group are read too; see `error_chain`.

    Returns:
        `None` when the error is about anything else.

    Example:
        >>> overflow_of(ValueError("prompt is too long: 208656 tokens > 200000 maximum"))
        Overflow(kind='tokens', counted=208656, limit=200000, output=None)
    """
    for one in error_chain(error):
        status = status_of(one)
        text = text_of(one)
        if is_otherwise(one, status, text):
            return None
        if (found := _read(one, status, text)) is not None:
            return found
    return None


def _read(error: BaseException, status: int | None, text: str) -> Overflow | None:
    kind: Kind | None = next((kind for kind, words in _KINDS if words.search(text)), None)
    if kind is None and _is_any(error, _CLASSES):
        kind = "tokens"
    if kind is None:
        return Overflow("bytes") if status == _TOO_LARGE else None
    if kind not in {"tokens", "sum"}:
        return Overflow(kind)
    counted, limit = _number(_COUNTED, text), _number(_LIMIT, text)
    whole, output = _number(_WHOLE, text), _number(_OUTPUT, text)
    if counted is None and whole is not None:
        counted = whole - output if output and whole > output else whole
    if limit and counted and output:
        kind = "sum" if counted <= limit else "tokens"
    elif limit and counted and counted > limit:
        kind = "tokens"
    return Overflow(kind, counted, limit, output or None)


def is_otherwise(error: BaseException, status: int | None, text: str) -> bool:
    """Return whether an error is about credentials, credit, rates or outputs, not the size."""
    if status in _OTHER_STATUSES or _is_any(error, _OTHER_CLASSES):
        return True
    return not _CODES.search(text) and _OTHERWISE.search(text) is not None


def _is_any(error: BaseException, names: frozenset[str]) -> bool:
    return any(base.__name__ in names for base in type(error).__mro__)


def _number(table: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in table:
        if match := pattern.search(text):
            return int(re.sub(r"\D", "", match[1]))
    return None


_TOO_LARGE = 413
_OTHER_STATUSES = frozenset({401, 402, 403, 404, 408, 409, 429, 529})
"""No credentials, no credit, no such model, too often, too busy: never the size."""
_CLASSES = frozenset({"ContextOverflowError", "ContextWindowExceededError"})
"""Names under which LangChain and LiteLLM have classified the refusal already."""
_OTHER_CLASSES = frozenset(
    {
        "ModelAuthenticationError",
        "ModelConnectionError",
        "ModelNotFoundError",
        "ModelPermissionDeniedError",
        "ModelRateLimitError",
        "ModelTimeoutError",
    }
)
"""Names under which LangChain has classified everything else."""


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_CODES = _words(
    r"context_length_exceeded",  # OpenAI, Azure, Groq
    r"exceed_context_size_error",  # llama.cpp
    r"context_window_exceeded",
)
"""Codes that decide alone, independent of the rest of the text."""

_OTHERWISE = _words(
    r"tokens per (?:minute|day|hour)|\b[TR]P[MD]\b",  # OpenAI and Groq, the latter with 413
    r"rate.?limit|too many requests|throttl|quota|overloaded|please wait before",
    r"at most \d+ completion tokens",  # OpenAI: more output than the model can give
    r"maximum allowed number of output tokens",  # Anthropic
    r"maximum tokens you requested exceeds?",  # Bedrock
    # Groq, xAI; not the sum of TGI, which has a plus before it
    r"(?<!\+ )(?<!\+ .)max_?(?:\w+_)?tokens\W+(?:must be|is not valid|should be)",
    r"Range of max_tokens",  # DashScope
    r"length limit was reached",  # an answer cut off, as OpenAI's client says it
    r"\.(?:id|name|description)\W{1,4}string too long",  # a tool's name or a call's id
    r"credit balance|requires more credits",
)

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "media",
        _words(
            r"too many (?:images|documents|media)",  # Anthropic, Bedrock, Groq, Mistral
            r"too much media",  # Anthropic
            r"contains \d+ images, exceeding",  # MiniMax
            r"at most \d+ (?:image|video|audio)",  # vLLM
            r"maximum (?:number )?of \d+ (?:images|PDF pages)",  # Anthropic, OpenAI
            r"image dimensions exceed",  # Anthropic
            r"image exceeds .{0,20}maximum",  # Anthropic
        ),
    ),
    (
        "sum",
        _words(
            r"input length and .?max_tokens.? exceed",  # Anthropic
            r"inputs.? tokens \+ .?max_new_tokens",  # TGI, Together
            r"max_completion_tokens.{1,3}is too large",  # vLLM
            r"tokens? \(prompt and prediction\) cannot exceed",  # Cohere
        ),
    ),
    (
        "tokens",
        _words(
            _CODES.pattern,
            r"(?:prompt|input|conversation)(?: is)? too long",  # Anthropic, Bedrock, Ollama
            r"prompt \(total length \d+\) is too long",  # vLLM with images
            r"maximum (?:context|prompt|model) length",  # OpenAI and most who speak its API; xAI
            r"input length.{0,30} exceeds the maximum",  # SGLang, Poolside
            r"prompt_tokens.{1,12} must be less than max_seq_len",  # Novita, SiliconFlow
            r"exceed max message tokens",  # Volcengine
            r"prompt exceeds max length",  # Zhipu
            r"(?:exceeds?|exceeded|over) (?:the |your |this |model.{0,3})*(?:maximum )?"
            r"(?:available )?context (?:window|length|size|limit)",  # OpenAI, llama.cpp, Ollama
            r"context (?:window|length|size) (?:has been )?exceed",  # MiniMax, LM Studio
            r"longer than the model.{0,3} context length",  # SGLang, Together
            r"greater than the context length",  # LM Studio
            r"context (?:the )?overflows|n_keep\W{1,4}\d+\W+n_ctx",  # LM Studio
            r"loaded with context length of only|context length is only",  # LM Studio
            r"configured context size",
            r"Input tokens exceed the configured limit",  # Azure, OpenAI
            r"input token count.{0,30}exceeds the maximum",  # Gemini
            r"input token count is \d+ but model only supports",  # Vertex
            r"token count of \d+ exceeds the limit",  # GitHub Copilot
            r"exceeded model token limit",  # Moonshot
            r"Range of input length should be",  # DashScope
            r"too large for model with",  # Mistral
            r"reduce the length of the (?:messages|prompt|input)",  # Groq
            r"inputs.? must have less than \d+ tokens",  # TGI
            r"Requested tokens .{0,12}exceed",  # llama-cpp-python
            r"too many (?:input )?tokens|token limit exceeded|tokens_limit_reached",  # Cohere
            r"body too large for .{1,60} Max size: \d+ tokens",  # GitHub Models
        ),
    ),
    (
        "bytes",
        _words(
            r"request_too_large|exceeds the maximum (?:allowed )?(?:size|number of bytes)",
            r"(?:entity|payload|body|content) too large",  # every proxy
            r"payload size exceeds|body size \d+ exceeded",  # Google
            r"larger than max",  # gRPC
            r"(?:content|text|output|input|instructions)\W{1,4}string too long|"  # OpenAI
            r"string_above_max_length.{0,40}(?:content|output|input)",
            r"Value at .body. failed to satisfy",  # Bedrock
            r"request: expected maxLength",  # Bedrock
        ),
    ),
)
"""Kinds by their words, the narrowest first."""


def _numbers(*patterns: str) -> tuple[re.Pattern[str], ...]:
    number = r"(\d[\d,_]*)"
    return tuple(re.compile(p.replace("#", number), re.IGNORECASE) for p in patterns)


_LIMIT = _numbers(
    r"maximum (?:allowed )?(?:context|prompt|model|input)? ?length(?: is| of|:)? \(?#",
    r"# maximum",
    r"\d \+ [\d,]+ > #",
    r"number of tokens allowed \(?#",
    r"only supports up to #",
    r"exceeds the limit of #",
    r"context (?:length|size)(?: is)?(?: of)?(?: only)? \(?#",
    r"n_ctx\W{1,4}#",
    r"context window of #",
    r"configured limit of #",
    r"token limit: #",
    r"must (?:be <=|have less than) #",
    r"should be \[\d+, #",
    r"cannot exceed #",
    r"limit for this model is #",
    r"Max (?:size|input tokens): #",
    r"less than max_seq_len \(#",
)
_COUNTED = _numbers(
    r"too long:? #",
    r"total length #",
    r"# \+ [\d,]+ > \d",
    r"input token count:? (?:is )?\(?#",
    r"token count of #",
    r"# (?:tokens )?(?:in|of|from) (?:the |your )?(?:input messages|messages|prompt|text input)",
    r"(?:resulted in|contains|contains at least|request has|prompt has|request \(|input \(|"
    r"length \(|tokens \(|Input length) ?#(?= (?:input )?tokens|\)| exceeds)",
    r"prompt_tokens\W{1,4}#",
    r"# .?inputs.? tokens",
    r"keep the first # tokens",
    r"n_keep\W{1,4}#",
    r"tokens\. Given: #",
    r"received #",
    r"requested: #",
)
_WHOLE = _numbers(r"requested (?:about |a total of )?# ?tokens")
_OUTPUT = _numbers(
    r"# (?:tokens )?(?:in|for) (?:the|your) (?:completion|output)",
    r"\d \+ # > \d",
    r"and # .?max_new_tokens",
    r"requested # output tokens",
    r"is too large: #",
)
