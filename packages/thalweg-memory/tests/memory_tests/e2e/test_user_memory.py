"""The memory of a user in real agents: what is shown, where, and for how long."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from memory_tests.memories import memory_in_memory
from thalweg.archive import ThreadKey
from thalweg.archive.threads.thread_history import history
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine import ContextPolicy
from thalweg.engine.window.items import check
from thalweg.engine.wires.langchain import LangChainWire
from thalweg.errors import StorageError
from thalweg.testing import Script, ScriptedModel
from thalweg_memory import Memory, MemoryStore
from thalweg_memory.facts.values import (
    Evidence,
    Fact,
    FactId,
    Mode,
    PutFact,
    Scope,
    Statement,
    Trust,
)
from thalweg_memory.jobs.learner import background
from thalweg_memory.middleware.middleware import MemoryMiddleware
from thalweg_memory.middleware.recall import MAX_STORED_MISSES
from thalweg_memory.recalling import MESSAGE_TOKENS
from thalweg_memory.store.records import Selection

ADA, BOB = Scope("ada"), Scope("bob")
AT = "2026-03-01T10:00:00Z"
Middleware = AgentMiddleware[Any, Any, Any]


def fact(name: str, content: str, **more: Any) -> Fact:  # noqa: ANN401 (fields of a fact)
    """Make a fact that was stated in another thread."""
    said = Evidence("long ago", name, content, AT, Trust.USER)
    return Fact(
        FactId(name), content, "knowledge", 0.9, AT, "long ago",
        evidence=(said,), observed_at=AT, **more,
    )  # fmt: skip


def said(uid: str, text: str) -> Statement:
    """Make a turn of the user in another thread."""
    return Statement("other", 0, "user", text, AT, Trust.USER, uid=uid)


def learn(store: MemoryStore, *facts: Fact, scope: Scope = ADA, actor: str = "learned:m") -> None:
    """Put facts into a memory."""
    changes = [PutFact(one, "said") for one in facts]
    store.commit(scope, changes, expected=store.version(scope), actor=actor, now=AT)


def known(**contents: str) -> MemoryStore:
    """Make a store in which Ada's memory has facts."""
    store = memory_in_memory()
    learn(store, *(fact(name, content) for name, content in contents.items()))
    return store


def forget(store: MemoryStore, *names: str) -> None:
    """Forget facts of Ada's for good."""
    store.forget(ADA, Selection(facts=tuple(map(FactId, names))), now=AT)


