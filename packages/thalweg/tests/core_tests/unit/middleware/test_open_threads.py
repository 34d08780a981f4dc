"""What an open thread keeps of the prompts and tools in addition to its messages."""

from dataclasses import replace

from core_tests.unit.archive.threads.driver import KEY
from thalweg.archive import SqliteArchive, ThreadKey
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.session import ThreadSession
from thalweg.context.request.size import Overhead
from thalweg.context.turn.session_pool import OpenThread
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.engine import Engine
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget


class CountingArchive(SqliteArchive):
    """Counts what is attached."""

    attached = 0

    def attach(self, key: ThreadKey, *texts: str) -> list[str]:
        """See `Archive.attach`."""
        self.attached += len(texts)
        return super().attach(key, *texts)


def beside(system: str, tools: str = "[]") -> Overhead:
    """Go with a request."""
    return Overhead(system, tools, 1, 1)


PRICES = TARIFFS["anthropic"]


def opened(archive: SqliteArchive) -> OpenThread:
    """Open a new thread."""
    policy = RentOrBuy(PRICES)
    engine = Engine(Budget(window=2_000, max_output=0), policy, exact_counter(), "{}-{}".format)
    return OpenThread(
        ThreadSession(archive, KEY, engine, TurnRecord(kind="call", at=0.0, length=0))
    )


def test_a_prompt_that_changes_every_time_is_not_kept_in_memory() -> None:
    """The newest is identified by its digest; one that does not change is written once."""
    archive = CountingArchive(":memory:")
    archive.close_when_collected()
    thread = opened(archive)
    for n in range(20):
        said = beside(f"It is {n} o'clock \ud800. " * 100)
        system, tools, tariff = thread.attach(said, PRICES)
        assert archive.attachment(KEY, system).startswith(f"It is {n} o")
        assert archive.attachment(KEY, tools) == "[]"
        assert Tariff.model_validate_json(archive.attachment(KEY, tariff)) == PRICES
        page = thread.session.page
        thread.session.page = replace(page, system=system, tools=tools, tariff=tariff)

    assert archive.attached == 22
    assert thread.attach(beside("", ""), PRICES) == ("", "", tariff)
    assert archive.attached == 22
    assert "clock" not in repr(thread)


def test_to_ask_whether_a_prompt_changed_writes_nothing() -> None:
    """A request may never be sent."""
    archive = CountingArchive(":memory:")
    archive.close_when_collected()
    thread = opened(archive)

    assert thread.overhead_changed(beside("new"))
    assert archive.attached == 0
    system, tools, _ = thread.attach(beside("new"), PRICES)
    thread.session.page = replace(thread.session.page, system=system, tools=tools)
    assert not thread.overhead_changed(beside("new"))
    assert thread.overhead_changed(beside("newer"))
