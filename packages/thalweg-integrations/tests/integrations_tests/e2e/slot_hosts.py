"""Agents of three frameworks with our engine in their seam, for the contract and for figures.

    python -m integrations_tests.e2e.slot_hosts HOST URL ARCHIVE THREAD STATE

asks an agent every line of its input and prints each answer; STATE is the file in which the
application stores the framework's state.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from agents import Agent as SdkAgent
from agents import OpenAIResponsesModel, Runner, function_tool
from openai import AsyncOpenAI, BadRequestError, OpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from integrations_tests.contract.suites.slots import WINDOW
from integrations_tests.contract.suites.slots import fetch as fetch_page
from thalweg.engine.settings import ContextPolicy
from thalweg_integrations.hermes import HermesThreads
from thalweg_integrations.openai_agents import ThalwegSession
from thalweg_integrations.pydantic_ai import ThalwegContext
from thalweg_integrations.slot import EngineSlot

MODEL = "gpt-5.1"
OUTPUT = 2_000
POLICY = ContextPolicy(window=WINDOW, max_output=OUTPUT)
OPEN_POLICY = ContextPolicy(max_output=OUTPUT)
"""For a framework that states the window of its model."""
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
            config = replace(session.run_config, tracing_disabled=True)
            done = await Runner.run(
                agent, text, session=session, run_config=config, hooks=session.hooks
            )
            await client.close()
            return str(done.final_output)

        return asyncio.run(run())

    def reopened(self) -> Self:
        """Return the agent of another process."""
        return type(self)(self.url, self.archive, self.thread, self.policy)

    def state(self) -> str:
        """Return what the application keeps: the session has the conversation."""
        return ""

    def resume(self, state: str) -> None:
        """Continue from what the application kept."""

    def close(self) -> None:
        """Close the archive."""
        self.session.close()


@dataclass
class PydanticHost:
    """An agent of Pydantic AI; its history is stored in a file, as applications keep it."""

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
        other = type(self)(self.url, self.archive, self.thread, self.policy)
        other.resume(self.state())
        return other

    def state(self) -> str:
        """Return what the application keeps."""
        return ModelMessagesTypeAdapter.dump_json(self.history).decode()

    def resume(self, state: str) -> None:
        """Continue from what the application kept."""
        self.history = ModelMessagesTypeAdapter.validate_json(state)

    def close(self) -> None:
        """Close the archive."""
        self.context.close()


Rows = list[dict[str, Any]]
ATTEMPTS = 4
"""How often Hermes 0.19 sends a request: after each refusal for its size it calls `compress`."""
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
    policy: ContextPolicy = OPEN_POLICY
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
        for attempt in range(ATTEMPTS):
            try:
                got = client.chat.completions.create(
                    model=MODEL, messages=self._sent(), tools=tools
                )
            except BadRequestError as error:
                if attempt == ATTEMPTS - 1:
                    raise
                self._shrink(str(error))
            else:
                break
        if got.usage is not None:
            self.engine.update_from_response(got.usage.model_dump())
        self.rows.append(got.choices[0].message.model_dump(exclude_none=True))
        return self.rows[-1].get("tool_calls") or []

    def _shrink(self, said: str) -> None:
        """Do as Hermes does after a refusal: set the window that it names, and compress."""
        named = re.search(r"maximum context length is (\d+)", said)
        if named and int(named[1]) < self.engine.context_length:
            self.engine.update_model(MODEL, int(named[1]), provider="openai")
        self.rows = self.engine.compress([*self.rows])

    def _sent(self) -> Any:  # noqa: ANN401 (OpenAI's messages)
        sent = [*self.system, *self.rows]
        if not self.selects:
            return sent
        kept = json.loads(json.dumps(self.rows))  # a copy, as Hermes makes one
        budget = self.engine.context_length
        return self.engine.select_context(sent, conversation_messages=kept, budget_tokens=budget)

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        name, asked = call["function"]["name"], json.loads(call["function"]["arguments"])
        told = fetch(**asked) if name == "fetch" else self.engine.handle_tool_call(name, asked)
        return {"role": "tool", "tool_call_id": call["id"], "content": told}

    def reopened(self) -> Self:
        """Return the agent of another process."""
        other = type(self)(self.url, self.archive, self.thread, self.selects, self.policy)
        other.resume(self.state())
        return other

    def state(self) -> str:
        """Return what Hermes keeps."""
        return json.dumps(self.rows)

    def resume(self, state: str) -> None:
        """Continue from what Hermes kept."""
        self.rows = json.loads(state)

    def close(self) -> None:
        """End the session, as Hermes does when its process ends, and close the archive."""
        self.engine.on_session_end(self.thread, self.rows)
        self.engine.slot.close()


Host = SdkHost | PydanticHost | HermesLoop
HOSTS: dict[str, Callable[[str, Path | str, str], Host]] = {
    "openai-agents": SdkHost,
    "pydantic-ai": PydanticHost,
    "hermes, selecting": partial(HermesLoop, selects=True),
    "hermes, compressing": partial(HermesLoop, selects=False),
}


def main(name: str, url: str, archive: str, thread: str, place: str) -> None:
    """Ask every line of the input."""
    host, state = HOSTS[name](url, archive, thread), Path(place)
    if state.exists():
        host.resume(state.read_text("utf-8"))
    for line in sys.stdin:
        sys.stdout.write(f"{host.ask(line.strip())}\n")
        sys.stdout.flush()
        state.write_text(host.state(), "utf-8")
    host.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
