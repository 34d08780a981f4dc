"""The OpenAPI document: what FastAPI makes of the routes, with errors, security and words."""

import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from thalweg.engine.data_files import read_table
from thalweg_server.api.events import EVENT
from thalweg_server.api.problems import Problem
from thalweg_server.gateway.access import problems

_SCHEMA = "#/components/schemas/{model}"
_EVENT = "The `data` of a run's server-sent events; `event` is its `type`."
_EVERYWHERE = (403, 422, 500, 503)
_WITH_A_BODY = (400, 408, 413, 415)


def documents_itself(application: FastAPI, is_locked: Callable[[], bool]) -> None:
    """Add the complete OpenAPI document to an application.

    Args:
        application: The application, with all its routes.
        is_locked: Whether callers must authenticate.
    """
    made = cache(lambda locked: _document(application, locked=locked))
    # As FastAPI's manual has it.
    application.openapi = lambda: made(is_locked())  # type: ignore[method-assign]


def _document(application: FastAPI, *, locked: bool) -> dict[str, Any]:
    words = read_table(__package__, "document.toml")
    document = get_openapi(
        title=words["title"],
        version=version("thalweg"),
        summary=words["summary"],
        description=words["description"],
        routes=application.routes,
        tags=[{"name": name, "description": about} for name, about in words["tags"].items()],
    )
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = Problem.model_json_schema(mode="serialization", ref_template=_SCHEMA)
    schemas |= problem.pop("$defs")
    schemas["Problem"] = problem
    event = EVENT.json_schema(mode="serialization", ref_template=_SCHEMA)
    schemas |= event.pop("$defs") | {"Event": event | {"description": _EVENT}}
    if locked:
        document["components"]["securitySchemes"] = words["security"]
    for path, item in document["paths"].items():
        for operation in item.values():
            if "text/event-stream" in operation["responses"].get("200", {}).get("content", ()):
                operation["responses"]["200"] = words["event_stream"]
            _complete(operation, path, locked=locked and path != "/healthz")
    return document


def _complete(operation: dict[str, Any], path: str, *, locked: bool) -> None:
    """Add the errors that every route of its kind may answer, and who may call it."""
    operation["summary"], operation["description"] = _headed(operation["description"])
    statuses = [*_EVERYWHERE]
    if "{" in path:
        statuses.append(404)
    if "requestBody" in operation:
        statuses += _WITH_A_BODY
    if locked:
        statuses.append(401)
        operation["security"] = [{"bearer": []}, {"key": []}]
    everywhere = {str(status): response for status, response in problems(*statuses).items()}
    own = operation["responses"]
    own.pop("422", None)  # FastAPI's own shape
    operation["responses"] = dict(sorted((everywhere | own).items()))


def _headed(words: str) -> tuple[str, str]:
    """Split a docstring into a heading and the rest.

    Example:
        >>> _headed("Give it; all of it. Twice.")
        ('Give it', 'All of it. Twice.')
    """
    first, _, more = words.partition("\n")
    heading, rest, *_ = *re.split(r"[.;] ", first, maxsplit=1), ""
    rest = f"{rest[:1].upper()}{rest[1:]}"
    return heading.removesuffix("."), f"{rest}\n{more}".strip()
