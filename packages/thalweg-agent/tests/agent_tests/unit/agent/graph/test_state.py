"""Messages of an agent's state: the ids of those that have none."""

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage

from thalweg_agent.graph.state import merge_messages


def test_a_message_has_an_id_of_its_own_when_older_ones_have_left_the_state() -> None:
    """The archive takes a message with a stored id for the stored message."""
    state: list[AnyMessage] = []
    stored: set[str | None] = set()
    for run in range(4):
        state = merge_messages(state, [HumanMessage("yes")])
        assert state[-1].id not in stored
        stored.add(state[-1].id)
        state = merge_messages(state, [AIMessage("ok", id=f"answer {run}")])
        state = merge_messages(state, [[RemoveMessage(str(m.id)) for m in state[:-1]]])


def test_a_message_gets_the_same_id_in_each_replay_of_its_writes() -> None:
    """LangGraph replays them in batches of any size."""
    writes = [HumanMessage("yes"), AIMessage("ok", id="a"), HumanMessage("yes")]
    one_by_one: list[AnyMessage] = []
    for write in writes:
        one_by_one = merge_messages(one_by_one, [write])

    assert merge_messages([], writes) == one_by_one
