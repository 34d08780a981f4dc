"""Our tools in requests of real clients and real agents: refused, narrowed, renamed, omitted."""

# ruff: noqa: ANN401 (LangChain's signatures)

import copy
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, wrap_model_call
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from thalweg import ContextMiddleware
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent

REFUSALS = {
    "vLLM": (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
    "Ollama": (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    "Groq": (400, "`tools` is not supported with this model"),
    "OpenAI": (400, "tools is not supported in this model. For a list of supported models, see"),
    "OpenRouter": (404, "No endpoints found that support tool use. To learn more, visit: …"),
    "llama.cpp": (500, "tools param requires --jinja flag"),
    "old llama.cpp": (500, "Unsupported param: tools"),
    "DeepSeek": (400, "deepseek-reasoner does not support Function Calling"),
    "DeepInfra": (405, "Tool calling is not supported for model: mistralai/Mistral-Small"),
    "Bedrock": (400, "This model doesn't support tool use in streaming mode."),
    "Gemini": (400, "Function calling is not enabled for models/gemma-3-27b-it"),
}
SMALL = {"window": 4_000, "max_output": 500, "summarize": False}
LONG = "It rained over the estuary, and the herons stayed. " * 60
REFERENCE = re.compile(r'\w+\(handle=\\*"[a-z2-7]{16}')
THREAD: Any = {"configurable": {"thread_id": "t"}}


@dataclass
class Server:
    """A server of one model, with OpenAI's API."""

    refusal: tuple[int, str] | None = None
    """Status and words for a request with tools."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {"content": "Yes."}
    url: str = ""

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of the answer to a request."""
        self.bodies.append(body)
        if body.get("tools") and self.refusal is not None:
            status, words = self.refusal
            return status, {"error": {"message": words, "type": "BadRequestError", "code": status}}
        message = {"role": "assistant", "content": "", **self.answer(body)}
        usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}

    def model(self, **settings: Any) -> ChatOpenAI:
        """Make a client of it."""
        made: dict[str, Any] = {"model": "local", "max_retries": 0, **settings}
        return ChatOpenAI(base_url=self.url, api_key=SecretStr("k"), **made)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, reply = server.reply(body)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as one:
        yield one


def tools_of(body: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] for one in body.get("tools", ())]


def refers(body: dict[str, Any]) -> bool:
    return REFERENCE.search(json.dumps(body["messages"])) is not None


def talk(
    model: Any, policy: dict[str, object], turns: int = 6, tools: Sequence[Any] = (), **more: Any
) -> list[str]:
    """Talk until the thread is compacted; return the answers."""
    middleware = ContextMiddleware({**SMALL, **policy}, archive=":memory:")
    agent: Any = create_agent(
        model, tools, middleware=[middleware], checkpointer=InMemorySaver(), **more
    )
    answers: list[str] = []
    for turn in range(turns):
        done = agent.invoke({"messages": [("user", f"{turn}: {LONG}")]}, THREAD)
        answers.append(done["messages"][-1].text)
    return answers


@tool
def mine(number: int) -> str:
    """Fetch a report."""
    return f"report {number}: " + LONG * 8


@pytest.mark.parametrize("words", REFUSALS.values(), ids=REFUSALS)
def test_a_server_without_tools_answers_on_and_is_asked_with_tools_once(
    server: Server, words: tuple[int, str]
) -> None:
    server.refusal = words

    assert talk(server.model(), {}) == ["Yes."] * 6
    with_tools = [k for k, body in enumerate(server.bodies) if "tools" in body]
    assert len(with_tools) == 1
    assert tools_of(server.bodies[with_tools[0]]) == ["recall", "compact_conversation"]
    left = server.bodies[with_tools[0] + 1 :]
    assert left
    assert not any(map(refers, left))
    assert "in the archive" in json.dumps(left[0]["messages"])


def test_tools_that_are_always_sent_are_omitted_after_a_refusal(server: Server) -> None:
    server.refusal = REFUSALS["Ollama"]

    assert talk(server.model(), {"tools": "on"}, 1) == ["Yes."]
    assert ["tools" in body for body in server.bodies] == [True, False]


def test_the_refusal_of_the_users_own_tools_is_the_users(server: Server) -> None:
    server.refusal = REFUSALS["Ollama"]

    with pytest.raises(openai.BadRequestError, match="does not support tools"):
        talk(server.model(), {}, 1, [mine])


def test_another_refusal_is_no_refusal_of_tools(server: Server) -> None:
    server.refusal = (400, "tools.0.function.parameters: unsupported keyword")

    with pytest.raises(openai.BadRequestError):
        talk(server.model(), {})
    assert "tools" in server.bodies[-1]


