"""What a recorded session costs with a large catalogue of tools: deferred, not, and deepagents.

    uv run python -m benchmarks.deferred_tools CATALOGUE.json SESSION.jsonl… [--window 128000]

CATALOGUE.json is a list of tools (`name`, `description`, `parameters`), of which the session uses
none; its own tools are added to it. Real agents (`thalweg_agent.create_deep_agent`, with and
without `defer_tools`, and `deepagents.create_deep_agent`) repeat the session against the strict
double of
Anthropic's API, which counts, caches and refuses as documented. A model that does not see a tool
calls `find_tools` for it first. Costs are in uncached input tokens, output included.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deepagents
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from benchmarks.arena.sources import read_thread
from strict_llm import Answer, Request, StrictProvider
from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg_agent import create_deep_agent

MODEL = "claude-opus-5"
_SUMMARIZES = ("[This is not the user speaking.]", "<transcript")


@dataclass(slots=True)
class Session:
    """A recorded session as a script: runs of answers, and the results of their calls."""

    runs: list[tuple[str, list[Answer]]] = field(default_factory=list)
    """The user's words, and the model's answers until the next ones."""
    results: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """Of the tools that it uses."""

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "Session":
        """Read a session: calls without results are skipped, and each run ends with a text."""
        answered = {m.answers: m.text for m in messages if m.role == "tool" and m.answers}
        session, said = cls(), ""
        for message in messages:
            if message.role == "user":
                said = f"{said}\n\n{message.text}".strip()
            elif message.role == "assistant":
                if said or not session.runs:
                    session.runs.append((said or "Begin.", []))
                    said = ""
                session.runs[-1][1].extend(session._answer(message, answered))
        for _, answers in session.runs:
            if not answers or answers[-1].calls:
                answers.append(Answer("Done."))
        return session

    def _answer(self, message: Message, answered: Mapping[str, str]) -> Iterator[Answer]:
        calls: list[tuple[str, dict[str, Any]]] = []
        for call in message.calls:
            if call.id in answered:
                calls.append((call.name, {"number": len(self.results), "given": call.arguments}))
                self.results.append(answered[call.id])
                self.names.add(call.name)
        if calls:
            yield Answer(message.text, tuple(calls))

    def tools(self) -> list[BaseTool]:
        """Make the tools that it uses."""

        def run(number: int, given: str) -> str:
            del given
            return self.results[number] or "(empty)"

        about = "The tool of this name of a coding agent, with its arguments as JSON."
        return [
            StructuredTool.from_function(run, name=name, description=about)
            for name in sorted(self.names)
        ]


def catalogue(path: str) -> list[BaseTool]:
    """Make the tools of a catalogue, which are never called."""

    def refuse(**_: object) -> str:
        raise AssertionError

    return [
        StructuredTool(
            name=tool["name"],
            description=tool["description"],
            args_schema=tool["parameters"],
            func=refuse,
        )
        for tool in json.loads(Path(path).read_text(encoding="utf-8"))
    ]


@dataclass(slots=True)
class Script:
    """Answers as the session did, after a search where it does not see a tool."""

    answers: list[Answer] = field(default_factory=list)
    searches: int = 0

    def __call__(self, request: Request) -> Answer:
        """Return the next answer."""
        last = request.last_text
        if not request.tools or any(mark in last for mark in _SUMMARIZES):
            return Answer("## State of work\n" + "- It goes on as it was agreed. " * 60)
        seen = {tool.name for tool in request.tools}
        lacking = [name for name, _ in self.answers[0].calls if name not in seen]
        if lacking:
            self.searches += 1
            return Answer("", (("find_tools", {"query": ", ".join(lacking)}),))
        return self.answers.pop(0)


Maker = Callable[[Any, list[BaseTool], int], Any]


def _ours(defer: str) -> Maker:
    def make(model: Any, tools: list[BaseTool], window: int) -> Any:  # noqa: ANN401 (LangGraph's)
        context = {"window": window, "background": False, "defer_tools": defer}
        saver = InMemorySaver()
        return create_deep_agent(
            model, tools, context=context, archive=":memory:", checkpointer=saver
        )

    return make


def _deepagents(model: Any, tools: list[BaseTool], window: int) -> Any:  # noqa: ANN401 (LangGraph's)
    del window  # it reads the model's profile
    return deepagents.create_deep_agent(model, tools, checkpointer=InMemorySaver())


MAKERS: Mapping[str, Maker] = {
    "thalweg, deferred": _ours("provider"),
    "thalweg": _ours("off"),
    "deepagents": _deepagents,
}


@dataclass(slots=True)
class Bill:
    """What the requests of one agent cost."""

    calls: int = 0
    searches: int = 0
    cost: float = 0.0
    refused: int = 0


def drive(session: Session, make: Maker, others: Sequence[BaseTool], window: int) -> Bill:
    """Repeat a session with an agent, and add up its requests."""
    script = Script()
    with StrictProvider(answer=script, window=window) as provider:
        model = ChatAnthropic(
            model_name=MODEL,
            base_url=provider.anthropic_url,
            api_key=SecretStr("x"),
            max_tokens_to_sample=8_000,
            max_retries=0,
            timeout=60,
            stop=None,
            profile={"max_input_tokens": window, "tool_calling": True},
        )
        agent = make(model, [*others, *session.tools()], window)
        config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 9_999}
        for said, answers in session.runs:
            script.answers = list(answers)
            agent.invoke({"messages": [HumanMessage(said)]}, config)
        seen = provider.requests
    bill = Bill(len(seen), script.searches)
    for one in seen:
        prices = NAMED_TARIFFS[MODEL].prices(one.tokens)
        plain = one.tokens - one.cached_tokens - one.written_tokens
        bill.cost += prices.read * one.cached_tokens + prices.write * one.written_tokens
        bill.cost += prices.input * plain + prices.output * one.output_tokens
        bill.refused += bool(one.problems)
    return bill


def main() -> None:
    """Print the cost of each session under each agent."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("catalogue")
    parser.add_argument("sessions", nargs="+")
    parser.add_argument("--window", type=int, default=128_000)
    asked = parser.parse_args()
    others = catalogue(asked.catalogue)
    print(f"{'session':32} {'agent':18} calls  searches  refused        cost  of deepagents")
    for path in asked.sessions:
        session = Session.of(read_thread(Path(path)).messages)
        bills = {
            name: drive(Session(session.runs, session.results, session.names), *rest)
            for name, rest in (
                (name, (make, others, asked.window)) for name, make in MAKERS.items()
            )
        }
        for name, bill in bills.items():
            share = bill.cost / bills["deepagents"].cost
            print(
                f"{Path(path).name[:32]:32} {name:18} {bill.calls:5} {bill.searches:9} "
                f"{bill.refused:8} {bill.cost:11,.0f}  {share:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
