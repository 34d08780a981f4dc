"""Available models and skills, and the health of the gateway."""

from typing import Literal

from thalweg_server.api.shape import Shape


class Model(Shape):
    """A model that a run may name."""

    name: str
    display_name: str = ""
    description: str = ""
    provider: str = ""
    model: str = ""
    window: int | None = None
    max_output: int | None = None
    supports_thinking: bool = False
    supports_vision: bool = False
    is_default: bool = False


class Models(Shape):
    """All models, the default first."""

    items: tuple[Model, ...]


class Skill(Shape):
    """A skill that agents can load."""

    name: str
    description: str
    path: str
    license: str = ""
    text: str | None = None
    """The whole `SKILL.md`, in the response for one skill."""


class Skills(Shape):
    """All skills."""

    items: tuple[Skill, ...]


class Check(Shape):
    """One part of the gateway."""

    name: str
    status: Literal["ok", "failed"]
    detail: str = ""


class Health(Shape):
    """Whether the gateway works, by its parts."""

    status: Literal["ok", "failed"]
    version: str
    checks: tuple[Check, ...] = ()
