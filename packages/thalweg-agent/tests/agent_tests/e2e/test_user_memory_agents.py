"""The memory of a user in deep agents, over rewinds and restarts, awaited, before providers."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from core_tests.strict_requests import messages_of
from memory_tests.e2e.test_user_memory import ADA, BOB, Talk, fact, forget, known, learn, look
from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import WIRES, chat_model
from thalweg.context.middleware import ContextMiddleware
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_memory import Memory, open_memory
from thalweg_memory.middleware.middleware import MemoryMiddleware

AT: Any = {"configurable": {"thread_id": "t", "user": "ada"}}


def owner(config: Any) -> str:  # noqa: ANN401 (LangChain's)
    """Return the user of a run."""
    return str(config["configurable"]["user"])


class Deep:
    """A deep agent that may delegate once, and every request it or its subagent sent."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 (arguments of create_deep_agent)
        self.sent: list[list[BaseMessage]] = []
        model = ScriptedModel(script=self._answer)
        self.agent: Any = create_deep_agent(
            model, archive=":memory:", checkpointer=InMemorySaver(), owner=owner, **given
        )

    def _answer(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        self.sent.append(list(messages))
        if "delegate" not in messages[-1].text:
            return "Done."
        asked = {"description": "Find my tea", "subagent_type": "general-purpose"}
        return AIMessage("", tool_calls=[{"name": "task", "args": asked, "id": "t1"}])

    def say(self, text: str, user: str = "ada") -> None:
        """Send a message in the user's thread."""
        config = {"configurable": {"thread_id": f"of {user}", "user": user}}
        self.agent.invoke({"messages": [HumanMessage(text)]}, config)

    def shown(self, request: int = -1) -> str:
        """Return the text of one request."""
        return "\n".join(str(message.text) for message in self.sent[request])


def test_a_deep_agent_knows_its_user_and_its_files(tmp_path: Path) -> None:
    """Paths and a memory in one list; each user's own."""
    (tmp_path / "AGENTS.md").write_text("Be brief.\n")
    store = known(tea="Ada drinks green tea")
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    deep = Deep(memory=["/AGENTS.md", store], backend=backend)
    deep.say("Which tea do I like?")
    assert "Be brief." in deep.shown()
    assert "green tea" in deep.shown()
    deep.say("Which tea do I like?", user="bob")
    assert "Be brief." in deep.shown()
    assert "green tea" not in deep.shown()


def test_subagents_are_told_what_is_known_and_keep_nothing() -> None:
    """Their threads are not the user talking."""
    store = known(tea="Ada drinks green tea")
    deep = Deep(memory=store)
    deep.say("Please delegate this. Which tea do I like?")

    assert [m.text for m in deep.sent[1]][-1] == "Find my tea"
    assert "green tea" in deep.shown(1)
    turns = [turn.text for turn in store.turns(ADA, "of ada")]
    assert turns == ["Please delegate this. Which tea do I like?", "Done."]
    assert store.next_due()
    assert [item.turn.thread for item in store.items(ADA, range(1, 99)) if item.turn] == [
        "of ada",
        "of ada",
    ]


@pytest.mark.parametrize("given", ["AGENTS.md", [known(), known()], 7])
def test_what_is_no_memory_is_refused(given: Any) -> None:  # noqa: ANN401
    """A text alone may be a path or an address."""
    with pytest.raises(ConfigError, match="memory"):
        create_deep_agent(ScriptedModel(script=lambda _: ""), memory=given, archive=":memory:")


def test_what_is_no_argument_is_refused() -> None:
    """It is refused when the middleware is made, not at the first message."""
    store = known()
    for wrong in (
        {"memory": store, "settings": {"mode": "tols"}},
        {"memory": store, "owner": 7},
        {"memory": Memory(store, ADA), "settings": {}},
        {"memory": store, "model": "no:model"},
        {"memory": "mysql://x"},
    ):
        with pytest.raises(ConfigError):
            MemoryMiddleware(**wrong)


def test_a_memory_that_is_bound_is_one_users() -> None:
    """For any user of a run: the handle determines the owner."""
    store = known(tea="Ada drinks green tea")
    model = ScriptedModel(script=lambda messages: " ".join(m.text for m in messages))
    agent: Any = create_agent(model, middleware=[MemoryMiddleware(Memory(store, ADA))])
    asked: Any = {"messages": [HumanMessage("Which tea do I like?")]}

    assert "green tea" in agent.invoke(asked, AT)["messages"][-1].text
    wrong: Any = {"configurable": {"thread_id": "t", "memory": "of"}}
    with pytest.raises(ConfigError, match="names 'of'"):
        agent.invoke(asked, wrong)


@pytest.mark.parametrize("window", [None, 200_000])
def test_a_rewind_takes_back_what_was_told_since(window: int | None) -> None:
    """It is shown again, before the message that is sent instead."""
    store = known(tea="Ada drinks green tea", city="Ada lives in Oslo")
    talk = Talk(store, window=window)
    talk.say("Which tea do I like?")
    before = next(s for s in talk.agent.get_state_history(AT) if not s.next).config
    talk.say("Which city do I live in?")
    there = {"configurable": {**before["configurable"], **AT["configurable"]}}
    talk.agent.invoke({"messages": [HumanMessage("Is Oslo my city?")]}, there)

    assert talk.shown().count("green tea") == talk.shown().count("Ada lives in Oslo") == 1
    assert "Which city" not in talk.shown()
    assert [m.text for m in talk.sent[-1]][-1] == "Is Oslo my city?"


@pytest.mark.parametrize("window", [None, 200_000])
def test_another_process_tells_the_same_bytes(window: int | None, tmp_path: Path) -> None:
    """The state has ids; the store in its file has the words."""
    file = tmp_path / "memory.db"
    with open_memory(file) as store:
        learn(store, fact("tea", "Ada drinks green tea"))
    requests: list[list[BaseMessage]] = []
    for said in ("Which tea do I like?", "Why?", "And now?"):
        with (
            SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver,
            open_memory(file) as store,
        ):
            place = tmp_path / "archive.db"
            talk = Talk(store, window=window, saver=saver, archive=place, learns=False)
            talk.say(said)
            requests.append(talk.sent[-1])
            if talk.context is not None:
                talk.context.close()

    texts = [[message.text for message in request] for request in requests]
    assert texts[2][: len(texts[1])] == texts[1]
    assert texts[1][: len(texts[0])] == texts[0]
    assert "green tea" in texts[0][0]


@pytest.mark.parametrize("window", [None, 200_000])
def test_an_awaited_agent_is_told_and_kept_alike(window: int | None) -> None:
    """Two users at once, each in a thread of their own."""
    store = known(tea="Ada drinks green tea")
    learn(store, fact("ale", "Bob drinks brown ale, no tea"), scope=BOB)
    talk = Talk(store, window=window)

    async def both() -> None:
        runs = [
            talk.agent.ainvoke(
                {"messages": [HumanMessage(f"I am {user}. Which tea do I drink?")]},
                {"configurable": {"thread_id": user, "user": user}},
            )
            for user in ("ada", "bob")
        ]
        await asyncio.gather(*runs)

    asyncio.run(both())
    for request in talk.sent:
        text = "\n".join(message.text for message in request)
        assert ("green tea" in text) == ("I am ada" in text)
        assert ("brown ale" in text) == ("I am bob" in text)
    assert [turn.text for turn in store.turns(BOB, "bob")][1] == "Fine."


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("has_context", [False, True])
@pytest.mark.parametrize("placement", ["tail", "system_message"])
def test_providers_take_every_request(wire: str, has_context: bool, placement: str) -> None:  # noqa: FBT001
    """With tools between, and after something was forgotten."""
    store = known(tea="Ada drinks green tea", city="Ada lives in Oslo")

    def answers(request: Request) -> Answer:
        if messages_of(request)[-1].role == "tool":
            return Answer("All is well.")
        return Answer("I look.", calls=(("look", {"what": "tea"}),))

    with StrictProvider() as provider:
        provider.answer = answers
        with chat_model(provider, wire) as model:
            middleware: list[Any] = [
                MemoryMiddleware(
                    store, owner="ada", learns=False, settings={"placement": placement}
                )
            ]
            if has_context:
                middleware.append(ContextMiddleware(archive=":memory:"))
            agent: Any = create_agent(
                model, [look], middleware=middleware, checkpointer=InMemorySaver()
            )
            for said in ("Which tea do I like?", "Which city do I live in?", "Go on."):
                agent.invoke({"messages": [HumanMessage(said)]}, AT)
            forget(store, "city")
            agent.invoke({"messages": [HumanMessage("And now?")]}, AT)

    assert [seen.status for seen in provider.requests] == [200] * 8
    assert not any(seen.problems for seen in provider.requests)
    last = str(provider.requests[-1].body)
    assert "green tea" in last
    assert "Oslo" not in last
