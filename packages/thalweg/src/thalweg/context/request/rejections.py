"""Refusals of the content of a request: their causes, and the edits that remove each.

A request that is too large is refused in `overflow`; a wrong key, model or parameter has to be
corrected by the caller. All other refusals would recur with every message of the thread: its view
is repaired from the archive, and the request is sent once more (I43).

A cause is a row of `CAUSES`: the words that name it, and a pure plan of edits. The first row whose
words are in the provider's answer, and whose plan changes anything, is used.
"""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thalweg.context.request.overflow import is_other_refusal
from thalweg.context.request.provider_errors import error_chain, status_of, text_of
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.edits import Edit
from thalweg.engine.engine import Engine
from thalweg.engine.window.binding import BINDING_REFUSAL
from thalweg.engine.window.rejected import (
    plan_plain,
    plan_without_compactions,
    plan_without_media,
    plan_without_reasoning,
)

_log = logging.getLogger("thalweg.requests")
_STATUSES = frozenset({400, 422})
"""Statuses of a refusal of a request's content; most return 400, Mistral and FastAPI servers
422."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A provider's refusal of the content of a request."""

    status: int
    message: str
    """The provider's words, on one line."""
    model: str = ""
    """Who refused it, as `provider:name`."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why providers refuse a request, and what removes the reason from a thread."""

    name: str
    """As the event, the log and the error name it."""
    words: re.Pattern[str]
    """Searched in the provider's answer."""
    plan: Callable[[PlanningContext], Sequence[Edit]] | None
    """Plans the edits for the window that was refused; none if there is nothing to change.

    `None`: the engine's plan against reasoning that is bound to another prefix."""


def rejection_of(error: BaseException, model: str = "") -> Rejection | None:
    """Parse an error, and its cause, as the refusal of the content of a request.

    Returns:
        `None` when it is about anything else: a connection, a rate, credentials, or a setting
        of the request that no edit of a thread changes.

    Example:
        >>> class BadRequest(Exception):
        ...     status_code = 400
        >>> rejection_of(BadRequest("messages.2.content.0: image could not be processed")).status
        400
        >>> rejection_of(BadRequest("tools.0.custom.name: String should match pattern")) is None
        True
    """
    for link in error_chain(error):
        status, text = status_of(link), text_of(link)
        if status is None:
            continue
        if (
            status not in _STATUSES
            or is_other_refusal(link, status, text)
            or _concerns_setting(text)
        ):
            return None
        return Rejection(status, text, model)
    return None


def plan_repair(rejection: Rejection, engine: Engine) -> tuple[Cause, Sequence[Edit]] | None:
    """Find the cause of a refusal and plan its repair.

    Returns:
        `None` if no edit would change the request.
    """
    for cause in CAUSES:
        if cause.words.search(rejection.message):
            plan = cause.plan
            edits = engine.refuse_reasoning() if plan is None else plan(engine.planning_context())
            if edits:
                return cause, edits
    return None


def _concerns_setting(text: str) -> bool:
    """Return whether the provider's error refers to a part of the request that holds no message."""
    places = [match[1] or match[2] for match in _PARAMETER_PATH.finditer(text)]
    return bool(places) and not any(_MESSAGE_PATH.match(place) for place in places)


_PARAMETER_PATH = re.compile(
    r"""["']param["']: ?["']([^"']+)["']"""  # OpenAI's error body
    # Anthropic and Gemini begin with the path
    r"|(?:^|[\s'\"*])(?:GenerateContentRequest\.)?((?:tools?|tool_choice|tool_config|thinking|"
    r"temperature|top_[pk]|max_tokens|model|metadata|stop_sequences|service_tier|output_config|"
    r"context_management|response_format|text|reasoning|generation_?config|safety_settings|betas|messages|input|"
    r"contents|system|system_instruction)(?:[.\[][^\s:]*)?):",
)
_MESSAGE_PATH = re.compile(r"(?:messages|input|contents|system|instructions)")


def _any_pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


ALTERNATION = Cause(
    "two answers in a row",
    _any_pattern(
        r"roles must alternate",  # chat templates (Mistral, Gemma); old versions of Claude
        r"must alternate between",  # Bedrock's Converse; Gemini 1.0
    ),
    None,
)
"""Refused by some models alone. Nothing is edited: a line of the user is sent between the two."""
CAUSES: tuple[Cause, ...] = (
    Cause("reasoning bound to another prefix", BINDING_REFUSAL, None),
    Cause(
        "a compaction that the provider does not accept any more",
        _any_pattern(
            r"\bcompaction\b", r"\bcmp_"
        ),  # `compaction_signature_invalid`, OpenAI: the item's id
        plan_without_compactions,
    ),
    Cause(
        "reasoning that the provider does not accept any more",
        _any_pattern(
            r"thinking",  # Anthropic: `signature`, "cannot be modified", "Expected `thinking`"
            r"reasoning",  # OpenAI: "provided without its required following item"
            r"encrypted.content",  # OpenAI: "could not be verified"
            r"thought.?signature",  # Gemini
        ),
        plan_without_reasoning,
    ),
    Cause(
        "media that the model does not accept",
        _any_pattern(
            r"image", r"\bpdf\b", r"document", r"audio", r"video", r"base64", r"mime", r"file"
        ),
        plan_without_media,
    ),
    Cause("not explained", re.compile(""), plan_plain),
)
"""Causes, the narrowest first; the last is of every refusal."""
