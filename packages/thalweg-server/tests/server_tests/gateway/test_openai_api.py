"""OpenAI's own client against a gateway on a socket; pages of listed origins."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import openai
import pytest

from server_tests.gateway.worlds import KEYS, settings
from server_tests.serving import Served, gateway
from thalweg_server.gateway.openai_api import ChatMessage, ChatRequest, CompletionView
from thalweg_server.runs.base import Event, RunKey, RunRecord


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the gateway's agent."""
    home: Path = tmp_path_factory.mktemp("home")
    with gateway(settings(home, keys=KEYS, cors_origins=["https://chat.example"])) as found:
        yield found


@pytest.fixture
def ada(served: Served) -> Iterator[openai.OpenAI]:
    """Return a client with Ada's key."""
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="ada-s-key", max_retries=0) as made:
        yield made


def test_a_completion_is_a_run(ada: openai.OpenAI) -> None:
    """Of an assistant, or of a model for the gateway's agent."""
    names = [one.id for one in ada.models.list()]
    assert names == ["agent", "ticking", "slow"]
    assert ada.models.retrieve("ticking").id == "ticking"
    for model in ("agent", "ticking"):
        answer = ada.chat.completions.create(
            model=model,
            messages=[
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "1"},
                {"role": "user", "content": "two"},
            ],
            temperature=0.5,
        )
        assert answer.choices[0].finish_reason == "stop"
        assert len((answer.choices[0].message.content or "").split()) == 3
        assert answer.usage is not None
        assert answer.usage.completion_tokens == 3


def test_a_completion_is_streamed(ada: openai.OpenAI) -> None:
    """The pieces are the answer; usage comes last if asked for."""
    stream = ada.chat.completions.create(
        model="agent",
        messages=[{"role": "user", "content": "hi"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert len(text.split()) == 3
    assert [one.choices[0].finish_reason for one in chunks if one.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 13
    assert len({one.id for one in chunks}) == 1


def test_a_history_may_have_calls_without_text(ada: openai.OpenAI) -> None:
    """As the provider itself returns them."""
    answer = ada.chat.completions.create(
        model="agent",
        messages=[
            {"role": "user", "content": "one"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
            {"role": "user", "content": "two"},
        ],
    )
    assert len((answer.choices[0].message.content or "").split()) == 3


def test_a_thread_has_the_earlier_turns(ada: openai.OpenAI, served: Served) -> None:
    """Only what is new is sent to it, and another owner's thread of that name is another one."""
    for text in ("one", "two"):
        ada.chat.completions.create(
            model="agent",
            messages=[{"role": "assistant", "content": "0"}, {"role": "user", "content": text}],
            metadata={"thread_id": "mine"},
        )
    counts = []
    for key in ("ada-s-key", "bob-s-key"):
        headers = {"X-API-Key": key}
        answer = httpx2.get(f"{served.url}/api/threads/mine/history", headers=headers)
        counts.append((answer.status_code, len(answer.json().get("items", ()))))
    assert counts == [(200, 4), (404, 0)]


def test_what_cannot_be_done_is_refused(ada: openai.OpenAI, served: Served) -> None:
    """With the reason, as the client's own errors."""
    user = {"role": "user", "content": "hi"}
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    url = f"{served.url}/v1/chat/completions"
    with pytest.raises(openai.NotFoundError):
        ada.chat.completions.create(model="no-such", messages=[{"role": "user", "content": "hi"}])
    for body, status in (
        ({"model": "agent", "messages": [user], "tools": [tool]}, 422),
        ({"model": "agent", "messages": [user], "n": 2}, 422),
        ({"model": "agent", "messages": []}, 422),
        (
            {
                "model": "agent",
                "messages": [{"role": "assistant", "content": "0"}],
                "metadata": {"thread_id": "x"},
            },
            422,
        ),
    ):
        answer = httpx2.post(url, json=body, headers={"Authorization": "Bearer ada-s-key"})
        assert answer.status_code == status, answer.text
        assert answer.json()["error"]["message"] == answer.json()["detail"]
        unknown = httpx2.post(url, json=body)
        assert (unknown.status_code, unknown.json()["error"]["type"]) == (401, "auth.missing")


@pytest.mark.parametrize(
    ("origin", "status"), [("https://chat.example", 200), ("https://x.example", 400)]
)
def test_a_page_of_a_listed_origin_reaches_this_machine(
    served: Served, origin: str, status: int
) -> None:
    """Also one on https, with the headers of LangChain's front ends."""
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-api-key,x-auth-scheme",
        "Access-Control-Request-Private-Network": "true",
    }
    answer = httpx2.options(f"{served.url}/threads/search", headers=headers)
    assert answer.status_code == status
    assert answer.headers.get("access-control-allow-origin") == (origin if status == 200 else None)
    assert answer.headers["access-control-allow-private-network"] == "true"


@pytest.mark.parametrize("type_", ["run.interrupted", "run.cancelled"])
def test_a_run_without_an_answer_is_no_completion(type_: str) -> None:
    now = datetime.now(UTC)
    run = RunRecord(RunKey("ada", "t1", "r1"), "running", "{}", now)
    user = ChatMessage(role="user", content="hi")
    view = CompletionView(run, ChatRequest(model="agent", messages=(user,)))

    view.take(Event(1, type_, "{}"))

    assert view.problem is not None
    assert (view.problem.status, view.problem.code) == (409, type_)
