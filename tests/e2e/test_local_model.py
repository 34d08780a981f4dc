"""A model in a file: real weights, in a process of their own."""

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.e2e.local_models import local
from tests.forking import Forked, start
from thalweg.agent.graph import create_small_agent
from thalweg.errors import ConfigError
from thalweg.server.models.local.chat import LocalChat

pytestmark = [pytest.mark.slow, pytest.mark.local_model]


@tool
def ls(path: str) -> str:
    """List the files of a folder."""
    return path


@pytest.fixture(scope="module")
def chat(smol: Path) -> Iterator[LocalChat]:
    model = local(smol)
    yield model
    model.host.stop()


def usage(message: AIMessage) -> tuple[int, int]:
    assert message.usage_metadata is not None
    return message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"]


def test_it_answers_whole_and_in_a_stream_and_tells_its_usage(chat: LocalChat) -> None:
    whole = chat.invoke("Say hello.")
    streamed = AIMessageChunk(content="")
    for chunk in chat.stream("Say hello."):
        streamed = streamed + chunk

    assert isinstance(whole, AIMessage)
    assert whole.text
    assert streamed.text
    assert usage(whole)[0] == usage(streamed)[0] > 0


def test_it_is_loaded_when_it_is_first_asked(smol: Path) -> None:
    model = local(smol, window=1_024)
    before = model.host.pid
    model.invoke("hi")

    assert (before, type(model.host.pid)) == (None, int)
    model.host.stop()


def test_its_own_vocabulary_counts_requests_to_the_token(chat: LocalChat) -> None:
    """Its vocabulary takes half as many tokens again as OpenAI's for these words."""
    asked: list[BaseMessage] = [HumanMessage("Zwölf Boxkämpfer jagen Viktor quer. 上下文 1234567")]
    answer = chat.bind_tools([ls]).invoke(asked)

    assert chat.get_num_tokens_from_messages(asked, tools=[ls]) == usage(answer)[0]
    assert chat.get_num_tokens("hello hello") >= 2


def test_a_request_that_leaves_no_room_for_its_answer_is_refused(smol: Path) -> None:
    model = local(smol, window=512)
    fits = "word " * 400
    with pytest.raises(ContextOverflowError, match=r"context limit: \d+ \+ 200 > 512"):
        model.invoke(fits, max_tokens=200)
    with pytest.raises(ContextOverflowError, match="context limit"):
        list(model.stream(fits, max_tokens=200))
    with pytest.raises(ContextOverflowError, match="context limit"):
        asyncio.run(model.ainvoke(fits, max_tokens=200))
    answer = model.invoke(fits)
    model.host.stop()

    assert usage(answer)[0] > 400


def test_event_loops_come_and_go(chat: LocalChat) -> None:
    async def ask() -> str:
        answers = await asyncio.gather(chat.ainvoke("hi"), chat.ainvoke("ho"))
        streamed = [chunk.text async for chunk in chat.astream("hi")]
        return answers[0].text + "".join(streamed)

    assert asyncio.run(ask())
    assert asyncio.run(ask())


def test_two_models_of_one_file_share_a_process(chat: LocalChat, smol: Path) -> None:
    other = local(smol, temperature=1)
    chat.invoke("hi")
    other.invoke("hi")

    assert chat.host.pid == other.host.pid is not None


def test_a_process_that_died_is_started_again(chat: LocalChat) -> None:
    chat.invoke("hi")
    first = chat.host.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    answer = chat.invoke("hi")

    assert answer.text
    assert chat.host.pid != first


def test_a_file_that_cannot_be_loaded_says_why(tmp_path: Path, smol: Path) -> None:
    """The head is whole, so only llama.cpp finds that the weights are not."""
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(smol.read_bytes()[:20_000_000])
    with pytest.raises(ConfigError, match=r"llama\.cpp cannot load it: "):
        local(cut).invoke("hi")


def test_nobody_without_the_key_is_answered(chat: LocalChat) -> None:
    chat.invoke("hi")
    with pytest.raises(HTTPError, match="401"):
        urlopen(f"{chat.host.server().address}/v1/models", timeout=10)  # noqa: S310


def started(path: Path, how: str) -> Forked:
    return start("tests.e2e.local_agent", path, how, stdout=subprocess.PIPE)


def read_address(process: Forked) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def listens(address: str) -> bool:
    """Tell whether a process is behind an address; of a dead one nothing but its number stays."""
    parts = urlsplit(address)
    try:
        socket.create_connection((str(parts.hostname), parts.port or 0), timeout=10).close()
    except ConnectionError:
        return False
    return True


def is_gone(address: str) -> bool:
    """Wait for a process to end."""
    for _ in range(600):
        if not listens(address):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_its_process_ends_with_whoever_asked_however_that_ends(
    smol: Path, how: signal.Signals
) -> None:
    with started(smol, "stay") as parent:
        host = read_address(parent)
        assert listens(host)
        parent.send_signal(how)
        parent.wait()

        assert is_gone(host)


def test_it_ends_with_a_process_that_comes_to_its_end(smol: Path) -> None:
    with started(smol, "once") as parent:
        host = read_address(parent)

        assert parent.wait(timeout=60) == 0
        assert is_gone(host)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_has_a_process_of_its_own_and_leaves_the_parents(smol: Path) -> None:
    with started(smol, "fork") as parent:
        before, in_child, after = (read_address(parent) for _ in range(3))
        parent.wait()

    assert before == after != in_child
    assert is_gone(in_child)


@pytest.mark.timeout(900)
def test_turns_beyond_a_small_window_fit_it(smol: Path) -> None:
    """Every request and its answer fit, by the model's own count; the fifth is compacted."""
    window, answer = 1_152, 12
    model = local(smol, window=window, max_output=answer)
    agent = create_small_agent(model, archive=":memory:", checkpointer=InMemorySaver())
    sizes: list[int] = []
    for turn in range(6):
        asked = f"Part {turn}: " + "the river runs deep and the boats are slow; " * 24
        state = agent.invoke({"messages": [("user", asked)]}, _thread("a"))
        said = [m for m in state["messages"] if isinstance(m, AIMessage) and m.usage_metadata]
        sizes.append(usage(said[-1])[0])
    model.host.stop()

    assert max(sizes) + answer <= window
    assert any(after < before for before, after in pairwise(sizes))


@pytest.mark.timeout(900)
def test_whoever_wants_tools_all_the_same_can_have_them(qwen: Path) -> None:
    model = local(qwen, window=4_096, max_output=96, tool_calling=True)
    agent = create_small_agent(model, archive=":memory:")
    task = "Write the text 'buy milk' into the file /todo.txt"
    written = agent.invoke({"messages": [("user", task)]})
    asked = "Delete the file /a.txt by calling delete_file."
    invented = model.bind_tools([ls]).invoke(asked)
    streamed = [*model.bind_tools([ls]).stream(asked)]
    model.host.stop()

    assert "buy milk" in str(written["files"]["/todo.txt"])
    assert isinstance(invented, AIMessage)
    assert [call["name"] for call in invented.tool_calls] == ["delete_file"]
    assert [call["name"] for one in streamed for call in one.tool_calls] == ["delete_file"]


def _thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}
