"""Agents that act on their request alone reach the end that they reach without us (I56)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.property.driving import Drive
from core_tests.property.strategies import Scenario
from core_tests.unit.engine.threads import says, user
from thalweg.engine.compaction.plan import LEAST_RECORD
from thalweg.engine.compaction.policy import RentOrBuy, Thresholds
from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import AMOUNTS, BARE_RECORD_TOKENS, Budget, Cost

LINE_TOKENS = 9
"""Most tokens of a line of a document."""
RETURNED = "reading it again has cost as much as keeping it"


def _document(k: int, lines: int) -> str:
    text = (f"doc {k} line {n}: value {n * 7919 % 9973} of {k}" for n in range(lines))
    return "\n".join([*text, f"end of doc {k}"])


@dataclass(slots=True)
class Reacting:
    """An agent that uses documents: what its request does not show whole, it reads again.

    It remembers its plan, and no content.
    """

    drive: Drive
    tool: str
    sizes: Sequence[int]
    uses: Sequence[frozenset[int]]
    """The documents that each step of the work needs at once."""
    gathers: bool
    """Whether it reads every document before it begins to work."""
    most_at_once: int = 1
    """Most documents that it reads in one call of its model."""
    notes: int = 0
    """Notes that it wrote before: they fill the structured summary."""
    calls: int = 0
    reads: int = 0
    _shown: str = ""
    done: list[frozenset[int]] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    """Its calls until each step was done."""

    def document(self, k: int) -> str:
        """Return the text of a document."""
        return _document(k, self.sizes[k])

    def run(self, most_calls: int) -> bool:
        """Work until the end, or until so many calls; return whether it is the end."""
        self._add(user("Compare the documents as planned, and note each result."))
        for k in range(self.notes):
            self._add(says(f"Finding {k}: ORD-{10_000 + k} in /srv/data/{k}.csv is {k * 7919}."))
            self._add(user(f"Note {k} is fine. Go on."))
        steps = self._steps()
        while self.calls < most_calls:
            if not self._ask() or next(steps, None) is None:
                return self.drive.stopped is None
        return False

    def _steps(self) -> Iterator[bool]:
        for k in range(len(self.sizes)) if self.gathers else ():
            self._read([k])
            yield True
        for needed in self.uses:
            while missing := [k for k in sorted(needed) if self.document(k) not in self._shown]:
                self._read(missing[: self.most_at_once])
                yield True
            self.done.append(needed)
            self.ended.append(self.calls)
            self._add(says(f"Noted the result of {sorted(needed)}: equal."), user("Go on."))
            yield True

    def _ask(self) -> bool:
        self.drive.log()
        self.calls += 1
        if not self.drive.ask():
            return False
        self._shown = "\n".join(m.text for m in self.drive.requests[-1].messages)
        del self.drive.requests[:-1]
        return True

    def _read(self, documents: Sequence[int]) -> None:
        uses = [
            ToolCall(f"c{self.reads + n}", self.tool, json.dumps({"course": k}))
            for n, k in enumerate(documents)
        ]
        self.reads += len(uses)
        self._add(Message("assistant", tuple(uses)))
        for use, k in zip(uses, documents, strict=True):
            text = (Text(self.document(k)),)
            self._add(Message("tool", text, answers=use.id, name=self.tool))

    def _add(self, *messages: Message) -> None:
        self.drive.entries += [self.drive.engine.receive(message) for message in messages]


def _agent(
    cost: Cost,
    window: int,
    sizes: Sequence[int],
    uses: Sequence[frozenset[int]],
    policy: Thresholds | None = None,
    **given: object,
) -> Reacting:
    budget = Budget(window=window, **AMOUNTS[cost].model_dump())
    # as after a first use of an old result: else nothing is removed this early
    by_prices = RentOrBuy(TARIFFS["anthropic"], summarizes=True, memory={"used": 0.0})
    drive = Drive(Scenario((), budget, "anthropic"), policy=policy or by_prices)
    gathers, most = bool(given["gathers"]), int(str(given.get("most_at_once", 1)))
    notes = int(str(given.get("notes", 0)))
    return Reacting(drive, str(given["tool"]), sizes, uses, gathers, most, notes)


PRESETS = st.sampled_from(["frugal", "balanced", "careful"])


@settings(max_examples=60, deadline=None)
@given(
    cost=PRESETS,
    tool=st.sampled_from(["list_items", "get_item", "search_mail", "run_query", "recall"]),
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=12),
    data=st.data(),
    gathers=st.booleans(),
    window=st.sampled_from([16_000, 32_000, 64_000]),
)
def test_an_agent_that_reads_again_what_it_does_not_see_comes_to_its_end(
    cost: Cost, tool: str, sizes: list[int], data: st.DataObject, window: int, *, gathers: bool
) -> None:
    """Whatever documents it needs at once, as long as its work fits the window without us."""
    tokens = sum(len(_document(k, lines)) for k, lines in enumerate(sizes)) / 4
    if tokens > Budget(window=window).limit / 2:
        return
    needs = st.frozensets(st.integers(0, len(sizes) - 1), min_size=1, max_size=4)
    uses = data.draw(st.lists(needs, min_size=1, max_size=20))
    agent = _agent(cost, window, sizes, uses, tool=tool, gathers=gathers)

    assert agent.run(most_calls=10 * (len(sizes) + len(uses)) + 10)
    assert agent.done == uses
    assert not agent.drive.engine.problems


@settings(max_examples=40, deadline=None)
@given(
    trigger=st.integers(500, 8_000),
    kept_share=st.floats(0.05, 0.5),
    tool=st.sampled_from(["get_item", "recall"]),
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=12),
    data=st.data(),
    gathers=st.booleans(),
)
def test_it_comes_to_its_end_with_a_trigger_below_what_a_step_needs(
    trigger: int,
    kept_share: float,
    tool: str,
    sizes: list[int],
    data: st.DataObject,
    *,
    gathers: bool,
) -> None:
    """What is read again stays until the agent goes on, whatever the policy keeps otherwise."""
    window = 64_000
    if sum(len(_document(k, lines)) for k, lines in enumerate(sizes)) / 4 > window / 2:
        return
    needs = st.frozensets(st.integers(0, len(sizes) - 1), min_size=1, max_size=12)
    uses = data.draw(st.lists(needs, min_size=1, max_size=4))
    policy = Thresholds(
        triggers=(Threshold(type="tokens", value=trigger),),
        keep=Threshold(type="tokens", value=int(trigger * kept_share)),
    )
    agent = _agent("balanced", window, sizes, uses, tool=tool, gathers=gathers, policy=policy)

    most_calls = sum(2 * len(needed) + 1 for needed in uses)
    assert agent.run(most_calls=len(sizes) + most_calls + 2)
    assert agent.done == uses


@settings(max_examples=25, deadline=None)
@given(
    cost=PRESETS,
    window=st.sampled_from([4_000, 6_000, 12_000]),
    shares=st.lists(st.floats(0.05, 0.4), min_size=4, max_size=9),
    most_at_once=st.integers(1, 3),
    gathers=st.booleans(),
    has_summary=st.booleans(),
    data=st.data(),
)
def test_what_a_step_needs_together_comes_together(
    cost: Cost,
    window: int,
    shares: list[float],
    most_at_once: int,
    data: st.DataObject,
    *,
    gathers: bool,
    has_summary: bool,
) -> None:
    """In a window that holds not much else: after at most n (2 n + 3) reads of its n documents.

    After n (3 n + 4), if the structured summary has to give way to them.
    """
    budget = Budget(window=window, **AMOUNTS[cost].model_dump())
    summary = budget.record(0) // LEAST_RECORD if has_summary else BARE_RECORD_TOKENS
    room = budget.limit - summary - 400
    sizes = [max(1, int(share * room / LINE_TOKENS)) for share in shares]
    uses = []
    for chosen in data.draw(
        st.lists(st.permutations(range(len(sizes))), min_size=1, max_size=3), "steps"
    ):
        needed: set[int] = set()
        for k in chosen:
            if sum(sizes[one] for one in {*needed, k}) * LINE_TOKENS + 40 * len(needed) <= room:
                needed.add(k)
        uses.append(frozenset(needed))
    agent = _agent(
        cost,
        window,
        sizes,
        uses,
        tool="get_item",
        gathers=gathers,
        most_at_once=most_at_once,
        notes=window // 50,
    )

    reads = 2 if has_summary else 3
    most_calls = [len(one) * (reads * len(one) + reads + 1) + 1 for one in uses]
    assert agent.run(most_calls=len(sizes) + sum(most_calls) + 2)
    assert agent.done == uses
    starts = [len(sizes) if gathers else 0, *agent.ended]
    for start, end, most in zip(starts, agent.ended, most_calls, strict=False):
        assert end - start <= most + 1


@given(
    steps=st.integers(40, 120).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1))),
    tool=st.sampled_from(["read_task", "show_plan_text", "get_rows"]),
)
def test_a_result_that_is_cut_has_the_line_that_its_call_names(
    steps: tuple[int, int], tool: str
) -> None:
    """Else an agent that reads its plan step by step needs a second call for each step."""
    last, number = steps
    words = "crane harbour storage invoice pallet terminal broker customs"
    plan = [f"{k}/{last}. read: log-{k:03d} with {words}." for k in range(1, last + 1)]
    drive = Drive(Scenario((), Budget(window=4_000), "anthropic"))
    use = ToolCall("c", tool, json.dumps({"step": number}))
    added = (
        user("Perform the steps."),
        Message("assistant", (use,)),
        Message("tool", (Text("\n".join(plan)),), answers="c", name=tool),
    )
    drive.entries += [drive.engine.receive(message) for message in added]
    drive.log()

    assert drive.ask()
    shown = drive.requests[-1].messages[-1].text
    assert "recall(" in shown
    assert plan[number - 1] in shown


@pytest.mark.parametrize("cost", ["balanced", "careful"])
def test_what_is_gathered_and_then_used_comes_back_after_a_few_reads(cost: Cost) -> None:
    """Sixty lists, each used once in order: they return in one edit, and are not removed again."""
    sizes = [60] * 60
    agent = _agent(
        cost, 128_000, sizes, [frozenset({k}) for k in range(60)], tool="list_rows", gathers=True
    )

    assert agent.run(most_calls=400)
    history = agent.drive.engine.history
    returns = [edit for edit in history if edit.reason == RETURNED]
    assert agent.reads <= 60 + 15
    assert 1 <= len({edit.turn for edit in returns}) <= 3
    assert all(edit.freed < 0 for edit in returns)
