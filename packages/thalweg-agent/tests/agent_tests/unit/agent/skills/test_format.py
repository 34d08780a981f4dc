"""The Agent Skills format: people write it, so nothing in it may raise."""

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from thalweg_agent.skills.format import (
    MAX_SKILL_DESCRIPTION_LENGTH,
    MAX_SKILL_FILE_SIZE,
    Parsed,
    parse_skill,
    split_front_matter,
    validate_skill_name,
)


def parsed(front: str, body: str = "\n# How\n", folder: str = "pdf") -> Parsed:
    """Parse a SKILL.md with this front matter."""
    return parse_skill(f"---\n{front}\n---\n{body}", f"/skills/{folder}/SKILL.md", folder)


def test_all_fields_are_read() -> None:
    """As the peers' state keeps them."""
    read = parsed(
        "name: pdf\ndescription: Fill in forms\nlicense: MIT\ncompatibility: Python 3.11\n"
        "metadata:\n  author: Ada\n  version: 1.0\nallowed-tools: Bash(git:*),  read_file"
    )

    assert read.oddities == ()
    assert read.skill == {
        "path": "/skills/pdf/SKILL.md",
        "name": "pdf",
        "description": "Fill in forms",
        "license": "MIT",
        "compatibility": "Python 3.11",
        "metadata": {"author": "Ada", "version": "1.0"},
        "allowed_tools": ["Bash(git:*)", "read_file"],
    }


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("name: pdf", "missing required"),
        ("name: pdf\ndescription:", "missing required"),
        ("name: null\ndescription: x", "missing required"),
        ("name: pdf\ndescription: '  '", "missing required"),
        ("name: pdf\ndescription: [unclosed", "invalid YAML"),
        ("name: pdf\ndescription: 2024-13-45", "invalid YAML"),
        ("name: pdf\ndescription: x\nmetadata: !!bool maybe", "invalid YAML"),
        ("name: pdf\ndescription: x\nmetadata: !!int ''", "invalid YAML"),
        ("name: pdf\ndescription: x\nmetadata: !!timestamp foo", "invalid YAML"),
        ("name: pdf\n? [a]\n: b", "invalid YAML"),
        ("- name", "not a mapping"),
        ("x: " + "[" * 5_000, "invalid YAML"),
        ("x: " + "[" * 5_000 + "]" * 5_000, "invalid YAML"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(front: str, problem: str) -> None:
    """Nothing is raised, for any YAML."""
    read = parsed(front)

    assert read.skill is None
    assert problem in read.problem


def test_a_file_without_front_matter_or_too_large_is_no_skill() -> None:
    """Only its beginning is looked through for the end of the front matter."""
    large = "---\nname: pdf\ndescription: x\n---\n" + "x" * MAX_SKILL_FILE_SIZE

    assert "frontmatter" in parse_skill("# PDF\n", "p", "pdf").problem
    assert "frontmatter" in parse_skill("---\n" + "\n" * 100_000 + "---\n", "p", "pdf").problem
    assert "too large" in parse_skill(large, "p", "pdf").problem


@pytest.mark.parametrize(
    "content", ["---\r\nname: pdf\r\n---\r\nbody", "\ufeff---\nname: pdf\n---"]
)
def test_line_ends_of_windows_and_a_byte_order_mark_are_no_fault(content: str) -> None:
    """Nor is a file that ends with its front matter."""
    front, body = split_front_matter(content)

    assert front is not None
    assert front.strip() == "name: pdf"
    assert body in {"body", ""}


def test_a_name_that_breaks_the_rules_is_odd_and_loads() -> None:
    """As peers do: the skill is usable."""
    read = parsed("name: My Skill\ndescription: x")

    assert read.skill is not None
    assert read.skill["name"] == "My Skill"
    assert "lowercase" in read.oddities[0]


def test_what_is_too_long_is_shortened_and_said_to_be() -> None:
    """The rules bound descriptions and compatibility."""
    read = parsed(f"name: pdf\ndescription: {'x' * 2_000}\ncompatibility: {'y' * 600}")

    assert read.skill is not None
    assert len(read.skill["description"]) == MAX_SKILL_DESCRIPTION_LENGTH
    assert len(read.skill["compatibility"] or "") == 500
    assert len(read.oddities) == 2


def test_colons_that_nobody_quoted_are_text() -> None:
    """The most common fault of front matter; a skill that others drop."""
    read = parsed('name: pdf\ndescription: Use when: a "form" is to be filled in')

    assert read.skill is not None
    assert read.skill["description"] == 'Use when: a "form" is to be filled in'
    assert "colons" in read.oddities[0]


def test_metadata_that_is_none_or_endless_is_left_out() -> None:
    """Aliases may make a few lines into gigabytes."""
    bomb = "metadata:\n  a: &a [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(
        f"  {b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n"
        for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )
    read = parsed(f"name: pdf\ndescription: x\n{bomb}")
    odd = parsed("name: pdf\ndescription: x\nmetadata: some text\nallowed-tools: 3\nlicense: null")

    assert read.skill is not None
    assert read.skill["metadata"]["h"] == "…"
    assert odd.skill is not None
    assert (odd.skill["metadata"], odd.skill["allowed_tools"], odd.skill["license"]) == (
        {},
        [],
        None,
    )
    assert len(odd.oddities) == 2


@pytest.mark.parametrize("name", ["a", "web-research", "v2", "café", "a" * 64])
def test_names_by_the_rules(name: str) -> None:
    """Small letters, digits, single hyphens."""
    assert validate_skill_name(name, name) == (True, "")


@pytest.mark.parametrize("name", ["", "a" * 65, "A", "-a", "a-", "a--b", "a_b", "日本", "a b"])
def test_names_against_the_rules(name: str) -> None:
    """Each with what is wrong."""
    is_valid, fault = validate_skill_name(name, name)

    assert not is_valid
    assert fault
    assert "must match directory" in validate_skill_name("a", "b")[1]


@given(st.text(max_size=300), st.text(max_size=20))
def test_no_text_makes_reading_raise(content: str, folder: str) -> None:
    """Neither as front matter nor as a whole file."""
    for text in (content, f"---\n{content}\n---\n", f"---\nname: a\ndescription: {content}\n---\n"):
        read = parse_skill(text, "p", folder)
        assert (read.skill is None) == bool(read.problem)
        assert read.skill is None or (read.skill["name"] and read.skill["description"])


@given(st.text(max_size=300))
def test_a_file_is_its_front_matter_and_its_body(content: str) -> None:
    """Parting loses nothing but the two lines."""
    front, body = split_front_matter(content)

    assert body == content if front is None else f"{front}" in content and content.endswith(body)


values = st.one_of(
    st.text(max_size=60),
    st.integers(),
    st.booleans(),
    st.none(),
    st.lists(st.text(max_size=9), max_size=4),
)


@given(st.dictionaries(st.text(max_size=12), values, max_size=5), st.text(min_size=1, max_size=40))
def test_what_yaml_wrote_is_read_back(fields: dict[str, object], description: str) -> None:
    """This holds with any other content in the front matter."""
    given = {**fields, "name": "pdf", "description": description}
    given.pop("metadata", None)
    front = yaml.safe_dump(given, allow_unicode=True)

    read = parsed(front)

    assert (read.skill["description"] if read.skill else "") == description.strip()
