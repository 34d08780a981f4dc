"""A client raises the error that its gateway met."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import errors
from thalweg.errors import ClientError, ThalwegError
from thalweg_server.api.problems import Fault, Problem
from thalweg_server.client.problems import error_of, problem_in
from thalweg_server.gateway.problems import problem_of


def kinds(of: type[ThalwegError] = ThalwegError) -> list[type[ThalwegError]]:
    return [of, *(kind for child in of.__subclasses__() for kind in kinds(child))]


def made(kind: type[ThalwegError]) -> ThalwegError:
    """Make an error with some value of each of its arguments."""
    values: dict[object, object] = {str: "a 'b'\n", int: 3, tuple[str, ...]: ("one", "two")}
    arguments = inspect.signature(kind.__init__) if "__init__" in vars(kind) else kind.arguments
    return kind(
        *(
            values[each.annotation]
            for each in arguments.parameters.values()
            if each.annotation in values
        )
    )


TOLD = [
    errors.BusyError,
    errors.ConfigError,
    errors.DocumentError,
    errors.FactRefusedError,
    errors.MemoryOffError,
    errors.NoSuchFactError,
    errors.NoSuchFileError,
    errors.NoSuchModelError,
    errors.NoSuchOperationError,
    errors.NoSuchRunError,
    errors.NoSuchSkillError,
    errors.NoSuchThreadError,
    errors.PinError,
    errors.StaleWriteError,
    errors.ThreadExistsError,
    errors.UploadRefusedError,
    errors.WindowExceededError,
]


@pytest.mark.parametrize("kind", TOLD, ids=lambda kind: str(kind.__name__))
def test_the_same_error_comes_out(kind: type[ThalwegError]) -> None:
    error = made(kind)
    told = error_of(Problem.model_validate_json(problem_of(error).model_dump_json()))
    assert type(told) is kind
    assert (told.args, str(told)) == (error.args, str(error))


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: str(kind.__name__))
def test_every_error_comes_out_as_one_of_ours(kind: type[ThalwegError]) -> None:
    """A fault of the gateway itself appears as its number in the log, and nothing else."""
    told = error_of(problem_of(made(kind)))
    assert isinstance(told, ClientError) or type(told).code == kind.code
    assert str(told)


@given(
    st.sampled_from([kind.code for kind in kinds()]),
    st.lists(st.none() | st.text() | st.integers() | st.lists(st.text()), max_size=6),
    st.text(),
)
def test_no_problem_however_wrong_is_more_than_an_error(
    code: str, arguments: list[object], detail: str
) -> None:
    problem = Problem.model_validate(
        {"title": "T", "status": 400, "code": code, "arguments": arguments, "detail": detail}
    )
    assert isinstance(error_of(problem), ThalwegError)


@given(st.integers(400, 599), st.text(max_size=20), st.binary())
def test_whatever_a_proxy_says_is_told(status: int, reason: str, body: bytes) -> None:
    problem = problem_in(status, reason, body)
    assert str(error_of(problem))


def test_faults_are_told_with_their_places() -> None:
    faults = (Fault(where="body.title", problem="too long"),)
    problem = Problem(title="Unprocessable", status=422, code="request", faults=faults)
    assert str(error_of(problem)) == "Unprocessable: body.title: too long"


def test_an_error_that_would_say_something_else_is_told_as_it_was_said() -> None:
    """A gateway of another version means something else by the same code."""
    said = {"title": "T", "status": 409, "code": "run.busy", "detail": "the run is asleep"}
    told = error_of(Problem.model_validate({**said, "arguments": ["t1", "r1"]}))
    assert isinstance(told, ClientError)
    assert (str(told), told.problem_code) == ("the run is asleep", "run.busy")
