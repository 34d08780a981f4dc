"""What is marked for the prompt cache on live requests, and what is read because of it."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request, Seen, StrictProvider
from strict_llm_tests.chat_models import KEY, chat_model, run_async
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.request.models import with_transform
from thalweg.engine.settings import ContextPolicy

CONFIG: Any = {"configurable": {"thread_id": "t"}}
MARK = "cache_control"
RULES = "You keep the shelf in order. " + "Never move what nobody asked for. " * 200
PROSE = "and the rest of the shelf stays where it is, as it was agreed upon earlier. " * 20
FOLDING: dict[str, Any] = {
    "background": False,
    "window": 20_000,
    "max_output": 1_000,
    "trigger": ("fraction", 0.6),
    "keep": ("messages", 6),
}


@tool
def look(drawer: str) -> str:
    """Look into a drawer."""
    return f"{drawer} holds one item, {PROSE if drawer.startswith('Item') else 'small'}"


def script(request: Request) -> Answer:
    """Look into one drawer, or into thirty at once where so many are asked for; then answer."""
    last = messages_of(request)[-1]
    if "[This is not the user speaking.]" in last.text or "<transcript" in last.text:
        return Answer("## State of work\n- The shelf is in order.")
    if last.role == "user" and "thirty" in last.text:
        return Answer("", tuple(("look", {"drawer": f"D-{n}"}) for n in range(30)))
    if last.role == "user":
        return Answer("I look.", (("look", {"drawer": last.text[:12]}),), thinking="Which one?")
    return Answer(f"It is there, {PROSE}")


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(answer=script) as provider:
        yield provider


@pytest.fixture
def archive() -> Iterator[Archive]:
    with open_archive(":memory:") as archive:
        yield archive


def agent_of(
    model: BaseChatModel,
    archive: Archive,
    *,
    before: Sequence[Any] = (),
    behind: Sequence[Any] = (),
    system: str | SystemMessage = RULES,
    **policy: Any,  # noqa: ANN401 (its settings)
) -> Any:  # noqa: ANN401 (LangGraph's graphs have long types)
    ours = ContextMiddleware(ContextPolicy(**policy), archive=archive)
    return create_agent(
        model,
        [look],
        middleware=[*before, ours, *behind],
        checkpointer=InMemorySaver(),
        system_prompt=system,
    )


def talk(agent: Any, requests: int) -> None:  # noqa: ANN401 (as above)
    for n in range(1, requests + 1):
        words = f"Item {n:04} is kept in drawer D-{1000 + n}, {PROSE}"
        agent.invoke({"messages": [("user", words)]}, CONFIG)


def body(seen: Seen) -> dict[str, Any]:
    assert seen.body is not None
    return seen.body


def blocks(seen: Seen) -> list[tuple[str, Any]]:
    """List the content blocks of a request, each with its role."""
    sent = body(seen)
    rows = [("tools", tool) for tool in sent.get("tools") or ()]
    for role, content in [
        ("system", sent.get("system") or []),
        *((message["role"], message["content"]) for message in sent["messages"]),
    ]:
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        rows += [(role, block) for block in listed]
    return rows


def marked(seen: Seen) -> list[int]:
    """Return which content blocks of a request are marked, from 1."""
    return [n for n, (_, block) in enumerate(blocks(seen), 1) if MARK in block]


def bare(seen: Seen) -> list[str]:
    """Write the content of a request, without its marks and the ids that the provider made up."""

    def without(one: Any) -> Any:  # noqa: ANN401 (JSON)
        if isinstance(one, dict):
            return {k: without(v) for k, v in one.items() if k != MARK}
        return [without(v) for v in one] if isinstance(one, list) else one

    rows = [json.dumps([role, without(block)], sort_keys=True) for role, block in blocks(seen)]
    return [re.sub(r"[0-9a-f]{8}\d{12}", "id", row) for row in rows]


def live(provider: StrictProvider) -> list[Seen]:
    """List the requests of the agent, without those for summaries."""
    return [s for s in provider.requests if "speaking.]" not in bare(s)[-1]]


def test_a_thread_reads_all_that_it_sent_before_until_it_is_folded(
    provider: StrictProvider, archive: Archive
) -> None:
    """What was sent is read at the next call; after a fold the tools and the system prompt are."""
    with chat_model(provider, "anthropic") as model:
        talk(agent_of(model, archive, **FOLDING), 28)
    folded = 0
    for before, seen in pairwise(live(provider)):
        assert not seen.problems
        same, now = bare(before), bare(seen)
        if now[: len(same)] == same:
            assert seen.cached_tokens == before.tokens
            assert seen.cached_tokens + seen.written_tokens == seen.tokens
        else:
            folded += 1
            assert seen.cached_tokens > 1_024
    assert folded >= 2


def test_marks_stand_where_they_were_planned(provider: StrictProvider, archive: Archive) -> None:
    """System prompt, record, and the newest block: never more than four."""
    with chat_model(provider, "anthropic") as model:
        talk(agent_of(model, archive, **FOLDING), 14)
    with_record = 0
    for seen in live(provider):
        rows, marks = blocks(seen), marked(seen)
        stable = sum(role in {"tools", "system"} for role, _ in rows)
        assert len(marks) <= 4
        assert stable in marks
        assert len(rows) in marks
        if "Record of messages" in bare(seen)[stable]:
            with_record += 1
            assert stable + 1 in marks
    assert with_record


def test_thirty_results_at_once_do_not_hide_what_was_sent(
    provider: StrictProvider, archive: Archive
) -> None:
    """The end of the last request is marked again where the newest block is too far from it."""
    with chat_model(provider, "anthropic") as model:
        agent = agent_of(model, archive)
        talk(agent, 2)
        agent.invoke({"messages": [("user", f"Look into thirty drawers, {PROSE}")]}, CONFIG)
    before, seen = provider.requests[-2:]
    assert len(blocks(seen)) - len(blocks(before)) > 30
    assert len(blocks(before)) in marked(seen)
    assert seen.cached_tokens == before.tokens


def test_a_thread_that_is_opened_again_reads_what_it_left(
    provider: StrictProvider, archive: Archive
) -> None:
    """Another process does not know what was sent: it is all that came before the answer."""
    saver = InMemorySaver()
    with chat_model(provider, "anthropic") as model:
        for n in range(3):
            agent: Any = create_agent(
                model,
                [look],
                middleware=[ContextMiddleware(archive=archive)],
                checkpointer=saver,
                system_prompt=RULES,
            )
            words = "Look into thirty drawers" if n == 1 else "Item 0001 is where?"
            agent.invoke({"messages": [("user", f"{words} {PROSE}")]}, CONFIG)
    for before, seen in pairwise(provider.requests):
        assert seen.cached_tokens == before.tokens


def test_what_is_said_is_the_same_with_marks_and_without() -> None:
    """Two threads, one marked and one not, send the same blocks; the log holds no mark."""
    said = []
    for is_on in (True, False):
        with (
            StrictProvider(answer=script) as provider,
            open_archive(":memory:", secret=b"the same handles") as fresh,
            chat_model(provider, "anthropic") as model,
        ):
            talk(agent_of(model, fresh, prompt_caching=is_on, **FOLDING), 10)
            said.append([bare(seen) for seen in provider.requests])
            assert any(MARK in json.dumps(body(seen)) for seen in provider.requests) is is_on
            logged = fresh.messages(ThreadKey("local", "t"), 0, 10_000)
            assert MARK not in repr(list(logged))
    assert said[0] == said[1]


@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_marks_of_other_middleware_count(
    provider: StrictProvider, archive: Archive, place: str, ttl: Literal["5m", "1h"]
) -> None:
    """LangChain's own caching marks tools, system prompt and the end: one place remains."""
    theirs = AnthropicPromptCachingMiddleware(ttl=ttl)
    with chat_model(provider, "anthropic") as model:
        settings: dict[str, Any] = {place: [theirs], **FOLDING}
        talk(agent_of(model, archive, **settings), 7)
    assert not any(seen.problems for seen in provider.requests)
    for before, seen in pairwise(live(provider)):
        assert body(seen)[MARK]["ttl"] == ttl
        assert len(marked(seen)) <= 3
        if bare(seen)[: len(bare(before))] == bare(before):
            assert seen.cached_tokens == before.tokens


