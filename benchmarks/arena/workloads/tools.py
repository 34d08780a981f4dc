"""The tools of a made-up project, and what they return."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from benchmarks.arena.workloads.phrases import Medium
from benchmarks.arena.workloads.plot import Scenario, StatedFact
from benchmarks.arena.workloads.writing import Writer

FILES = 300
KINDS: dict[Medium, int] = {"code": 60, "doc": 16, "log": 12, "config": 12}
"""What the files of a project hold, in percent."""
EDITED = ((3, 60), (12, 30), (60, 10))
"""Lines that an edit replaces, and the weight of each size."""
WRITTEN_CHARS = 12_000
"""Most of a file that the agent writes."""
FAILED = 0.046
"""Share of tool calls that fail, as recorded."""
_MEDIA: dict[str, Medium] = {"py": "code", "md": "doc", "txt": "log", "yaml": "config"}

Pages = tuple[tuple[int, int, int], ...]
"""Characters of a result, least and most, and how many of a hundred are such pages."""


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A tool call and its result."""

    tool: str
    arguments: dict[str, object]
    result: str
    is_error: bool = False
    asked: tuple[StatedFact, ...] = ()
    """Facts in the result."""


@dataclass(slots=True)
class _File:
    medium: Medium
    lines: list[str]
    asked: tuple[StatedFact, ...]
    """Facts in the file: such a file is shown once, so that its facts appear in one place."""


