"""The engine as a plug-in of other frameworks: the same tokens as in LangChain, and what it costs.

    python -m benchmarks.slots same RECORDING [--window 64000]
    python -m benchmarks.slots cost [--window 65536] [--asked 30]
    python -m benchmarks.slots growth [--sizes 1000,10000]

`same` drives a recorded thread through each adapter and through `ContextMiddleware` in a real
agent, under one policy, and prints the tokens of all requests, by the journals of their archives.
`cost` has real agents talk to the strict provider with our adapter, with what their framework
offers itself, and with nothing; the price is that of OpenAI's tariff, in uncached input tokens.
`growth` prints the CPU time of a call with ten new messages in a generated thread of each size,
without the conversion of a framework's messages, and of the first call after a restart.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from agents import Agent as SdkAgent
from agents import (
    ModelSettings,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
)
from agents.extensions import ToolOutputTrimmer
from agents.run import CallModelData, ModelInputData
from langchain.agents import create_agent
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.arena.contestants.agent import AgentContestant, PeerSetting
from benchmarks.arena.contestants.layout import ThreadLayout
from benchmarks.contestants import resident_mb
from benchmarks.threads import made_up_thread
from integrations_tests.contract.suites import slots
from integrations_tests.e2e.slot_hosts import INSTRUCTIONS, MODEL, PydanticHost, SdkHost, fetch
from strict_llm import StrictProvider
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.journal import read_pages
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter
from thalweg.engine.wires import WIRES
from thalweg_integrations.hermes import HermesThreads
from thalweg_integrations.openai_agents import ThalwegSession
from thalweg_integrations.pydantic_messages import read_messages, write_messages
from thalweg_integrations.slot import EngineSlot, HostCall
from thalweg_recorder.recordings.files import read_recording

OK = 200
View = Callable[[Sequence[Message]], None]


def _policy(window: int) -> ContextPolicy:
    return ContextPolicy.from_mapping(
        {"window": window, "summarize": False, "pricing": {"tariff": "openai"}}
    )


def same(path: Path, window: int) -> None:
    """Print the tokens of a recorded thread's requests, by adapter."""
    messages = read_recording(path).messages
    with open_archive(":memory:") as archive:
        middleware = ContextMiddleware(_policy(window), archive=archive)

        def make(setting: PeerSetting) -> Any:  # noqa: ANN401 (LangGraph's)
            return create_agent(
                setting.model,
                system_prompt=setting.system,
                middleware=[middleware, setting.results],
                checkpointer=setting.saver,
            )

        agent = AgentContestant(make, window)
        for message in messages:
            if message.role == "assistant":
                agent.request(cold=False)
            agent.receive(message)
        _print("LangChain, ContextMiddleware", archive)
        agent.close()
    for name, make_view in ADAPTERS.items():
        with open_archive(":memory:") as archive:
            view = make_view(archive, window)
            for said in _states(messages):
                view(said)
            _print(name, archive)


