"""The context of a turn is what the provider received: API, client and command line."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from recorder_tests.e2e.test_cli import here
from server_tests.gateway.worlds import settings
from server_tests.serving import Served, gateway
from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import chat_model
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.operations import compact, pin, rewind, undo
from thalweg.archive.threads.thread_history import turns
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.events import TURN_EVENT
from thalweg.engine.edits import Fold
from thalweg.engine.entries import message_from_json
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.wires.langchain import LangChainWire
from thalweg_server.app.threads import message_view
from thalweg_server.client import ThalwegClient

OWNER = "local"
SYSTEM = "You count birds. 鳥を数える。"
ORDERS = [f"Look at bank {n}. Never skip the herons of bank {n}." for n in range(7)]
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360f8cf500f000385018063d5a4fd0000000049454e44ae426082"
    )
).decode()


@tool
def look(bank: int) -> str:
    """Look at a bank of the river."""
    return " ".join(f"bird{bank}x{n}" for n in range(250))


def looks(request: Request) -> Answer:
    """Call the tool if asked to look; else answer."""
    if "Look" in request.last_text and not request.ends_in_result:
        return Answer("I look.", (("look", {"bank": request.number}),))
    return Answer(f"Answer {request.number}. 🐦")


@dataclass
class Talk:
    """A thread of an agent with a real client, and the request bodies that arrived."""

    home: Path
    thread: str
    wire: str
    provider: StrictProvider
    window: int = 60_000
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    changed: list[int] = field(default_factory=list)
    """The turns that events of changed contexts name."""

    @property
    def plan_received_fold(self) -> list[Any]:
        """The bodies that the provider received, oldest first."""
        return [seen.body for seen in self.provider.requests]

    def ask(self, *questions: str | list[str | dict[str, Any]]) -> None:
        """Ask in one run each, with a new agent as after a restart."""
        policy = ContextPolicy(
            window=self.window,
            max_output=500,
            summarize=False,
            prompt_caching=False,  # breakpoints are set on each request alone
            trigger=("fraction", 0.85),
            keep=("fraction", 0.2),
        )
        with (
            chat_model(self.provider, self.wire) as model,
            ContextMiddleware(policy, archive=self.home / "thalweg.db", owner=OWNER) as middleware,
        ):
            agent: Any = create_agent(
                model,
                [look],
                system_prompt=SYSTEM,
                middleware=[middleware],
                checkpointer=self.saver,
            )
            for question in questions:
                stream = agent.stream(
                    {"messages": [HumanMessage(question)]},
                    {"configurable": {"thread_id": self.thread}},
                    stream_mode="custom",
                )
                self.changed += (event["turn"] for event in stream if event["type"] == TURN_EVENT)

    def by_hand(self, operation: Callable[..., object], *given: object) -> None:
        """Do what a person does on the command line."""
        with open_archive(self.home / "thalweg.db") as archive:
            operation(archive, ThreadKey(OWNER, self.thread), *given)

    def compactions(self) -> int:
        """Return the number of compactions before requests."""
        with open_archive(self.home / "thalweg.db") as archive:
            found = [one for one in turns(archive, ThreadKey(OWNER, self.thread)) if one.turn]
        return sum(any(isinstance(edit, Fold) for edit in one.page.edits) for one in found)


def _one_question(talk: Talk) -> None:
    talk.ask("Hi")


def _several_runs(talk: Talk) -> None:
    talk.ask("Hi", "And now?", "Ünïcödé, please: 鷺 🪶", "")


def _tools(talk: Talk) -> None:
    talk.ask(*ORDERS[:3])


def _compacted(talk: Talk) -> None:
    talk.window = 6_000
    talk.ask(*ORDERS)
    assert talk.compactions()


def _undone(talk: Talk) -> None:
    talk.window = 6_000
    talk.ask(*ORDERS[:5])
    assert talk.compactions()
    talk.by_hand(undo)
    talk.window = 60_000
    talk.ask("Where were we?", "Look again.")


def _pinned_and_rewound(talk: Talk) -> None:
    talk.ask(*ORDERS[:3])
    talk.by_hand(pin, 0, "Never skip the herons of bank 0.")
    talk.by_hand(rewind, 3)
    talk.ask("Where were we?")
    talk.by_hand(rewind, 2)  # nothing is sent afterwards


def _compacted_by_hand(talk: Talk) -> None:
    talk.ask(*ORDERS[:4])
    talk.by_hand(compact)
    talk.ask("Where were we?")
    talk.by_hand(compact)


def _media(talk: Talk) -> None:
    image: dict[str, Any] = {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{PIXEL}"},
    }
    talk.ask([{"type": "text", "text": "Which bird?"}, image], "Look closer.")


SHAPES: Mapping[str, tuple[str, Callable[[Talk], None]]] = {
    "one-question": ("openai-chat", _one_question),
    "several-runs": ("openai-chat", _several_runs),
    "tools": ("openai-chat", _tools),
    "tools-claude": ("anthropic", _tools),
    "compacted": ("openai-chat", _compacted),
    "compacted-claude": ("anthropic", _compacted),
    "undone": ("openai-chat", _undone),
    "undone-claude": ("anthropic", _undone),
    "pinned-and-rewound": ("openai-chat", _pinned_and_rewound),
    "compacted-by-hand": ("anthropic", _compacted_by_hand),
    "media": ("openai-chat", _media),
    "media-claude": ("anthropic", _media),
}


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Talk]]:
    """Hold every conversation, in one archive."""
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as opened:
        held = {}
        for name, (wire, talking) in SHAPES.items():
            provider = opened.enter_context(StrictProvider(window=60_000, answer=looks))
            held[name] = Talk(home, name, wire, provider)
            talking(held[name])
            assert {seen.status for seen in provider.requests} == {200}
        yield held


@pytest.fixture(scope="module")
def served(talks: dict[str, Talk]) -> Iterator[Served]:
    """Serve the archive of the conversations."""
    home = next(iter(talks.values())).home
    with gateway(settings(home), owner=OWNER) as found:
        yield found


def shown(talk: Talk, *options: str) -> dict[str, Any]:
    """Return the JSON of `thread show --context`."""
    place = talk.home / "thalweg.db"
    done = here("thread", "show", talk.thread, *options, "--context", "--json", "--archive", place)
    assert done.returncode == 0, done.stderr
    plain: dict[str, Any] = json.loads(done.stdout)
    return plain


def body_of(talk: Talk, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Have the real client write the body of a request from a context as JSON."""
    messages = [plain["system"], *(one["message"] for one in plain["messages"])]
    written = LangChainWire().write([message_from_json(json.dumps(one)) for one in messages])
    with chat_model(talk.provider, talk.wire) as model:
        body: dict[str, Any] = model._get_request_payload(written)  # type: ignore[attr-defined]  # noqa: SLF001 (of both clients)
    return body


