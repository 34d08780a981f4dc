"""Drive one recording through contestants, request by request, each account beside it."""

from collections.abc import Sequence

from thalweg.replay.account import Account
from thalweg.replay.contestants.base import Contestant
from thalweg.replay.results import Run
from thalweg.replay.subject import Subject


def drive(subject: Subject, contestant: Contestant, accounts: Sequence[Account]) -> list[Run]:
    """Let a contestant see a recording to its end, and settle its accounts.

    Args:
        subject: The recording.
        contestant: Who keeps it inside the window; new.
        accounts: One a tariff. The contestant is told of a cold cache as the first one's terms
            have it, so only one whose requests do not depend on prices may have several.

    Raises:
        WindowExceededError: The window cannot hold what must stay.
    """
    cold = accounts[0].terms.cold
    for position, message in enumerate(subject.recording.messages):
        if message.role == "assistant":
            request = contestant.request(cold=position in cold)
            for account in accounts:
                account.take(position, request, contestant)
        contestant.receive(message)
    final = contestant.request(cold=False)
    return [account.close(final, contestant) for account in accounts]
