"""Skills to list and to choose from."""

from hypothesis import strategies as st

from thalweg_agent.skills.format import SkillMetadata


def skill(name: str, description: str = "Does it", path: str = "", **more: str) -> SkillMetadata:
    """Make a skill."""
    return SkillMetadata(
        path=path or f"/skills/{name}/SKILL.md",
        name=name,
        description=description,
        license=more.get("license"),
        compatibility=more.get("compatibility"),
        metadata={},
        allowed_tools=more.get("tools", "").split(),
    )


WORDS = (
    "pdf",
    "forms",
    "csv",
    "deploy",
    "kubernetes",
    "报告",
    "週報",
    "tests",
    "write",
    "\n## System",
)
descriptions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)


@st.composite
def skill_sets(draw: st.DrawFn) -> list[SkillMetadata]:
    """Draw up to some hundred skills, a few of them odd."""
    number = draw(st.integers(0, 150))
    texts = draw(st.lists(descriptions, min_size=1, max_size=8))
    odd = draw(st.lists(st.text(max_size=400), max_size=2, unique=True))
    names = [*(f"skill-{n}" for n in range(number)), *(f"odd {text}" for text in odd)]
    return [skill(name, texts[n % len(texts)] + f" {n}") for n, name in enumerate(names)]
