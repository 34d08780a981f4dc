"""`thalweg prices`: the table of prices."""

from argparse import Namespace
from collections.abc import Iterator, Sequence

from thalweg.cli.parsing import argument, single_command
from thalweg.cli.printing import Column, print_lines, table
from thalweg.engine.media.images import image_tokens
from thalweg.engine.pricing.matching import tariff_for
from thalweg.engine.pricing.table import MODELS, NAMED_TARIFFS, TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.sections import name_remedy
from thalweg.errors import ConfigError

_MINUTE, _HOUR = 60, 3_600
IMAGE_SIZE = (1_024, 1_024)
"""Pixels of the image whose price the table shows."""


@single_command(
    argument(
        "name", metavar="NAME", nargs="?", default="", help="A model or a tariff. Default: all."
    )
)
def prices(options: Namespace) -> None:
    """Show what tokens cost by the table that policies and replays use.

    Prices are relative to one uncached input token of the same model; `base` is what that
    costs, per million. Settings lay other figures over them: see docs/prices.md.
    """
    print_lines(_tariff_lines(find_tariff(options.name)) if options.name else table_lines())


def find_tariff(name: str) -> Tariff:
    """Find a tariff by its name, or a model's by any name the model has.

    Raises:
        ConfigError: There is none.
    """
    if name in NAMED_TARIFFS:
        return NAMED_TARIFFS[name]
    matches = (tariff_for(provider, name) for provider in MODELS)
    tariffs = [match.tariff for match in matches if match.by == "model"]
    if not tariffs:
        default_fix = f"use {', '.join(TARIFFS)}, or the name of a listed model"
        raise ConfigError(
            "NAME",
            f"there are no prices of {name!r}",
            name_remedy(name, tuple(NAMED_TARIFFS), default_fix),
        )
    return max(tariffs, key=lambda tariff: len(tariff.name))


def table_lines() -> Iterator[str]:
    """Write every tariff on a line, provider by provider."""
    for group, tariffs in tariffs_by_provider():
        yield group
        yield from table(map(row_of, tariffs), _COLUMNS)
        yield ""
    yield from table(_MEANINGS)


def tariffs_by_provider() -> Iterator[tuple[str, Sequence[Tariff]]]:
    """Yield the tariffs by provider, those of all its models first."""
    for provider, models in MODELS.items():
        family = [t for t in TARIFFS.values() if t.source == models[0].source]
        tariffs = list({t.name: t for t in (*family, *models)}.values())
        yield _TITLES.get(provider, provider.capitalize()), tariffs


_TITLES = {
    "openai": "OpenAI",
    "deepseek": "DeepSeek",
    "moonshot": "Kimi",
    "ollama": "A model of one's own",
}
HEADINGS = ("name", "read", "write", "answer", "base", "above", "from", "block", "lives", "image")
_MEANINGS = (
    ("base", "price of a million input tokens outside the cache"),
    ("read", "an input token from the cache costs this times a base token; so do"),
    ("write", "an input token that is written to the cache, and"),
    ("answer", "an output token"),
    ("above", "from this input on, the whole request costs that many times as much"),
    ("from", "tokens of the shortest prefix that is cached, in steps of `block`"),
    ("lives", "how long an unused prefix is cached; - if nobody says"),
    ("image", "tokens of an image of 1,024 x 1,024 pixels"),
)
_RANKS = {"block": 1, "from": 2, "lives": 3, "image": 4}
_COLUMNS = [
    Column(name, is_number=name not in {"name", "above", "lives"}, rank=_RANKS.get(name, 0))
    for name in HEADINGS
]


def row_of(tariff: Tariff) -> tuple[str, ...]:
    """Return the cells of a tariff, as `HEADINGS` names them."""
    unit = "$" if tariff.unit == "USD" else ""
    return (
        tariff.name,
        f"{tariff.read:g}",
        f"{tariff.write:g}",
        f"{tariff.output:.3g}",
        "" if tariff.base is None else f"{unit}{tariff.base:g}{'' if unit else ' s'}",
        ", ".join(f"{t.above // 1_000}K: {t.input:g}x" for t in tariff.tiers),
        str(tariff.minimum),
        str(tariff.block),
        format_lifetime(tariff.lifetime_s),
        str(image_tokens(*IMAGE_SIZE, tariff.name)),
    )


def format_lifetime(seconds: float | None) -> str:
    """Format how long an unused prefix remains cached."""
    if seconds is None:
        return "-"
    if seconds % _HOUR == 0:
        return f"{seconds / _HOUR:g} h"
    return f"{seconds / _MINUTE:g} min"


def _tariff_lines(tariff: Tariff) -> Iterator[str]:
    """Yield all fields of one tariff, each on a line."""
    for field, value in tariff.model_dump(mode="json").items():
        if field == "tiers":
            for tier in tariff.tiers:
                figures = ", ".join(
                    f"{k} {v:g}" for k, v in tier.model_dump(exclude={"above"}).items()
                )
                yield f"above {tier.above:,}: {figures}"
        elif value not in (None, ""):
            yield f"{field}: {value}"
