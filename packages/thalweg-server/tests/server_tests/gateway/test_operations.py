"""What an operator needs: health, an orderly stop, metrics, an audit log."""

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from server_tests.gateway.worlds import ADA, KEYS, settings
from server_tests.serving import Served, gateway
from thalweg_server.app import App
from thalweg_server.app.parts import CURRENT_RUN, run_span
from thalweg_server.gateway.serving import JsonLines
from thalweg_server.runs.base import RunKey, RunRecord

OPERATOR = {"Authorization": "Bearer oz-s-key"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    keys = [*KEYS, {"key": "oz-s-key", "owner": "oz", "id": "oz-1", "role": "operator"}]
    home = tmp_path_factory.mktemp("home")
    with gateway(settings(home, keys=keys, root_path="/agents")) as found:
        yield found


def finished(served: Served, thread: str) -> None:
    api = f"{served.url}/api/threads/{thread}/runs"
    httpx2.post(api, json={"id": thread, "message": "hi"}, headers=ADA).raise_for_status()
    httpx2.get(f"{api}/{thread}/wait?timeout=20", headers=ADA, timeout=30)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_probes_need_no_key(served: Served, path: str, method: str) -> None:
    assert httpx2.request(method, served.url + path).status_code == 200


def test_an_operator_lists_owners_with_their_use_of_today(served: Served) -> None:
    finished(served, "listed")
    url = f"{served.url}/api/page/owners"

    rows = httpx2.get(url, headers=OPERATOR).raise_for_status().json()["items"]

    assert {row["owner"] for row in rows} >= {"ada", "bob", "oz"}
    ada = next(row for row in rows if row["owner"] == "ada")
    bob = next(row for row in rows if row["owner"] == "bob")
    assert (ada["today"]["calls"], bob["today"]["calls"]) == (1, 0)
    assert (ada["runs"], ada["limits"]["runs_at_once"]) == (0, 32)
    assert httpx2.get(url, headers=ADA).status_code == 403

    below = f"{served.url}/agents"
    for path in ("/api/page/owners", "/metrics"):
        refused = httpx2.get(below + path, headers=ADA)
        assert (refused.status_code, refused.json()["code"]) == (403, "auth.operator")
        assert httpx2.get(below + path, headers=OPERATOR).status_code == 200


def test_an_operator_deletes_an_owner(served: Served) -> None:
    finished(served, "deleted")
    url = f"{served.url}/api/page/owners/ada"
    refused = httpx2.delete(url, headers=ADA)
    assert (refused.status_code, refused.json()["code"]) == (403, "auth.operator")

    deleted = httpx2.delete(url, headers=OPERATOR, timeout=60).raise_for_status().json()

    assert deleted["owner"] == "ada"
    assert any("audit.jsonl" in line for line in deleted["left"])
    assert httpx2.get(f"{served.url}/api/threads", headers=ADA).json()["items"] == []


def test_a_part_that_hangs_has_failed_after_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    with gateway(settings(tmp_path)) as hung:
        assert isinstance(hung.app, App)
        monkeypatch.setattr(hung.app.parts.journal, "list", hang)
        ready = httpx2.get(f"{hung.url}/readyz", timeout=20)
        alive = httpx2.get(f"{hung.url}/livez", timeout=20)

    failed = [one for one in ready.json()["checks"] if one["status"] == "failed"]
    assert ready.status_code == 503
    assert [(one["name"], one["detail"]) for one in failed] == [("runs", "no answer within 1 s")]
    assert alive.status_code == 200


def test_a_gateway_that_stops_lets_its_runs_end(tmp_path: Path) -> None:
    """It is not ready, starts no run, and sends the events of the run to its end."""
    stopping: dict[str, Any] = {}

    def stop(served: Served) -> None:
        served.end()
        deadline = time.monotonic() + 20
        while httpx2.get(f"{served.url}/readyz").status_code == 200:
            assert time.monotonic() < deadline
        stopping["live"] = httpx2.get(f"{served.url}/livez").status_code
        stopping["run"] = httpx2.post(f"{served.url}/api/threads/no/runs", json={"message": "hi"})

    with gateway(settings(tmp_path, rate=20.0, ticks=40, drain_s=60)) as served:
        url = f"{served.url}/api/threads/t1/runs/stream"
        with httpx2.stream("POST", url, json={"message": "hi"}, timeout=30) as response:
            frames = iter(httpx2.EventSource(response))
            frame = next(one for one in frames if one.event == "message.delta")
            other = threading.Thread(target=stop, args=(served,))
            other.start()
            for frame in frames:  # noqa: B007 (the last one counts)
                pass
        other.join()

    assert frame.event == "run.completed"
    assert stopping["live"] == 200
    assert stopping["run"].status_code == 503
    assert stopping["run"].json()["code"] == "gateway.stopping"


def test_metrics_count_what_runs_do(served: Served) -> None:
    finished(served, "counted")
    text = httpx2.get(f"{served.url}/metrics", headers=OPERATOR).text
    metrics = {
        line.split(" ")[0]: line.split(" ")[-1] for line in text.splitlines() if line[0] != "#"
    }

    assert float(metrics["thalweg_run_wait_seconds_count"]) >= 1
    assert metrics["thalweg_runs_running"] == "0.0"
    assert metrics["thalweg_queue_depth"] == "0.0"
    assert (
        float(metrics['thalweg_model_first_token_seconds_count{model="tickingmodel:ticking"}']) >= 1
    )
    assert float(metrics["process_resident_memory_bytes"]) > 0
    for name in ("run_takeovers", "compactions", "context_saved_tokens"):
        assert f"thalweg_{name}_total" in metrics
    assert httpx2.get(f"{served.url}/metrics", headers=ADA).status_code == 403


def test_deletions_and_an_operator_s_reads_are_logged(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    finished(served, "audited")
    with caplog.at_level(logging.INFO, "thalweg.audit"):
        url = f"{served.url}/api/threads/audited"
        as_ada = {**OPERATOR, "X-Thalweg-Owner": "ada"}
        assert httpx2.get(f"{url}/history", headers=ADA).is_success
        assert httpx2.get(f"{url}/history", headers=OPERATOR).status_code == 404
        assert httpx2.get(f"{url}/history", headers=as_ada).is_success
        assert httpx2.delete(url, headers=as_ada).status_code == 403
        assert httpx2.delete(url, headers=ADA).is_success
        httpx2.get(f"{served.url}/livez")
    rows = [json.loads(one.message) for one in caplog.records if one.name == "thalweg.audit"]

    read, deleted = rows
    assert (read["owner"], read["key"], read["is_operator"]) == ("ada", "oz-1", True)
    assert (read["operation"], read["path"]) == ("get_history", "/api/threads/audited/history")
    assert (deleted["operation"], deleted["status"]) == ("delete_thread", 200)
    assert not deleted["is_operator"]


def test_runs_and_model_calls_have_spans_that_later_attempts_continue(served: Served) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with patch("thalweg_server.app.parts.trace.get_tracer", provider.get_tracer):
        finished(served, "traced")
        started = started_of(served, "traced")
        record = RunRecord(RunKey("ada", "traced", "traced"), "running", "{}", datetime.now(UTC))
        with run_span(replace(record, attempt=2), "agent", started["trace"]):
            pass
    call, run, again = spans.get_finished_spans()
    metrics = dict(call.attributes or {})

    assert run.name == "invoke_agent agent"
    assert call.name == "chat ticking"
    assert metrics["gen_ai.usage.output_tokens"] == 3
    assert call.parent is not None
    assert call.parent.span_id == run.context.span_id
    assert again.context.trace_id == run.context.trace_id
    assert started["trace"].split("-")[1] == f"{run.context.trace_id:032x}"


def started_of(served: Served, thread: str) -> dict[str, str]:
    url = f"{served.url}/api/threads/{thread}/runs/{thread}/stream"
    with httpx2.stream("GET", url, headers=ADA, timeout=30) as response:
        first: dict[str, str] = json.loads(next(iter(httpx2.EventSource(response))).data)
        return first


def test_a_log_line_is_json_with_its_run() -> None:
    record = logging.LogRecord("thalweg", logging.INFO, "", 1, "%s done", ("r1",), None)
    token = CURRENT_RUN.set("r1")
    row = json.loads(JsonLines().format(record))
    CURRENT_RUN.reset(token)
    assert (row["message"], row["level"], row["run"]) == ("r1 done", "info", "r1")
    assert "run" not in json.loads(JsonLines().format(record))


def test_addresses_behind_a_prefix_have_it(served: Served) -> None:
    made = httpx2.post(f"{served.url}/api/threads", json={"id": "prefixed"}, headers=ADA)
    assert made.headers["location"] == "/agents/api/threads/prefixed"
    page = httpx2.get(served.url)
    assert page.status_code == 200
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert addresses
    assert all(address.startswith("./") for address in addresses)  # relative: below the prefix


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "http://localhost/x",
        "gopher://a.b/",
        "http://127.0.0.1\\@example.org/",
        "http://example.org /",
        "http://user@example.org/",
        "http://example.org/\n",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0.0.1/",
        "http://[64:ff9b::7f00:1]/",
        "http://[::1",
    ],
)
def test_a_message_names_no_address_of_a_private_network(served: Served, url: str) -> None:
    block = {"type": "image_url", "image_url": {"url": url}}
    messages = {"messages": [{"role": "user", "content": [block]}]}
    graph = {"assistant_id": "agent", "input": messages, "if_not_exists": "create"}
    httpx2.post(f"{served.url}/threads", json={"thread_id": "m"}, headers=ADA)
    update = {"update": [["messages", messages["messages"]]]}
    goto = {"goto": [{"node": "model", "input": messages}]}
    plain = [{"role": "user", "content": [{"type": "audio_url", "audio_url": url}]}]
    kwargs = {"content": [block]}
    serialized = {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": kwargs}
    step = {"updates": [{"values": messages, "as_node": "model"}]}
    for path, body in (
        ("/api/threads/m/runs", messages),
        ("/threads/m/runs", graph),
        *(
            ("/threads/m/runs", {"assistant_id": "agent", "command": command})
            for command in (update, goto, {"resume": messages})
        ),
        ("/threads/m/runs", {"assistant_id": "agent", "input": plain}),
        ("/threads/m/state", {"values": messages}),
        ("/threads/m/state", {"values": {"messages": [["user", [block]], serialized]}}),
        ("/threads", {"thread_id": "unmade", "supersteps": [step]}),
    ):
        refused = httpx2.post(served.url + path, json=body, headers=ADA)
        assert refused.status_code == 422, refused.text
        assert "private_urls" in refused.text
    assert httpx2.get(f"{served.url}/threads/unmade", headers=ADA).status_code == 404


def test_addresses_in_the_arguments_of_tools_are_no_addresses_of_media(served: Served) -> None:
    args = {"url": "http://localhost:3000", "uri": "file:///a"}
    used = {"type": "tool_use", "id": "1", "name": "web_fetch", "input": args}
    call = {"id": "1", "name": "web_fetch", "args": args}
    answer = {"role": "tool", "tool_call_id": "1", "content": "ok", "artifact": args}
    asked = {"role": "assistant", "content": [used], "tool_calls": [call]}
    values = {"messages": [{"role": "user", "content": "go"}, asked, answer]}
    step = {"updates": [{"values": values}]}
    made = httpx2.post(f"{served.url}/threads", json={"supersteps": [step]}, headers=ADA)
    assert made.status_code == 200, made.text


def test_a_thread_without_turns_is_a_conflict_and_no_invalid_request(served: Served) -> None:
    httpx2.post(f"{served.url}/api/threads", json={"id": "empty"}, headers=ADA)
    api = f"{served.url}/api/threads/empty"
    for answered in (
        httpx2.get(f"{api}/context", headers=ADA),
        httpx2.post(f"{api}/rewind", json={"turn": 1}, headers=ADA),
        httpx2.post(f"{api}/compact", headers=ADA),
        httpx2.post(f"{api}/branch", json={"turn": 1}, headers=ADA),
    ):
        assert (answered.status_code, answered.json()["code"]) == (409, "thread.empty")
