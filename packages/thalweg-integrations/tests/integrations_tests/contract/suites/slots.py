"""The engine's contract in the seam of every agent framework."""

import subprocess
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import pairwise, takewhile
from pathlib import Path
from typing import IO, Any, Protocol

import pytest

from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request, StrictProvider
from thalweg.archive import ThreadKey, open_archive
from thalweg.engine.entries import Message, ToolCall

WINDOW = 16_000
ASKED, FETCHED = 7, 4
"""Runs of the long thread, and the pages that each of them fetches."""
NEEDLE = "The key of the north cellar is heliotrope-4471."
PAGE_OF_NEEDLE = 1
ACCEPTED, MOST_REFUSED = 0.8, 2
"""Share of an accepted request to which a provider reduces its window, and refusals of that."""
FAILING = (2,)
"""Questions of the long thread during which the archive cannot be written."""
KILLED_AT = FETCHED + 3
"""Number of the request at which a process is killed: in its second run, after two results."""
_OK = 200


def fetch(page: int) -> str:
    """Return the text of a page; the tool that every agent of the suite has."""
    lines = [f"{line}: reading {page * 977 + line * 31} of gauge {line % 7}" for line in range(90)]
    if page == PAGE_OF_NEEDLE:
        lines[40] = NEEDLE
    return "\n".join(lines)


