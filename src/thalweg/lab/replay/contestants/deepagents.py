"""deepagents as installed: `create_deep_agent` with its defaults, over files on a real disk."""

import html
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import (
    SummarizationMiddleware,
    TruncateArgsSettings,
    compute_summarization_defaults,
)

from thalweg.archive import Archive, ThreadKey
from thalweg.lab.replay.contestants.agent import AgentContestant, PeerSetting
from thalweg.lab.replay.contestants.conversation import blocks_of
from thalweg.lab.replay.contestants.shelf import ReferenceArchive


def deep_agent(
    window: int, share: float | None, archive: Archive, key: ThreadKey
) -> AgentContestant:
    """Return a deep agent.

    Its model has a profile with the window, so that its defaults are those for a model with a
    profile: offload results above 20,000 tokens, act at 85 %, keep 10 %.

    Args:
        window: Tokens the model accepts.
        share: Share of the window at which it acts instead.
        archive: An empty one, to search its files with.
        key: The thread in it.
    """
    folder = TemporaryDirectory(prefix="thalweg-deepagents-")

    def make(setting: PeerSetting) -> Any:  # noqa: ANN401 (LangGraph's)
        backend = FilesystemBackend(root_dir=folder.name, virtual_mode=True)
        middleware: list[Any] = [setting.results]
        if share:
            middleware.append(_acting_at(share, setting, backend))
        return create_deep_agent(
            setting.model,
            system_prompt=setting.system,
            middleware=middleware,
            backend=backend,
            checkpointer=setting.saver,
        )

    return AgentContestant(make, window, DeepFiles(folder, ReferenceArchive(archive, key)))


def _acting_at(share: float, setting: PeerSetting, backend: FilesystemBackend) -> Any:  # noqa: ANN401
    """Make its own middleware with another trigger; by its name it takes the default's place."""
    defaults = compute_summarization_defaults(setting.model)
    trigger: tuple[Literal["fraction"], float] = ("fraction", share)
    cut: TruncateArgsSettings = {"trigger": trigger, "keep": defaults["keep"]}
    return SummarizationMiddleware(
        setting.model,
        backend=backend,
        trigger=trigger,
        keep=defaults["keep"],
        trim_tokens_to_summarize=None,
        truncate_args_settings=cut,
    )


@dataclass(slots=True)
class DeepFiles:
    """The history files and large results in the backend of a deep agent."""

    folder: "TemporaryDirectory[str]"
    shelf: ReferenceArchive
    _read: dict[Path, int] = field(default_factory=dict)
    """Files, and the number of characters already read of each."""
    _blocks: set[str] = field(default_factory=set)
    _texts: set[str] = field(default_factory=set)

    def holds(self, block: str, text: str) -> bool:
        """See `PeerFiles.holds`: the message is in a file, or all of its text is one."""
        self._look()
        return block in self._blocks or text in self._texts

    def recall(self, question: str) -> str:
        """See `PeerFiles.recall`: one search over the text of the files, with XML unescaped."""
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
        """Delete the files; see `PeerFiles.close`."""
        self.folder.cleanup()
