"""Finding the file of a local model, and making a chat model of it."""

from typing import TYPE_CHECKING

from thalweg.errors import ConfigError
from thalweg.models.wanted import Wanted

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def local_model(wanted: Wanted) -> "BaseChatModel":
    """Make a chat model of a GGUF file.

    Raises:
        ConfigError: There is no such file, or it is none.
    """
    raise ConfigError(wanted.where, "models in files are not ready yet", "name another")