class Flaky:
    """A store whose disk is missing at times."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.is_down = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the store has)
        if self.is_down and name != "__class__":
            raise StorageError("memory.db", "the disk is gone", "find it")
        return getattr(self._store, name)


@tool
def look(what: str) -> str:
    """Look at something."""
    return f"{what} looks well. " * 400


class Talk:
    """An agent with a memory, and every request its model was sent."""

    def __init__(
        self,
        store: MemoryStore | Flaky,
        *,
        window: int | None = None,
        answers: Sequence[AIMessage] = (),
        others: Sequence[Middleware] = (),
        saver: Any = None,  # noqa: ANN401 (any checkpointer)
        archive: str | Path = ":memory:",
        script: Script | None = None,
        **more: Any,  # noqa: ANN401 (arguments of the middleware)
    ) -> None:
        self.sent: list[list[BaseMessage]] = []
        self.context: ContextMiddleware | None = None
        left = list(answers)

        def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
            self.sent.append(list(messages))
            read, _ = LangChainWire().read(messages)
            assert check(read) == ()
            if script is not None:
                return script(messages)
            return left.pop(0) if left else "Fine."

        owner = {"owner": lambda config: config["configurable"]["user"], **more}
        self.memory = MemoryMiddleware(store, **owner)
        middleware: list[Middleware] = [self.memory, *others]
        if window is not None:
            policy = ContextPolicy(window=window, summarize=False)
            self.context = ContextMiddleware(policy, archive=archive)
            middleware.append(self.context)
        self.agent: Any = create_agent(
            ScriptedModel(script=answer),
            [look],
            middleware=middleware,
            checkpointer=saver or InMemorySaver(),
        )

    def say(self, text: str, thread: str = "t", user: str = "ada", **more: str) -> str:
        """Send a message, and return all that the last request of the run showed."""
        self.run(text, thread, user, **more)
        return self.shown()

    def run(self, text: str, thread: str = "t", user: str = "ada", **more: str) -> None:
        """Send a message."""
        config = {"configurable": {"thread_id": thread, "user": user, **more}}
        self.agent.invoke({"messages": [HumanMessage(text)]}, config)

    def shown(self, request: int = -1) -> str:
        """Return all that one request shows."""
        return "\n".join(str(message.text) for message in self.sent[request])

    def grows(self) -> bool:
        """Return whether every request begins with the previous one."""
        plain = [[(m.type, m.text, m.id) for m in request] for request in self.sent]
        return all(b[: len(a)] == a for a, b in pairwise(plain))


WINDOWS = pytest.mark.parametrize("window", [None, 200_000])


@WINDOWS
def test_what_is_known_stands_before_the_question_and_stays_there(window: int | None) -> None:
    """It is the same bytes at every later call and run; a later run adds only what is new."""
    store = known(tea="Ada drinks green tea", city="Ada lives in Oslo")
    calls = AIMessage("", tool_calls=[{"name": "look", "args": {"what": "pot"}, "id": "c1"}])
    talk = Talk(store, window=window, answers=[calls])
    talk.say("Which tea do I like?")
    talk.say("And which tea did I drink before?")
    talk.say("Which city do I live in?")
    talk.say("What did I ask?")

    assert [message.type for message in talk.sent[0]] == ["human", "human"]
    assert "green tea" in talk.sent[0][0].text
    assert talk.sent[0][1].text == "Which tea do I like?"
    assert talk.grows()
    assert talk.shown().count("green tea") == talk.shown().count("lives in Oslo") == 1


@WINDOWS
def test_what_is_forgotten_is_gone_from_the_next_request(window: int | None) -> None:
    """Blocks of earlier runs lose it, too; the rest of the blocks is kept."""
    store = known(tea="Ada drinks green tea", pot="Ada has a tea pot")
    talk = Talk(store, window=window)
    assert "green tea" in talk.say("Which tea do I like?")
    forget(store, "tea")
    later = talk.say("Go on.")

    assert "green tea" not in later
    assert "tea pot" in later
    state = talk.agent.get_state({"configurable": {"thread_id": "t"}}).values
    assert "tea" not in str(state["_memory_shown"]).replace("'tea'", "")


@WINDOWS
def test_two_users_of_one_agent_never_see_each_others_memory(window: int | None) -> None:
    """Whose memory it is comes from the run's config."""
    store = known(tea="Ada drinks green tea")
    learn(store, fact("ale", "Bob drinks brown ale with tea"), scope=BOB)
    talk = Talk(store, window=window)

    assert "brown ale" not in talk.say("Which tea do I like?", thread="a", user="ada")
    bobs = talk.say("Which tea do I like?", thread="b", user="bob")
    assert "brown ale" in bobs
    assert "green" not in bobs


@WINDOWS
def test_what_was_said_is_kept_and_what_memory_told_is_not(window: int | None) -> None:
    """The user's words and final answers are kept once each; with a log, their positions, too."""
    store = known(tea="Ada drinks green tea")
    calls = AIMessage("I look.", tool_calls=[{"name": "look", "args": {"what": "a"}, "id": "c1"}])
    talk = Talk(store, window=window, answers=[calls])
    talk.say("Which tea do I like?")
    talk.say("Thank you.")
    turns = store.turns(ADA, "t")

    said = [(turn.role, turn.text) for turn in turns]
    assert said == [
        ("user", "Which tea do I like?"),
        ("assistant", "Fine."),
        ("user", "Thank you."),
        ("assistant", "Fine."),
    ]
    assert [turn.trust for turn in turns][1] == Trust.TOOL
    positions = [turn.position for turn in turns]
    assert positions == ([-1] * 4 if window is None else [0, 3, 4, 5])
    assert store.next_due()
    if talk.context:
        said_there = history(talk.context.archive, ThreadKey("local", "t"))
        logged = "".join(one.message.text for one in said_there)
        assert "green tea" not in logged