def _states(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the thread before each of its model calls, laid out as a provider takes it."""
    layout, said = ThreadLayout(exact_counter()), list[Message]()
    for message in messages:
        if message.role == "assistant":
            said += [item.message for item in layout.new() if item.message.role != "system"]
            if said and said[-1].role != "assistant":
                yield said
        layout.receive(message)


def _sdk(archive: Archive, window: int) -> View:
    session, wire = ThalwegSession("t", _policy(window), archive=archive), WIRES["openai-responses"]
    agent: Any = SdkAgent("a", model=MODEL)

    def view(said: Sequence[Message]) -> None:
        data = ModelInputData(input=wire.write(said), instructions=None)
        asyncio.run(session.filter_input(CallModelData(data, agent, None)))

    return view


def _pydantic(archive: Archive, window: int) -> View:
    slot = EngineSlot(_policy(window), archive=archive)

    def view(said: Sequence[Message]) -> None:
        passed = read_messages(write_messages(said))
        slot.view("t", passed, HostCall(f"openai:{MODEL}", "openai-chat"))

    return view


def _hermes(archive: Archive, window: int) -> View:
    engine, wire = HermesThreads(EngineSlot(_policy(window), archive=archive)), WIRES["openai-chat"]
    engine.update_model(MODEL, window, provider="openai")
    engine.on_session_start("t")

    def view(said: Sequence[Message]) -> None:
        engine.select_context(wire.write(said))

    return view


def growth(sizes: Sequence[int], window: int) -> None:
    """Print the CPU milliseconds of calls and of resumes, by messages of the thread."""
    host = HostCall(f"openai:{MODEL}", "openai-chat")

    def view(slot: EngineSlot, said: list[Message]) -> float:
        begun = time.process_time()
        slot.view("t", said, host)
        return (time.process_time() - begun) * 1_000

    def recall(slot: EngineSlot, query: str) -> float:
        begun = time.process_time()
        slot.recall("t", query=query)
        return (time.process_time() - begun) * 1_000

    print(f"{'messages':>9} {'call ms':>9} {'mean':>9} {'resume':>9} {'recall':>9} {'RSS MB':>7}")
    for size in sizes:
        said = list(made_up_thread(size + 2 * CALLS * NEW))[1:]
        ends = range(size, size + CALLS * NEW, NEW)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "archive.db"
            with EngineSlot(_policy(window), archive=path) as slot:
                for end in range(CHUNK, size, CHUNK):
                    view(slot, _until_call(said, end))
                calls = [view(slot, _until_call(said, end)) for end in ends]
                recall(slot, "ba")  # indexes what is missing
                found = [recall(slot, f"quibace {k}") for k in range(RESUMES)]
            resumes = []
            for end in range(ends.stop, ends.stop + RESUMES * NEW, NEW):
                with EngineSlot(_policy(window), archive=path) as slot:
                    resumes.append(view(slot, _until_call(said, end)))
        cells = (median(calls), mean(calls), median(resumes), median(found))
        print(f"{size:9,}", *(f"{one:9.1f}" for one in cells), f"{resident_mb():7.0f}", flush=True)


CALLS, NEW, CHUNK, RESUMES = 24, 10, 500, 9
"""Calls that are measured, new messages of each, messages of each call before, and restarts."""


def _until_call(said: Sequence[Message], end: int) -> list[Message]:
    """Return the messages up to the first place from an end on where a model is called."""
    while said[end - 1].role == "assistant" or said[end].role == "tool":
        end += 1
    return [*said[:end]]


ADAPTERS = {"OpenAI Agents SDK": _sdk, "Pydantic AI": _pydantic, "Hermes Agent": _hermes}


def _print(name: str, archive: Archive) -> None:
    (thread,) = archive.threads("local")
    key = ThreadKey("local", thread)
    pages = [page for page in read_pages(archive, key).values() if page.kind == "call"]
    beside = ("system", "tools", "added")
    sent = sum(n for page in pages for part, n in page.tokens.items() if part not in beside)
    kinds = [type(edit).__name__ for page in pages for edit in page.edits]
    edits = ", ".join(f"{kind} {kinds.count(kind)}" for kind in sorted(set(kinds)))
    print(f"{name:30} {len(pages):5} calls {sent:12,} tokens of messages; {edits}")


def cost(window: int, asked: int) -> None:
    """Print what a long thread costs, by framework and by who keeps its context."""
    slots.ASKED = asked
    for name, run in RUNS.items():
        with StrictProvider(window=window, answer=slots.reader, keep_bodies=False) as provider:
            done = 0
            try:
                for finished in run(provider.openai_url, window):
                    done = finished
            except Exception as error:  # noqa: BLE001 (whatever the framework raises ends its run)
                print(f"{name}: {type(error).__name__}: {str(error)[:90]}")
        seen = [one for one in provider.requests if one.status == OK]
        refused = len(provider.requests) - len(seen)
        tariff = NAMED_TARIFFS["openai"]
        read, cached = sum(s.tokens for s in seen), sum(s.cached_tokens for s in seen)
        wrote = sum(s.output_tokens for s in seen)
        price = read - cached + tariff.read * cached + tariff.output * wrote
        print(
            f"{name:42} {done:3} of {asked} answers, {refused} refused; read {read:10,} "
            f"({cached:10,} cached), wrote {wrote:6,}: {price:10,.0f}"
        )


def _ours(kind: Any) -> Callable[[str, int], Iterator[int]]:  # noqa: ANN401 (either host)
    def run(url: str, window: int) -> Iterator[int]:
        host = kind(url, ":memory:", "t", ContextPolicy(window=window, max_output=2_000))
        for number in range(slots.ASKED):
            host.ask(f"Question {number}: which gauge is highest?")
            yield number + 1

    return run


def _sdk_itself(trimmer: Any) -> Callable[[str, int], Iterator[int]]:  # noqa: ANN401 (a filter)
    def run(url: str, window: int) -> Iterator[int]:
        del window
        session = SQLiteSession("t")
        config = RunConfig(call_model_input_filter=trimmer, tracing_disabled=True)

        async def ask(text: str) -> None:
            client = AsyncOpenAI(base_url=url, api_key="x", max_retries=0)
            agent = SdkAgent(
                "reader",
                instructions=INSTRUCTIONS,
                model=OpenAIResponsesModel(MODEL, client),
                model_settings=ModelSettings(max_tokens=2_000),
                tools=[function_tool(fetch)],
            )
            await Runner.run(agent, text, session=session, run_config=config)
            await client.close()

        for number in range(slots.ASKED):
            asyncio.run(ask(f"Question {number}: which gauge is highest?"))
            yield number + 1

    return run


def _newest(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Keep the newest messages, from a person's on: the processor of its documentation."""
    begins = [
        k
        for k, message in enumerate(messages)
        if isinstance(message, ModelRequest)
        and any(isinstance(part, UserPromptPart) for part in message.parts)
    ]
    first = next((k for k in begins if len(messages) - k <= 40), begins[-1])  # noqa: PLR2004
    return messages[first:]


def _pydantic_itself(capabilities: list[Any]) -> Callable[[str, int], Iterator[int]]:
    def run(url: str, window: int) -> Iterator[int]:
        del window
        history: list[ModelMessage] = []

        async def ask(text: str) -> list[ModelMessage]:
            client = AsyncOpenAI(base_url=url, api_key="x", max_retries=0)
            agent = Agent(
                OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
                instructions=INSTRUCTIONS,
                tools=[fetch],
                capabilities=capabilities,
            )
            done = await agent.run(text, message_history=history)
            await client.close()
            return done.all_messages()

        for number in range(slots.ASKED):
            history = asyncio.run(ask(f"Question {number}: which gauge is highest?"))
            yield number + 1

    return run


RUNS = {
    "OpenAI Agents SDK, ThalwegSession": _ours(SdkHost),
    "OpenAI Agents SDK, ToolOutputTrimmer": _sdk_itself(ToolOutputTrimmer()),
    "OpenAI Agents SDK, nothing": _sdk_itself(None),
    "Pydantic AI, ThalwegContext": _ours(PydanticHost),
    "Pydantic AI, the newest 40 messages": _pydantic_itself([ProcessHistory(_newest)]),
    "Pydantic AI, nothing": _pydantic_itself([]),
}


def main() -> int:
    """Run one of the three."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["same", "cost", "growth"])
    parser.add_argument("recording", nargs="?", type=Path)
    parser.add_argument("--window", type=int, default=65_536)
    parser.add_argument("--asked", type=int, default=30)
    parser.add_argument("--sizes", default="1000,10000", help="messages of the threads of growth")
    asked = parser.parse_args()
    if asked.what == "same":
        same(asked.recording, asked.window)
    elif asked.what == "growth":
        growth([*map(int, asked.sizes.split(","))], asked.window)
    else:
        cost(asked.window, asked.asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
