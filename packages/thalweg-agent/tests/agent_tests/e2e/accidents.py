"""Accidents of models, tools and callers, after which a request is easily refused.

Each is put to an agent whose model is a real client, at a provider on the loopback that refuses
what the real one refuses. `python -m benchmarks.accidents` plays all of them and prints a table.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.soak_world import PICTURE
from core_tests.strict_requests import messages_of
from strict_llm import Answer, Model, Request, StrictProvider
from strict_llm_tests.chat_models import chat_model
from thalweg.context.middleware import ContextMiddleware
from thalweg_agent import create_deep_agent

CUT_OFF = '{"path": "unfinis'
HALF = "\ud83d"
TEXT_ONLY = ModelProfile(image_inputs=False, pdf_inputs=False, audio_inputs=False)


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"{path}: nothing of interest"


@tool
def nothing() -> list[dict[str, Any]]:
    """Return no content, as a tool of an MCP server may."""
    return []


@tool
def half() -> str:
    """Return the name of a file that is not UTF-8."""
    return "caf\udce9.txt: needle"


@tool
def view(kind: str) -> list[dict[str, Any]]:
    """View an image, a PDF or a document of an office."""
    if kind == "image":
        return [PICTURE]
    mime = {
        "pdf": "application/pdf",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    }[kind]
    content = base64.b64encode(b"%PDF-1.4 nothing to see").decode()
    return [{"type": "file", "base64": content, "mime_type": mime, "filename": f"a.{kind}"}]


TOOLS = (look, nothing, half, view)
Calls = tuple[tuple[str, Mapping[str, Any] | str], ...]


@dataclass(frozen=True, slots=True)
class Accident:
    """What happens in the first exchange of a thread."""

    calls: Calls = ()
    """What the model calls when it is asked first."""
    said: tuple[AnyMessage, ...] = ()
    """What the caller hands in with the first message, as of an earlier run elsewhere."""
    fault: bool = False
    """Whether the provider refuses the second message once, without a reason."""
    system: str = "You keep the books."
    profile: ModelProfile | None = None


def _cut_off(*good: dict[str, Any]) -> tuple[AnyMessage, ...]:
    broken: Any = {"name": "look", "args": CUT_OFF, "id": "call_cut", "error": "cut off"}
    answer = AIMessage("", tool_calls=list(good), invalid_tool_calls=[broken])
    results = [ToolMessage("fine", tool_call_id=call["id"], name=call["name"]) for call in good]
    return (HumanMessage("before"), answer, *results)


def _halved() -> tuple[AnyMessage, ...]:
    call: Any = {"name": "look", "args": {"path": f"{HALF}.md"}, "id": "call_half"}
    result = ToolMessage("not found", tool_call_id="call_half", name="look")
    return (HumanMessage("before"), AIMessage("", tool_calls=[call]), result)


_GOOD: dict[str, Any] = {"name": "look", "args": {"path": "a.md"}, "id": "call_good"}

ACCIDENTS: Mapping[str, Accident] = {
    "arguments cut off": Accident(calls=(("look", CUT_OFF),), said=_cut_off()),
    "cut off beside a good call": Accident(
        calls=(("look", {"path": "a.md"}), ("look", CUT_OFF)), said=_cut_off(_GOOD)
    ),
    "invented tool": Accident(calls=(("functions.probe", {"path": "a.md"}),)),
    "tool without a name": Accident(calls=(("", {"path": "a.md"}),)),
    "tool of 80 characters": Accident(calls=(("probe" * 16, {"path": "a.md"}),)),
    "result []": Accident(calls=(("nothing", {}),)),
    "lone surrogate in a result": Accident(calls=(("half", {}),)),
    "lone surrogate in arguments": Accident(said=_halved()),
    "blank system prompt": Accident(system="  \n"),
    "image": Accident(calls=(("view", {"kind": "image"}),), profile=TEXT_ONLY),
    "PDF": Accident(calls=(("view", {"kind": "pdf"}),), profile=TEXT_ONLY),
    "docx": Accident(calls=(("view", {"kind": "docx"}),), profile=TEXT_ONLY),
    "refused once, unexplained": Accident(fault=True),
}
"""By name. Arguments are cut off by the model where the wire carries them as text; elsewhere they
are in what the caller hands in."""
TEXTUAL = ("openai-chat", "openai-responses")
"""Wires that carry arguments as text."""

Make = Callable[[BaseChatModel, str], Any]
"""Makes an agent with a model and a system prompt."""


def _plain(model: BaseChatModel, system: str) -> Any:  # noqa: ANN401 (an agent)
    return create_agent(model, TOOLS, system_prompt=system, checkpointer=InMemorySaver())


def _with_context(model: BaseChatModel, system: str) -> Any:  # noqa: ANN401 (an agent)
    middleware = [ContextMiddleware(archive=":memory:")]
    saver = InMemorySaver()
    return create_agent(
        model, TOOLS, system_prompt=system, middleware=middleware, checkpointer=saver
    )


def _deep(model: BaseChatModel, system: str) -> Any:  # noqa: ANN401 (an agent)
    return create_deep_agent(model, TOOLS, system_prompt=system, checkpointer=InMemorySaver())


AGENTS: Mapping[str, Make] = {
    "ContextMiddleware": _with_context,
    "create_deep_agent": _deep,
    "create_agent": _plain,
}
"""Makers of agents, by name; LangChain's own for comparison."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a thread."""

    answered: tuple[bool, ...]
    """Of the accident's own run, and the three messages after it."""
    refused: int
    """Requests that the provider refused."""
    problem: str = ""
    """What was wrong with the first of them, or the error of the first run that failed."""

    @property
    def goes_on(self) -> bool:
        """Whether every message was answered."""
        return all(self.answered)