def test_memory_survives_folds_and_is_told_again_when_it_was_folded_away() -> None:
    """What is folded takes its memory along; the next run that needs it is shown it again."""
    store = known(tea="Ada drinks green tea", city="Ada lives in Oslo")
    looks = [
        AIMessage("", tool_calls=[{"name": "look", "args": {"what": f"w{n}"}, "id": f"c{n}"}])
        for n in range(12)
    ]
    talk = Talk(store, window=9_000, answers=looks)
    assert "green tea" in talk.say("Which tea do I like?")
    for n in range(16):
        talk.say(f"Look {n} is fine, then go on with the next one, please. " * 20)
    talk.say("Which tea do I like?")

    shown = [talk.shown(n) for n in range(len(talk.sent))]
    folded = next(n for n, text in enumerate(shown) if "<thread-record>" in text)
    assert "green tea" not in shown[folded]
    assert shown[-1].count("green tea") == 1
    assert max(text.count("green tea") for text in shown) == 1
    state = talk.agent.get_state({"configurable": {"thread_id": "t"}}).values
    sent = {message.id for message in talk.sent[-1]}
    assert {shown["uid"] for shown in state["_memory_shown"]} <= sent


def test_a_store_that_fails_costs_the_memory_and_not_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The failure is logged; once the store is back, so is the memory."""
    store = Flaky(known(tea="Ada drinks green tea"))
    talk = Talk(store)
    store.is_down = True
    assert talk.say("Which tea do I like?") == "Which tea do I like?"
    assert "continues without its memory" in caplog.text
    store.is_down = False
    assert "green tea" in talk.say("Which tea do I like?")


@pytest.mark.parametrize(
    ("mode", "what"),
    [("on", "told, kept"), ("read_only", "told"), ("incognito", ""), ("off", "")],
)
@WINDOWS
@pytest.mark.parametrize("by", ["config", "store"])
def test_a_thread_can_be_kept_out(
    mode: Mode,
    what: str,
    window: int | None,
    by: str,
) -> None:
    """The run's config does it, or the store for good; its messages are not kept later, either."""
    store = known(tea="Ada drinks green tea")
    talk = Talk(store, window=window)
    if by == "store":
        store.set_mode(ADA, "t", mode)
    asked = {"memory": mode} if by == "config" else {}
    shown = talk.say("Which tea do I like?", **asked)
    assert ("green tea" in shown) == ("told" in what)
    assert bool(store.turns(ADA, "t")) == ("kept" in what)
    store.set_mode(ADA, "t", "on")
    talk.say("And now?")

    kept = [turn.text for turn in store.turns(ADA, "t")]
    assert ("Which tea do I like?" in kept) == ("kept" in what)
    assert kept[-2:] == ["And now?", "Fine."]


def remembers(content: str) -> AIMessage:
    """Call the tool `remember`."""
    call = {"name": "remember", "args": {"content": content}, "id": f"r{len(content)}"}
    return AIMessage("", tool_calls=[call])


