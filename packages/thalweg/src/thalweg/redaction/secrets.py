r"""Secrets, which no memory may store, by the formats that their issuers document.

Every text passes `redact` before it is stored: turns, facts, quotes. A redaction names the kind of
secret, without any part of it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from thalweg.engine.data_files import read_table

_Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Secret:
    """A kind of secret, and how to find it."""

    name: str
    """The text of a redaction."""
    form: re.Pattern[str]
    """Finds it; a group `secret` where only a part of the match is one."""
    source: str
    """Who documents the form."""
    check: _Check | None = None
    """Distinguishes secrets from other texts of the same form."""
    near: tuple[str, ...] = ()
    """Every secret of this form holds one of these, in any case; empty if nothing is common to all.

    A text without them is not searched, which is what makes `redact` fast."""
    is_number: bool = False
    """Every secret of this form has nine digits in a row, blanks and dashes aside, likewise."""
    core: re.Pattern[str] | None = None
    """A part of every match, in lower case, that is found faster than `form`: a text without it is
    not searched."""


REDACTION = re.compile(r"\[redacted: [A-Za-z ]+\]")
"""The replacement of a secret."""


def redact(text: str) -> str:
    """Put `[redacted: NAME]` in the place of every secret.

    Example:
        >>> redact("the token is ghp_" + "a1B2" * 9)
        'the token is [redacted: GitHub token]'
    """
    # A dotted capital I is an i to patterns that ignore case, and folds to an i with a dot.
    folded = text.casefold().replace("i\u0307", "i")
    has_number = _NINE_DIGITS.search(text) is not None
    for secret in SECRETS:
        if secret.is_number and not has_number:
            continue
        for part in secret.near or ("",):
            if part in folded:
                if secret.core is None or secret.core.search(folded):
                    text = secret.form.sub(_make_replacer(secret), text)
                break
    return text


_NINE_DIGITS = re.compile(r"\d(?:[ -]?\d){8}")


def _make_replacer(secret: Secret) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        group = "secret" if "secret" in secret.form.groupindex else 0
        value = match[group]
        if value.startswith("[redacted") or (secret.check and not secret.check(value)):
            return match[0]
        start, end = (place - match.start() for place in match.span(group))
        return f"{match[0][:start]}[redacted: {secret.name}]{match[0][end:]}"

    return replace


def _is_card(digits: str) -> bool:
    """Check the last digit as ISO/IEC 7812-1 has it (Luhn)."""
    numbers = [int(digit) for digit in digits if digit.isdigit()]
    if len(set(numbers)) == 1:
        return False
    odd, even = numbers[-1::-2], numbers[-2::-2]
    return (sum(odd) + sum(sum(divmod(2 * n, 10)) for n in even)) % 10 == 0


_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def _is_chinese_id(number: str) -> bool:
    """Check the last place as GB 11643-1999 has it."""
    total = sum(int(n) * weight for n, weight in zip(number, _WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == number[-1].upper()


_PLACEHOLDER = re.compile(
    r"[<${%\[(]|(?:your|my|the|some|example|dummy|test)[-_]|(.)\1+$|(?:x{3,}|\*{3,}|\.{3,})"
    r"|[a-z_.]+[(\[]"  # code that returns it: `get_password(user)`
    r"|(?:changeme|placeholder|none|null|true|false|undefined|string|str|int|os\.|process\.|env)\b",
    re.IGNORECASE,
)


def _is_real_value(value: str) -> bool:
    return not _PLACEHOLDER.match(value)


def _is_random(value: str) -> bool:
    """Return whether a value is no word and no name: digits among letters, and no address."""
    has_digit_and_letter = re.search("[0-9]", value) and re.search("[A-Za-z]", value)
    return bool(has_digit_and_letter) and _is_real_value(value) and "://" not in value


_TABLE = read_table(__package__, "secrets.toml")
_NO_PASSWORD = frozenset(_TABLE["no_password"])


def _is_password(value: str) -> bool:
    return value.lower().rstrip(".,;!?") not in _NO_PASSWORD and _is_real_value(value)


_CHECKS: Mapping[str, _Check] = {
    "card": _is_card,
    "chinese_id": _is_chinese_id,
    "random": _is_random,
    "told": _is_password,
    "value": _is_real_value,
}


def _secret_from_row(row: Mapping[str, Any]) -> Secret:
    return Secret(
        row["name"],
        re.compile(row["form"]),
        row["source"],
        _CHECKS[row["check"]] if "check" in row else None,
        tuple(row.get("near", ())),
        is_number=row.get("is_number", False),
        core=re.compile(row["core"]) if "core" in row else None,
    )


SECRETS: Final = tuple(map(_secret_from_row, _TABLE["secrets"]))
"""The table, most specific first: text that matches an earlier row is hidden from later ones."""
