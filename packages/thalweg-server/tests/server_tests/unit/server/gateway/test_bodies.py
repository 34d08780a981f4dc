"""What comes in as a body, and what is refused before any route sees it."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Message

from server_tests.unit.server.gateway.asking import Answered, ask, echo
from thalweg_server.app.metrics import Metrics
from thalweg_server.gateway.bodies import MIB, BodyLimits, JsonBounds, bounds_of
from thalweg_server.gateway.budgets import Budgets
from thalweg_server.gateway.create import Admission
from thalweg_server.gateway.rules import rules_of
from thalweg_server.settings import GatewaySettings

LIMITS = BodyLimits(json_of=lambda _: JsonBounds(bytes=2_000, nodes=500), form_bytes=5_000)
JSON = {"content-type": "application/json"}
FORM = {"content-type": "multipart/form-data; boundary=x"}


def admission(limits: BodyLimits = LIMITS) -> Admission:
    rules = replace(rules_of(GatewaySettings(), "ada"), bodies=limits)
    return Admission(echo, lambda: rules, Budgets(rules.limits_of, Metrics()))


def post(
    *parts: bytes,
    headers: dict[str, str],
    is_length_told: bool = True,
    path: str = "/api/threads/t1/uploads",
) -> Answered:
    told = (
        {"content-length": str(sum(map(len, parts)))}
        if is_length_told
        else {"transfer-encoding": "chunked"}
    )
    return ask(admission(), path, method="POST", headers={**headers, **told}, parts=parts)


JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(JSONS, st.integers(1, 40))
def test_any_json_comes_in_whole_however_it_was_cut(value: object, size: int) -> None:
    body = json.dumps(value).encode("utf-8", "surrogatepass")[:2_000]
    try:
        json.loads(body)
    except ValueError:
        return
    parts = [body[at : at + size] for at in range(0, len(body), size)]

    answered = post(*parts, headers=JSON)

    if answered.status == 200:
        assert json.loads(answered.body)["length"] == len(body)
    else:  # a key with half a sign, which json.dumps writes
        assert answered.status == 400
        assert b"\\u" in body


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[NaN]",
        b"[Infinity]",
        b'"\\ud800"',
        b'{"a": "\\udfff"}',
        b'"\xff"',
        b"[" * 400 + b"]" * 400,
        b'{"a":' * 300 + b"1" + b"}" * 300,
        b"1 2",
        b"\x00",
        b"9" * 900 + b"e" + b"9" * 50,
    ],
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    answered = post(body, headers=JSON)

    assert answered.status == 400
    assert answered.problem.code == "request.malformed"


@pytest.mark.parametrize(("headers", "most"), [(JSON, 2_000), (FORM, 5_000)])
def test_a_body_may_have_so_many_bytes_and_no_more(headers: dict[str, str], most: int) -> None:
    fits = b'"' + b"a" * (most - 2) + b'"'
    for is_length_told in (True, False):
        right = post(fits, headers=headers, is_length_told=is_length_told)
        assert right.status == 200
        wrong = post(fits, b" ", headers=headers, is_length_told=is_length_told)
        assert wrong.status == 413
        assert f"{most:,}" in wrong.problem.detail


def test_a_large_body_is_refused_before_it_is_read() -> None:
    headers = {**JSON, "content-length": "2001"}

    answered = ask(admission(), method="POST", headers=headers, parts=[b"x"] * 3)

    assert answered.status == 413
    assert answered.headers["connection"] == "close"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_other_types_are_not_taken(kind: str) -> None:
    answered = post(b"{}", headers={"content-type": kind} if kind else {})

    assert answered.status == 415
    assert answered.problem.code == "request.media_type"


@pytest.mark.parametrize("path", ["/api/threads", "/threads/t1/runs", "/api/threads/t1/uploads/x"])
def test_a_form_is_taken_by_uploads_alone(path: str) -> None:
    assert post(b"--x", headers=FORM).status == 200

    assert post(b"--x", headers=FORM, path=path).status == 415


def test_commands_of_a_thread_may_be_as_large_as_its_runs() -> None:
    assert bounds_of("/threads/t1/commands") == bounds_of("/threads/t1/runs/stream")


def test_a_request_without_a_body_needs_no_type() -> None:
    assert post(headers={}).status == 200
    assert ask(admission(), method="POST").status == 200


def test_who_sends_nothing_for_too_long_is_let_go() -> None:
    limits = BodyLimits(form_bytes=5_000, part_s=0.01)
    sent: list[Message] = []

    async def never() -> Message:
        await asyncio.sleep(3600)
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/threads",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"10")],
    }
    asyncio.run(admission(limits)(scope, never, send))

    assert sent[0]["status"] == 408


def test_who_goes_away_in_the_middle_has_sent_no_json() -> None:
    sent: list[Message] = []
    given: Iterator[Message] = iter(
        [
            {"type": "http.request", "body": b'{"a"', "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> Message:
        return next(given)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/threads",
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"10")],
    }
    asyncio.run(admission()(scope, receive, send))

    assert sent[0]["status"] == 400


@pytest.mark.parametrize("root", ["", "/agents"])
def test_a_body_has_the_bounds_of_its_route_below_any_root_path(root: str) -> None:
    outer = Starlette(routes=[Mount(root, admission(BodyLimits(form_bytes=1)))])
    body = b'"' + b" " * MIB + b'"'
    headers = {**JSON, "content-length": str(len(body))}

    for path, status in (("/api/threads/t1/runs", 200), ("/api/threads", 413)):
        answered = ask(outer, root + path, method="POST", headers=headers, parts=[body])
        assert answered.status == status
