"""What a deep agent keeps outside the context, and how it is found again."""

import html
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.arena.contestants.conversation import blocks_of
from benchmarks.arena.contestants.shelf import ReferenceArchive


@dataclass(slots=True)
class HistoryFiles:
    """The history files and large results in the backend of a deep agent."""

    folder: "TemporaryDirectory[str]"
    shelf: ReferenceArchive
    _read: dict[Path, int] = field(default_factory=dict)
    """Files, and the number of characters already read of each."""
    _blocks: set[str] = field(default_factory=set)
    _texts: set[str] = field(default_factory=set)

    def holds(self, block: str, text: str) -> bool:
        """Return whether a message is in a file, or all of its text is one.

        Args:
            block: As a transcript of LangChain's has it.
            text: Its plain text alone.
        """
        self._look()
        return block in self._blocks or text in self._texts

    def recall(self, question: str) -> str:
        """Search the text of the files once, with XML unescaped; see `Contestant.recall`."""
        self._look()
        return self.shelf.recall(question)

    def _look(self) -> None:
        """Read what was written since."""
        written = [path for path in Path(self.folder.name).rglob("*") if path.is_file()]
        for path in sorted(written, key=lambda path: path.stat().st_mtime_ns):
            try:
                text = path.read_bytes().decode("utf-8")  # line ends as they are
            except UnicodeDecodeError:  # an image
                continue
            new = text[self._read.get(path, 0) :]
            if not new:
                continue
            self._read[path] = len(text)
            blocks = blocks_of(new) if path.suffix == ".md" else []
            self._blocks.update(blocks)
            if not blocks:
                self._texts.add(text)
            self.shelf.put(map(html.unescape, blocks or [text]))

    def close(self) -> None:
        """Delete the files."""
        self.folder.cleanup()