def play(name: str, wire: str, agent: str) -> Outcome:
    """Play one accident to an agent over a wire."""
    accident = ACCIDENTS[name]
    with StrictProvider(answer=_script(accident, wire)) as provider:
        provider.models["strict-1"] = Model(text_only=bool(accident.profile))
        with chat_model(provider, wire) as model:
            if accident.profile:
                model.profile = accident.profile
            answered, error = _talk(AGENTS[agent](model, accident.system), accident, wire, provider)
        refused = [seen for seen in provider.requests if seen.status == 400]
    problems = [problem for seen in refused for problem in seen.problems]
    expected = bool(accident.fault)
    return Outcome(answered, len(refused) - expected, next(iter(problems[expected:]), error))


def _talk(
    agent: Any,  # noqa: ANN401 (an agent)
    accident: Accident,
    wire: str,
    provider: StrictProvider,
) -> tuple[tuple[bool, ...], str]:
    handed = accident.said if not (accident.calls and wire in TEXTUAL) else ()
    config = {"configurable": {"thread_id": "t"}}
    answered, error = [], ""
    for n in range(4):
        asked = HumanMessage(f"message {n}")
        if accident.fault and n == 1:
            provider.fail_next("invalid")
        try:
            state = agent.invoke({"messages": [*(handed if n == 0 else ()), asked]}, config)
            answered.append(bool(state["messages"][-1].text) or n == 0)
        except Exception as failure:  # noqa: BLE001 (whatever a client raises)
            answered.append(False)
            error = error or f"{type(failure).__name__}: {failure}"
    return tuple(answered), error


def _script(accident: Accident, wire: str) -> Callable[[Request], Answer]:
    by_model = accident.calls if wire in TEXTUAL or not accident.said else ()

    def answer(request: Request) -> Answer:
        newest = messages_of(request)[-1]
        if by_model and newest.role == "user" and "message 0" in newest.text:
            return Answer(calls=by_model)
        return Answer(f"That was request {request.number}.")

    return answer


def table(rows: Sequence[str], wires: Sequence[str], agent: str) -> list[tuple[str, ...]]:
    """Play accidents over wires and return one row each, a cell for each wire."""
    return [(name, *(_cell(play(name, wire, agent)) for wire in wires)) for name in rows]


def _cell(outcome: Outcome) -> str:
    turns = " ".join("ok" if one else "--" for one in outcome.answered)
    return turns if not outcome.refused else f"{turns} ({outcome.refused} refused)"
