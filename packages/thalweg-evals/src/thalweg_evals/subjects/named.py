"""Subjects by their names on the command line."""

from collections.abc import Callable
from functools import partial

from thalweg.engine.sections import nearest
from thalweg.errors import ConfigError
from thalweg_evals.base import Subject
from thalweg_evals.subjects.imported import imported
from thalweg_evals.subjects.ours import Middleware, Thalweg
from thalweg_evals.subjects.peers import LangChain, Unmanaged
from thalweg_evals.subjects.served import served

SUBJECTS: dict[str, Callable[[], Subject]] = {
    "langchain": LangChain,
    "none": Unmanaged,
    "thalweg": Thalweg,
    "thalweg-careful": partial(Thalweg, "thalweg-careful", "careful"),
    "thalweg-frugal": partial(Thalweg, "thalweg-frugal", "frugal"),
    "thalweg-middleware": Middleware,
}
"""Subjects with a name of their own."""
_OTHERWISE = f"use {', '.join(SUBJECTS)}, module:attribute, path/to/file.py:attribute, or NAME@http://host/v1"


def subject_named(name: str) -> Subject:
    """Return a subject by its name.

    Args:
        name: One of `SUBJECTS`; `module:attribute` or `path/to/file.py:attribute` of a LangGraph
            graph or of a function that creates one; or `http://host/v1`, also as
            `NAME@http://host/v1`, of a server with OpenAI's API.

    Raises:
        ConfigError: There is no such subject.
    """
    if name in SUBJECTS:
        return SUBJECTS[name]()
    if (remote := served(name)) is not None:
        return remote
    place, colon, attribute = name.rpartition(":")
    if colon and place and attribute:
        return imported(name)
    raise ConfigError("subject", f"there is no {name!r}", nearest(name, list(SUBJECTS), _OTHERWISE))
