"""A subject by the name that a user types."""

from collections.abc import Callable

from thalweg.errors import ConfigError
from thalweg.evals.base import Subject
from thalweg.evals.subjects.ours import Middleware
from thalweg.evals.subjects.peers import DeepAgents, LangChain
from thalweg.sections import choices

KNOWN: dict[str, Callable[[], Subject]] = {"thalweg": Middleware, "langchain": LangChain, "deepagents": DeepAgents}


def subject_named(name: str) -> Subject:
    """Give a subject.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in KNOWN:
        raise ConfigError("--policy", f"there is no {name!r}", choices(name, tuple(KNOWN)))
    return KNOWN[name]()
