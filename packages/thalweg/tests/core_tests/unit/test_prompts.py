"""Prompts are files with declared variables."""

import pytest

from thalweg.engine.prompts import Prompt, prompt, prompts


@pytest.mark.parametrize("given", prompts(), ids=lambda p: p.name)
def test_every_prompt_renders_with_the_variables_it_declares(given: Prompt) -> None:
    """Each value is in the text, and no brace remains."""
    values = {name: f"<{name}>" for name in given.variables}

    text = given.render(**values)

    assert all(value in text for value in values.values())
    assert "{" not in text


def test_a_wrong_variable_is_named() -> None:
    """A missing value, or one too many, is a bug that shows at once."""
    with pytest.raises(TypeError, match="prompt pointer takes"):
        prompt("pointer").render(handel="x")


def test_a_value_is_never_a_template() -> None:
    """What comes from a thread cannot pull in other values."""
    assert "{handle}" in prompt("late_result").render(what="{handle}")
