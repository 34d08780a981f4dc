"""Errors over HTTP: every error is answered with problem details, RFC 9457.

An error that the caller can correct has a text; any other has only a number, under which the log
has the details. One table, `STATUSES`, maps errors to their HTTP statuses.
"""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import JsonValue
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from thalweg import errors
from thalweg.engine.sections import dotted
from thalweg.errors import ThalwegError
from thalweg_server.api.problems import MEDIA_TYPE, Fault, Problem

STATUSES: dict[type[errors.ThalwegError], int] = {
    errors.ThalwegError: 500,
    errors.ConfigError: 422,
    errors.RecordingError: 422,
    errors.PathError: 422,
    errors.InvalidGlobPatternError: 422,
    errors.MemoryFileError: 500,
    errors.ContextError: 422,
    errors.SummaryError: 502,
    errors.MemoryStoreError: 422,
    errors.NoSuchFactError: 404,
    errors.NoSuchOperationError: 404,
    errors.StaleWriteError: 409,
    errors.MemoryOffError: 403,
    errors.RunError: 409,
    errors.NoSuchRunError: 404,
    errors.NoSuchThreadError: 404,
    errors.ThreadExistsError: 409,
    errors.ThreadIdError: 422,
    errors.NoSuchModelError: 404,
    errors.NoSuchAssistantError: 404,
    errors.NoSuchSkillError: 404,
    errors.FileError: 422,
    errors.NoSuchFileError: 404,
    errors.ClientError: 502,
    errors.ArchiveError: 422,
    errors.EmptyThreadError: 409,
    errors.HandleError: 404,
    errors.RangeError: 416,
    errors.ConflictError: 409,
    errors.StorageError: 503,
}
"""A class that is not named here has the status of its nearest base."""
_SERVERS_OWN = 500
MOST_FAULTS = 20
"""Faults that one answer lists; `detail` has the number of all."""
_LOG = logging.getLogger("thalweg.gateway")
_HTTP = {
    400: ("request.malformed", ""),
    404: ("route.not_found", "there is nothing at {path}; /docs lists what there is"),
    405: ("route.method", "{path} takes no {method}; the header Allow says what it takes"),
    413: ("request.too_large", ""),
}


def status_of(error: errors.ThalwegError) -> int:
    """Return the HTTP status of an error.

    Example:
        >>> status_of(errors.BusyError("t1", "r1")), status_of(errors.NoSuchRunError("r1"))
        (409, 404)
    """
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


class GatewayRefusal(HTTPException):
    """The gateway itself refuses a request; it is an `HTTPException` so that FastAPI lets it by.

    Attributes:
        code: Stable and dotted, as of a `ThalwegError`.
    """

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code


def answer(problem: Problem, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response of a problem; defaults are omitted."""
    content = problem.model_dump(exclude_defaults=True)
    if scope["path"].removeprefix(scope.get("root_path", "")).startswith("/v1/"):
        content["error"] = openai_error(problem)
    return Response(to_json(content, inf_nan_mode="null"), problem.status, headers, MEDIA_TYPE)


def openai_error(problem: Problem) -> dict[str, str | None]:
    """Return a problem as OpenAI's clients read an error."""
    return {"message": problem.detail, "type": problem.code, "code": problem.code, "param": None}


async def refuse(refusal: GatewayRefusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer from a middleware, which FastAPI's exception handlers do not cover."""
    answered = answer(_refused(refusal, scope["path"]), scope, refusal.headers)
    await answered(scope, receive, send)


def problem_of(error: ThalwegError, instance: str = "") -> Problem:
    """Return an error as a problem of the API.

    Args:
        error: Any error of the tree.
        instance: The requested path.

    Example:
        >>> from thalweg.errors import NoSuchRunError
        >>> problem = problem_of(NoSuchRunError("r1"))
        >>> problem.status, problem.code, problem.detail
        (404, 'run.not_found', "there is no run 'r1'")
    """
    status = status_of(error)
    if status >= _SERVERS_OWN:
        return _logged(status, error.code, error)
    return _titled(status, str(error), error.code, instance, arguments=_json_arguments(error.args))


def answers_problems(application: FastAPI) -> None:
    """Let every error of an application be answered with problem details."""
    for kind in (ThalwegError, HTTPException, RequestValidationError, Exception):
        application.add_exception_handler(kind, _answer)


def faults_of(errors: Sequence[Any]) -> tuple[Fault, ...]:
    """Read what pydantic found wrong.

    Example:
        >>> faults_of([{"loc": ("body", "messages", 0, "role"), "msg": "Input should be 'user'"}])
        (Fault(where='body.messages[0].role', problem="Input should be 'user'"),)
    """
    return tuple(Fault(where=dotted(each["loc"]), problem=_what_is_wrong(each)) for each in errors)


def _what_is_wrong(error: Mapping[str, Any]) -> str:
    """Return pydantic's sentence, or another one where it has a regular expression."""
    if error.get("type") == "string_pattern_mismatch":
        return "it has a character that is not allowed here; /docs describes the form"
    return str(error["msg"]).removeprefix("Value error, ")


async def _answer(request: Request, error: Exception) -> Response:
    path = request.url.path
    match error:
        case ThalwegError():
            problem = problem_of(error, path)
        case RequestValidationError():
            problem = _invalid(error.errors(), path)
        case GatewayRefusal():
            problem = _refused(error, path)
        case HTTPException():
            code, template = _HTTP.get(error.status_code, ("http", ""))
            detail = template.format(method=request.method, path=path) or str(error.detail)
            problem = _titled(error.status_code, detail, code, path)
        case _:
            problem = _logged(500, "internal", error)
    headers = error.headers if isinstance(error, HTTPException) else None
    return answer(problem, request.scope, headers)


def _refused(refusal: GatewayRefusal, path: str) -> Problem:
    return _titled(refusal.status_code, refusal.detail, refusal.code, path)


def _invalid(found: Sequence[Any], path: str) -> Problem:
    faults = faults_of(found[:MOST_FAULTS])
    if any(each["type"] == "json_invalid" for each in found):
        detail = "the body is not JSON; nothing was done"
        return _titled(400, detail, "request.malformed", path, faults)
    words = "; ".join(f"{fault.where}: {fault.problem}" for fault in faults[:3])
    more = f"; and {len(found) - 3:,} more" if len(found) > 3 else ""  # noqa: PLR2004 (enough to read)
    return _titled(422, f"{words}{more}", "request.invalid", path, faults)


def _logged(status: int, code: str, error: Exception) -> Problem:
    number = uuid4()
    _LOG.error("problem %s: %s", number, type(error).__name__, exc_info=error)
    cause = "its storage or a service that it uses failed" if status > _SERVERS_OWN else "it failed"
    again = "; try again later" if status > _SERVERS_OWN else ""
    detail = f"the gateway failed: {cause}{again}; see its log under {number}"
    return _titled(status, detail, code, f"urn:uuid:{number}")


def _titled(
    status: int,
    detail: str,
    code: str,
    instance: str,
    faults: tuple[Fault, ...] = (),
    arguments: tuple[JsonValue, ...] = (),
) -> Problem:
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=instance,
        code=code,
        faults=faults,
        arguments=arguments,
    )


def _json_arguments(arguments: Sequence[object]) -> tuple[JsonValue, ...]:
    """Return an error's arguments if all of them are JSON scalars; otherwise none."""
    values: list[JsonValue] = []
    for each in arguments:
        if isinstance(each, tuple) and all(isinstance(part, str) for part in each):
            values.append(list(each))
        elif isinstance(each, str | int | float):
            values.append(each)
        else:
            return ()
    return tuple(values)
