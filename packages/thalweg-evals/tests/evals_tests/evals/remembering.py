"""An agent with a memory across threads, small enough to be broken on purpose."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import cast

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.engine.tokens import exact_counter
from thalweg_evals.base import Agent, Need, Probe, Score, Setting
from thalweg_evals.material.paging import Pages
from thalweg_evals.scripted.mind import COMPETENCES, CaseModel
from thalweg_evals.scripted.moves import Acts
from thalweg_evals.subjects.graphs import GraphAgent
from thalweg_evals.trace import Trace
from thalweg_evals.trial import Talk
from thalweg_memory import Memory, MemoryStore, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact, Scope
from thalweg_memory.jobs.learner import Learner
from thalweg_memory.jobs.structured import Respondent
from thalweg_memory.jobs.worker import Worker
from thalweg_memory.middleware.middleware import MemoryMiddleware

AT_ONCE = MemorySettings(debounce_seconds=0, max_wait_seconds=0)
WINDOW = 64_000
OWNER = Scope("local")


@dataclass(slots=True)
class RememberingAgent(GraphAgent):
    """One whose user can have something forgotten."""

    store: MemoryStore | None = None

    def forget(self, words: str) -> bool:
        """See `Forgets`."""
        if self.store is not None:
            Memory(self.store, OWNER).forget(query=words)
        return self.store is not None


@dataclass
class Remembering:
    """LangChain's agent with `MemoryMiddleware`.

    It learns on request, and keeps what it learned for the tests.
    """

    settings: MemorySettings = AT_ONCE
    prepare: Callable[[MemoryStore], object] = id
    """Does something to a memory before the agent has it."""
    can_forget: bool = True
    name: str = "remembering"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt", "memory"})
    facts: list[Fact] = field(default_factory=list)

    def begin(self, setting: Setting) -> Agent:
        """See `Subject.begin`."""
        store = open_memory(setting.folder / "memory.db")
        self.prepare(store)
        graph = create_agent(
            setting.model,
            list(setting.tools),
            system_prompt=setting.system_prompt or None,
            middleware=[MemoryMiddleware(store, settings=self.settings, learns=False)],
            checkpointer=InMemorySaver(),
        )
        return RememberingAgent(
            graph,
            partial(self._learn, store, setting),
            store.close,
            store=store if self.can_forget else None,
        )

    def _learn(self, store: MemoryStore, setting: Setting) -> None:
        count = exact_counter()
        learner = Learner(store, Respondent(setting.model, count), self.settings, count=count)
        Worker(store, learner.learn).run_due()
        self.facts = store.facts(OWNER, statuses=None)


def tried(
    probe: Probe,
    variant: str,
    folder: Path,
    *,
    subject: Remembering | None = None,
    competence: str = "searcher",
    seed: int = 1,
) -> tuple[Score, Trace]:
    """Try a case of a probe, with a scripted model."""
    case = probe.make(variant, Random(seed))  # noqa: S311 (not a secret)
    pages, trace = Pages(Random(seed + 1)), Trace()  # noqa: S311
    model = CaseModel(case=cast("Acts", case), competence=COMPETENCES[competence], window=WINDOW)
    setting = Setting(model=model, window=WINDOW, folder=folder, tools=(pages.tool(),))
    setting = replace(
        setting, tools=(*setting.tools, *case.tools), system_prompt=case.system_prompt
    )
    agent = (subject or Remembering()).begin(setting)
    try:
        case.run(Talk(agent, setting, pages, trace))
    finally:
        agent.close()
    return case.grade(trace), trace