def test_a_model_class_without_tools_is_compacted_with_notes() -> None:
    seen: list[list[BaseMessage]] = []

    class Plain(FakeListChatModel):
        def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
            seen.append(messages)
            return "Yes."

    assert talk(Plain(responses=[]), {}) == ["Yes."] * 6
    text = "\n".join(str(message.text) for message in seen[-1])
    assert "in the archive" in text
    assert not REFERENCE.search(text)


def test_a_profile_without_tools_gets_none_unless_the_policy_insists(server: Server) -> None:
    profile = {"tool_calling": False, "max_input_tokens": 4_000}

    talk(server.model(profile=profile), {})
    assert not any("tools" in body for body in server.bodies)
    assert not any(map(refers, server.bodies))
    server.bodies.clear()
    talk(server.model(profile=profile), {"tools": "on"})
    assert all("recall" in tools_of(body) for body in server.bodies)


@pytest.mark.parametrize("policy", [{"tools": "off"}, {"enabled": False}])
def test_switched_off_no_request_has_them(server: Server, policy: dict[str, object]) -> None:
    assert talk(server.model(), policy) == ["Yes."] * 6
    assert not any("tools" in body for body in server.bodies)
    assert not any(map(refers, server.bodies))
    assert "in the archive" in json.dumps(server.bodies[-1]["messages"])


def test_they_come_with_the_first_reference_and_stay(server: Server) -> None:
    talk(server.model(), {})

    first = next(k for k, body in enumerate(server.bodies) if refers(body))
    assert 0 < first < len(server.bodies) - 1
    for k, body in enumerate(server.bodies):
        assert tools_of(body) == (["recall", "compact_conversation"] if k >= first else [])


def test_what_a_model_was_bound_with_survives_them(server: Server) -> None:
    tags: list[list[str]] = []

    class Watched(ChatOpenAI):
        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Any:
            tags.append(run_manager.tags)
            return super()._generate(messages, stop, run_manager, **kwargs)

    model = Watched(model="local", base_url=server.url, api_key=SecretStr("k"), max_retries=0)
    bound = model.bind(stop=["X"], temperature=0.5).with_config(tags=["mine"]).with_retry()
    talk(bound, {})

    assert any("tools" in body for body in server.bodies)
    assert all((b["stop"], b["temperature"]) == (["X"], 0.5) for b in server.bodies)
    assert all("mine" in one for one in tags)


