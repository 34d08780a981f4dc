"""What each provider accepts in the messages of a request, as far as it can be checked here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from thalweg.entries import Media


@dataclass(frozen=True, slots=True)
class Rules:
    """What one wire accepts; the default is what every known provider accepts."""

    tool_name: re.Pattern[str] = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
    """A tool's name, in whole."""
    call_id: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,40}")
    """A call's id, in whole."""
    accepts_blank: bool = False
    """Whether a text may be empty, or nothing but white space."""
    accepts_late_system: bool = False
    """Whether a system message may stand behind others."""
    user_first: bool = True
    """Whether the first message behind the system prompt must be a user's."""
    media: tuple[str, ...] = ("image/", "audio/", "video/", "application/pdf", "text/")
    """Beginnings of the types of media that are accepted."""

    def accepts(self, media: Media) -> bool:
        """Tell whether an image, a document or a sound is accepted; of an unknown type it is."""
        mime = media.mime.partition(";")[0].strip().lower()
        if not mime or mime == _UNKNOWN_TYPE:
            return True
        if mime.endswith("/*"):
            return any(kind.startswith(mime[:-1]) for kind in self.media)
        return mime.startswith(self.media)


_UNKNOWN_TYPE = "application/octet-stream"
_IMAGES = ("image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp")
_OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

RULES: Mapping[str, Rules] = {
    "openai-chat": Rules(  # https://platform.openai.com/docs/api-reference/chat/create
        tool_name=_OPENAI_NAME,
        accepts_blank=True,
        accepts_late_system=True,
        user_first=False,
        media=(*_IMAGES, "audio/", "application/pdf"),
    ),
    "openai-responses": Rules(  # https://platform.openai.com/docs/api-reference/responses/create
        tool_name=_OPENAI_NAME,
        call_id=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        accepts_blank=True,
        accepts_late_system=True,
        user_first=False,
        media=(*_IMAGES, "application/pdf"),
    ),
    "anthropic": Rules(  # https://platform.claude.com/docs/en/api/messages
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        call_id=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        media=(*_IMAGES, "application/pdf", "text/plain"),
    ),
    # The Gemini API accepts 64 characters of a name, Vertex AI 128; the client may speak to either.
    "gemini": Rules(  # https://ai.google.dev/api/caching#FunctionDeclaration
        tool_name=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
    ),
}
"""Rules by wire, each with the page of the provider that it is read from."""

_INPUTS: Mapping[str, str] = {
    "image_inputs": "image/",
    "pdf_inputs": "application/pdf",
    "audio_inputs": "audio/",
    "video_inputs": "video/",
}
"""What a field of LangChain's profile of a model is about."""


def rules_of(wire: str, profile: Mapping[str, object] | None = None) -> Rules:
    """Return what a model accepts.

    Args:
        wire: The provider's wire; an unknown one has the rules that all accept.
        profile: LangChain's profile of the model: it rules out media that the wire could carry.

    Example:
        >>> rules_of("anthropic", {"pdf_inputs": False}).accepts(Media("application/pdf"))
        False
    """
    rules, known = RULES.get(wire, _ANY), profile or {}
    if known.get("mid_conversation_system_messages") is True:  # Claude Opus 4.8 and later
        rules = replace(rules, accepts_late_system=True)
    gone = tuple(kind for name, kind in _INPUTS.items() if known.get(name) is False)
    if not gone:
        return rules
    return replace(rules, media=tuple(kind for kind in rules.media if not kind.startswith(gone)))


_ANY = Rules()
_LATE_SYSTEM = re.compile(r"claude-(opus-(4-[89]|[5-9])|(sonnet|haiku|fable|mythos)-[5-9])")
"""Claude from Opus 4.8 on accepts `system` messages in mid-conversation. Source:
platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, 2026-05-28."""


def accepts_late_system(model: str) -> bool:
    """Whether a model of Anthropic accepts system messages in mid-conversation, by its name.

    Example:
        >>> accepts_late_system("anthropic:claude-fable-5-2")
        True
        >>> accepts_late_system("anthropic:claude-sonnet-4-6")
        False
    """
    return _LATE_SYSTEM.search(model) is not None