def test_marks_of_the_user_stay(provider: StrictProvider, archive: Archive) -> None:
    """An hour for the system prompt, three marks in the messages: none is taken away or added."""
    hour = {"type": "ephemeral", "ttl": "1h"}
    system = SystemMessage([{"type": "text", "text": RULES, MARK: hour}])
    texts = [{"type": "text", "text": f"{n} {PROSE}", MARK: hour} for n in range(3)]
    with chat_model(provider, "anthropic") as model:
        agent = agent_of(model, archive, system=system)
        agent.invoke({"messages": [HumanMessage([dict(text) for text in texts])]}, CONFIG)
    assert not any(seen.problems for seen in provider.requests)
    for seen in provider.requests:
        held = [block[MARK] for _, block in blocks(seen) if MARK in block]
        assert held == [hour] * 4


def test_an_hour_is_asked_for_where_the_tariff_has_one(
    provider: StrictProvider, archive: Archive
) -> None:
    with chat_model(provider, "anthropic") as model:
        talk(agent_of(model, archive, pricing={"tariff": "anthropic-1h"}), 2)
    marks = [
        block[MARK] for seen in provider.requests for _, block in blocks(seen) if MARK in block
    ]
    assert marks
    assert all(mark == {"type": "ephemeral", "ttl": "1h"} for mark in marks)