class SlotHost(Protocol):
    """An agent of a framework, with the engine in its seam and the tool `fetch`."""

    def ask(self, text: str) -> str:
        """Run the agent in its thread, and return its answer."""
        ...

    def reopened(self) -> "SlotHost":
        """Return the agent of another process, with what the framework keeps of the thread."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class HostProcess(Protocol):
    """A process that asks an agent; `subprocess.Popen[str]` is one."""

    stdin: IO[str] | None
    returncode: int | Any
    """None while it lives."""

    def kill(self) -> None:
        """End it by SIGKILL."""
        ...

    def communicate(self, given: str | None = None, /) -> tuple[str, str]:
        """Write its input, wait for its end, and return its output and errors."""
        ...


class EngineSlotContract:
    """Every adapter must pass it. A subclass returns its framework's agent.

    A framework that replaces its transcript by the view logs messages when it asks for a view or
    ends a session: `logs_at_once` is false then.
    """

    logs_at_once = True

    @abstractmethod
    def host(self, url: str, archive: Path, thread: str) -> SlotHost:
        """Return an agent that asks a model with a window of `WINDOW` tokens.

        Args:
            url: Base URL of the API of OpenAI.
            archive: The file of the archive.
            thread: Its thread.
        """

    @abstractmethod
    def command(self, url: str, archive: Path, thread: str, state: Path) -> list[str]:
        """Return a command that asks such an agent each line of its input, and prints the answers.

        Args:
            url: As for `host`.
            archive: As for `host`.
            thread: As for `host`.
            state: A file for what the application keeps of the thread; it continues from that.
        """

    def start(self, url: str, archive: Path, thread: str, state: Path) -> HostProcess:
        """Start `command` with pipes for input and output; an override may fork it instead."""
        command = self.command(url, archive, thread, state)
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def test_a_long_thread(self, tmp_path: Path) -> None:
        """Every request is valid and fits, and the log has every message once."""
        with StrictProvider(window=WINDOW, answer=reader) as provider:
            _talk(self.host(provider.openai_url, tmp_path / "t.db", "t1"))
        sizes = [seen.tokens for seen in provider.requests]
        assert [seen.problems for seen in provider.requests if seen.status != 200] == []
        assert len(sizes) == ASKED * (FETCHED + 1)
        whole = sum(len(fetch(page)) for page in range(ASKED * FETCHED)) / 4
        assert max(sizes) < WINDOW < whole
        assert any(after < before for before, after in pairwise(sizes))
        log = _log(tmp_path / "t.db", "t1")
        asked = [m.text for m in log if m.is_request]
        results = Counter(m.text for m in log if m.role == "tool")
        calls = Counter(call.id for m in log for call in m.calls)
        fetched = Counter(fetch(page) for page in range(len(results)))
        assert asked == [_question(k) for k in range(len(asked))]
        assert (results, set(calls.values())) == (fetched, {1})
        if self.logs_at_once:
            assert (len(asked), len(results)) == (ASKED, ASKED * FETCHED)
            assert [m.text for m in log if m.role == "assistant"][-1] == _ANSWER

    def test_recall(self, tmp_path: Path) -> None:
        """`recall` returns a line that the context lost, and none of another thread."""
        with StrictProvider(window=WINDOW, answer=reader) as provider:
            host = self.host(provider.openai_url, tmp_path / "t.db", "t1")
            _talk(host)
            assert host.ask("recall: key of the north cellar") == _ANSWER
            host.close()
            other = self.host(provider.openai_url, tmp_path / "t.db", "t2")
            other.ask("recall: key of the north cellar")
            other.close()
        lacks, has, _, others = (NEEDLE in str(seen.body) for seen in provider.requests[-4:])
        assert (lacks, has, others) == (False, True, False)

    def test_another_process_goes_on(self, tmp_path: Path) -> None:
        """A thread that is opened again logs nothing twice."""
        with StrictProvider(window=WINDOW, answer=reader) as provider:
            host = self.host(provider.openai_url, tmp_path / "t.db", "t1")
            _talk(host)
            again = host.reopened()
            again.ask(_question(ASKED))
            again.close()
        log, sizes = _log(tmp_path / "t.db", "t1"), [seen.tokens for seen in provider.requests]
        assert [m.text for m in log if m.is_request][-1] in {_question(ASKED), _question(ASKED - 1)}
        assert set(Counter(m.text for m in log if m.is_request).values()) == {1}
        assert {seen.status for seen in provider.requests} == {200}
        assert sizes[ASKED * (FETCHED + 1)] < WINDOW

    def test_a_request_that_is_too_large_is_sent_smaller(self, tmp_path: Path) -> None:
        """The provider accepts less than was thought: its refusal is no error of the run."""
        with StrictProvider(window=WINDOW, answer=reader) as provider:
            host = self.host(provider.openai_url, tmp_path / "t.db", "t1")
            for number in range(ASKED):
                if number == ASKED // 2:
                    provider.window = int(provider.requests[-1].tokens * ACCEPTED)
                assert host.ask(_question(number)) == _ANSWER
            host.close()
        statuses = [seen.status for seen in provider.requests]
        refused = [k for k, status in enumerate(statuses) if status != _OK]
        sizes = [provider.requests[k].tokens for k in refused]
        assert 0 < len(refused) <= MOST_REFUSED, statuses
        assert sizes == sorted(set(sizes), reverse=True)
        self._check_log(tmp_path / "t.db", ASKED)

    def test_an_archive_that_fails_stops_no_agent(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The request is as valid as ever, and what could not be logged is logged later."""
        with StrictProvider(window=WINDOW, answer=reader) as provider:
            host = self.host(provider.openai_url, tmp_path / "t.db", "t1")
            for number in range(ASKED):
                with _unwritable() if number in FAILING else nullcontext():
                    assert host.ask(_question(number)) == _ANSWER
            host.close()
        assert {seen.status for seen in provider.requests} == {_OK}
        if self.logs_at_once:
            errors = [one for one in caplog.records if one.name == "thalweg.integrations"]
            assert "not logged yet" in errors[0].getMessage()
        self._check_log(tmp_path / "t.db", ASKED)

    def test_a_process_that_is_killed_at_a_model_call_loses_nothing(self, tmp_path: Path) -> None:
        """What was logged before the request was sent is there, once, and the thread continues."""
        killed: list[HostProcess] = []

        def answer(request: Request) -> Answer:
            if request.number == KILLED_AT:
                killed[0].kill()
            return reader(request)

        with StrictProvider(window=WINDOW, answer=answer) as provider:
            killed.append(self._process(provider, tmp_path))
            killed[0].communicate(f"{_question(0)}\n{_question(1)}\n")
            again = self._process(provider, tmp_path)
            answers, _ = again.communicate(f"{_question(2)}\n{_question(3)}\n")
        assert (killed[0].returncode < 0, again.returncode) == (True, 0)
        assert answers.splitlines() == [_ANSWER] * 2
        assert [seen.problems for seen in provider.requests if seen.status != _OK] == []
        log = _log(tmp_path / "t.db", "t1")
        _check_once(log)
        asked = [m.text for m in log if m.is_request]
        assert [text for text in asked if text != _question(1)] == list(map(_question, (0, 2, 3)))
        if self.logs_at_once:
            results = {m.text for m in log if m.role == "tool"}
            assert _question(1) in asked
            assert {fetch(page) for page in range(KILLED_AT - 1)} <= results

    def test_two_processes_on_one_thread(self, tmp_path: Path) -> None:
        """Every request is valid, and the log has all messages of both, once."""

        def answer(request: Request) -> Answer:  # requests of both come in any order
            since = takewhile(lambda m: not m.is_request, reversed(messages_of(request)))
            if sum(m.role == "tool" for m in since) == FETCHED:
                return Answer(_ANSWER)
            return Answer("I look there.", calls=(("fetch", {"page": request.number}),))

        with StrictProvider(window=WINDOW, answer=answer) as provider:
            both = [self._process(provider, tmp_path, f"state{k}") for k in range(2)]
            for k, process in enumerate(both):
                assert process.stdin is not None
                process.stdin.write("".join(f"{_question(2 * n + k)}\n" for n in range(3)))
                process.stdin.flush()
            answers = [process.communicate()[0].splitlines() for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert [seen.problems for seen in provider.requests if seen.status != _OK] == []
        assert all(len(said) == 3 for said in answers)
        log = _log(tmp_path / "t.db", "t1")
        _check_once(log)
        assert sorted(m.text for m in log if m.is_request) == [_question(k) for k in range(6)]

    def _process(self, provider: StrictProvider, folder: Path, state: str = "state") -> HostProcess:
        return self.start(provider.openai_url, folder / "t.db", "t1", folder / state)

    def _check_log(self, path: Path, asked: int) -> None:
        log = _log(path, "t1")
        _check_once(log)
        assert [m.text for m in log if m.is_request] == [_question(k) for k in range(asked)]
        assert [m.text for m in log if m.role == "assistant"].count(_ANSWER) == asked


_ANSWER = "That is all there is to see."


def _question(number: int) -> str:
    return f"Question {number}: which gauge is highest?"


def _talk(host: SlotHost) -> None:
    for number in range(ASKED):
        assert host.ask(_question(number)) == _ANSWER
    host.close()


def _check_once(log: Sequence[Message]) -> None:
    """Check that the log has no message twice, and no call without its result."""
    calls = Counter(call.id for m in log for call in m.calls)
    results = Counter(m.answers for m in log if m.role == "tool")
    questions = Counter(m.text for m in log if m.is_request)
    assert {*calls.values(), *results.values(), *questions.values()} <= {1}
    assert results.keys() <= calls.keys()


@contextmanager
def _unwritable() -> Iterator[None]:
    """Let every write to a file fail, as on a full disk."""
    import resource  # noqa: PLC0415 (of POSIX alone)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _log(path: Path, thread: str) -> list[Message]:
    with open_archive(path) as archive:
        key = ThreadKey("local", thread)
        return archive.messages(key, 0, archive.length(key) - 1)


def reader(request: Request) -> Answer:
    """Answer as a model that fetches pages in their order, or recalls where it is asked to."""
    asked = next(m for m in reversed(messages_of(request)) if m.is_request).text
    if asked.startswith("recall: "):
        has_called = any(call.name == "recall" for call in _calls(request))
        words = asked.removeprefix("recall: ")
        return Answer(_ANSWER) if has_called else Answer(calls=(("recall", {"query": words}),))
    if request.number % (FETCHED + 1) == FETCHED:
        return Answer(_ANSWER)
    page = request.number // (FETCHED + 1) * FETCHED + request.number % (FETCHED + 1)
    return Answer("I look there.", calls=(("fetch", {"page": page}),))


def _calls(request: Request) -> list[ToolCall]:
    return [call for message in messages_of(request) for call in message.calls]
