"""What the engine promises behind the seam of every agent framework."""

from abc import abstractmethod
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from thalweg.archive import ThreadKey, open_archive
from thalweg.engine.entries import Message, ToolCall
from thalweg.testing.strict import Answer, Request, StrictProvider

WINDOW = 16_000
ASKED, FETCHED = 7, 4
"""Runs of the long thread, and the pages that each of them fetches."""
NEEDLE = "The key of the north cellar is heliotrope-4471."
PAGE_OF_NEEDLE = 1


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


class EngineSlotContract:
    """Every adapter must pass it. A subclass returns its framework's agent.

    A framework that replaces its transcript by the view logs a message when it asks for a view:
    `logs_at_once` is false then.
    """

    logs_at_once = True

    @abstractmethod
    def host(self, provider: StrictProvider, archive: Path, thread: str) -> SlotHost:
        """Return an agent that asks the provider for a model with a window of `WINDOW` tokens."""

    def test_a_long_thread(self, tmp_path: Path) -> None:
        """Every request is valid and fits, and the log has every message once."""
        with StrictProvider(window=WINDOW, answer=reader) as provider:
            _talk(self.host(provider, tmp_path / "t.db", "t1"))
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
            host = self.host(provider, tmp_path / "t.db", "t1")
            _talk(host)
            assert host.ask("recall: key of the north cellar") == _ANSWER
            host.close()
            other = self.host(provider, tmp_path / "t.db", "t2")
            other.ask("recall: key of the north cellar")
            other.close()
        lacks, has, _, others = (NEEDLE in str(seen.body) for seen in provider.requests[-4:])
        assert (lacks, has, others) == (False, True, False)

    def test_another_process_goes_on(self, tmp_path: Path) -> None:
        """A thread that is opened again logs nothing twice."""
        with StrictProvider(window=WINDOW, answer=reader) as provider:
            host = self.host(provider, tmp_path / "t.db", "t1")
            _talk(host)
            again = host.reopened()
            again.ask(_question(ASKED))
            again.close()
        log, sizes = _log(tmp_path / "t.db", "t1"), [seen.tokens for seen in provider.requests]
        assert [m.text for m in log if m.is_request][-1] in {_question(ASKED), _question(ASKED - 1)}
        assert set(Counter(m.text for m in log if m.is_request).values()) == {1}
        assert {seen.status for seen in provider.requests} == {200}
        assert sizes[ASKED * (FETCHED + 1)] < WINDOW


_ANSWER = "That is all there is to see."


def _question(number: int) -> str:
    return f"Question {number}: which gauge is highest?"


def _talk(host: SlotHost) -> None:
    for number in range(ASKED):
        assert host.ask(_question(number)) == _ANSWER
    host.close()


def _log(path: Path, thread: str) -> list[Message]:
    with open_archive(path) as archive:
        key = ThreadKey("local", thread)
        return archive.messages(key, 0, archive.length(key) - 1)


def reader(request: Request) -> Answer:
    """Answer as a model that fetches pages in their order, or recalls where it is asked to."""
    asked = next(m for m in reversed(request.messages) if m.is_request).text
    if asked.startswith("recall: "):
        has_called = any(call.name == "recall" for call in _calls(request))
        words = asked.removeprefix("recall: ")
        return Answer(_ANSWER) if has_called else Answer(calls=(("recall", {"query": words}),))
    if request.number % (FETCHED + 1) == FETCHED:
        return Answer(_ANSWER)
    page = request.number // (FETCHED + 1) * FETCHED + request.number % (FETCHED + 1)
    return Answer("I look there.", calls=(("fetch", {"page": page}),))


def _calls(request: Request) -> list[ToolCall]:
    return [call for message in request.messages for call in message.calls]
