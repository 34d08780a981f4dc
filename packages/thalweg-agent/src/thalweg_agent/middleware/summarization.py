"""`SummarizationMiddleware`: the constructor of LangChain's and Deep Agents', over our engine."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from langchain_core.language_models import BaseChatModel

from thalweg.archive import Archive
from thalweg.context.arguments import Owner
from thalweg.context.message_counter import TokenCounter
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.prompts import prompt
from thalweg.engine.settings import ContextPolicy
from thalweg_agent.absent import SummarizationToolMiddleware, create_summarization_tool_middleware

__all__ = [
    "DEEPAGENTS_DEFAULT_SUMMARY_PROMPT",
    "SummarizationMiddleware",
    "SummarizationToolMiddleware",
    "create_summarization_middleware",
    "create_summarization_tool_middleware",
]

Size = tuple[str, float] | Mapping[str, object]
"""`("tokens", 4000)`, `("messages", 50)` or `("fraction", 0.8)`; or DeerFlow's
`{"type": "tokens", "value": 4000}`."""

_STANDARD = prompt("summary").text
DEEPAGENTS_DEFAULT_SUMMARY_PROMPT = _STANDARD
"""The template of the summary prompt if `summary_prompt` is not set; passed as `summary_prompt`, it
has the same effect."""


class SummarizationMiddleware(ContextMiddleware):
    """A `ContextMiddleware` with LangChain's parameters for the policy.

    It replaces `ContextMiddleware` in `create_deep_agent`.

    Args:
        model: Writes the summaries; the agent's own model by default.
        trigger: The size, or one of several sizes, at which the context is compacted. Without one,
            costs decide; see `ContextPolicy`.
        keep: How much of the end is kept unchanged.
        token_counter: Returns the tokens of messages; see `ContextMiddleware`.
        summary_prompt: The summary prompt, in place of the standard text.
        trim_tokens_to_summarize: Maximum tokens of the text to summarize.
        archive: The archive of threads; see `ContextMiddleware`.
        owner: The owner of the threads; see `ContextMiddleware`.
        others: Further arguments of `ContextMiddleware`; those of Deep Agents are accepted and
            ignored: `backend`, `history_path_prefix` and `truncate_args_settings`. The archive
            holds the compacted messages.

    Raises:
        ConfigError: A size is invalid.

    Example:
        >>> SummarizationMiddleware(trigger=("messages", 50), keep=("messages", 10)).policy.keep
        Threshold(type='messages', value=10)
    """

    @property
    def name(self) -> str:
        """The name of the middleware whose place it takes."""
        return "ContextMiddleware"

    def __init__(
        self,
        model: BaseChatModel | str | None = None,
        *,
        trigger: Size | Sequence[Size] | None = None,
        keep: Size = ("messages", 20),
        token_counter: TokenCounter | None = None,
        summary_prompt: str | None = None,
        trim_tokens_to_summarize: int | None = None,
        archive: Archive | str | PathLike[str] | None = None,
        owner: Owner = "local",
        **others: Any,  # noqa: ANN401  # of Deep Agents' signature
    ) -> None:
        del others
        section = {
            "trigger": trigger,
            "keep": keep,
            "summary_prompt": None if summary_prompt == _STANDARD else summary_prompt,
            "trim_tokens_to_summarize": trim_tokens_to_summarize,
        }
        given = {name: value for name, value in section.items() if value is not None}
        self.policy = ContextPolicy.from_mapping(given)
        """The policy that the arguments describe."""
        super().__init__(
            self.policy, archive=archive, owner=owner, summarizer=model, token_counter=token_counter
        )


def create_summarization_middleware(
    model: BaseChatModel | str,
    backend: object = None,
    *,
    summary_prompt: str | None = None,
    trim_tokens_to_summarize: int | None = None,
    token_counter: TokenCounter | None = None,
    summarizer: BaseChatModel | str | None = None,
) -> SummarizationMiddleware:
    """Return the middleware that compacts a model's context when that pays; see `ContextPolicy`.

    Args:
        model: The agent's model; it writes the summaries if there is no `summarizer`.
        backend: Accepted: the archive holds the compacted messages.
        summary_prompt: See `SummarizationMiddleware`; so are the others.
        trim_tokens_to_summarize: Maximum tokens of the text to summarize.
        token_counter: Returns the tokens of messages; see `ContextMiddleware`.
        summarizer: The model that writes the summaries.

    Raises:
        ConfigError: A model cannot be used.
    """
    return SummarizationMiddleware(
        model if summarizer is None else summarizer,
        summary_prompt=summary_prompt,
        trim_tokens_to_summarize=trim_tokens_to_summarize,
        token_counter=token_counter,
        backend=backend,
    )
