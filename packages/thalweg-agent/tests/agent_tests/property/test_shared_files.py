"""Agents that share files, in any interleaving: no edit is lost, both learn of every conflict."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from langchain_core.messages import ToolMessage
from langgraph._internal._typing import MISSING

from agent_tests.property.authors import Agent
from thalweg_agent.backends.concurrency.file_versions import MAIN
from thalweg_agent.backends.concurrency.shared import shared, with_notices
from thalweg_agent.backends.concurrency.state_channel import FilesChannel, merge_files, stamped
from thalweg_agent.backends.protocol import FileData
from thalweg_agent.backends.state import StateBackend

PATHS = ("/a", "/d/b", "/d/c")
WHO = st.integers(0, 4)
PATH = st.sampled_from(PATHS)
CONTENT = st.sampled_from(["one", "two", "three"])
ORDER = st.lists(st.integers(0, 9), max_size=6)


@dataclass
class Did:
    """One change in the model: identified by the agent, the turn and the call."""

    who: str
    turn: int
    call: int
    content: str | None
    """The whole content, `None` if it is deleted; `?` if it was changed in places."""


@dataclass
class Model:
    """The rules, stated as simply as possible: a list of changes for each path."""

    files: dict[str, str] = field(default_factory=dict)
    did: dict[str, list[Did]] = field(default_factory=lambda: {path: [] for path in PATHS})
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many of the changes of a path an agent has seen."""

    def unseen(self, who: str, path: str) -> Did | None:
        """Find the last change by another that an agent does not know."""
        known = self.seen.get((who, path), 0)
        others = [did for did in self.did[path][known:] if did.who != who]
        return others[-1] if others else None

    def refuses(self, who: str, turn: int, call: int, path: str, content: str | None) -> str | None:
        """Name whose change a whole write or a delete would undo."""
        change = self.unseen(who, path)
        if change is not None and change.content != content:
            return change.who
        last = self.did[path][-1] if self.did[path] else None
        if last is None or last.who != who or last.turn != turn or last.call == call:
            return None
        return who if last.content not in {None, content} else None

    def change(self, did: Did, path: str, *, whole: bool) -> None:
        """Make a change."""
        informed = whole or self.unseen(did.who, path) is None
        self.did[path].append(did)
        if informed:
            self.seen[did.who, path] = len(self.did[path])


