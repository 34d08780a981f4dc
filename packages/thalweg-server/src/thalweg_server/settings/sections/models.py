"""`models:`: the chat models that may be used, by name."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, PositiveInt, model_validator

from thalweg.engine.sections import refuse
from thalweg_server.settings.fixed import FrozenMapping, Options, thawed
from thalweg_server.settings.parts import Import, Name, Open, Secret


class ModelSettings(Open):
    """A chat model. Other keys are passed to its constructor as they are.

    Example:
        >>> mini = ModelSettings(name="mini", provider="openai", options={"temperature": 0})
        >>> mini.model, mini.arguments()
        ('mini', {'temperature': 0})
    """

    KNOWN_KEYS: ClassVar[frozenset[str]] = frozenset({"user", "n"})

    name: Name
    """Its name: here, in requests and in the chat."""
    display_name: str = ""
    """What people are shown; its name when it is empty."""
    description: str = ""
    """Its purpose, for people who choose."""
    provider: Name | None = None
    """Of LangChain's `init_chat_model`: `anthropic`, `openai`, `ollama`, …"""
    use: Import | None = None
    """The class itself, as `langchain_openai:ChatOpenAI`, in place of a provider."""
    model: Name = ""
    """The provider's name for it; the name by default."""
    api_key: Secret | None = None
    """The key; best as a variable: `$OPENAI_API_KEY`. The provider's own variable by
    default."""
    base_url: str | None = Field(default=None, repr=False)
    """Its address, if not its provider's: any OpenAI-compatible address."""
    window: PositiveInt | None = None
    """Tokens it accepts, its answer included; the model's own by default."""
    max_output: PositiveInt | None = None
    """Tokens of its longest answer; the model's own by default."""
    supports_thinking: bool = False
    """Whether it can think before it answers."""
    supports_vision: bool = False
    """Whether it can be shown images."""
    options: Options = Field(default=FrozenMapping[object]())
    """Other arguments of its constructor: `temperature`, `timeout`, `max_retries`, … They may
    be keys of the model itself, too."""

    @model_validator(mode="before")
    @classmethod
    def _add_model(cls, given: object) -> object:
        if isinstance(given, Mapping) and given.get("model") is None:
            # Without a name, that is what is wrong, and not that there is no model.
            return {**given, "model": given.get("name", "-")}
        return given

    @model_validator(mode="after")
    def _validate_maker(self) -> Self:
        if self.use and self.provider:
            problem = f"it is defined by {self.use} and by the provider {self.provider}"
            refuse(problem, "leave one out", key="use", conflicting_key="provider")
        return self

    @model_validator(mode="after")
    def _validate_window(self) -> Self:
        if self.window and self.max_output and self.max_output >= self.window:
            problem = f"an answer of {self.max_output} tokens fills the window of {self.window}"
            fix = f"write less than {self.window}, or a larger window"
            refuse(problem, fix, key="max_output", conflicting_key="window")
        return self

    def arguments(self) -> dict[str, Any]:
        """Return the options as a constructor takes them, with the values of secrets."""
        return {name: thawed(value) for name, value in self.options.items()}