@WINDOWS
def test_an_agent_with_tools_remembers_and_looks_up(window: int | None) -> None:
    """Nothing is inserted by itself; a note is rendered as the words it quotes, or waits."""
    store = known(tea="Ada drinks green tea")
    asks = AIMessage(
        "", tool_calls=[{"name": "recall_memory", "args": {"query": "tea"}, "id": "q"}]
    )
    looks = AIMessage("", tool_calls=[{"name": "look", "args": {"what": "w"}, "id": "l"}])
    first, second = remembers("User lives in Oslo"), remembers("User banks at Fox")
    answers = [asks, first, AIMessage("Noted."), looks, second]
    talk = Talk(store, window=window, answers=answers, settings={"mode": "tool"})
    talk.say("I live in Oslo. Which tea do I like?")
    talk.say("Now look at the file.")

    assert "green tea" not in talk.shown(0)
    assert "green tea" in talk.shown(1)
    facts = store.facts(ADA, statuses=None)
    assert '"I live in Oslo. Which tea do I like?"' in facts[1].content
    assert [(one.statement, one.status, one.written_by) for one in facts[1:]] == [
        ("User lives in Oslo", "active", "agent"),
        ("User banks at Fox", "quarantined", "agent"),
    ]
    assert "Remembered: User lives in Oslo" in talk.shown(2)
    assert "not used before the user has looked at it" in talk.shown()


@WINDOWS
def test_an_agent_with_tools_forgets_what_its_user_asks_to_forget(window: int | None) -> None:
    """Facts and messages, without a learner; only by words of the user's own newest message.

    That message and the answer to it are recalled no more, either, until an undo.
    """
    store = known(rent="Ada pays 950 in rent", tea="Ada drinks green tea")
    store.capture(ADA, "other", [said("m1", "We rent here, 950 a month")])
    calls = [
        AIMessage("", tool_calls=[{"name": "forget_memory", "args": {"query": q}, "id": q}])
        for q in ("tea", "rent")
    ]
    answers = [AIMessage("Hello."), *calls, AIMessage("Rent is gone.")]
    talk = Talk(store, window=window, answers=answers, settings={"mode": "tool"})
    talk.say("Hello!")
    talk.say("Please forget what I said about the rent.")

    assert "Nothing was forgotten" in talk.shown(2)
    assert "Forgotten: 2 facts and messages" in talk.shown(3)
    assert [turn.text for turn in store.turns(ADA, "t")] == ["Hello!", "Hello."]
    talk.say("And now?")
    assert [turn.text for turn in store.turns(ADA, "t")][2:] == ["And now?", "Fine."]
    assert [one.id for one in store.facts(ADA)] == ["tea"]
    assert store.turns(ADA, "other") == []
    store.undo(ADA, store.operations(ADA, limit=1)[0].id, now=AT)
    assert len(store.turns(ADA, "t")) == 6


def test_another_persons_message_is_no_fact_of_the_owners() -> None:
    """The first name in a thread is the owner's, unless the settings name it."""
    store = known()
    talk = Talk(store)
    for name, text in (("ada", "I'm vegan."), ("bob", "I live in Marlow."), ("ada", "Hm.")):
        config = {"configurable": {"thread_id": "t", "user": "ada"}}
        talk.agent.invoke({"messages": [HumanMessage(text, name=name)]}, config)
    turns = [one for one in store.turns(ADA, "t") if one.role == "user"]
    assert [one.trust for one in turns] == [Trust.USER, Trust.ASSISTANT, Trust.USER]

    talk = Talk(store, settings={"owner_names": ["bob"]})
    config = {"configurable": {"thread_id": "u", "user": "ada", "time_zone": "Asia/Tokyo"}}
    talk.agent.invoke({"messages": [HumanMessage("I row.", name="bob")]}, config)
    (turn,) = (one for one in store.turns(ADA, "u") if one.role == "user")
    assert (turn.trust, turn.zone) == (Trust.USER, "Asia/Tokyo")


def test_the_tools_write_nothing_where_nothing_is_to_be_kept() -> None:
    """The model is notified of this, and continues."""
    store = known()
    talk = Talk(store, answers=[remembers("User lives in Oslo")], settings={"mode": "tool"})
    talk.say("I live in Oslo.", memory="read_only")

    assert store.facts(ADA, statuses=None) == []
    assert "nothing of this conversation is to be kept" in talk.shown()