class SharedFiles(RuleBasedStateMachine):
    """A main agent and the subagents of its turn, each of them a call at a time."""

    @initialize()
    def begin(self) -> None:
        """A file exists from before the run, which no agent has seen."""
        self.backend = shared(StateBackend())
        self.main = Agent(self.backend)
        self.children: dict[str, Agent] = {}
        old = FileData(content="old", encoding="utf-8")
        self.main.channel.update([{"/d/b": old}])
        self.model = Model(files={"/d/b": "old"})
        self.knew: dict[str, int] = {}
        self.numbers = count(1)
        self.steps: list[list[object]] = [[{"/d/b": old}]]
        self.expected: dict[str, set[tuple[str, str]]] = {}
        self.told: dict[str, list[str]] = {}

    def _agent(self, who: int) -> tuple[str, Agent]:
        names = [MAIN, *self.children]
        name = names[who % len(names)]
        return name, self.main if name == MAIN else self.children[name]

    def _new_turn(self, name: str, *, anew: bool) -> bool:
        """The main agent is in one turn as long as its subagents run."""
        return anew and not (name == MAIN and (self.children or self.main.sent))

    def _turn(self, name: str, *, anew: bool) -> tuple[bool, int, int]:
        agent = self.main if name == MAIN else self.children[name]
        anew = self._new_turn(name, anew=anew)
        if anew and name == MAIN:
            self._remember()
        return anew, agent.step + anew, agent.calls + 1

    def _remember(self) -> None:
        self.knew = {path: self.model.seen.get((MAIN, path), 0) for path in PATHS}

    @precondition(lambda self: len(self.children) < 4)
    @rule()
    def spawn(self) -> None:
        """The main agent starts a subagent, which has seen what it had seen as its turn began."""
        anew = self._new_turn(MAIN, anew=True)
        if anew:
            self._remember()
        name = f"n{next(self.numbers)}"
        label = f"subagent '{name}' ({name})"
        self.children[label] = self.main.spawn(name, anew=anew)
        for path, known in self.knew.items():
            self.model.seen[label, path] = known

    @rule(who=WHO, path=PATH, anew=st.booleans())
    def read(self, *, who: int, path: str, anew: bool) -> None:
        """What is read is what was last written, by whomever."""
        name, agent = self._agent(who)
        anew, _, _ = self._turn(name, anew=anew)
        result = agent.call(lambda: self.backend.read(path), anew=anew)
        if path in self.model.files:
            assert result.file_data is not None
            assert result.file_data["content"] == self.model.files[path]
        else:
            assert result.error == f"File '{path}' not found"
        self.model.seen[name, path] = len(self.model.did[path])

    @rule(who=WHO, path=PATH, content=CONTENT, anew=st.booleans())
    def write(self, *, who: int, path: str, content: str, anew: bool) -> None:
        """A file is written, or the error names who changed it."""
        name, agent = self._agent(who)
        anew, turn, call = self._turn(name, anew=anew)
        first = self.model.refuses(name, turn, call, path, content)
        error = agent.call(lambda: self.backend.write(path, content).error, anew=anew)
        self._check_refusal(name, first, error, path, "written")
        if first is None:
            self.model.files[path] = content
            self.model.change(Did(name, turn, call, content), path, whole=True)

    @rule(who=WHO, path=PATH, anew=st.booleans())
    def edit(self, *, who: int, path: str, anew: bool) -> None:
        """An edit adds to the content; every one shows, or its error states why not."""
        name, agent = self._agent(who)
        anew, turn, call = self._turn(name, anew=anew)
        mark = f"<{next(self.numbers)}>"
        change = self.model.unseen(name, path)
        old = self.model.files.get(path, "nothing")
        error = agent.call(lambda: self.backend.edit(path, old, old + mark).error, anew=anew)
        if path in self.model.files:
            assert error is None
            self.model.files[path] = old + mark
            self.model.change(Did(name, turn, call, "?"), path, whole=False)
        else:
            assert error is not None
            if change is not None:
                assert f"{change.who} changed '{path}'" in error
                self._expect_notice(change.who, name, path, "edited")

    @rule(who=WHO, path=PATH, anew=st.booleans())
    def edit_what_is_gone(self, *, who: int, path: str, anew: bool) -> None:
        """An edit that no longer matches changes nothing and names who changed the file."""
        name, agent = self._agent(who)
        anew, _, _ = self._turn(name, anew=anew)
        change = self.model.unseen(name, path)
        error = agent.call(lambda: self.backend.edit(path, "never there", "x").error, anew=anew)
        assert error is not None
        if change is not None:
            assert f"{change.who} changed '{path}'" in error
            self._expect_notice(change.who, name, path, "edited")

    @rule(who=WHO, path=st.sampled_from((*PATHS, "/d")), anew=st.booleans())
    def delete(self, *, who: int, path: str, anew: bool) -> None:
        """A file is deleted, or a folder with all in it, unless this includes an unseen change."""
        name, agent = self._agent(who)
        anew, turn, call = self._turn(name, anew=anew)
        below = [p for p in PATHS if p == path or p.startswith(f"{path}/")]
        there = [p for p in below if p in self.model.files]
        refused = next(
            (
                (p, first)
                for p in below
                if (first := self.model.refuses(name, turn, call, p, None)) is not None
            ),
            None,
        )
        error = agent.call(lambda: self.backend.delete(path).error, anew=anew)
        if refused is not None:
            self._check_refusal(name, refused[1], error, refused[0], "deleted")
        elif not there:
            assert error == f"Error: File '{path}' not found"
        else:
            assert error is None
            for gone in below:
                self.model.files.pop(gone, None)
                # What was in a folder that is gone is not known to who had not looked.
                if gone in there or self.model.did[gone] or path != gone:
                    self.model.change(Did(name, turn, call, None), gone, whole=True)

    def _check_refusal(
        self, name: str, first: str | None, error: str | None, path: str, verb: str
    ) -> None:
        if first is None:
            assert error is None
            return
        assert error is not None
        if first == name:
            assert "another of the tool calls that you made at the same time" in error
            return
        assert f"'{path}' was not {verb}: {first} changed it" in error
        self._expect_notice(first, name, path, verb)

    def _expect_notice(self, first: str, second: str, path: str, verb: str) -> None:
        """The first author is notified, or its parent; never the one with the error."""
        to = first if first in self.children else MAIN
        if to != second:
            self.expected.setdefault(to, set()).add((second, f"'{path}' {verb}"))

    def _hear(self, name: str, told: str) -> None:
        for second, what in self.expected.pop(name, set()):
            assert f"{second} tried to have {what} over your change" in told

    @rule(who=WHO)
    def hear(self, who: int) -> None:
        """An agent's next result carries the notices for it."""
        name, agent = self._agent(who)
        empty = ToolMessage("", tool_call_id="any")
        told = agent.call(lambda: with_notices(empty), anew=False)
        assert isinstance(told, ToolMessage)
        self._hear(name, str(told.content))

    @precondition(lambda self: self.children)
    @rule(who=WHO)
    def report(self, who: int) -> None:
        """A subagent ends; the notices that it did not receive are in its report."""
        name = list(self.children)[who % len(self.children)]
        told = self.main.receive(self.children.pop(name))
        self._hear(name, told)

    @precondition(lambda self: not self.children)
    @rule(order=ORDER)
    def end_step(self, order: list[int]) -> None:
        """The step is done; what its tasks wrote comes in any order, and is all there is."""
        self.main.end_step(order)
        self.steps.append(self.main.written)
        assert self._in(self.main.channel) == self.model.files

    @precondition(lambda self: self.steps and not self.children and not self.main.sent)
    @rule()
    def load(self) -> None:
        """Another process makes the same files of the changes alone."""
        loaded = FilesChannel(typ=dict).from_checkpoint(MISSING)
        loaded.replay_writes([("", "files", delta) for step in self.steps for delta in step])
        assert self._in(loaded) == self.model.files

    @staticmethod
    def _in(channel: FilesChannel) -> dict[str, str]:
        return {path: file["content"] for path, file in channel.get().items()}

    @invariant()
    def everybody_sees_the_same(self) -> None:
        """At any moment, through any agent."""
        if not hasattr(self, "main"):
            return
        live = self.main.channel.get().live
        assert {path: file["content"] for path, file in live.files().items()} == self.model.files


