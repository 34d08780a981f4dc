"""Names of Deep Agents that import here and raise one sentence of advice when they are used."""

from typing import Any, NoReturn

from thalweg.errors import ConfigError

__all__ = [
    "ProviderProfile",
    "SummarizationToolMiddleware",
    "UnsupportedContentMiddleware",
    "create_summarization_tool_middleware",
    "register_harness_profile",
    "register_provider_profile",
]


class AbsentFeatureError(ConfigError, NotImplementedError):
    """A name of Deep Agents has no implementation in Thalweg."""


class _Absent(type):
    """The class of an absent class: calls and attributes raise the advice."""

    advice: str

    def __call__(cls, *_arguments: object, **_options: object) -> NoReturn:
        raise _error(cls.__name__, cls.advice)

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401  # it never returns
        if name.startswith("__"):
            raise AttributeError(name)
        raise _error(cls.__name__, cls.advice)


def _error(name: str, advice: str) -> AbsentFeatureError:
    return AbsentFeatureError(name, "there is no such thing in Thalweg", advice)


class ProviderProfile(metaclass=_Absent):
    """Absent: a chat model is configured by its constructor."""

    advice = "pass the configured model: init_chat_model('openai:…', use_responses_api=True)"


class SummarizationToolMiddleware(metaclass=_Absent):
    """Absent: the engine brings the tool."""

    advice = "ContextMiddleware and create_deep_agent have the tool compact_conversation"


class UnsupportedContentMiddleware(metaclass=_Absent):
    """Absent: the engine sends no content that the model's profile excludes.

    Its fields for results of tools are not read (`image_tool_message`, `pdf_tool_message`).
    """

    advice = (
        "ContextMiddleware and create_deep_agent replace what the model's profile excludes,"
        " except for image_tool_message and pdf_tool_message"
    )


def create_summarization_tool_middleware(*_arguments: object, **_options: object) -> NoReturn:
    """Absent: the engine brings the tool.

    Raises:
        AbsentFeatureError: Always.
    """
    raise _error("create_summarization_tool_middleware", SummarizationToolMiddleware.advice)


def register_harness_profile(*_arguments: object, **_options: object) -> NoReturn:
    """Absent: a profile belongs to one agent.

    Raises:
        AbsentFeatureError: Always.
    """
    raise _error("register_harness_profile", "pass it: create_deep_agent(profile=…)")


def register_provider_profile(*_arguments: object, **_options: object) -> NoReturn:
    """Absent: a chat model is configured by its constructor.

    Raises:
        AbsentFeatureError: Always.
    """
    raise _error("register_provider_profile", ProviderProfile.advice)
