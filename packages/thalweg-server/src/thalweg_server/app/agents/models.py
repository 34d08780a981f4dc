"""The models that a run may use and the skills that agents can load: the same for all owners."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from thalweg.errors import ConfigError, NoSuchModelError, NoSuchSkillError
from thalweg_agent.skills.format import parse_skill
from thalweg_server.api.catalogue import Model, Models, Skill, Skills
from thalweg_server.settings.sections import ModelSettings, Settings


def named_model(settings: Settings, name: str | None = None, *, any_model: bool = False) -> str:
    """Return the name of a model that a run may use.

    Args:
        settings: The current settings.
        name: The requested model; the settings' default if `None`.
        any_model: Whether a model outside of the settings is allowed. An HTTP caller may not be the
            one who pays, nor be allowed to make this process connect to any address.

    Raises:
        NoSuchModelError: The settings have no such model.
        ConfigError: They have no model at all.
    """
    default = settings.default_model
    if name is None:
        if default is None:
            fix = "add one to models:, or set agent.model"
            raise ConfigError("models", "no model is configured", fix)
        return default
    if name != default and settings.model_named(name) is None and not any_model:
        raise NoSuchModelError(name, tuple(model.name for model in settings.models))
    return name


class TenantModels:
    """The models of the settings; they are the same for all owners."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    async def list(self) -> Models:
        """List all models, the default first."""
        settings = self._settings()
        named = [_shown(model, settings) for model in settings.models]
        default = settings.default_model
        if default is not None and settings.model_named(default) is None:
            provider, _, model = default.rpartition(":")
            named.insert(0, Model(name=default, provider=provider, model=model, is_default=True))
        return Models(items=tuple(sorted(named, key=lambda model: not model.is_default)))

    async def get(self, name: str) -> Model:
        """Return one model.

        Raises:
            NoSuchModelError: There is none.
        """
        found = (await self.list()).items
        for model in found:
            if model.name == name:
                return model
        raise NoSuchModelError(name, tuple(model.name for model in found))


def _shown(model: ModelSettings, settings: Settings) -> Model:
    return Model(
        name=model.name,
        display_name=model.display_name or model.name,
        description=model.description,
        provider=model.provider or (model.use or "").partition(":")[0],
        model=model.model,
        window=model.window,
        max_output=model.max_output,
        supports_thinking=model.supports_thinking,
        supports_vision=model.supports_vision,
        is_default=model.name == settings.default_model,
    )


FILE = "SKILL.md"


class TenantSkills:
    """The skills of the settings; they are the same for all owners."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    async def list(self) -> Skills:
        """List all skills by name."""
        found = await asyncio.to_thread(skills_below, self._settings())
        return Skills(items=tuple(skill.model_copy(update={"text": None}) for skill in found))

    async def get(self, name: str) -> Skill:
        """Return one skill with its whole text.

        Raises:
            NoSuchSkillError: There is none.
        """
        found = await asyncio.to_thread(skills_below, self._settings())
        for skill in found:
            if skill.name == name:
                return skill
        raise NoSuchSkillError(name)


def skills_below(settings: Settings) -> list[Skill]:
    """Read the skills of the folders that settings name; of two with one name the later counts."""
    if not settings.skills.enabled:
        return []
    found: dict[str, Skill] = {}
    for folder in settings.skills.paths:
        for path in sorted(Path(folder).glob(f"*/{FILE}")):
            skill = _read(path)
            if skill is not None:
                found[skill.name] = skill
    return [found[name] for name in sorted(found)]


def _read(path: Path) -> Skill | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    parsed = parse_skill(text, str(path), path.parent.name).skill
    if parsed is None:
        return None
    return Skill(
        name=parsed["name"],
        description=parsed["description"],
        path=str(path),
        license=parsed.get("license") or "",
        text=text,
    )