TestSharedFiles = SharedFiles.TestCase
TestSharedFiles.settings = settings(max_examples=200, stateful_step_count=20, deadline=None)


DELTAS = st.lists(
    st.tuples(st.sampled_from(PATHS), st.none() | st.sampled_from(["one", "two"])), max_size=12
)


@given(DELTAS, st.integers(0, 12), st.randoms(use_true_random=False))
def test_deltas_of_a_step_make_the_same_files_in_any_order_and_any_batches(
    changes: list[tuple[str, str | None]], cut: int, random: Random
) -> None:
    """The last change of a path wins, wherever the deltas of its step are placed or split."""
    expected: dict[str, str] = {}
    deltas = []
    for n, (path, content) in enumerate(changes):
        file = None if content is None else FileData(content=content, encoding="utf-8")
        deltas.append(stamped(path, file, ("a stretch", n)))
        expected.pop(path, None)
        if content is not None:
            expected[path] = content
    random.shuffle(deltas)
    merged = merge_files(merge_files(None, deltas[:cut]), deltas[cut:])

    assert {path: file["content"] for path, file in merged.items()} == expected
    assert all("stamp" not in file for file in merged.values())
    assert merged == merge_files({}, deltas)


def test_threads_that_edit_one_file_at_once_lose_no_edit() -> None:
    """Real threads, no turns: each edits its own place again and again, and reads between."""
    backend = shared(StateBackend())
    main = Agent(backend)
    main.call(lambda: backend.write("/a", "".join(f"<{k}:0>" for k in range(16))))
    children = [main.spawn(f"n{k}", anew=False) for k in range(16)]

    def work(k: int) -> list[str | None]:
        def edit(n: int) -> str | None:
            return backend.edit("/a", f"<{k}:{n}>", f"<{k}:{n + 1}>").error

        return [children[k].call(partial(edit, n)) for n in range(40)]

    with ThreadPoolExecutor(16) as threads:
        errors = [error for told in threads.map(work, range(16)) for error in told]
    for child in children:
        main.receive(child)
    main.end_step([3, 1, 2])

    assert errors == [None] * (16 * 40)
    assert main.channel.get()["/a"]["content"] == "".join(f"<{k}:40>" for k in range(16))
