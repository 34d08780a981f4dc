"""Plays a story with the real client of a provider, a real agent and the real saver."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from core_tests.archives import archive_in_memory
from tests.rules.endpoint import Endpoint
from tests.rules.rule import Provider
from tests.rules.story import PNG, Author, Result, ResultKind, Story, Turn
from thalweg import ContextMiddleware, ContextPolicy
from thalweg.archive import Archive, ThreadKey
from thalweg.engine.entries import Media
from thalweg.engine.transcript import as_text
from thalweg_agent import create_deep_agent

AgentKind = Literal["create_agent", "create_deep_agent"]
Variant = Literal["plain", "other-tools", "other-prompt"]

KINDS: tuple[AgentKind, ...] = ("create_agent", "create_deep_agent")
MODELS: dict[Provider, tuple[str, ...]] = {
    "openai-chat": ("gpt-4o", "gpt-5.2"),
    "openai-responses": ("gpt-5.2", "gpt-5.2 stored"),
    "anthropic": ("claude-fable-5-2", "claude-sonnet-4-5", "claude-opus-5-5"),
    "gemini": ("gemini-3-pro-preview", "gemini-2.5-flash"),
}
OWN_WINDOWS = {"gpt-4o": 128_000, "gpt-5.2": 272_000, "claude-sonnet-4-5": 200_000}
"""Input tokens as stated on the providers' pages; of the others a million."""
BARE: dict[ResultKind, object] = {
    "error": {"error": "unavailable", "status": 503},
    "empty": "",
    "blank": " \n ",
    "empty-list": [],
}
"""Results without a page's text."""
WINDOWS: dict[AgentKind, tuple[int, ...]] = {
    "create_agent": (6_000, 12_000, 40_000),
    "create_deep_agent": (20_000, 40_000),
}


class ToolCrashedError(Exception):
    """The tool dies, and the run with it."""


def client(provider: Provider, model: str, address: str) -> BaseChatModel:
    """Return the provider's real client, without retries."""
    key = SecretStr("x")
    if provider == "anthropic":
        thinking = {"type": "enabled", "budget_tokens": 1024}
        return ChatAnthropic(
            model_name=model,
            base_url=address,
            api_key=key,
            max_retries=0,
            max_tokens_to_sample=2_000,
            thinking=thinking if "4-5" in model else {"type": "adaptive"},
            timeout=None,
            stop=None,
        )
    if provider == "gemini":
        return ChatGoogleGenerativeAI(model=model, base_url=address, api_key=key, max_retries=1)
    name, _, stored = model.partition(" ")
    if provider == "openai-chat":
        return ChatOpenAI(model=name, base_url=f"{address}/v1", api_key=key, max_retries=0)
    include = None if stored else ["reasoning.encrypted_content"]
    return ChatOpenAI(
        model=name,
        base_url=f"{address}/v1",
        api_key=key,
        max_retries=0,
        use_responses_api=True,
        store=bool(stored),
        include=include,
        output_version="responses/v1",
    )


@dataclass(slots=True)
class Stage:
    """One agent on one endpoint, used for many stories, one thread each."""

    provider: Provider
    kind: AgentKind
    model: str
    window: int
    point: Endpoint
    address: str
    archive: Archive = field(default_factory=archive_in_memory)
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    results: dict[int, Result] = field(default_factory=dict)
    returned: list[tuple[int, str]] = field(default_factory=list)
    """Each text that the tool returned, with the number of the answer that asked for it."""

    agents: dict[str, Any] = field(default_factory=dict)

    def agent(self, variant: Variant = "plain") -> Any:  # noqa: ANN401 (a compiled graph)
        """Return an agent on this archive and saver; each is built once."""
        if variant not in self.agents:
            self.agents[variant] = self.built(variant)
        return self.agents[variant]

    def built(self, variant: Variant) -> Any:  # noqa: ANN401 (a compiled graph)
        """Build an agent: the plain one, one with a tool more, or one with another prompt."""
        system = "You are very careful." if variant == "other-prompt" else "You are careful."
        extra = variant == "other-tools"
        model = client(self.provider, self.model, self.address)
        tools: list[BaseTool] = [self.fetch(), *([note] if extra else [])]
        policy = ContextPolicy(window=self.window)
        if self.kind == "create_deep_agent":
            return create_deep_agent(
                model,
                tools,
                system_prompt=system,
                context=policy,
                archive=self.archive,
                checkpointer=self.saver,
            )
        return create_agent(
            model,
            tools,
            system_prompt=system,
            middleware=[ContextMiddleware(policy, archive=self.archive)],
            checkpointer=self.saver,
        )

    def fetch(self) -> BaseTool:
        """Return the tool that returns the story's results."""

        @tool("fetch")
        def fetch(page: int) -> Any:  # noqa: ANN401 (whatever tools return)
            """Fetch a page."""
            return self.returns(page)

        return fetch

    def returns(self, page: int) -> object:
        """Return a page as its story has it."""
        result = self.results.get(page)
        if result is None:
            return "no such page"
        if result.kind == "crash":
            raise ToolCrashedError(page)
        if result.kind in BARE:
            return BARE[result.kind]
        self.returned.append((self.point.serial, result.text))
        block = {"type": "text", "text": result.text}
        if result.kind == "blocks":
            return [block, {"type": "text", "text": ""}]
        image = {"type": "image", "base64": PNG, "mime_type": "image/png"}
        return [block, image] if result.kind == "image" else result.text


@tool("note")
def note(text: str) -> str:
    """Keep a note."""
    return f"noted {text}"


