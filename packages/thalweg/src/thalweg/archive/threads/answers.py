"""The models that produced the answers of a thread, and the bindings of their signed reasoning.

The journal stores both, not the messages: they remain as the provider returned them (I52).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import RECORDS_PER_BATCH, GivenAnswer, TurnRecord, read_pages
from thalweg.engine.entries import Message
from thalweg.engine.window.binding import ReasoningBinding


@dataclass(slots=True)
class AnswerLog:
    """The answers of one branch by their ids, newest first; read as far as needed."""

    number: int | None = None
    """Place of the newest record that was not read yet; `None` if all were."""
    pages: Callable[[int, int], Mapping[int, TurnRecord]] = lambda _, __: {}
    """Returns the turn records from one to another, both included."""
    known: dict[str, GivenAnswer] = field(default_factory=dict)
    newest: GivenAnswer | None = None
    """The answer that came since the last turn record."""
    _length: int | None = None
    """Length of the log at the oldest turn that was read."""

    @classmethod
    def of(cls, archive: Archive, key: ThreadKey, number: int | None) -> Self:
        """Return the answers of the branch that ends with a turn; `None` for a new thread."""
        return cls(number, partial(read_pages, archive, key))

    def model(self, position: int, message: Message) -> str:
        """Return the model that produced an answer, as `provider:name`; empty if it is unknown."""
        answer = self._answer_at(position, message.uid)
        return "" if answer is None else answer.model

    def bond(self, position: int, message: Message) -> ReasoningBinding | None:
        """Return the binding of the signed reasoning of an answer; `None` if it is unknown."""
        answer = self._answer_at(position, message.uid)
        return None if answer is None else ReasoningBinding.read(answer.bond)

    def came(self, answer: GivenAnswer) -> None:
        """Take the answer to the request of the newest turn."""
        self.newest = answer
        if answer.uid:
            self.known[answer.uid] = answer

    def take(self) -> GivenAnswer | None:
        """Return the answer since the last turn record, and forget it."""
        newest, self.newest = self.newest, None
        return newest

    def _answer_at(self, position: int, uid: str) -> GivenAnswer | None:
        while uid and uid not in self.known and self.number is not None:
            if self._length is not None and self._length <= position:
                break  # the record that follows an answer has it
            self._read_records(self.number)
        return self.known.get(uid)

    def _read_records(self, last: int) -> None:
        """Read the records up to one, back to the start of a batch or to a damaged row."""
        records = self.pages(max(0, last - RECORDS_PER_BATCH + 1), last)
        number = last if last in records else None
        while number is not None and number in records:
            record = records[number]
            if record.answered is not None:
                self.known.setdefault(record.answered.uid, record.answered)
            self._length, number = record.length, record.parent
        self.number = number
