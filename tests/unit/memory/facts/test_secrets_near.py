"""What every secret of a form holds, so that other texts need not be searched."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thalweg.memory.facts.gates.secrets import SECRETS, Secret


@pytest.mark.slow
@pytest.mark.parametrize("secret", [one for one in SECRETS if one.near], ids=lambda one: one.name)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_match_holds_one_of_them(secret: Secret, data: st.DataObject) -> None:
    found = data.draw(st.from_regex(secret.form)).casefold()
    assert any(part in found for part in secret.near)


@pytest.mark.slow
@pytest.mark.parametrize(
    "secret", [one for one in SECRETS if one.is_number], ids=lambda one: one.name
)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_number_has_nine_digits_in_a_row(secret: Secret, data: st.DataObject) -> None:
    assert re.search(r"\d(?:[ -]?\d){8}", data.draw(st.from_regex(secret.form)))
