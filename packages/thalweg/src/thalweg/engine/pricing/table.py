"""The prices of providers, model by model, from the table `tariffs.toml`.

`docs/prices.md` shows the table; `thalweg.engine.pricing.matching` finds a model's row.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from thalweg.engine.data_files import read_table
from thalweg.engine.pricing.tariff import Tariff

LIFE_1H: Final = 3_600.0
WRITE_1H: Final = 2.0
"""Price of writing a prefix that lives an hour, for Anthropic and Moonshot, in units of input."""


def _family_tariff(row: Mapping[str, Any], name: str, table: Mapping[str, Any]) -> Tariff:
    """Return the tariff of a provider's usual model."""
    row_values = {
        key: value for key, value in row.items() if key not in {"provider", "like", "models"}
    }
    values = {**table["families"].get(row.get("like"), {}), **row_values, "name": name}
    values["note"] = _joined_note(values.get("note", ()), table["notes"])
    return Tariff.model_validate({key: values[key] for key in values.keys() & Tariff.model_fields})


def _model_tariff(
    family: Tariff, name: str, row: Mapping[str, Any], notes: Mapping[str, str]
) -> Tariff:
    """Return a model's tariff from prices in dollars per million tokens."""
    input_price, cached_price, output_price = row["usd"]
    read, output = round(cached_price / input_price, 4), round(output_price / input_price, 4)
    changes = {
        **{key: row[key] for key in row.keys() - {"usd", "cliffs", "note"}},
        "name": name,
        "base": input_price,
        "read": read,
        "output": output,
        "tiers": [
            {
                "above": above,
                "input": input_factor,
                "read": round(read * input_factor, 4),
                "write": round(family.write * input_factor, 4),
                "output": round(output * output_factor, 4),
            }
            for above, input_factor, output_factor in row.get("cliffs", ())
        ],
        "note": _joined_note(row.get("note", ()), notes),
    }
    return Tariff.model_validate({**family.model_dump(), **changes})


def _joined_note(parts: Sequence[str], notes: Mapping[str, str]) -> str:
    """Join sentences, each written out or the name of one in `[notes]`."""
    return " ".join(notes.get(part, part) for part in parts)


def _for_an_hour(tariff: Tariff) -> Tariff:
    """Return the tariff of the same model with a cache that lives an hour."""
    write_factor = WRITE_1H / tariff.write
    tiers = (t.model_copy(update={"write": round(t.write * write_factor, 4)}) for t in tariff.tiers)
    changes = {"name": f"{tariff.name}-1h", "write": WRITE_1H, "lifetime_s": LIFE_1H}
    return tariff.model_copy(update={**changes, "tiers": tuple(tiers)})


_TABLE: Final = read_table(__package__, "tariffs.toml")
_FAMILIES: Final = {
    name: _family_tariff(row, name, _TABLE) for name, row in _TABLE["families"].items()
}

LOCAL: Final = Tariff.local(**_TABLE["local"])


def _tariffs_by_provider() -> dict[str, tuple[Tariff, ...]]:
    family_tariffs: dict[str, list[Tariff]] = {}
    models: dict[str, list[Tariff]] = {}
    for name, row in _TABLE["families"].items():
        if provider := row.get("provider"):
            family, rows = _FAMILIES[name], row.get("models", {}).items()
            family_tariffs.setdefault(provider, []).append(family)
            newest = [
                _model_tariff(family, model, model_row, _TABLE["notes"])
                for model, model_row in rows
            ]
            models[provider] = newest + models.get(provider, [])
    return {name: (*family_tariffs[name], *models[name]) for name in family_tariffs} | {
        "ollama": (LOCAL,)
    }


MODELS: Final[Mapping[str, tuple[Tariff, ...]]] = _tariffs_by_provider()
"""The rows of each provider, as `thalweg.context` names providers: first the one for all its
models, then model by model."""

_HOURLY_TARIFFS: Final = (
    *MODELS["anthropic"],
    *(listed_tariff for listed_tariff in MODELS["moonshot"] if listed_tariff.lifetime_s),
)

_ANTHROPIC: Final = _FAMILIES["anthropic"]

TARIFFS: dict[str, Tariff] = {
    listed_tariff.name: listed_tariff
    for listed_tariff in (_ANTHROPIC, _for_an_hour(_ANTHROPIC), *_FAMILIES.values(), LOCAL)
}
"""Tariffs of each provider's usual model, by name."""

NAMED_TARIFFS: Mapping[str, Tariff] = {
    **TARIFFS,
    **{listed_tariff.name: listed_tariff for rows in MODELS.values() for listed_tariff in rows},
    **{listed_tariff.name: listed_tariff for listed_tariff in map(_for_an_hour, _HOURLY_TARIFFS)},
}
"""Every tariff by name: those above, each model's, and with `-1h` those of a cache that lives an
hour."""
