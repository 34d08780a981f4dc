"""The catalogue of small models that `thalweg model pull` knows by name."""

from dataclasses import dataclass
from datetime import date
from typing import Final

from thalweg.engine.data_files import read_table
from thalweg.engine.sections import nearest
from thalweg.errors import ConfigError


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A model file on its maker's site.

    Attributes:
        name: What it is called here.
        url: The address of the GGUF file.
        size: Bytes of the file.
        sha256: The hash of the file.
        license: SPDX identifier of its licence.
        window: Tokens that it was trained for.
        dated: When address, size and hash were compared.
    """

    name: str
    title: str
    url: str
    size: int
    sha256: str
    license: str
    window: int
    dated: date


CATALOGUE: Final = {
    name: CatalogueModel(name, **row)
    for name, row in read_table(__package__, "catalogue.toml").items()
}
"""The models by name, smallest first."""


def catalogue_model(name: str) -> CatalogueModel:
    """Return a model of the catalogue.

    Raises:
        ConfigError: It has none of this name.
    """
    if name not in CATALOGUE:
        usual = f"pass --from ADDRESS, or one of {', '.join(CATALOGUE)}"
        problem = f"the catalogue has no model {name!r}"
        raise ConfigError("name", problem, nearest(name, tuple(CATALOGUE), usual))
    return CATALOGUE[name]
