"""A gateway's answer that is none: the same error that the gateway met, or a `ClientError`."""

from pydantic import ValidationError

from thalweg import errors
from thalweg.errors import ClientError, ThalwegError
from thalweg_server.api.problems import Problem

UNREACHABLE = "client.unreachable"
"""`ClientError.problem_code` if no gateway answered."""
UNREADABLE = "client.unreadable"
"""`ClientError.problem_code` of an answer in an unknown format."""
_SHOWN = 200


def error_of(problem: Problem) -> ThalwegError:
    """Return the error that a problem describes.

    Returns:
        The same error as in the gateway, if it is one of `thalweg.errors` with the same message;
        otherwise a `ClientError`.

    Example:
        >>> error_of(
        ...     Problem(
        ...         title="Not found",
        ...         status=404,
        ...         code="run.not_found",
        ...         detail="there is no run 'r1'",
        ...         arguments=("r1",),
        ...     )
        ... )
        NoSuchRunError('r1')
        >>> error_of(Problem(title="Gone", status=410, detail="It is gone."))
        ClientError(410, '', 'It is gone.')
    """
    detail = _sentence(problem)
    kind = _KINDS.get(problem.code)
    if kind is not None and problem.arguments:
        try:
            given = [tuple(each) if isinstance(each, list) else each for each in problem.arguments]
            error = kind(*given)
            if str(error) == problem.detail:
                return error
        except (TypeError, ValueError, AttributeError):
            pass  # a gateway of another version: its sentence is still good
    return ClientError(problem.status, problem.code, detail)


def problem_in(status: int, reason: str, body: bytes) -> Problem:
    """Parse the body of an error response, from a gateway or from a proxy before it.

    Example:
        >>> problem_in(502, "Bad Gateway", b"<html>nginx</html>").detail
        'the answer is not from Thalweg (502 Bad Gateway): check the address'
    """
    try:
        return Problem.model_validate_json(body)
    except ValidationError:
        text = " ".join(body.decode("utf-8", "replace").split())[:_SHOWN]
        if text.startswith("<"):
            what = f"{status} {reason}".rstrip()
            detail = f"the answer is not from Thalweg ({what}): check the address"
            return Problem(title=reason, status=status, detail=detail)
        detail = f"the gateway answered {status} {reason}".rstrip()
        return Problem(title=reason, status=status, detail=f"{detail}: {text}" if text else detail)


def _sentence(problem: Problem) -> str:
    faults = "; ".join(f"{fault.where}: {fault.problem}" for fault in problem.faults)
    detail = problem.detail or problem.title or f"the gateway answered {problem.status}"
    return f"{detail}: {faults}" if faults and faults not in detail else detail


_KINDS: dict[str, type[ThalwegError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, ThalwegError)
    and kind not in {ThalwegError, ClientError}
}
"""By code: errors that a gateway may meet."""
