"""The probes as tasks of Inspect, with a server that speaks OpenAI's protocol.

Skipped where `inspect_ai` is not installed: the nightly run has an environment with it.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.scorer import includes

from strict_llm import Answer, Request, StrictProvider
from thalweg.engine.wires import READERS
from thalweg_evals import PROBES, Conversation, View, World
from thalweg_evals.inspect_tasks import compare, grid, main, probes, series_of, task_agent
from thalweg_evals.moves import Use
from thalweg_evals.scripted import WINDOW, scripted_model
from thalweg_evals.trace import TracedCall, TracedMessage

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
OBJECTIVE, NEEDLE = "objective/5", "needle/tool_result"


def world_of(case: str) -> World:
    """Build a world of a case; the moves of its model are those of each of its worlds."""
    name, _, variant = case.partition("/")
    dice = Random(0)  # noqa: S311 (not a secret)
    return PROBES[name].build(variant, dice, Conversation(WINDOW, 0.1, 0))


def answering(world: World) -> Callable[[Request], Answer]:
    """Return what the scripted model of a world answers: it depends on the request alone."""
    model = scripted_model("searcher")(world)

    def answer(request: Request) -> Answer:
        read = READERS[request.wire].read(request.items)[0]
        names = {call.id: call.name for one in read for call in one.calls}  # no result has its own
        messages = tuple(
            TracedMessage(
                one.role,
                one.text,
                tuple(TracedCall(c.id, c.name, json.loads(c.arguments)) for c in one.calls),
                one.answers or "",
                names.get(one.answers or "", ""),
            )
            for one in read
        )
        tools = frozenset(tool["function"]["name"] for tool in request.body.get("tools") or ())
        move = model.move(View(messages, tools))
        uses = (move, *move.siblings) if isinstance(move, Use) else ()
        return Answer(move.text, calls=tuple((use.tool, dict(use.arguments)) for use in uses))

    return answer


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(window=WINDOW) as found:
        yield found


def evaluated(provider: StrictProvider, case: str, folder: Path, **settings: Any) -> Any:  # noqa: ANN401 (Inspect's log)
    """Run the task of a case with the server's model; return the log."""
    provider.answer = answering(world_of(case))
    model = get_model(
        "openai/gpt-4o", base_url=provider.openai_url, api_key="x", responses_api=False
    )
    task = probes(probe=case, trigger=0.1, **settings)
    [log] = run_eval(task, model=model, log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    return log


def test_requests_are_model_events_and_the_score_is_the_world_s(
    provider: StrictProvider, tmp_path: Path
) -> None:
    """Two epochs have other names; strict rules accept every request."""
    log = evaluated(provider, OBJECTIVE, tmp_path, policy="thalweg-middleware", trials=2)

    scores = [sample.scores["verdict"] for sample in log.samples]
    events = [[one for one in sample.events if one.event == "model"] for sample in log.samples]
    assert [one.value for one in scores] == ["C", "C"]
    assert "the report is right, 5 compactions later" in scores[0].explanation
    assert log.results.scores[0].metrics["objective"].value == 1
    assert sum(map(len, events)) == len(provider.requests)
    assert {one.status for one in provider.requests} == {200}
    assert log.samples[0].messages[0].text != log.samples[1].messages[0].text
    assert log.samples[0].output.completion == "The report is filed, as you asked."
    assert log.stats.model_usage["openai/gpt-4o"].input_tokens > 0
    assert len(series_of(Path(log.location))[0].compactions) == 5


def test_two_policies_are_compared_on_the_same_samples(
    provider: StrictProvider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The archive has the needle; what LangChain's summary leaves out is gone."""
    names = ("thalweg-middleware", "langchain")
    logs = [evaluated(provider, NEEDLE, tmp_path, policy=name, trials=2) for name in names]
    ours, theirs = (Path(log.location) for log in logs)
    picture = tmp_path / "tokens.svg"

    found = compare(ours, theirs)
    main([str(ours), str(theirs), "--svg", str(picture)])

    assert (found.value, found.n) == (-1, 2)
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["rate"] for line in printed] == [1, 0]
    assert printed[1]["difference"] == -1
    assert "2 compactions" in picture.read_text() or "1 compactions" in picture.read_text()


def test_an_untested_sample_counts_in_no_metric(provider: StrictProvider, tmp_path: Path) -> None:
    """An agent that keeps everything is never compacted."""
    log = evaluated(provider, NEEDLE, tmp_path, policy="none")

    score = log.samples[0].scores["verdict"]
    assert score.value != score.value
    assert score.reason == "untested"
    assert log.results.scores[0].unscored_samples == 1


def test_a_limit_of_inspect_is_no_failure_of_the_agent(
    provider: StrictProvider, tmp_path: Path
) -> None:
    """The sample ends with the limit, and is in no rate."""
    provider.answer = answering(world_of(OBJECTIVE))
    model = get_model(
        "openai/gpt-4o", base_url=provider.openai_url, api_key="x", responses_api=False
    )
    task = probes("thalweg-middleware", probe=OBJECTIVE, trigger=0.1)
    [log] = run_eval(task, model=model, token_limit=5_000, log_dir=str(tmp_path), display="none")

    assert log.samples[0].limit.type == "token"
    assert compare(Path(log.location), Path(log.location)).n == 0


def test_an_agent_of_ours_works_on_the_task_of_others(
    provider: StrictProvider, tmp_path: Path
) -> None:
    """Its tool runs in the sample's sandbox; what compaction removed is not lost."""
    ran = 30

    def answer(request: Request) -> Answer:
        number = len(provider.requests)
        if number <= ran:
            command = f"echo {'x' * 4_000}{number} | tee -a notes.txt"
        elif number == ran + 1:
            command = "echo $(grep -c x notes.txt) lines"
        else:
            results = [one for one in request.body["messages"] if one["role"] == "tool"]
            return Answer(str(results[-1]["content"]))
        return Answer(calls=(("bash", {"command": command}),))

    provider.answer = answer
    model = get_model(
        "openai/gpt-4o", base_url=provider.openai_url, api_key="x", responses_api=False
    )
    task = Task(
        dataset=[Sample(input="Write the notes, then count them.", target=f"{ran} lines")],
        scorer=includes(),
        sandbox="local",
        solver=task_agent(window=16_000),
    )
    [log] = run_eval(task, model=model, log_dir=str(tmp_path), display="none")

    assert log.status == "success", log.error
    assert log.samples[0].scores["includes"].value == "C"
    assert sum(one.role == "tool" for one in log.samples[0].messages) == ran + 1
    assert {one.status for one in provider.requests} == {200}


def test_a_sample_of_several_messages_is_an_error(tmp_path: Path) -> None:
    """Nothing of a sample is left out without a word."""
    turns = [ChatMessageUser(content="Hi."), ChatMessageUser(content="Count the notes.")]
    task = Task(dataset=[Sample(id="two", input=turns, target="2")], solver=task_agent())
    [log] = run_eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")

    assert log.status == "error"
    assert "sample two is no text of one message" in log.error.message


def test_scripted_models_need_no_server(tmp_path: Path) -> None:
    """Every policy, window and trigger is a task of its own."""
    tasks = grid(
        ["thalweg-middleware", "none"], triggers=(0.1, 0.25), probe=OBJECTIVE, scripted="searcher"
    )
    logs = run_eval(tasks, model="none", log_dir=str(tmp_path), display="none")

    assert [log.status for log in logs] == ["success"] * 4
    values = {
        (log.eval.metadata["policy"], log.eval.metadata["trigger"]): log.samples[0]
        .scores["verdict"]
        .value
        for log in logs
    }
    assert values["thalweg-middleware", 0.1] == values["thalweg-middleware", 0.25] == "C"
    assert values["none", 0.1] == "I"