def test_a_cache_that_finds_prefixes_by_itself_is_not_marked(
    provider: StrictProvider, archive: Archive
) -> None:
    """Anthropic's client may call another's service, whose tariff is then named."""
    with chat_model(provider, "anthropic") as model:
        talk(agent_of(model, archive, pricing={"tariff": "deepseek"}), 2)
    assert not any(MARK in json.dumps(body(seen)) for seen in provider.requests)


def test_a_model_that_takes_the_place_of_ours_gets_no_marks(
    provider: StrictProvider, archive: Archive
) -> None:
    """Middleware after ours falls back to OpenAI, which would refuse them."""
    with (
        chat_model(provider, "anthropic") as model,
        chat_model(provider, "openai-chat") as other,
    ):

        @wrap_model_call
        def fall_back(request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
            return handler(request.override(model=other))

        talk(agent_of(model, archive, behind=[fall_back]), 2)
    assert {seen.wire for seen in provider.requests} == {"openai-chat"}
    assert not any(seen.problems for seen in provider.requests)
    assert not any(MARK in json.dumps(body(seen)) for seen in provider.requests)


def test_a_request_that_nobody_waits_for_is_marked_as_well(
    provider: StrictProvider, archive: Archive
) -> None:
    """The async way sends the same."""
    with chat_model(provider, "anthropic") as model:
        agent = agent_of(model, archive)

        async def talk_on() -> None:
            for n in range(3):
                said = {"messages": [("user", f"Item {n:04}, {PROSE}")]}
                await agent.ainvoke(said, CONFIG)

        run_async(model, talk_on)
    for before, seen in pairwise(provider.requests):
        assert seen.cached_tokens == before.tokens


def test_a_summary_behind_the_live_request_reads_it_and_writes_nothing(
    provider: StrictProvider, archive: Archive
) -> None:
    """It repeats the removed messages, and reads as many as a live request had ended with."""
    with chat_model(provider, "anthropic") as model:
        talk(agent_of(model, archive, **FOLDING), 14)
    asked = [n for n, s in enumerate(provider.requests) if "speaking.]" in bare(s)[-1]]
    assert asked
    for n in asked:
        seen = provider.requests[n]
        *removed, _question = bare(seen)
        begins = [s for s in provider.requests[:n] if bare(s) == removed[: len(bare(s))]]
        assert len(blocks(begins[-1])) > len(removed) // 2
        assert seen.cached_tokens == begins[-1].tokens
        assert seen.written_tokens == 0


@pytest.mark.parametrize("uses_responses", [False, True])
def test_openai_is_told_which_requests_belong_together(
    archive: Archive, *, uses_responses: bool
) -> None:
    """Its own service alone; a key that was passed is kept, and no one's name is in ours."""
    seen: list[dict[str, Any]] = []

    @wrap_model_call
    def catch(request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        del handler
        built = request.model._get_request_payload  # noqa: SLF001 (what LangChain calls)
        seen.extend((built("hi"), built("hi", prompt_cache_key="mine")))
        raise ConnectionError

    for base in (None, "http://127.0.0.1:9/v1"):
        model = ChatOpenAI(
            model="gpt-5", api_key=KEY, base_url=base, use_responses_api=uses_responses
        )
        agent = agent_of(model, archive, behind=[catch])
        with pytest.raises(ConnectionError):
            agent.invoke({"messages": [("user", "hi")]}, CONFIG)
    ours, mine, elsewhere, _ = [one.get("prompt_cache_key") for one in seen]
    assert re.fullmatch(r"[0-9a-f]{32}", ours or "")
    assert (mine, elsewhere) == ("mine", None)


def test_the_double_of_a_model_is_the_model_to_all_who_ask() -> None:
    """Same class, same state, and still one when it is copied; the model itself is unchanged."""
    model = ChatOpenAI(model="gpt-5", api_key=KEY)
    double = with_transform(model, lambda body: {**body, "seen": True})
    assert isinstance(double, ChatOpenAI)
    assert double.root_client is model.root_client
    assert double.lc_id() == model.lc_id()
    for one in (double, double.model_copy(update={"temperature": 0.5})):
        assert one._get_request_payload("hi")["seen"]  # noqa: SLF001 (as above)
    assert "seen" not in model._get_request_payload("hi")  # noqa: SLF001 (as above)
    bound = model.bind(stop=["x"])
    assert with_transform(bound, dict).bound is not model  # type: ignore[arg-type,attr-defined]
