"""A small repository to fix: a package, its tests, and pages that state what is in force.

What is in force is drawn again for every seed, and is on one page each among what was in force
before: no one can know it without reading it there.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

CASES = 80
"""Lines that a test prints before it judges: tests of this shop talk a lot."""


@dataclass(frozen=True)
class Part:
    """One module of the shop, broken."""

    setting: str
    """Name of the constant that no longer matches what is in force."""
    body: str
    slip: tuple[str, str] = ("", "")
    """An expression that is wrong in the code, and what it has to be."""

    def source(self, name: str, value: object, *, mended: bool) -> str:
        """Write the module."""
        head = (
            f'"""The {name} of the shop."""\n\n{self.setting} = {value!r}  # docs/{name}.md\n\n\n'
        )
        wrong, right = self.slip
        return head + (
            self.body if mended else self.body.replace(right, wrong) if right else self.body
        )


PARTS: Mapping[str, Part] = {
    "codes": Part(
        "MODULUS",
        "def answer(n):\n"
        '    """Return the check digit of an article."""\n'
        "    digits = [int(d) * (2 + k) for k, d in enumerate(reversed(str(n)))]\n"
        "    return sum(digits) % MODULUS\n",
    ),
    "discounts": Part(
        "FROM",
        "def answer(n):\n"
        '    """Return the discount in percent on an order of n pieces."""\n'
        "    return 0 if n < FROM else min(40, (n - FROM) // 5 + 3)\n",
        slip=("n <= FROM", "n < FROM"),
    ),
    "fees": Part(
        "PER_MILLE",
        "def answer(n):\n"
        '    """Return the fee on a payment of n cents."""\n'
        "    return max(25, n * PER_MILLE // 1000)\n",
    ),
    "parcels": Part(
        "LITRES",
        "def answer(n):\n"
        '    """Return how many parcels n litres need."""\n'
        "    return -(-n // LITRES)\n",
        slip=("n // LITRES", "-(-n // LITRES)"),
    ),
    "postage": Part(
        "GRAMS",
        "def answer(n):\n"
        '    """Return the postage in cents for n grams."""\n'
        "    return 190 + 85 * (n // GRAMS)\n",
    ),
    "reminders": Part(
        "DAYS",
        "def answer(n):\n"
        '    """Return how many reminders were due after n days."""\n'
        "    return min(3, n // DAYS)\n",
        slip=("max(3, n // DAYS)", "min(3, n // DAYS)"),
    ),
    "reports": Part(
        "WIDTH",
        'def answer(n):\n    """Return a bar for n orders."""\n    return \'#\' * (n % WIDTH)\n',
    ),
    "stock": Part(
        "LEVEL",
        "def answer(n):\n"
        '    """Return how many pieces to order when n are left."""\n'
        "    return 3 * LEVEL - n if n <= LEVEL else 0\n",
        slip=("if n < LEVEL", "if n <= LEVEL"),
    ),
    "rounding": Part(
        "STEP",
        "def answer(n):\n"
        '    """Return n cents, rounded to what coins there are."""\n'
        "    return (n + STEP // 2) // STEP * STEP\n",
        slip=("n // STEP * STEP", "(n + STEP // 2) // STEP * STEP"),
    ),
    "shelves": Part(
        "PLACES",
        "def answer(n):\n"
        '    """Return where the n-th article stands."""\n'
        "    return divmod(n, PLACES)\n",
        slip=("divmod(PLACES, n + 1)", "divmod(n, PLACES)"),
    ),
}
TEST = '''\
"""Tests of {name}."""

import unittest

from shop.{name} import answer

EXPECTED = {expected}


class Test{title}(unittest.TestCase):
    """What is in force, case by case."""

    def test_{name}(self):
        for n, expected in EXPECTED.items():
            print(f"{name} case {{n:>5}}: answer {{answer(n)!r:>12}}, {{'as' if answer(n) == expected else 'NOT as'}} in force")
        wrong = [n for n, expected in EXPECTED.items() if answer(n) != expected]
        self.assertEqual(wrong, [], "cases that are not as docs/{name}.md says")
'''  # noqa: E501 (it is somebody else's file)
GUIDE = """\
# Contributing

{talk}

## Releases

The release in the making is called '{release}'. Every line of CHANGELOG.md ends with that name.

{talk}
"""
TALK = (
    "We meet on Thursdays, write short commits, and review each other's work before it is merged."
)


@dataclass(frozen=True)
class Shop:
    """Where the repository is, and what no one can know without reading it."""

    folder: Path
    settings: Mapping[str, int]
    release: str

    def untouchable(self) -> str:
        """Return a digest of what must not be changed."""
        digest = hashlib.sha256()
        for path in sorted([*self.folder.glob("tests/*.py"), *self.folder.glob("vendor/*")]):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


def write_shop(folder: Path, seed: int) -> Shop:
    """Write the repository into a folder."""
    rng = Random(seed)  # noqa: S311 (the same shop for the same seed)
    shop = Shop(
        folder, {n: rng.randrange(11, 97) for n in PARTS}, f"heron-{rng.randrange(10**6):06}"
    )
    for name in ("shop", "tests", "docs", "vendor"):
        (folder / name).mkdir()
    for package in ("shop", "tests"):
        (folder / package / "__init__.py").write_text("", encoding="utf-8")
    for name, part in PARTS.items():
        value = shop.settings[name]
        write = {
            f"shop/{name}.py": part.source(name, value + rng.randrange(1, 9), mended=False),
            f"tests/test_{name}.py": _test(name, part.source(name, value, mended=True), value),
            f"docs/{name}.md": _page(name, part.setting, value, rng),
        }
        for path, text in write.items():
            (folder / path).write_text(text, encoding="utf-8")
    (folder / "vendor" / "tables.csv").write_text("do,not,touch\n" * 50, encoding="utf-8")
    (folder / "CHANGELOG.md").write_text("# Changes\n\n## Next\n\n- begun\n", encoding="utf-8")
    guide = GUIDE.format(release=shop.release, talk="\n".join([TALK] * 25))
    (folder / "CONTRIBUTING.md").write_text(guide, encoding="utf-8")
    return shop


def _test(name: str, source: str, value: int) -> str:
    space: dict[str, Any] = {}
    exec(source, space)  # noqa: S102 (our own text)
    cases = sorted({value, value + 1, *(7 * n * n + n for n in range(CASES - 2))})
    expected = {n: space["answer"](n) for n in cases}
    return TEST.format(name=name, title=name.title(), expected=expected)


def _page(name: str, setting: str, value: int, rng: Random) -> str:
    before = [
        f"- until {1960 + year}-{rng.randrange(1, 13):02}: {setting} was {rng.randrange(11, 97)}, "
        f"decided in meeting {rng.randrange(1000)} and never liked by anybody"
        for year in range(60)
    ]
    now = f"In force: {setting} = {value}. It is inclusive, rounds up, and has a ceiling."
    return f"# {name.title()}\n\n" + "\n".join([*before[:40], "", now, "", *before[40:]]) + "\n"
