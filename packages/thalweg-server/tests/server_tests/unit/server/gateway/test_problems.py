"""Every error has a status, and exposes no more than it should."""

import logging
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from server_tests.unit.server.gateway.asking import Answered, ask
from thalweg import errors
from thalweg.errors import ThalwegError
from thalweg_server.api.problems import Problem
from thalweg_server.gateway.problems import STATUSES, answers_problems, problem_of, status_of


def kinds(kind: type[ThalwegError] = ThalwegError) -> Iterator[type[ThalwegError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from kinds(child)


def test_every_error_has_a_status_of_its_own_or_of_a_nearer_base_than_the_root() -> None:
    own = [kind for kind in kinds() if kind.__module__ == errors.__name__]
    for kind in own:
        nearest = next(base for base in kind.__mro__ if base in STATUSES)
        assert nearest is not ThalwegError or kind is ThalwegError, kind


def test_what_the_caller_can_mend_is_told_in_words_and_with_its_arguments() -> None:
    problem = problem_of(errors.BusyError("t1", "r1"), "/api/threads/t1/runs")

    assert (problem.status, problem.code, problem.title) == (409, "run.busy", "Conflict")
    assert problem.detail == str(errors.BusyError("t1", "r1"))
    assert problem.arguments == ("t1", "r1")
    assert problem.instance == "/api/threads/t1/runs"


def test_what_failed_inside_is_told_by_a_number_that_the_log_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failed = errors.StorageError("/home/ada/.thalweg/thalweg.db", "disk full", "free some")
    with caplog.at_level(logging.ERROR):
        problem = problem_of(failed)

    assert problem.status == status_of(failed) == 503
    assert "ada" not in problem.model_dump_json()
    number = problem.instance.removeprefix("urn:uuid:")
    assert number in problem.detail
    assert number in caplog.text


class Body(BaseModel):
    """What is taken."""

    count: int


def application() -> FastAPI:
    made = FastAPI(redirect_slashes=False)
    answers_problems(made)

    @made.post("/take")
    async def take(body: Body) -> Body:
        return body

    @made.get("/bug")
    async def bug() -> None:
        msg = "the secret is 42"
        raise RuntimeError(msg)

    @made.get("/foreign")
    async def foreign() -> None:
        raise Foreign("t1", float("nan"))  # type: ignore[arg-type]

    return made


class Foreign(errors.BusyError):
    """As the errors of HTTP clients have headers of what they received."""

    headers = {"set-cookie": "secret=42"}  # noqa: RUF012 (a constant)


def asked(method: str, path: str, body: bytes = b"") -> Answered:
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    return ask(application(), path, method=method, headers=headers, parts=[body])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/nowhere", b"", 404, "route.not_found"),
        ("DELETE", "/take", b"", 405, "route.method"),
        ("POST", "/take", b"{", 400, "request.malformed"),
        ("POST", "/take", b"{}", 422, "request.invalid"),
        ("POST", "/take", b'{"count": "x"}', 422, "request.invalid"),
    ],
)
def test_whatever_is_wrong_with_a_request_is_a_problem(
    method: str, path: str, body: bytes, status: int, code: str
) -> None:
    answered = asked(method, path, body)

    assert (answered.status, answered.problem.status) == (status, status)
    assert answered.problem.code == code
    assert answered.problem.detail


def test_faults_name_the_place() -> None:
    assert [fault.where for fault in asked("POST", "/take", b"{}").problem.faults] == ["body.count"]


def test_the_headers_of_a_foreign_error_are_not_sent_and_its_numbers_are_json() -> None:
    answered = asked("GET", "/foreign")

    assert answered.status == 409
    assert "set-cookie" not in answered.headers
    assert answered.problem.arguments == ("t1", None)


def test_a_bug_tells_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RuntimeError):  # for the server to log; the answer is out before
        asked("GET", "/bug")

    assert "the secret is 42" in caplog.text
    assert caplog.records[0].message.startswith("problem ")


def test_a_problem_leaves_out_what_it_has_not() -> None:
    told = Problem(title="Not Found", status=404).model_dump(exclude_defaults=True)

    assert told == {"title": "Not Found", "status": 404}
