"""What every secret of a form holds, so that other texts need not be searched."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thalweg.redaction.secrets import SECRETS, Secret, _make_replacer, redact


@pytest.mark.slow
@pytest.mark.parametrize("secret", [one for one in SECRETS if one.near], ids=lambda one: one.name)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_match_holds_one_of_them(secret: Secret, data: st.DataObject) -> None:
    found = data.draw(st.from_regex(secret.form)).casefold()
    assert any(part in found for part in secret.near)


@pytest.mark.slow
@pytest.mark.parametrize(
    "secret", [one for one in SECRETS if one.is_number], ids=lambda one: one.name
)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_number_has_nine_digits_in_a_row(secret: Secret, data: st.DataObject) -> None:
    assert re.search(r"\d(?:[ -]?\d){8}", data.draw(st.from_regex(secret.form)))


@pytest.mark.slow
@pytest.mark.parametrize("secret", [one for one in SECRETS if one.core], ids=lambda one: one.name)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_match_has_the_core_of_its_form(secret: Secret, data: st.DataObject) -> None:
    assert secret.core is not None
    found = data.draw(st.from_regex(secret.form)).casefold().replace("i\u0307", "i")
    assert secret.core.search(found)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_prefilters_do_not_change_what_is_redacted(data: st.DataObject) -> None:
    """Matches of any forms, between words that triggers are made of."""
    pieces = st.one_of(
        st.sampled_from([" ", "\n", "password", "key", "token is ", "secret=", "PIN", ": ", "411"]),
        st.text(max_size=8),
        *(st.from_regex(secret.form) for secret in SECRETS if secret.core),
    )
    text = "".join(data.draw(st.lists(pieces, max_size=6)))
    expected = text
    for secret in SECRETS:
        expected = secret.form.sub(_make_replacer(secret), expected)

    assert redact(text) == expected
