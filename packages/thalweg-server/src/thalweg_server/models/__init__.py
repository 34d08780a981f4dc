"""Chat models by name: of a provider, or at a URL.

Two rules:

- Nothing of LangChain and no model is loaded before one is asked for; an integration's own names of
  settings (a key, the length of an answer, a window) are listed here once.
- Missing parts raise before the first request: a package with the command that installs it, a key
  with its variable.
"""

from thalweg_server.models.discovery import AvailableModel, find_models, how_to_answer
from thalweg_server.models.making import chat_model, model_by_name

__all__ = ["AvailableModel", "chat_model", "find_models", "how_to_answer", "model_by_name"]
