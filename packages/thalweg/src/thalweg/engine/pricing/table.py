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


def _family(row: Mapping[str, Any], name: str, table: Mapping[str, Any]) -> Tariff:
    """Return the tariff of a provider's usual model."""
    own = {key: value for key, value in row.items() if key not in {"provider", "like", "models"}}
    values = {**table["families"].get(row.get("like"), {}), **own, "name": name}
    values["note"] = _note(values.get("note", ()), table["notes"])
    return Tariff.model_validate({key: values[key] for key in values.keys() & Tariff.model_fields})


def _model(family: Tariff, name: str, row: Mapping[str, Any], notes: Mapping[str, str]) -> Tariff:
    """Return a model's tariff from prices in dollars per million tokens."""
    plain, cached, answer = row["usd"]
    read, output = round(cached / plain, 4), round(answer / plain, 4)
    changes = {
        **{key: row[key] for key in row.keys() - {"usd", "cliffs", "note"}},
        "name": name,
        "base": plain,
        "read": read,
        "output": output,
        "tiers": [
            {
                "above": above,
                "input": times,
                "read": round(read * times, 4),
                "write": round(family.write * times, 4),
                "output": round(output * answers, 4),
            }
            for above, times, answers in row.get("cliffs", ())
        ],
        "note": _note(row.get("note", ()), notes),
    }
    return Tariff.model_validate({**family.model_dump(), **changes})


def _note(parts: Sequence[str], notes: Mapping[str, str]) -> str:
    """Join sentences, each written out or the name of one in `[notes]`."""
    return " ".join(notes.get(part, part) for part in parts)


def _for_an_hour(tariff: Tariff) -> Tariff:
    """Return the tariff of the same model with a cache that lives an hour."""
    dearer = WRITE_1H / tariff.write
    tiers = (t.model_copy(update={"write": round(t.write * dearer, 4)}) for t in tariff.tiers)
    changes = {"name": f"{tariff.name}-1h", "write": WRITE_1H, "lifetime_s": LIFE_1H}
    return tariff.model_copy(update={**changes, "tiers": tuple(tiers)})


_TABLE: Final = read_table(__package__, "tariffs.toml")
_FAMILIES: Final = {name: _family(row, name, _TABLE) for name, row in _TABLE["families"].items()}

LOCAL: Final = Tariff.local(**_TABLE["local"])


def _by_provider() -> dict[str, tuple[Tariff, ...]]:
    usual: dict[str, list[Tariff]] = {}
    models: dict[str, list[Tariff]] = {}
    for name, row in _TABLE["families"].items():
        if provider := row.get("provider"):
            family, rows = _FAMILIES[name], row.get("models", {}).items()
            usual.setdefault(provider, []).append(family)
            newest = [_model(family, model, each, _TABLE["notes"]) for model, each in rows]
            models[provider] = newest + models.get(provider, [])
    return {name: (*usual[name], *models[name]) for name in usual} | {"ollama": (LOCAL,)}


MODELS: Final[Mapping[str, tuple[Tariff, ...]]] = _by_provider()
"""The rows of each provider, as `thalweg.context` names providers: first the one for all its
models, then model by model."""

_HOURLY: Final = (
    *MODELS["anthropic"],
    *(each for each in MODELS["moonshot"] if each.lifetime_s),
)

_ANTHROPIC: Final = _FAMILIES["anthropic"]

TARIFFS: dict[str, Tariff] = {
    each.name: each for each in (_ANTHROPIC, _for_an_hour(_ANTHROPIC), *_FAMILIES.values(), LOCAL)
}
"""Tariffs of each provider's usual model, by name."""

NAMED: Mapping[str, Tariff] = {
    **TARIFFS,
    **{each.name: each for rows in MODELS.values() for each in rows},
    **{each.name: each for each in map(_for_an_hour, _HOURLY)},
}
"""Every tariff by name: those above, each model's, and with `-1h` those of a cache that lives an
hour."""
