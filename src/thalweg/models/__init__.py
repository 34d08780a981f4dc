"""A chat model by its name: of a provider, behind a URL, or in a process of ours.

Two rules of this room:

- Nothing of LangChain and no model is loaded before one is asked for; what an integration
  knows under a name of its own (a key, the length of an answer, a window) is said here once.
- What is missing is told before the first request: a package with the command that installs
  it, a key with its variable.
"""

from thalweg.models.answering import how_to_answer
from thalweg.models.finding import Offer, find_models
from thalweg.models.making import chat_model, model_by_name

__all__ = ["Offer", "chat_model", "find_models", "how_to_answer", "model_by_name"]