class Narrow(AgentMiddleware[Any, Any, Any]):
    """Keeps one tool in each request, in one of the ways that LangChain has."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """See `AgentMiddleware.wrap_model_call`."""
        kept = [one for one in request.tools if getattr(one, "name", "") == "mine"]
        if self.how == "override":
            return handler(request.override(tools=kept))
        with pytest.warns(DeprecationWarning, match="tools"):
            request.tools = kept
        return handler(request)


def reading(body: dict[str, Any]) -> dict[str, Any]:
    """Fetch two reports, then read the first back."""
    results = [m for m in body["messages"] if m["role"] == "tool"]
    named = REFERENCE.search(json.dumps(body["messages"]))
    if len(results) < 2:
        call, arguments = "mine", {"number": len(results)}
    elif len(results) == 2 and named is not None:
        tool_name, handle = re.findall(r'(\w+)\(handle=\\*"([a-z2-7]{16})', named[0] + '"')[0]
        call, arguments = tool_name, {"handle": handle}
    else:
        return {"content": str(results[-1]["content"])[-400:]}
    function = {"name": call, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": f"c{len(results)}", "type": "function", "function": function}]}


@pytest.mark.parametrize("how", ["override", "attribute"])
@pytest.mark.parametrize("is_outer", [1, 0])
@pytest.mark.parametrize("is_deep", [1, 0])
def test_a_reference_has_its_tool_whatever_other_middleware_removes(
    server: Server, how: str, is_outer: int, is_deep: int
) -> None:
    server.answer = reading
    policy = {**SMALL, "window": 12_000, "offload": {"result_tokens": 300}}
    narrow: Any = Narrow(how)
    if is_deep:
        agent: Any = create_deep_agent(
            server.model(), [mine], middleware=[narrow], context=policy, archive=":memory:"
        )
    else:
        ours = ContextMiddleware(policy, archive=":memory:")
        order = [narrow, ours] if is_outer else [ours, narrow]
        agent = create_agent(server.model(), [mine], middleware=order)
    done = agent.invoke({"messages": [("user", "compare the reports")]})

    assert "the herons stayed" in done["messages"][-1].text
    assert [tools_of(body) for body in server.bodies[:1]] == [["mine"]]
    for body in filter(refers, server.bodies):
        assert tools_of(body) == ["mine", "recall"]


def named(name: str) -> BaseTool:
    @tool(name)
    def other(topic: str) -> str:
        """Look a topic up."""
        return f"nothing about {topic}"

    return other


@pytest.mark.parametrize("name", ["recall", "compact_conversation"])
@pytest.mark.parametrize("is_deep", [1, 0])
def test_another_tool_of_the_name_is_an_error_that_names_the_remedy(
    server: Server, name: str, is_deep: int
) -> None:
    tools = [named(name)]
    if is_deep:
        agent: Any = create_deep_agent(server.model(), tools, archive=":memory:")
    else:
        agent = create_agent(
            server.model(), tools, middleware=[ContextMiddleware(archive=":memory:")]
        )
    remedy = rf'ContextPolicy\(tool_names={{"{name}": "{name}_context"}}\)'

    with pytest.raises(ConfigError, match=remedy):
        agent.invoke({"messages": [("user", "hi")]})
    assert server.bodies == []


def test_another_tool_of_the_name_is_fine_without_ours(server: Server) -> None:
    assert talk(server.model(), {"tools": "off"}, tools=[named("recall")]) == ["Yes."] * 6


def test_a_renamed_tool_has_that_name_everywhere(server: Server) -> None:
    server.answer = reading
    policy = {
        **SMALL,
        "window": 12_000,
        "offload": {"result_tokens": 300},
        "tool_names": {"recall": "look_back", "compact_conversation": "make_room"},
    }
    middleware = ContextMiddleware(policy, archive=":memory:")
    agent: Any = create_agent(server.model(), [mine, named("recall")], middleware=[middleware])
    done = agent.invoke({"messages": [("user", "compare the reports")]})

    assert "the herons stayed" in done["messages"][-1].text
    last = server.bodies[-1]
    assert set(tools_of(last)) == {"look_back", "make_room", "mine", "recall"}
    assert "recall(handle" not in json.dumps(last["messages"])
    assert "look_back(handle" in json.dumps(last["messages"])
    by_name = {one["function"]["name"]: one["function"] for one in last["tools"]}
    assert "`look_back`" in by_name["make_room"]["description"]


def test_without_a_reference_a_narrowed_request_stays_narrow(server: Server) -> None:
    @wrap_model_call
    def narrow(request: Any, handler: Any) -> Any:
        kept = [one for one in request.tools if one.name == "mine"]
        return handler(request.override(tools=kept))

    for order in (0, 1):
        ours = ContextMiddleware(archive=":memory:")
        middleware: list[Any] = [narrow, ours] if order else [ours, narrow]
        agent: Any = create_agent(server.model(), [mine], middleware=middleware)
        agent.invoke({"messages": [("user", "hi")]})
        assert tools_of(server.bodies[-1]) == ["mine"]


def test_a_model_that_only_raises_when_tools_are_bound_answers_on() -> None:
    class Raises(ScriptedModel):
        def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
            raise NotImplementedError(tools)

    model: BaseChatModel = Raises(script=lambda _: AIMessage("Yes."))
    assert talk(model, {}) == ["Yes."] * 6


def test_a_deep_copy_has_the_same_settings_and_threads_of_its_own() -> None:
    seen: list[int] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(len(messages))
        return "Yes."

    model = ScriptedModel(script=script)
    first = ContextMiddleware({"tools": "on", "tool_names": {"recall": "look"}}, archive=":memory:")
    second = copy.deepcopy(first)
    for middleware in (first, second):
        agent: Any = create_agent(model, middleware=[middleware])
        agent.invoke({"messages": [("user", "hi")]}, THREAD)

    assert seen == [1, 1]
    assert [one.name for one in second.tools] == ["look", "compact_conversation"]
    assert second.archive is not first.archive
    assert copy.deepcopy(ContextMiddleware({"tools": "off"})).tools == []


def test_a_users_tool_replaces_a_built_in_tool_of_a_deep_agent(server: Server) -> None:
    agent: Any = create_deep_agent(server.model(), [named("read_file")], archive=":memory:")
    agent.invoke({"messages": [("user", "hi")]})

    sent = [one["function"] for one in server.bodies[-1]["tools"]]
    (ours,) = [one for one in sent if one["name"] == "read_file"]
    assert [*ours["parameters"]["properties"]] == ["topic"]
