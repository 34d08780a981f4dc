"""Run one recording through contestants, request by request, with their accounting."""

from collections.abc import Sequence

from thalweg_recorder.replay.account import Account
from thalweg_recorder.replay.contestant import Contestant
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject


def drive(
    subject: ReplaySubject, contestant: Contestant, accounts: Sequence[Account]
) -> list[ReplayRun]:
    """Run a contestant through a recording, and return the results of its accounts.

    Args:
        subject: The recording.
        contestant: The context manager; new.
        accounts: One per tariff. Cache misses are reported to the contestant by the terms of the
            first, so only a contestant whose requests do not depend on prices may have several.

    Raises:
        WindowExceededError: The part that cannot be compacted exceeds the window.
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
