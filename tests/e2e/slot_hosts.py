"""Agents of three frameworks with our engine in their seam, for the contract and for figures."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from agents import Agent as SdkAgent
from agents import OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI, OpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from thalweg.engine.settings import ContextPolicy
from thalweg.integrations.hermes import HermesThreads
from thalweg.integrations.openai_agents import ThalwegSession
from thalweg.integrations.pydantic_ai import ThalwegContext
from thalweg.integrations.slot import EngineSlot
from thalweg.testing.slots import WINDOW
from thalweg.testing.slots import fetch as fetch_page
from thalweg.testing.strict import StrictProvider

MODEL = "gpt-5.1"
OUTPUT = 2_000
POLICY = ContextPolicy(window=WINDOW, max_output=OUTPUT)
INSTRUCTIONS = "Answer briefly."


def fetch(page: int) -> str:
    """Return the text of a page."""
    return fetch_page(page)


@dataclass
class SdkHost:
    """An agent of OpenAI's Agents SDK."""

    url: str
    archive: Path | str
    thread: str
    policy: ContextPolicy = POLICY
    session: ThalwegSession = field(init=False)

    def __post_init__(self) -> None:
        self.session = ThalwegSession(self.thread, self.policy, archive=self.archive)

    def ask(self, text: str) -> str:
        """Run the agent."""
        session = self.session

        async def run() -> str:
            client = AsyncOpenAI(base_url=self.url, api_key="x", max_retries=0)
            agent = SdkAgent(
                "reader",
                instructions=INSTRUCTIONS,
                model=OpenAIResponsesModel(MODEL, client),
                tools=[function_tool(fetch), session.recall_tool],
            )
            config = RunConfig(call_model_input_filter=session.filter_input, tracing_disabled=True)
            done = await Runner.run(
                agent, text, session=session, run_config=config, hooks=session.hooks
            )
            await client.close()
            return str(done.final_output)

        return asyncio.run(run())

    def reopened(self) -> Self:
        """Return the agent of another process."""
        return type(self)(self.url, self.archive, self.thread, self.policy)

    def close(self) -> None:
        """Close the archive."""
        self.session.close()


@dataclass
class PydanticHost:
    """An agent of Pydantic AI; its history goes through a file, as applications keep it."""

    url: str
    archive: Path | str
    thread: str
    policy: ContextPolicy = POLICY
    history: list[ModelMessage] = field(default_factory=list)
    context: ThalwegContext = field(init=False)

    def __post_init__(self) -> None:
        self.context = ThalwegContext(self.policy, archive=self.archive)

    def ask(self, text: str) -> str:
        """Run the agent."""

        async def run() -> str:
            client = AsyncOpenAI(base_url=self.url, api_key="x", max_retries=0)
            agent = Agent(
                OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
                instructions=INSTRUCTIONS,
                tools=[fetch],
                capabilities=[self.context],
            )
            done = await agent.run(text, message_history=self.history, conversation_id=self.thread)
            self.history = done.all_messages()
            await client.close()
            return done.output

        return asyncio.run(run())

    def reopened(self) -> Self:
        """Return the agent of another process."""
        stored = ModelMessagesTypeAdapter.dump_json(self.history)
        history = ModelMessagesTypeAdapter.validate_json(stored)
        return type(self)(self.url, self.archive, self.thread, self.policy, history)

    def close(self) -> None:
        """Close the archive."""
        self.context.close()


Rows = list[dict[str, Any]]
TOOL = {
    "name": "fetch",
    "description": "Return the text of a page.",
    "parameters": {"type": "object", "properties": {"page": {"type": "integer"}}},
}


@dataclass
class HermesLoop:
    """A loop that calls a context engine as Hermes Agent documents it.

    `selects`: for each request, as newer versions do; else when the threshold is reached.
    """

    url: str
    archive: Path | str
    thread: str
    selects: bool
    policy: ContextPolicy = POLICY
    rows: Rows = field(default_factory=list)
    engine: HermesThreads = field(init=False)
    system: Sequence[dict[str, Any]] = ({"role": "system", "content": INSTRUCTIONS},)

    def __post_init__(self) -> None:
        self.engine = HermesThreads(EngineSlot(self.policy, archive=self.archive))
        self.engine.update_model(MODEL, WINDOW, provider="openai")
        self.engine.on_session_start(self.thread)

    def ask(self, text: str) -> str:
        """Run the agent."""
        self.rows.append({"role": "user", "content": text})
        with OpenAI(base_url=self.url, api_key="x", max_retries=0) as client:
            while calls := self._answered(client):
                for call in calls:
                    self.rows.append(self._result(call))
        if self.selects:
            self.engine.on_turn_complete(self.rows)
        return str(self.rows[-1]["content"])

    def _answered(self, client: OpenAI) -> list[dict[str, Any]]:
        schemas = [TOOL, *self.engine.get_tool_schemas()]
        tools: Any = [{"type": "function", "function": schema} for schema in schemas]
        if not self.selects and self.engine.should_compress():
            self.rows = self.engine.compress([*self.rows])
        sent: Any = [*self.system, *self.rows]
        if self.selects:
            kept = json.loads(json.dumps(self.rows))  # a copy, as Hermes makes one
            sent = self.engine.select_context(
                sent, conversation_messages=kept, budget_tokens=WINDOW
            )
        got = client.chat.completions.create(
            model=MODEL, messages=sent, tools=tools, max_completion_tokens=OUTPUT
        )
        if got.usage is not None:
            self.engine.update_from_response(got.usage.model_dump())
        self.rows.append(got.choices[0].message.model_dump(exclude_none=True))
        return self.rows[-1].get("tool_calls") or []

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        name, asked = call["function"]["name"], json.loads(call["function"]["arguments"])
        told = fetch(**asked) if name == "fetch" else self.engine.handle_tool_call(name, asked)
        return {"role": "tool", "tool_call_id": call["id"], "content": told}

    def reopened(self) -> Self:
        """Return the agent of another process."""
        rows = json.loads(json.dumps(self.rows))
        return type(self)(self.url, self.archive, self.thread, self.selects, self.policy, rows)

    def close(self) -> None:
        """Close the archive."""
        self.engine.slot.close()


Make = Callable[[StrictProvider, Path | str, str], "SdkHost | PydanticHost | HermesLoop"]
HOSTS: dict[str, Make] = {
    "openai-agents": lambda p, archive, thread: SdkHost(p.openai_url, archive, thread),
    "pydantic-ai": lambda p, archive, thread: PydanticHost(p.openai_url, archive, thread),
    "hermes, selecting": lambda p, a, t: HermesLoop(p.openai_url, a, t, selects=True),
    "hermes, compressing": lambda p, a, t: HermesLoop(p.openai_url, a, t, selects=False),
}