def test_what_was_kept_is_learned_from_once_the_thread_is_quiet() -> None:
    """With the agent's own model, in the background; an agent that is closed learns no more."""
    store = known()
    learned, learned_of_rome = Event(), Event()

    def script(messages: Sequence[BaseMessage]) -> str:
        if "long-term memory of an assistant" not in messages[0].text:
            return "Fine."
        (learned_of_rome if "Rome" in messages[-1].text else learned).set()
        return "[]"

    with MemoryMiddleware(store, owner="ada", settings={"debounce_seconds": 0}) as memory:
        agent: Any = create_agent(ScriptedModel(script=script), middleware=[memory])
        config = {"configurable": {"thread_id": "t"}}
        agent.invoke({"messages": [HumanMessage("I live in Oslo.")]}, config)
        assert learned.wait(20)
    # The worker of a store is all its agents': it may be at the turn about Oslo still, and must
    # have come to rest before it can be told that nobody woke it for the one about Rome.
    while background(store, ScriptedModel(script=script)).is_at_work:
        sleep(0.01)
    with MemoryMiddleware(store, owner="ada", learns=False) as memory:
        agent = create_agent(ScriptedModel(script=script), middleware=[memory])
        agent.invoke({"messages": [HumanMessage("I live in Rome.")]}, config)
        assert store.next_due()
        assert not learned_of_rome.is_set()


def test_a_run_gets_what_recall_packs_into_the_whole_budget() -> None:
    """`search` and `explain` show what the agent receives, to the byte."""
    wordy = {f"tea{n}": f"Ada drank tea number {n} with {'very ' * 20}much milk" for n in range(99)}
    store = known(**wordy)
    asked = "Which tea had much milk?"
    recalled = Memory(store, ADA).recall(asked, budget_tokens=600 - MESSAGE_TOKENS)
    request = Talk(store, settings={"max_injection_tokens": 600}).say(asked)

    assert recalled.text in request
    assert 500 < recalled.tokens <= 600


def test_it_is_kept_why_something_was_told_and_something_was_not() -> None:
    """It is kept by message, without a word of it; no trace of what was forgotten remains."""
    store = known(tea="Ada drinks green tea", pot="Ada has a tea pot")
    store.capture(ADA, "other", [said("s1", "I drink green tea, and nothing but tea.")])
    talk = Talk(store, settings={"max_injection_tokens": 300})
    talk.say("Which tea do I like?")
    talk.say("And which tea pot?")
    memory = Memory(store, ADA)
    later, first = memory.shown_facts("t")

    assert {one.fact: one.fate for one in first.weighed if one.fact} == {
        "tea": "told",
        "pot": "told",
    }
    assert {one.fate for one in later.weighed} <= {"told before", "no room", "said already"}
    assert first.tokens > later.tokens == 0
    assert any(one.uid == "s1" and one.score > 0 for one in first.weighed)
    forget(store, "tea")
    assert memory.shown_facts("t") == []


def test_of_what_had_no_room_the_best_is_kept() -> None:
    """Ten of the items that are not shown are stored."""
    wordy = {f"tea{n}": f"Ada drank tea number {n} with {'very ' * 20}much milk" for n in range(99)}
    store = known(**wordy)
    Talk(store, settings={"max_injection_tokens": 600}).say("Which tea had much milk?")
    (kept,) = Memory(store, ADA).shown_facts("t")

    fates = [one.fate for one in kept.weighed]
    assert fates.count("told") > 3
    assert fates.count("no room") == MAX_STORED_MISSES


def test_what_is_told_is_told_of_as_an_event() -> None:
    """The event has ids and counts, for a caller that streams a run."""
    store = known(tea="Ada drinks green tea")
    talk = Talk(store)
    config = {"configurable": {"thread_id": "t", "user": "ada"}}
    asked = {"messages": [HumanMessage("Which tea do I like?")]}
    events = list(talk.agent.stream(asked, config, stream_mode="custom"))

    (told,) = [event for event in events if event["type"] == "thalweg.memory.told"]
    assert (told["facts"], told["turns"], told["taken_back"]) == (["tea"], 0, 0)
    assert "green" not in str(told)


