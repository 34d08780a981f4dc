"""How one agent differs from the standard one: prompt, tools, middleware, the standard subagent.

A profile is an argument of `create_deep_agent` and holds for that agent and its subagents. There
is no registry by model names: who makes an agent sees all that shapes it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Self, TypeVar

from langchain.agents.middleware.types import AgentMiddleware
from pydantic import ConfigDict, Strict, TypeAdapter, ValidationError

from thalweg.errors import ConfigError
from thalweg_agent.absent import (
    ProviderProfile,
    register_harness_profile,
    register_provider_profile,
)

__all__ = [
    "GeneralPurposeSubagentProfile",
    "HarnessProfile",
    "HarnessProfileConfig",
    "ProviderProfile",
    "register_harness_profile",
    "register_provider_profile",
]

Middleware = AgentMiddleware[Any, Any, Any]
_Parsed = TypeVar("_Parsed", bound="GeneralPurposeSubagentProfile | HarnessProfileConfig")


class ProfileError(ConfigError, ValueError):
    """A value of a profile cannot be used."""


class ProfileTypeError(ConfigError, TypeError):
    """A value of a profile is of the wrong type, or its key is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralPurposeSubagentProfile:
    """Differences of the subagent `general-purpose`; `None` keeps the default."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    enabled: Annotated[bool, Strict()] | None = None
    """`False`: there is none, unless one of that name is among `subagents`."""
    description: str | None = None
    system_prompt: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, ready for JSON or YAML."""
        return {name: value for name, value in _values(self).items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Parse what `to_dict` returned.

        Raises:
            ConfigError: A key is unknown or a value of the wrong type; also a `TypeError`.
        """
        return _parsed(cls, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessProfile:
    r"""What differs in an agent.

    Raises:
        ConfigError: An entry of `excluded_middleware` is no name of a middleware; also a
            `ValueError`.

    Example:
        >>> profile = HarnessProfile(system_prompt_suffix="Answer in one line.")
        >>> profile.prompt("You are an agent.")
        'You are an agent.\n\nAnswer in one line.'
    """

    base_system_prompt: str | None = None
    """In place of the standard text on how to work, which follows the agent's own prompt."""
    system_prompt_suffix: str | None = None
    """Appended to that text, in subagents to their prompt."""
    tool_description_overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    """Descriptions by the name of a tool, of any origin."""
    excluded_tools: frozenset[str] = frozenset()
    """Names of tools that the model does not see and cannot call."""
    excluded_middleware: frozenset[type[Middleware] | str] = frozenset()
    """Classes, or names, of middleware to omit."""
    extra_middleware: Sequence[Middleware] | Callable[[], Sequence[Middleware]] = ()
    """Middleware to add, or a function that makes it for each agent."""
    general_purpose_subagent: GeneralPurposeSubagentProfile | None = None

    def __post_init__(self) -> None:
        _check_names(self.excluded_middleware)

    def prompt(self, base: str) -> str:
        """Return the text on how to work, from the standard text."""
        if self.base_system_prompt is not None:
            base = self.base_system_prompt
        suffix = self.system_prompt_suffix
        return base if suffix is None else f"{base}\n\n{suffix}"

    def materialize_extra_middleware(self) -> list[Middleware]:
        """Return the middleware to add, in a list of the caller's own."""
        extra = self.extra_middleware
        return list(extra() if callable(extra) else extra)

    def excludes(self, middleware: Middleware) -> bool:
        """Return whether a middleware is omitted: by its exact class or its name."""
        return bool(self.excluded_middleware & {type(middleware), middleware.name})


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessProfileConfig:
    """A profile that can be written as JSON or YAML; see `HarnessProfile` for the fields."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    base_system_prompt: str | None = None
    system_prompt_suffix: str | None = None
    tool_description_overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    excluded_tools: frozenset[str] = frozenset()
    excluded_middleware: frozenset[str] = frozenset()
    general_purpose_subagent: GeneralPurposeSubagentProfile | None = None

    def __post_init__(self) -> None:
        _check_names(self.excluded_middleware)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set; names are sorted.

        Raises:
            ConfigError: A description is no text; also a `TypeError`.
        """
        written = _values(_parsed(type(self), _values(self)))
        for name, value in written.items():
            if isinstance(value, frozenset | Mapping):
                written[name] = sorted(value) if isinstance(value, frozenset) else dict(value)
        written = {name: value for name, value in written.items() if value not in (None, [], {})}
        if (general := self.general_purpose_subagent) is not None:
            written["general_purpose_subagent"] = general.to_dict()
        return written

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Parse what `to_dict` returned.

        Raises:
            ConfigError: A key is unknown or a value of the wrong type; also a `TypeError`.
        """
        return _parsed(cls, data)

    def to_harness_profile(self) -> HarnessProfile:
        """Return the profile that an agent takes."""
        return HarnessProfile(**_values(self))

    @classmethod
    def from_harness_profile(cls, profile: HarnessProfile) -> Self:
        """Return what can be written of a profile.

        Raises:
            ConfigError: It adds middleware, or excludes a class that has no `serialized_name`;
                also a `ValueError`.
        """
        if callable(profile.extra_middleware) or profile.extra_middleware:
            what = "extra_middleware"
            raise ProfileError(what, "middleware cannot be written", "pass it as `middleware=`")
        values = _values(profile)
        del values["extra_middleware"]
        values["excluded_middleware"] = frozenset(map(_written, profile.excluded_middleware))
        return cls(**values)


Profile = HarnessProfile | HarnessProfileConfig | Mapping[str, Any]
"""What `create_deep_agent(profile=…)` takes; a mapping has the keys of the config."""


def as_profile(given: Profile | None) -> HarnessProfile:
    """Return the profile that an agent takes.

    Raises:
        ConfigError: See `HarnessProfileConfig.from_dict`.
    """
    match given:
        case None:
            return HarnessProfile()
        case HarnessProfile():
            return given
        case HarnessProfileConfig():
            return given.to_harness_profile()
        case _:
            return HarnessProfileConfig.from_dict(given).to_harness_profile()


def for_subagent(profile: HarnessProfile) -> HarnessProfile:
    """Return the profile of a subagent: its prompt is its own, all else is its parent's."""
    return replace(profile, base_system_prompt=None)


def _values(profile: Any) -> dict[str, Any]:  # noqa: ANN401  # one of the dataclasses above
    return {each.name: getattr(profile, each.name) for each in fields(profile)}


def _written(entry: type[Middleware] | str) -> str:
    if isinstance(entry, str):
        return entry
    if name := getattr(entry, "serialized_name", None):
        return str(name)
    problem = f"the class {entry.__name__} has no attribute `serialized_name` to be written as"
    raise ProfileError("excluded_middleware", problem, "exclude it by its name")


def _check_names(entries: frozenset[Any]) -> None:
    for entry in entries:
        if not isinstance(entry, str):
            continue
        what, fix = "excluded_middleware", "give the class or its name, 'TodoListMiddleware'"
        if not entry.strip():
            raise ProfileError(what, "names must be non-empty", fix)
        if ":" in entry:
            raise ProfileError(
                what, f"{entry!r}: paths of classes are not currently supported", fix
            )
        if entry.startswith("_"):
            raise ProfileError(what, f"{entry!r}: a name cannot start with an underscore", fix)


def _parsed(kind: type[_Parsed], data: Mapping[str, Any]) -> _Parsed:
    try:
        return TypeAdapter(kind).validate_python(dict(data))
    except ValidationError as error:
        first = error.errors()[0]
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, ProfileError):
            raise cause from None
        where = ".".join(map(str, first["loc"]))
        if first["type"] == "unexpected_keyword_argument":
            *parents, _ = first["loc"]
            unknown = [
                str(one["loc"][-1])
                for one in error.errors()
                if one["type"] == first["type"] and [*one["loc"][:-1]] == parents
            ]
            owner = GeneralPurposeSubagentProfile if parents else kind
            known = ", ".join(each.name for each in fields(owner))
            problem = f"Unknown keys: {', '.join(sorted(unknown))}"
            raise ProfileTypeError(
                ".".join(map(str, parents)) or "profile", problem, f"use {known}"
            ) from None
        problem = f"it is {type(first['input']).__name__}"
        raise ProfileTypeError(where, problem, first["msg"].replace("Input", "it", 1)) from None
