"""What each provider accepts in the messages of a request, as far as it can be checked locally."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from thalweg.engine.entries import Media


@dataclass(frozen=True, slots=True)
class WireRules:
    """What one wire accepts; the defaults are accepted by every supported provider."""

    tool_name: re.Pattern[str] = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
    """Matches a whole tool name."""
    call_id: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,40}")
    """Matches a whole call id."""
    accepts_blank: bool = False
    """Whether a text may be empty or only white space."""
    accepts_late_system: bool = False
    """Whether a system message may follow other messages."""
    user_first: bool = True
    """Whether the first message after the system prompt must be a user's."""
    alternates: bool = False
    """Whether a message of the user must separate two answers. No supported provider demands it:
    Anthropic joins them (platform.claude.com/docs/en/api/messages/create, `messages`), OpenAI and
    the Gemini API accept them (github.com/google/adk-go/issues/1218); read 2026-11-28. Bedrock and
    the chat templates of some models do: it is set for a model that has refused such a request."""
    media: tuple[str, ...] = ("image/", "audio/", "video/", "application/pdf", "text/")
    """Prefixes of the media types that are accepted."""
    excluded: tuple[str, ...] = ()
    """Prefixes of the media types that the model's profile rules out, in every form."""

    def accepts(self, media: Media) -> bool:
        """Return whether an image, a document, a sound or a film is accepted.

        An unspecified type is, and a block in the native form of a server: that was written for it.
        """
        mime = media.mime.partition(";")[0].strip().lower()
        if not mime or mime == _UNKNOWN_TYPE:
            return True
        if _NATIVE_BLOCK.search(media.extra):
            return not (self.excluded and mime.startswith(self.excluded))
        if mime.endswith("/*"):
            return any(kind.startswith(mime[:-1]) for kind in self.media)
        return mime.startswith(self.media)


_NATIVE_BLOCK = re.compile(r'"type": "(?:video_url|audio_url|input_image|input_file|media)"')
"""Types of blocks that are no provider-neutral form: a client passes them on as they are."""
_UNKNOWN_TYPE = "application/octet-stream"
_IMAGES = ("image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp")
_OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

RULES: Mapping[str, WireRules] = {
    "openai-chat": WireRules(  # https://platform.openai.com/docs/api-reference/chat/create
        tool_name=_OPENAI_NAME,
        accepts_blank=True,
        accepts_late_system=True,
        user_first=False,
        media=(*_IMAGES, "audio/", "application/pdf"),
    ),
    "openai-responses": WireRules(  # https://platform.openai.com/docs/api-reference/responses/create
        tool_name=_OPENAI_NAME,
        call_id=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        accepts_blank=True,
        accepts_late_system=True,
        user_first=False,
        media=(*_IMAGES, "application/pdf"),
    ),
    "anthropic": WireRules(  # https://platform.claude.com/docs/en/api/messages
        tool_name=re.compile(r"[a-zA-Z0-9_-]{1,128}"),
        call_id=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        media=(*_IMAGES, "application/pdf", "text/plain"),
    ),
    # The Gemini API accepts 64 characters of a name, Vertex AI 128; the client may use either.
    "gemini": WireRules(  # https://ai.google.dev/api/caching#FunctionDeclaration
        tool_name=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
    ),
}
"""Rules by wire, each with the provider's page it is taken from."""

_MEDIA_BY_PROFILE_FIELD: Mapping[str, str] = {
    "image_inputs": "image/",
    "pdf_inputs": "application/pdf",
    "audio_inputs": "audio/",
    "video_inputs": "video/",
}
"""Media type that each field of LangChain's model profile is about."""


def rules_of(wire: str, profile: Mapping[str, object] | None = None) -> WireRules:
    """Return the rules for requests to a model.

    Args:
        wire: The provider's wire; an unregistered one gets the rules that all providers accept.
        profile: LangChain's profile of the model, which can exclude media that the wire supports.

    Example:
        >>> rules_of("anthropic", {"pdf_inputs": False}).accepts(Media("application/pdf"))
        False
    """
    rules, profile_fields = RULES.get(wire, _COMMON_RULES), profile or {}
    if profile_fields.get("mid_conversation_system_messages") is True:  # Claude Opus 4.8 and later
        rules = replace(rules, accepts_late_system=True)
    excluded_types = tuple(
        kind for name, kind in _MEDIA_BY_PROFILE_FIELD.items() if profile_fields.get(name) is False
    )
    if not excluded_types:
        return rules
    media = tuple(kind for kind in rules.media if not kind.startswith(excluded_types))
    return replace(rules, media=media, excluded=excluded_types)


_COMMON_RULES = WireRules()
_LATE_SYSTEM = re.compile(r"claude-(opus-(4-[89]|[5-9])|(sonnet|haiku|fable|mythos)-[5-9])")
"""Claude accepts `system` messages in mid-conversation from Opus 4.8 on. Source:
platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, 2026-05-28."""


def accepts_late_system(model: str) -> bool:
    """Return whether an Anthropic model, by its name, accepts later system messages.

    Example:
        >>> accepts_late_system("anthropic:claude-fable-5-2")
        True
        >>> accepts_late_system("anthropic:claude-sonnet-4-6")
        False
    """
    return _LATE_SYSTEM.search(model) is not None
