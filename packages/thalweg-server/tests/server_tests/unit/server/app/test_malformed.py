"""A provider's answer that is none: real clients, a real server on this machine, one sentence."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from thalweg_server.api.problems import Problem
from thalweg_server.app.performing import problem_of
from thalweg_server.models.compatible import CompatibleChat

BODIES = {
    "a sign-in page": ("text/html", b"<!DOCTYPE html><html><body>Sign in</body></html>"),
    "nothing": ("application/json", b""),
    "truncated JSON": ("application/json", b'{"id":"x","choices":[{"index":0,"mess'),
    "text": ("text/plain", b"hello"),
    "a list": ("application/json", b"[]"),
    "no choices": ("application/json", b'{"id":"x","choices":null,"content":null}'),
    "a truncated stream": ("text/event-stream", b'data: {"id":"x","choi'),
    "a broken event": ("text/event-stream", b'event: message_start\ndata: {"id":"x","c\n\n'),
    "an empty stream": ("text/event-stream", b""),
}


class Server(ThreadingHTTPServer):
    """Answers every request with the same body."""

    answer = ("", b"")


class Handler(BaseHTTPRequestHandler):
    """Sends the body."""

    server: Server

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["content-length"]))
        kind, body = self.server.answer
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def made(client: str, port: int) -> BaseChatModel:
    key = SecretStr("x")
    address = f"http://me:secret-word@127.0.0.1:{port}"
    if client == "anthropic":
        return ChatAnthropic(
            model_name="m", api_key=key, base_url=address, max_retries=0, timeout=None, stop=None
        )
    kind = ChatOpenAI if client == "openai" else CompatibleChat
    return kind(model="m", api_key=key, base_url=f"{address}/v1", max_retries=0)


async def asked(model: BaseChatModel, *, streams: bool) -> Problem:
    try:
        if streams:
            async for _ in model.astream([HumanMessage("hi")]):
                pass
        else:
            await model.ainvoke([HumanMessage("hi")])
    except Exception as error:  # noqa: BLE001 (clients raise anything)
        return problem_of(error, "m")
    pytest.fail("the client accepted it")


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("client", ["openai", "compatible", "anthropic"])
@pytest.mark.parametrize("body", BODIES)
def test_it_is_one_sentence(server: Server, body: str, client: str, how: str) -> None:
    server.answer = BODIES[body]
    problem = asyncio.run(asked(made(client, server.server_port), streams=how == "streamed"))

    assert problem.code == "model.malformed", problem.detail
    assert f"the server of model 'm' at 127.0.0.1:{server.server_port} sent" in problem.detail
    assert "check base_url" in problem.detail
    assert "secret-word" not in problem.detail
    assert "\n" not in problem.detail


def test_an_error_of_a_tool_is_none_of_the_provider() -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    assert problem_of(caught.value, "m").code == "run.failed"
