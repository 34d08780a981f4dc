"""A thread that is open in this process, with the measurements of its requests."""

import hashlib
from dataclasses import dataclass, field

from thalweg.archive.threads.session import ThreadSession
from thalweg.context.request.cache_marks import CacheMarker
from thalweg.context.request.last_check import LastCheck
from thalweg.context.request.message_writer import MessageWriter
from thalweg.context.request.overhead import Overhead
from thalweg.context.turn.checkpoint_pointer import write_pointer
from thalweg.database.base import encode
from thalweg.engine.compaction.provider_edits import ProviderClearing
from thalweg.engine.edits import PendingSummary
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.settings import ContextPolicy


@dataclass(slots=True)
class OpenThread:
    """A thread that is open in this process, with the measurements of its requests."""

    session: ThreadSession
    writer: MessageWriter = field(default_factory=MessageWriter)
    cache_marker: CacheMarker = field(default_factory=CacheMarker)
    last_check: LastCheck = field(default_factory=LastCheck)
    clearing: ProviderClearing = field(default_factory=ProviderClearing)
    """The results that the provider clears from its requests."""
    unseen: tuple[int, int] = (0, 0)
    """Tokens of the view that the provider ignores, and of media in them: what precedes its own
    compaction."""
    added: int = 0
    """Tokens that other middleware added to the last measured request."""
    pending: PendingSummary | None = None
    """The last seen pending summary of its compaction."""
    indexed: int = field(init=False)
    """Messages of the log when it was opened or last indexed in the background."""

    def __post_init__(self) -> None:
        self.indexed = self.session.length
        self.writer.requested_model = self.session.answers.model

    @property
    def mark(self) -> str:
        """The checkpoint pointer for the state; empty before the first turn."""
        session = self.session
        if session.number is None:
            return ""
        identity, released = session.archive.identity, session.page.released
        return write_pointer(session.key, session.number, archive=identity, released=released)

    def refers(self, policy: ContextPolicy) -> bool:
        """Return whether a request of the thread has references, or needs the tool without one."""
        window = self.session.engine.window
        if window.fold is not None or window.rewrites or policy.edits_on_server:
            return True
        return self.last_check.refers or any(entry.is_fetched for entry in window.entries.values())

    def set_overhead(self, overhead: Overhead) -> None:
        """Count the overhead tokens of a request, with what other middleware added before."""
        window = self.session.engine.window
        window.set_overhead("system", overhead.system_tokens)
        window.set_overhead("tools", overhead.tools_tokens)
        window.set_overhead("added", self.added)
        self.session.engine.prefixes.rebase(f"{overhead.system}\n{overhead.tools}")

    def learn_overhead(self, sent_tokens: int) -> None:
        """Count from now on what other middleware added to a request of so many tokens."""
        window = self.session.engine.window
        if sent_tokens:
            self.added = max(0, self.added + sent_tokens - window.tokens)
            window.set_overhead("added", self.added)

    def attach(self, overhead: Overhead, tariff: Tariff) -> tuple[str, str, str]:
        """Store system prompt, tools and prices with the thread, unless the last request had them.

        Returns:
            The digest of each; empty if there is none.
        """
        page, tariff_json = self.session.page, tariff.model_dump_json()
        digests = (*_digests(overhead), _digest(tariff_json))
        known_digests = {"", page.system, page.tools, page.tariff}
        texts = zip(digests, (overhead.system, overhead.tools, tariff_json), strict=True)
        if new := [text for digest, text in texts if digest not in known_digests]:
            self.session.archive.attach(self.session.key, *new)
        return digests

    def overhead_changed(self, overhead: Overhead) -> bool:
        """Return whether the system prompt or the tools differ from those of the last request."""
        return _digests(overhead) != (self.session.page.system, self.session.page.tools)


def _digests(overhead: Overhead) -> tuple[str, str]:
    """Hash system prompt and tools as `Archive.attach` does; empty for a missing one."""
    return _digest(overhead.system), _digest(overhead.tools)


def _digest(text: str) -> str:
    return hashlib.sha256(encode(text)).hexdigest() if text else ""
