"""A process that learns until it is killed; run as `python learning_killed.py MEMORY TOLD`.

It imports all it needs once and then forks a worker for every line on its input, so that a kill
costs milliseconds. The line is `work NAME`, or `drain NAME` for a worker that ends when nothing
remains to be done. Every worker prints its process id on a line.
"""

import os
import random
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from langchain_core.messages import BaseMessage

from memory_tests.learning import answer, learner
from thalweg.testing import ScriptedModel
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.handle import open_memory
from thalweg_memory.jobs.learner import JobReport, Respondent, Worker

SETTINGS = MemorySettings(debounce_seconds=0, max_wait_seconds=0, learn_turns=2, profile=False)
LEASE_S = 1.0
"""Of a worker that is killed: what it had is taken by the next one soon."""


def clock() -> str:
    """Return the time to the microsecond."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def thinks(messages: Sequence[BaseMessage]) -> str:
    """Take a moment, as a model does, so that kills fall into every phase of a job."""
    time.sleep(random.random() * 0.02)  # noqa: S311 (spreads the kills)
    return answer(messages)


def work(address: str, name: str, *, is_last: bool) -> None:
    """Learn for ever, or until nothing remains."""
    with open_memory(address) as store:
        learns = learner(store, clock, settings=SETTINGS)
        learns.respondent = Respondent(ScriptedModel(script=thinks), len, name=name)
        learns.emit = failed_loudly
        worker = Worker(store, learns.learn, lease_s=LEASE_S)
        while True:
            worker.run_due()
            if is_last and store.next_due() is None:
                return
            time.sleep(0.002)


def failed_loudly(report: JobReport) -> None:
    """End where a job failed: by rule, none does."""
    if report.failed:
        raise AssertionError(report)


def main() -> None:
    """Fork a worker for every line."""
    address, told = sys.argv[1:]
    with open_memory(":memory:") as store:  # imports what is imported late
        learner(store, clock)
    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        what, name = line.split()
        worker = os.fork()
        if not worker:
            try:
                print(os.getpid(), flush=True)  # noqa: T201
                work(address, name, is_last=what == "drain")
            except BaseException:  # noqa: BLE001 (told to the test)
                with Path(told).open("a") as file:
                    file.write(traceback.format_exc())
            os._exit(0)


if __name__ == "__main__":
    main()
