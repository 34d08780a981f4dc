"""The messages that remain in the state of a thread at the end of a run."""

from pathlib import Path

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.scripted import RuledModel, agent_with, says
from thalweg.archive import open_archive
from thalweg.context.middleware import ContextMiddleware


def test_a_state_is_cut_when_it_exceeds_its_number_by_more_than_a_quarter(tmp_path: Path) -> None:
    """So many messages are removed at once, and few checkpoints differ from the one before."""
    model = RuledModel(rule=says(*(f"answer {n}" for n in range(12))))
    lengths = []
    with open_archive(tmp_path / "thalweg.db") as archive:
        context = ContextMiddleware(archive=archive, state=8)
        agent = agent_with(model, context, checkpointer=InMemorySaver())
        for n in range(12):
            ended = agent.invoke(
                {"messages": [HumanMessage(f"question {n}")]}, {"configurable": {"thread_id": "t"}}
            )
            lengths.append(len(ended["messages"]))

    assert lengths == [2, 4, 6, 8, 10, 8, 10, 8, 10, 8, 10, 8]
