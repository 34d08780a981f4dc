"""Errors over HTTP: problem details, RFC 9457."""

from pydantic import ConfigDict, JsonValue

from thalweg_server.api.shape import Shape

MEDIA_TYPE = "application/problem+json"


class Fault(Shape):
    """One error of a request."""

    where: str
    """Its location: `body.messages[0].role`, `query.limit`."""
    problem: str


class Problem(Shape):
    """Why a request or a run failed.

    Source: https://www.rfc-editor.org/rfc/rfc9457
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    """One sentence: the problem, and how to fix it."""
    instance: str = ""
    code: str = ""
    """Stable and dotted, as `ThalwegError.code`: `run.busy`."""
    faults: tuple[Fault, ...] = ()
    arguments: tuple[JsonValue, ...] = ()
    """Arguments of the `ThalwegError` with that `code`, in order: a client rebuilds the error."""
