"""What summaries of a thread may cost."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from thalweg.archive.threads.journal import TurnRecord, page_from_json, page_to_json
from thalweg.engine.compaction.model_summary import FIRST_ALLOWANCE, NO_COSTS, SummaryAccount
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.settings import ContextPolicy

TARIFF = TARIFFS["anthropic"]


def test_an_unusable_answer_waits_twice_as_long_each_time() -> None:
    """Counted in compactions; a usable one ends that."""
    account, requested = NO_COSTS, []
    for compaction in range(40):
        if account.permits(0, None):
            requested.append(compaction)
            account = account.with_answer(10, is_usable=False)
        account = account.with_pass()

    assert requested == [0, 1, 3, 7, 15, 31]
    assert account.with_answer(10, is_usable=True).permits(0, None)
    assert account.spent == 60


@given(
    st.lists(st.tuples(st.floats(0, 50_000), st.booleans(), st.integers(0, 20)), max_size=60),
    st.floats(0.01, 1),
)
def test_all_that_is_requested_is_within_the_share(
    steps: list[tuple[float, bool, int]], share: float
) -> None:
    """Of the thread's own cost and savings, and of its own alone while answers are unusable."""
    account = NO_COSTS
    for cost, is_usable, requests in steps:
        for _ in range(requests):
            account = account.with_request(
                TARIFF, 10_000, cached=9_000, freed=500, limit=100_000, answered=50
            )
        if account.permits(cost, share):
            before = account
            account = account.with_answer(cost, is_usable=is_usable)
            most = FIRST_ALLOWANCE + share * (before.own + before.saved)
            assert account.spent <= (share * before.own if before.failures else most)
        account = account.with_pass()


def test_a_request_adds_its_cost_and_what_it_did_not_have_to_read() -> None:
    account = sent(freed=4_000, limit=100_000, answered=100)

    assert account.own == 0.1 * 9_000 + 1.25 * 1_000 + 5 * 100
    assert account.saved == 0.1 * 4_000
    assert sent(freed=4_000, limit=11_000).saved == 0.1 * 1_000
    assert sent(freed=-9_000, limit=100_000).removed == 0


def sent(*, freed: int, limit: int, answered: int = 0) -> SummaryAccount:
    return NO_COSTS.with_request(
        TARIFF, 10_000, cached=9_000, freed=freed, limit=limit, answered=answered
    )


def test_the_journal_has_the_account() -> None:
    account = SummaryAccount(own=10.5, saved=2.0, spent=1.5, removed=7, failures=2, waits=1)
    page = TurnRecord(kind="call", at=1.0, length=1, account=account)

    assert page_from_json(page_to_json(page)).account == account
    assert "account" not in page_to_json(TurnRecord(kind="call", at=1.0, length=1))


def test_a_trigger_allows_any_cost_unless_a_share_is_set() -> None:
    assert ContextPolicy().allowed_share == 0.25
    assert ContextPolicy(summary_share=0.1).allowed_share == 0.1
    assert ContextPolicy(trigger=("tokens", 9_000)).allowed_share is None
    assert ContextPolicy(trigger=("tokens", 9_000), summary_share=0.1).allowed_share == 0.1
    assert NO_COSTS.allowed(None) == inf