def test_what_a_thread_itself_says_crowds_out_nothing() -> None:
    """However long it went on about the same thing."""
    store = known(tea="Ada drinks green tea")
    talk = [
        said(f"own {n}", f"Which tea do I like, and what of my tea number {n}?") for n in range(99)
    ]
    store.capture(ADA, "t", talk)

    assert "green tea" in Talk(store).say("Which tea do I like?")


@WINDOWS
def test_what_a_run_that_died_could_not_keep_is_kept_by_the_next(window: int | None) -> None:
    """With its place in the log, where there is one."""
    store = known()

    def script(messages: Sequence[BaseMessage]) -> str:
        if messages[-1].text == "I paint houses.":
            msg = "overloaded"
            raise RuntimeError(msg)
        return "Fine."

    talk = Talk(store, window=window, script=script)
    talk.run("I live in Oslo.")
    with pytest.raises(RuntimeError):
        talk.run("I paint houses.")
    talk.run("I like tea.")

    turns = store.turns(ADA, "t")
    assert [turn.text for turn in turns if turn.role == "user"] == [
        "I live in Oslo.",
        "I paint houses.",
        "I like tea.",
    ]
    positions = [turn.position for turn in turns]
    assert positions == ([-1] * 5 if window is None else [0, 1, 2, 3, 4])


@WINDOWS
def test_a_run_that_died_while_nothing_was_to_be_kept_is_never_kept(window: int | None) -> None:
    """What was confidential remains so, regardless of what the next run requests."""
    store = known()

    def script(messages: Sequence[BaseMessage]) -> str:
        if messages[-1].text == "I am ill.":
            msg = "overloaded"
            raise RuntimeError(msg)
        return "Fine."

    talk = Talk(store, window=window, script=script)
    with pytest.raises(RuntimeError):
        talk.run("I am ill.", memory="incognito")
    talk.run("I like tea.")
    talk.run("Thank you.")

    assert "I am ill." not in [turn.text for turn in store.turns(ADA, "t")]


@pytest.mark.parametrize("state", ["whole", "run"])
def test_three_turns_choose_the_facts_of_seeds_whatever_the_state_keeps(state: Any) -> None:  # noqa: ANN401 (a literal)
    """With `run` the state has the last exchange; the turns before it are in the log."""
    store = known(city="Lives in Oslo", pet="Owns a grey cat", crop="Grows tomatoes in the garden")
    policy = ContextPolicy(window=32_000, summarize=False)
    context: Middleware = ContextMiddleware(policy, archive=":memory:", state=state)
    talk = Talk(store, others=[context], learns=False, settings={"retrieval": "seeds"})
    for text in ("Who grows tomatoes in the garden?", "Hello."):
        talk.say(text)
    order = [line for line in talk.say("Well.").splitlines() if line.startswith("- ")]
    later = [line for line in talk.say("So.").splitlines() if line.startswith("- ")]

    assert "tomatoes" in order[0]
    assert "tomatoes" in later[-1]


@WINDOWS
@pytest.mark.parametrize("how", ["clear", "forget", "incognito"])
def test_the_first_author_in_a_thread_stays_the_owner(window: int | None, how: str) -> None:
    """Even if the memory has no message of the owner's any more, or never had one."""
    store = known()
    talk = Talk(store, window=window)

    def send(name: str, text: str, **more: str) -> None:
        config = {"configurable": {"thread_id": "t", "user": "ada", **more}}
        talk.agent.invoke({"messages": [HumanMessage(text, name=name)]}, config)

    send("ada", "I'm vegan.", memory="incognito" if how == "incognito" else "on")
    if how == "clear":
        Memory(store, ADA).clear()
    elif how == "forget":
        Memory(store, ADA).forget(threads=["t"])
    send("bob", "I live in Marlow.")
    send("ada", "I row.")
    turns = [one for one in store.turns(ADA, "t") if one.role == "user"]
    assert [(one.author, one.trust) for one in turns] == [
        ("bob", Trust.ASSISTANT),
        ("ada", Trust.USER),
    ]
