"""Reading spans: how much of them is taken."""

from collections.abc import Iterator

from thalweg.archive.base import Span
from thalweg.archive.reading import read_numbered
from thalweg.engine.entries import Message, Text


def test_no_more_messages_are_taken_than_the_page_shows() -> None:
    """And one, to see that it does not fit: a thread may be very long."""
    taken: list[int] = []

    def messages() -> Iterator[Message]:
        for n in range(30_000):
            taken.append(n)
            yield Message("user", (Text(f"message {n} " + "x" * 500),))

    page = read_numbered("h", Span(0, 29_999), enumerate(messages()), max_chars=4_000)

    rows = page.text.split("\n")
    assert len(taken) == len(rows) + 1
    assert page.total_lines == 30_000
    assert page.next.endswith(f'recall(handle="h#{len(rows)}-29999")')
