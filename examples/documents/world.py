"""A gateway and agents whose models answer by a script and record what they are sent."""

import itertools
import json
import logging
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, NamedTuple

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult

from thalweg.engine.tokens import exact_counter
from thalweg.testing import ScriptedModel
from thalweg_server.client import ThalwegClient

Answer = Callable[[Sequence[BaseMessage]], AIMessage | str]


class Request(NamedTuple):
    """What a model was sent once."""

    model: str
    messages: list[BaseMessage]
    tools: list[dict[str, Any]]

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(str(m.text) for m in self.messages if m.type == "system")

    @property
    def text(self) -> str:
        """Every message but the system prompt."""
        return "\n".join(str(m.text) for m in self.messages if m.type != "system")

    @property
    def whole(self) -> str:
        """Every message."""
        return f"{self.system}\n{self.text}"

    @property
    def whole_content(self) -> str:
        """Every message with its images."""
        return "\n".join(str(m.content) for m in self.messages)

    @property
    def memory(self) -> str:
        """The newest `<memory>`; empty without one."""
        found = re.findall(r"<memory>.*?</memory>", self.whole, re.DOTALL)
        return found[-1] if found else ""

    @property
    def tokens(self) -> int:
        """Tokens of the messages without the system prompt."""
        count = exact_counter()
        return sum(count(str(m.content)) for m in self.messages if m.type != "system")


LOG: list[Request] = []
SCRIPTS: dict[str, Answer] = {}
_IDS = itertools.count(1)


def plain(messages: Sequence[BaseMessage]) -> str:
    """Answer with the number of the user's messages."""
    return f"Answer {sum(m.type == 'human' for m in messages)}."


class Recorded(ScriptedModel):
    """Answers by `SCRIPTS[its name]`, and records its requests in `LOG`."""

    script: Answer = plain

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        LOG.append(Request(self.model, list(messages), list(kwargs.get("tools") or [])))
        self.script = SCRIPTS.get(self.model, plain)
        return super()._generate(messages, stop, run_manager, **kwargs)


class SystemPrompt(ScriptedModel):
    """Answers with the system prompt that it is sent."""

    script: Answer = lambda messages: "\n".join(str(m.text) for m in messages if m.type == "system")


def model(name: str = "agent", answer: Answer | None = None, window: int = 200_000) -> Recorded:
    """Make a model for `create_agent` or `create_deep_agent`."""
    SCRIPTS[name] = answer or plain
    made = Recorded(model=name)
    made.profile = {"max_input_tokens": window}
    return made


def calls(tool: str, **arguments: Any) -> AIMessage:
    """Answer with a call of one tool."""
    call = {"name": tool, "args": arguments, "id": f"call_{next(_IDS)}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def script(*answers: AIMessage | str | Answer) -> Answer:
    """Return an answer that plays answers in their order, the last one for ever."""
    left = list(answers)

    def play(messages: Sequence[BaseMessage]) -> AIMessage | str:
        answer = left[0] if len(left) == 1 else left.pop(0)
        return answer(messages) if callable(answer) else answer

    return play


@dataclass
class World:
    """A gateway in this process, in a temporary folder."""

    client: ThalwegClient
    folder: Path

    def chat(self, text: str = "Go on.", thread: str = "t1") -> str:
        """Send a message in a thread; return the answer."""
        return self.client.chat(text, thread)

    def requests(self, name: str = "agent") -> list[Request]:
        """List the requests of one model, without those of learners."""
        return [r for r in LOG if r.model == name and not is_learning(r)]


def is_learning(request: Request) -> bool:
    """Return whether a request is one of memory's learner."""
    return "Known facts:" in request.text or "(learn from this)" in request.text


@contextmanager
def gateway(
    yaml: str = "",
    *,
    window: int = 32_000,
    more: str = "",
    files: Mapping[str, str] | None = None,
    **scripts: Answer,
) -> Iterator[World]:
    """Open a gateway with a block of the documents as its `config.yaml`, word for word.

    Args:
        yaml: The block.
        window: Of every model, in tokens.
        more: Other sections of the file.
        files: Texts of files that are in the folder before, by their paths.
        scripts: Models by name; `agent` is always there and comes first.
    """
    LOG.clear()
    SCRIPTS.clear()
    SCRIPTS.update({name.replace("_", "-"): answer for name, answer in scripts.items()})
    names = dict.fromkeys(["agent", "gpt-4o-mini", *SCRIPTS])
    rows = "".join(
        f"  - {{name: {name}, use: 'world:Recorded', model: {name}, window: {window}}}\n"
        for name in names
    )
    text = f"models:\n{rows}{dedent(yaml)}\n{dedent(more)}"
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name)
        for path, content in {**(files or {}), "config.yaml": text}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
        with ThalwegClient("config.yaml") as client:
            yield World(client, folder)


@contextmanager
def logged(name: str, level: int = logging.DEBUG) -> Iterator[list[str]]:
    """Yield the lines that a logger writes, as a file of the log has them."""
    lines: list[str] = []
    handler = logging.Handler(level)
    handler.emit = lambda record: lines.append(f"[{record.name}] {record.getMessage()}")  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def section(name: str, block: str) -> str:
    """Put a block that the documents show alone (`trigger:`, `keep:`) under its section."""
    return f"{name}:\n{indent(dedent(block).strip(), '  ')}\n"


def wait(done: Callable[[], bool], seconds: float = 20) -> bool:
    """Wait until something is done; return whether it is."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    return done()


def facts(*proposals: Mapping[str, object]) -> Answer:
    """Return a learner's answer: facts, each of the turn that has its quote."""

    def answer(messages: Sequence[BaseMessage]) -> str:
        asked = str(messages[-1].text)
        if asked.startswith("Now judge"):
            return json.dumps({"sources": sources(asked), "pairs": []})
        turns = re.findall(
            r"^§+ (\d+), user[^\n]*\n(.*?)(?=\n\n§|\Z)", asked, re.DOTALL | re.MULTILINE
        )
        found = [
            {"turn": int(number), "category": "preference", "confidence": 0.95, **one}
            for one in proposals
            for number, text in turns
            if str(one["quote"]) in text
        ]
        return json.dumps({"facts": found})

    return answer


def sources(asked: str) -> list[dict[str, object]]:
    """Answer whose the new facts are: the user's, but for the planted ones."""
    from thalweg_memory.facts.learning.questions import PLANTED

    planted = {one.content: one for one in PLANTED}
    new = re.findall(r"^(N\d+): (.*) \(turn \d+: ", asked, re.MULTILINE)
    return [
        {
            "new": name,
            "whose": planted[content].whose if content in planted else "own",
            "carries": planted[content].carries if content in planted else True,
        }
        for name, content in new
    ]