@dataclass(slots=True)
class Tools:
    """A project and what an agent can do to it."""

    writer: Writer
    plot: Scenario
    dice: Random
    pages: Pages
    paths: list[str] = field(init=False)
    """Of all files there are."""
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=6))
    """Files that the agent read or wrote last, and may edit."""
    _files: dict[str, _File] = field(default_factory=dict)
    """What was read or written, by path."""
    _deck: list[tuple[int, int]] = field(default_factory=list)
    """Pages still to be drawn: for any random seed, a hundred results have all kinds."""

    def __post_init__(self) -> None:
        media: list[Medium] = self.dice.choices([*KINDS], [*KINDS.values()], k=FILES)
        paths = (self.writer.pick(self.writer.phrases.files[medium]) for medium in media)
        self.paths = [*dict.fromkeys(paths)]
        self.writer.nearby.append(self.paths[0])

    def read(self, path: str, turn: int) -> CompletedCall:
        """Read a file from beginning to end."""
        arguments: dict[str, object] = {"file_path": path}
        if self._fails():
            return self._failure("read_file", arguments)
        file = self._files.get(path)
        if file is None:
            medium = _MEDIA[path.rpartition(".")[2]]
            lines = self.writer.lines(medium, self._page())
            file = self._files[path] = _File(
                medium, lines, tuple(self.plot.plant(lines, medium, turn))
            )
        if not file.asked:
            self._touch(path)
        lines = "\n".join(file.lines).split("\n")
        shown = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, 1))
        return CompletedCall("read_file", arguments, shown, asked=file.asked)

    def files_to_read(self, number: int) -> list[str]:
        """Choose files: mostly from those in search results, seldom one already read."""
        shown = [path for path in self.writer.nearby if path not in self._files]
        anew = [path for path in self.paths if path not in self._files]
        known = [path for path, file in self._files.items() if not file.asked]
        dice = self.dice
        kinds = [(shown, 8), (anew, 1), (known, 1)]
        kinds = [(some, weight) for some, weight in kinds if some]
        some = dice.choices([s for s, _ in kinds], [w for _, w in kinds])[0]
        some = [*dict.fromkeys(some)]
        return dice.sample(some, k=min(number, len(some)))

    def run(self, turn: int) -> CompletedCall:
        """Run a command."""
        command = self.writer.pick(self.writer.phrases.talk.command)
        return self._search("execute", {"command": command}, self._log_lines, turn)

    def grep(self, pattern: str, turn: int) -> CompletedCall:
        """Search the project."""
        return self._search("grep", {"pattern": pattern, "path": "."}, self._hits, turn)

    def list_files(self) -> CompletedCall:
        """List some files."""
        dice = self.dice
        some = sorted(dice.sample(self.paths, k=dice.randint(5, 40)))
        self.writer.nearby.extend(some)
        folder = dice.choice(some).rpartition("/")[0]
        return CompletedCall("ls", {"path": folder}, "\n".join(some))

    def edit(self, path: str) -> CompletedCall:
        """Replace some lines of a file that was read."""
        dice, file = self.dice, self._files[path]
        size = dice.choices([n for n, _ in EDITED], [weight for _, weight in EDITED])[0]
        begin = dice.randrange(max(1, len(file.lines) - size))
        old = file.lines[begin : begin + size]
        kept = old[: len(old) // 2]
        new = [*kept, *self.writer.lines(file.medium, 80 + sum(map(len, old[len(kept) :])))]
        arguments: dict[str, object] = {
            "file_path": path,
            "old_string": "\n".join(old),
            "new_string": "\n".join(new),
        }
        if self._fails():
            return self._failure("edit_file", arguments)
        file.lines[begin : begin + size] = new
        self._touch(path)
        return CompletedCall(
            "edit_file", arguments, self.writer.fill(self.writer.phrases.talk.edited)
        )

    def write(self) -> CompletedCall:
        """Write a new file."""
        medium: Medium = self.dice.choice(("code", "doc"))
        path = self.writer.pick(self.writer.phrases.files[medium])
        while path in self.paths:
            path = self.writer.pick(self.writer.phrases.files[medium])
        lines = self.writer.lines(medium, self.dice.randint(1_000, WRITTEN_CHARS))
        self._files[path] = _File(medium, lines, ())
        self.paths.append(path)
        self._touch(path)
        arguments: dict[str, object] = {"file_path": path, "content": "\n".join(lines)}
        return CompletedCall(
            "write_file", arguments, self.writer.fill(self.writer.phrases.talk.written)
        )

    def plan(self) -> CompletedCall:
        """Write the list of todos."""
        talk, states = self.writer.phrases.talk, ("completed", "in_progress", "pending", "pending")
        todos = [{"content": self.writer.pick(talk.todo), "status": state} for state in states]
        return CompletedCall("write_todos", {"todos": todos}, talk.planned)

    def _search(
        self, tool: str, arguments: dict[str, object], make: Callable[[], list[str]], turn: int
    ) -> CompletedCall:
        if self._fails():
            return self._failure(tool, arguments)
        lines = make()
        asked = self.plot.plant(lines, "log" if tool == "execute" else "code", turn)
        return CompletedCall(tool, arguments, "\n".join(lines), asked=tuple(asked))

    def _log_lines(self) -> list[str]:
        return self.writer.lines("log", self._page())

    def _hits(self) -> list[str]:
        dice, hits = self.dice, list[str]()
        where = [*dice.sample(self.paths, k=dice.randint(2, 4)), *list(self.writer.nearby)[-2:]]
        for line in self.writer.lines("code", self._page() // 3):
            path = dice.choice(where)
            self.writer.nearby.append(path)
            hits.append(f"{path}:{dice.randint(1, 900)}:{line.strip()}")
        return hits

    def _page(self) -> int:
        if not self._deck:
            self._deck = [(least, most) for least, most, share in self.pages for _ in range(share)]
            self.dice.shuffle(self._deck)
        least, most = self._deck.pop()
        return round(self.dice.uniform(least, most))

    def _fails(self) -> bool:
        return self.dice.random() < FAILED

    def _failure(self, tool: str, arguments: dict[str, object]) -> CompletedCall:
        said = self.writer.pick(self.writer.phrases.talk.fails)
        return CompletedCall(tool, arguments, said, is_error=True)

    def _touch(self, path: str) -> None:
        if path in self.recent:
            self.recent.remove(path)
        self.recent.append(path)
        self.writer.nearby.append(path)
