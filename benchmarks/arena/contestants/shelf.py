"""What a contestant put away, as one that answers for it can search it: with our own search."""

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg.archive import Archive, Logged, Span, ThreadKey, render_passages
from thalweg.engine.entries import Message, Text
from thalweg_recorder.replay.questions import RECALL_TOKENS


@dataclass(slots=True)
class ReferenceArchive:
    """Texts in an archive of ours, one message each.

    Other systems write files that a model can read; how well a model would search those is unknown.
    Searching their texts with our own search favours them.
    """

    archive: Archive
    key: ThreadKey
    _texts: int = 0

    def put(self, texts: Iterable[str]) -> None:
        """Add texts, oldest first."""
        logged = [Logged(Message("user", (Text(text),)), "") for text in texts if text]
        if logged:
            self._texts = self.archive.append(self.key, logged, expected=self._texts)

    def recall(self, question: str) -> str:
        """Search once: at most 2,000 tokens."""
        if not self._texts:
            return ""
        everything = [Span(0, self._texts - 1)]
        found = self.archive.search(self.key, question, within=everything, max_tokens=RECALL_TOKENS)
        return render_passages(found)