@dataclass(slots=True)
class Outcome:
    """What came of one story."""

    seed: int
    requests: int = 0
    refused: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """Turns that raised where nothing in the story made them."""
    lost: list[str] = field(default_factory=list)
    """Texts that cannot be read back from the archive."""

    @property
    def faults(self) -> list[str]:
        """Everything that should not have happened."""
        return [*self.refused, *self.over, *self.failed, *self.lost]


@dataclass(slots=True)
class Player:
    """Plays one story on a stage."""

    stage: Stage
    story: Story
    said: list[str] = field(default_factory=list)

    @property
    def thread(self) -> str:
        """Return the thread's id: seeds are played once each, with and without accidents."""
        return f"{self.story.seed}{'-calm' if self.story.calm else ''}"

    @property
    def config(self) -> dict[str, Any]:
        """Return the thread's config."""
        return {"configurable": {"thread_id": self.thread}, "recursion_limit": 200}

    def play(self) -> Outcome:
        """Play every turn; what fails is in the outcome, and the next turn is played."""
        point, outcome = self.stage.point, Outcome(self.story.seed)
        requests, refused, over = point.requests, len(point.refused), len(point.over)
        point.written.clear()
        self.stage.returned.clear()
        self.stage.results.clear()
        self.stage.results.update(self.story.results)
        for number, turn in enumerate(self.story.turns):
            try:
                self.take(number, turn)
            except Exception as error:  # noqa: BLE001 (whatever a run may raise)
                if not self.expected(turn, error):
                    outcome.failed.append(f"turn {number}: {type(error).__name__}: {error}"[:300])
        outcome.requests = point.requests - requests
        outcome.refused = point.refused[refused:]
        outcome.over = point.over[over:]
        outcome.lost = list(self.lost())
        return outcome

    def expected(self, turn: Turn, error: Exception) -> bool:
        """Whether the story itself made the run fail."""
        if isinstance(error, ToolCrashedError):  # its siblings' results reach no checkpoint
            stage = self.stage
            stage.returned = [kept for kept in stage.returned if kept[0] != stage.point.serial]
            return True
        return any(m.fails for m in turn.moves) and "Internal server error" in str(error)

    def take(self, number: int, turn: Turn) -> None:
        """Do what comes before the message, then send it."""
        agent = self.stage.agent()
        config = self.config
        match turn.before:
            case "other-tools" | "other-prompt":
                agent = self.stage.agent(turn.before)
            case "rewind":
                states = list(agent.get_state_history(config))
                still = [s for s in states if s.next == ()]
                if len(still) > 1:
                    config = still[1].config | {"recursion_limit": 200}
            case "edit" | "remove":
                self.rewrite(agent, config, turn.before)
        self.stage.point.play(turn.moves)
        messages = [*(self.foreign() if number == 0 else []), HumanMessage(turn.content)]
        agent.invoke({"messages": messages}, config)
        if isinstance(turn.content, str):
            self.said.append(turn.content)

    def rewrite(self, agent: Any, config: dict[str, Any], how: str) -> None:  # noqa: ANN401
        """Edit or delete the last message that the user wrote, as a user interface does."""
        held = agent.get_state(config).values.get("messages", [])
        people = [m for m in held if isinstance(m, HumanMessage) and m.id]
        if not people:
            return
        last = people[-1]
        change = (
            HumanMessage("What I meant: go on.", id=last.id)
            if how == "edit"
            else RemoveMessage(id=str(last.id))
        )
        agent.update_state(config, {"messages": [change]})
        self.said = [text for text in self.said if text != last.content]

    def foreign(self) -> list[Any]:
        """Return messages of another provider's model that the thread begins with."""
        if not self.story.foreign:
            return []
        calls = [
            {"id": identity, "name": name, "args": {"page": 0}, "type": "tool_call"}
            for identity, name in self.story.foreign
        ]
        asked: list[Any] = [HumanMessage("Begin."), AIMessage("", tool_calls=calls)]
        return asked + [ToolMessage("old", tool_call_id=call["id"]) for call in calls]

    def lost(self) -> list[str]:
        """Return texts that neither the archive nor the graph's state has word for word."""
        key = ThreadKey("local", self.thread)
        kept = self.stage.archive.messages(key)
        whole = "\0".join(as_text(message) for message in kept)
        media = {part.data for m in kept for part in m.parts if isinstance(part, Media)}
        held = repr(self.stage.agent().get_state(self.config).values.get("messages", []))
        returned = [text for _, text in self.stage.returned]
        texts = [*self.said, *returned, *self.stage.point.written]
        images = [r for r in self.story.results.values() if r.kind == "image"]
        gone = [text for text in texts if text not in whole and repr(text)[1:-1] not in held]
        if any(r.text in returned for r in images) and PNG not in media:
            gone += [] if PNG in held else ["the image"]
        return [repr(text[:60]) for text in gone]


@dataclass(slots=True)
class Theatre:
    """Every stage of one provider and kind of agent, made when first used."""

    provider: Provider
    kind: AgentKind
    address_of: Callable[[Endpoint], str]
    """Serves an endpoint."""
    stages: dict[tuple[str, int], Stage] = field(default_factory=dict)

    def play(self, seed: int, *, calm: bool = False) -> Outcome:
        """Play the story of a seed on the stage of that seed, with or without accidents."""
        models, windows = MODELS[self.provider], WINDOWS[self.kind]
        model = models[seed % len(models)]
        window = windows[seed // len(models) % len(windows)]
        if (model, window) not in self.stages:
            point = Endpoint(window, OWN_WINDOWS.get(model.partition(" ")[0], 1_000_000))
            address = self.address_of(point)
            stage = Stage(self.provider, self.kind, model, window, point, address)
            self.stages[model, window] = stage
        author = Author(seed, long=window // 2 * 3, calm=calm)
        return Player(self.stages[model, window], author.story()).play()
