"""One question, one answer, for scripts: nothing but the answer is written."""

from thalweg.errors import ClientError
from thalweg_server.api.events import RunCancelled, RunCompleted, RunFailed, RunInterrupted
from thalweg_server.client import BlockingStream
from thalweg_server.client.problems import error_of


def final_answer(stream: BlockingStream) -> str:
    """Follow a run to its end and return its answer.

    Raises:
        ThalwegError: It failed.
        ClientError: It was cancelled, or waits for a person.
    """
    for numbered in stream:
        match numbered.event:
            case RunCompleted(text=text):
                return text
            case RunFailed(problem=problem):
                raise error_of(problem)
            case RunInterrupted():
                fix = f"answer with `thalweg chat --thread {stream.thread}`"
                detail = f"the agent asks for a person's decision; {fix}"
                raise ClientError(0, "run.interrupted", detail)
            case RunCancelled():
                raise ClientError(0, "run.cancelled", "the run was cancelled")
    raise ClientError(0, "run.cancelled", "the stream ended before the run did")
