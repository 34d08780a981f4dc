"""Runs over HTTP: started, followed, cut off, resumed and ended."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from server_tests.gateway.worlds import events, settings
from server_tests.serving import Served, gateway
from thalweg_server.app.graph_execution import MARK


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gateway(settings(tmp_path_factory.mktemp("home"))) as found:
        yield found


def start(served: Served, thread: str, **body: object) -> dict[str, object]:
    answer = httpx2.post(f"{served.url}/api/threads/{thread}/runs", json=body)
    assert answer.status_code == 202, answer.text
    told: dict[str, object] = answer.json()
    assert answer.headers["location"] == f"/api/threads/{thread}/runs/{told['id']}"
    return told


def cancel(served: Served, thread: str, run: object) -> dict[str, object]:
    url = f"{served.url}/api/threads/{thread}/runs/{run}"
    assert httpx2.post(f"{url}/cancel").status_code == 200
    told: dict[str, object] = httpx2.get(f"{url}/wait?timeout=20", timeout=30).json()
    return told


def test_asking_makes_the_thread_and_streams_to_the_end(served: Served) -> None:
    url = f"{served.url}/api/threads/asked/runs/stream"
    with httpx2.stream("POST", url, json={"id": "r1", "message": "hi"}, timeout=30) as response:
        assert response.status_code == 200
        assert response.headers["location"] == "/api/threads/asked/runs/r1"
        heard = events(response)

    assert [seq for seq, _ in heard] == list(range(1, len(heard) + 1))
    assert heard[0][1] == "run.started"
    assert heard[-1][1] == "run.completed"
    assert "message.delta" in {kind for _, kind in heard}
    assert httpx2.get(f"{served.url}/api/threads/asked").json()["id"] == "asked"


def test_a_stream_goes_on_behind_any_event_as_often_as_one_likes(served: Served) -> None:
    run = start(served, "again", message="hi")
    url = f"{served.url}/api/threads/again/runs/{run['id']}/stream"
    with httpx2.stream("GET", url, timeout=30) as response:
        whole = events(response)
    for after in (1, len(whole) // 2, len(whole)):
        for asked in ({"params": {"after": after}}, {"headers": {"last-event-id": str(after)}}):
            with httpx2.stream("GET", url, timeout=30, **asked) as response:
                assert events(response) == whole[after:]
    both = {"params": {"after": 0}, "headers": {"last-event-id": str(len(whole) - 1)}}
    with httpx2.stream("GET", url, timeout=30, **both) as response:  # type: ignore[arg-type]  # both
        assert events(response) == whole[-1:]


@pytest.mark.parametrize("last", ["-1", "x", "1.5", "9" * 30, "1 OR 1=1"])
def test_a_last_event_id_that_is_none_is_told(served: Served, last: str) -> None:
    start(served, "odd", id="odd", message="hi")
    url = f"{served.url}/api/threads/odd/runs/odd/stream"
    answer = httpx2.get(url, headers={"last-event-id": last})

    assert answer.status_code == 422
    assert answer.json()["faults"][0]["where"] == "header.last-event-id"


def test_a_client_that_goes_away_does_not_end_the_run(served: Served) -> None:
    url = f"{served.url}/api/threads/gone/runs/stream"
    body = {"id": "left", "message": "hi", "model": "slow"}
    with httpx2.stream("POST", url, json=body, timeout=30) as response:
        frame = next(iter(httpx2.EventSource(response)))
    run = httpx2.get(f"{served.url}/api/threads/gone/runs/left").json()

    assert frame.event == "run.started"
    assert run["status"] in {"queued", "running"}
    assert cancel(served, "gone", "left")["status"] == "cancelled"


def test_a_run_that_is_cancelled_says_so_to_all_who_follow(served: Served) -> None:
    run = start(served, "stopped", message="hi", model="slow")
    url = f"{served.url}/api/threads/stopped/runs/{run['id']}/stream"
    with httpx2.stream("GET", url, timeout=30) as response:
        frames = iter(httpx2.EventSource(response))
        next(frames)
        cancel(served, "stopped", run["id"])
        kinds = [frame.event for frame in frames]

    assert kinds[-1] == "run.cancelled"


def test_what_was_streamed_before_a_cancel_is_kept_and_marked(served: Served) -> None:
    """In the events, the history, the usage and the next request; a retry replaces it."""
    run = start(served, "kept", message="hi", model="slow")
    api = f"{served.url}/api/threads/kept"
    seen = ""
    with httpx2.stream("GET", f"{api}/runs/{run['id']}/stream", timeout=30) as response:
        for frame in httpx2.EventSource(response):
            data = json.loads(frame.data)
            if frame.event == "message.delta":
                seen += data["text"]
                if len(seen.split()) == 3:
                    httpx2.post(f"{api}/runs/{run['id']}/cancel")
            if frame.event == "message.completed":
                assert data["text"] == seen
                assert data["usage"]["output_tokens"] > 0
    history = httpx2.get(f"{api}/history").json()["items"]
    usage = httpx2.get(f"{api}/usage").json()["total"]
    again = start(served, "kept", message="and now?")
    httpx2.get(f"{api}/runs/{again['id']}/wait?timeout=20", timeout=30)
    sent = httpx2.get(f"{api}/context").json()["messages"]

    assert frame.event == "run.cancelled"
    assert seen.endswith(MARK)
    assert [one["message"]["role"] for one in history] == ["user", "assistant"]
    assert history[1]["message"]["text"] == seen
    assert usage["calls"] == 1
    assert usage["input_tokens"] > 1_000  # the system prompt and the tools
    assert [one["text"] for one in sent if one["role"] != "system"][:3] == ["hi", seen, "and now?"]


def test_a_retry_replaces_an_answer_that_was_cut_off(served: Served) -> None:
    run = start(served, "retried", message="hi", model="slow")
    api = f"{served.url}/api/threads/retried"
    with httpx2.stream("GET", f"{api}/runs/{run['id']}/stream", timeout=30) as response:
        next(one for one in httpx2.EventSource(response) if one.event == "message.delta")
    cancel(served, "retried", run["id"])
    again = start(served, "retried", retry=True)
    end = httpx2.get(f"{api}/runs/{again['id']}/wait?timeout=20", timeout=30).json()
    history = httpx2.get(f"{api}/history").json()["items"]
    nothing = start(served, "retried", retry=True)
    refused = httpx2.get(f"{api}/runs/{nothing['id']}/wait?timeout=20", timeout=30).json()

    assert end["status"] == "completed", end
    assert [one["message"]["role"] for one in history] == ["user", "assistant"]
    assert MARK not in history[1]["message"]["text"]
    assert refused["problem"]["code"] == "run.answer"


def test_a_busy_thread_says_which_run_it_is_busy_with(served: Served) -> None:
    run = start(served, "busy", message="hi", model="slow")
    answer = httpx2.post(
        f"{served.url}/api/threads/busy/runs", json={"message": "more", "if_busy": "reject"}
    )

    assert answer.status_code == 409
    assert answer.json()["code"] == "run.busy"
    assert str(run["id"]) in answer.json()["detail"]
    cancel(served, "busy", run["id"])


def test_a_request_can_be_sent_again(served: Served) -> None:
    first = start(served, "twice", id="once", message="hi")
    again = start(served, "twice", id="once", message="hi")

    assert again["created"] == first["created"]


def test_a_request_that_is_sent_again_does_not_count_as_another_run(tmp_path: Path) -> None:
    """Neither at once nor in a minute: its run may be the one that fills the limit."""
    limits = {"runs_at_once": 1, "runs_per_minute": 1}
    with gateway(settings(tmp_path, limits=limits)) as limited:
        url = f"{limited.url}/api/threads/t1/runs"
        body = {"id": "once", "message": "hi", "model": "slow"}
        sent = [httpx2.post(url, json=body) for _ in range(2)]
        other = httpx2.post(url, json={**body, "id": "other"})
        cancel(limited, "t1", "once")

    assert [answer.status_code for answer in sent] == [202, 202]
    assert other.status_code == 429


def test_waiting_gives_the_run_as_it_is_when_the_time_is_over(served: Served) -> None:
    run = start(served, "waited", message="hi", model="slow")
    url = f"{served.url}/api/threads/waited/runs/{run['id']}/wait"

    assert httpx2.get(f"{url}?timeout=0.1", timeout=30).json()["status"] in {"queued", "running"}
    cancel(served, "waited", run["id"])


@pytest.mark.parametrize("path", ["runs/none", "runs/none/stream", "runs/none/wait"])
def test_a_run_that_is_not_there_is_no_stream(served: Served, path: str) -> None:
    answer = httpx2.get(f"{served.url}/api/threads/nowhere/{path}")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "run.not_found"


@pytest.mark.parametrize("turn", [2**31, 2**63, -1, "9223372036854775808", 1.5])
def test_a_number_that_no_database_has_is_refused(served: Served, turn: object) -> None:
    start(served, "numbers", id="numbers", message="hi")
    url = f"{served.url}/api/threads/numbers"
    asked = [
        httpx2.post(f"{url}/rewind", json={"turn": turn}),
        httpx2.post(f"{url}/branch", json={"turn": turn}),
        httpx2.post(f"{url}/pin", json={"position": turn, "quote": "x"}),
        httpx2.get(f"{url}/context", params={"turn": str(turn)}),
        httpx2.get(f"{url}/history", params={"before": str(turn)}),
    ]

    assert {answer.status_code for answer in asked} == {422}


def test_metrics_count_what_runs_and_models_did(served: Served) -> None:
    run = start(served, "counted", message="hi")
    httpx2.get(f"{served.url}/api/threads/counted/runs/{run['id']}/wait?timeout=20", timeout=30)
    before = metrics(served)
    run = start(served, "counted", message="again")
    url = f"{served.url}/api/threads/counted/runs/{run['id']}"
    with httpx2.stream("GET", f"{url}/stream", timeout=30) as response:
        heard = events(response)
    now = metrics(served)

    def more(name: str) -> float:
        return now[name] - before.get(name, 0.0)

    assert more('thalweg_runs_total{status="completed"}') == 1
    assert more("thalweg_run_seconds_count") == 1
    assert more('thalweg_tokens_total{kind="output",model="tickingmodel:ticking"}') == 3
    assert more('thalweg_tokens_total{kind="input",model="tickingmodel:ticking"}') == 10
    assert more('thalweg_requests_total{operation="start_run",status="202"}') == 1
    assert more('thalweg_events_sent_total{type="run.completed"}') == 1
    sent = sum(more(name) for name in now if name.startswith("thalweg_events_sent_total"))
    assert sent == len(heard)
    assert now["thalweg_streams_open"] == 0


def test_metrics_name_no_owner_and_no_thread(served: Served) -> None:
    text = httpx2.get(f"{served.url}/metrics").text

    assert "local" not in text
    assert "counted" not in text


def metrics(served: Served) -> dict[str, float]:
    """Read what Prometheus would."""
    text = httpx2.get(f"{served.url}/metrics").text
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}