def as_bytes(body: Mapping[str, Any]) -> bytes:
    """Return the system prompt and the messages of a body, the keys of objects in order."""
    sent = {name: body[name] for name in ("system", "messages") if name in body}
    return json.dumps(sent, ensure_ascii=False, sort_keys=True).encode()


@pytest.mark.parametrize("name", SHAPES)
def test_every_context_is_what_the_provider_received(
    talks: dict[str, Talk], served: Served, name: str
) -> None:
    """The newest without a number, and each by its number, from 1."""
    talk = talks[name]
    url = f"{served.url}/api/threads/{name}/context"
    with httpx2.Client() as http, ThalwegClient(served.url) as client:
        for number, received in [
            *enumerate(talk.plan_received_fold, 1),
            (None, talk.plan_received_fold[-1]),
        ]:
            named = () if number is None else ("--turn", str(number))
            plain = shown(talk, *named)
            answer = http.get(url, params={} if number is None else {"turn": number})
            context = answer.json()

            assert as_bytes(body_of(talk, plain)) == as_bytes(received)
            if talk.wire == "openai-chat":
                assert plain["tools"] == received["tools"]
            messages = [message_from_json(json.dumps(m["message"])) for m in plain["messages"]]
            views = [message_view(message).model_dump(mode="json") for message in messages]
            assert answer.status_code == 200
            assert json.dumps(context["messages"]) == json.dumps(views)
            assert context["system"] == SYSTEM
            assert context["tools"] == plain["tools"]
            assert context["turn"] == plain["turn"] == (number or len(talk.plan_received_fold))
            assert context["tokens"] == sum(plain["tokens"].values())
            assert client.get_context(name, turn=number).model_dump(mode="json") == context


@pytest.mark.parametrize("name", SHAPES)
def test_turns_are_the_requests_and_other_records_have_no_number(
    talks: dict[str, Talk], served: Served, name: str
) -> None:
    with ThalwegClient(served.url) as client:
        listed = client.list_turns(name).items
        calls = client.get_thread(name).model_calls

    numbers = [one.turn for one in listed if one.kind == "call"]
    assert numbers == [*range(1, len(talks[name].plan_received_fold) + 1)]
    assert {one.turn for one in listed if one.kind != "call"} <= {None}
    assert calls == len(numbers)
    assert [one.turn for one in listed if one.turn and one.edits] == talks[name].changed


def test_what_would_be_sent_now_is_asked_for_by_name(
    talks: dict[str, Talk], served: Served
) -> None:
    """It has the answer, no invented line, and tokens of its own."""
    talk = talks["one-question"]
    with ThalwegClient(served.url) as client:
        sent = client.get_context(talk.thread)
        coming = client.get_context(talk.thread, next=True)
    plain = shown(talk, "--next")
    url = f"{served.url}/api/threads/{talk.thread}/context"

    assert [message.text for message in sent.messages] == ["Hi"]
    assert [message.text for message in coming.messages] == ["Hi", "Answer 0. 🐦"]
    assert coming.turn is plain["turn"] is None
    assert coming.tokens == sum(plain["tokens"].values()) > sent.tokens
    assert coming.sections == plain["tokens"]
    assert coming.sections["history"] == sum(one["tokens"] for one in plain["messages"])
    assert httpx2.get(url, params={"next": "true"}).json() == coming.model_dump(mode="json")
    assert httpx2.get(url, params={"next": "true", "turn": 1}).status_code == 422
