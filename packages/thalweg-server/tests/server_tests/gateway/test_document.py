"""The whole API by its own document: nothing answers what the document does not describe."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.openapi.utils import get_openapi

from server_tests.gateway import worlds
from server_tests.serving import Served, gateway
from thalweg_server.gateway.langgraph_api.assistants import assistants
from thalweg_server.gateway.langgraph_api.crons import crons
from thalweg_server.gateway.langgraph_api.runs import runs
from thalweg_server.gateway.langgraph_api.store import store
from thalweg_server.gateway.langgraph_api.thread_protocol import thread_protocol
from thalweg_server.gateway.langgraph_api.threads import threads
from thalweg_server.gateway.openai_api import openai


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a gateway with keys, and a thread, a run, a fact and a file to name."""
    home = tmp_path_factory.mktemp("home")
    with gateway(worlds.settings(home, keys=worlds.KEYS)) as found:
        worlds.furnish(found.url, worlds.ADA)
        yield found


@pytest.mark.slow
@pytest.mark.nightly
def test_every_operation_answers_as_the_document_says(served: Served, tmp_path: Path) -> None:
    """Boundary values and random requests, valid and invalid, by a client that reads the document.

    One check is omitted: a document cannot describe every refusal, such as a fact with hidden
    characters or an old cursor.
    """
    options = {
        "phases": "examples,coverage,fuzzing",
        "max-examples": "12",
        "seed": "1",
        "generation-database": "none",
        "suppress-health-check": "all",
        "exclude-checks": "positive_data_acceptance",
    }
    run_schemathesis(options, f"{served.url}/openapi.json", tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
def test_no_request_to_the_other_apis_is_an_error_of_the_server(
    served: Served, tmp_path: Path
) -> None:
    """The routes of LangGraph's API and OpenAI's are in no document: one is made of them here."""
    routers = (assistants, threads, runs, thread_protocol, crons, store, openai)
    routes: list[Any] = [copy(route) for router in routers for route in router.routes]
    for number, route in enumerate(routes):
        route.include_in_schema, route.operation_id = True, f"operation-{number}"
        route.status_code = route.status_code or 200
    document = get_openapi(title="other", version="1", routes=routes)
    assert len(document["paths"]) > 30
    for path, item in document["paths"].items():
        for operation in item.values():  # a route that passes its request on does not name them
            known = {one["name"] for one in operation.setdefault("parameters", [])}
            operation["parameters"] += [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in re.findall(r"{(\w+)", path)
                if name not in known
            ]
    place = tmp_path / "openapi.json"
    place.write_text(json.dumps(document), encoding="utf-8")
    options = {
        "url": served.url,
        "phases": "examples,coverage,fuzzing",
        "max-examples": "12",
        "seed": "1",
        "generation-database": "none",
        "suppress-health-check": "all",
        "checks": "not_a_server_error",
        "request-timeout": "5",
    }
    run_schemathesis(options, str(place), tmp_path)


def run_schemathesis(options: dict[str, str], document: str, folder: Path) -> None:
    """Send what a document allows and what it does not; fail if a check fails."""
    given = [f"--{name}={value}" for name, value in options.items()]
    given += [f"--header={name}: {value}" for name, value in worlds.ADA.items()]
    command = Path(sys.executable).with_name("schemathesis")
    done = subprocess.run(
        [command, "run", "--no-color", *given, document],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_document_is_open_and_says_how_to_come_in(served: Served) -> None:
    document = httpx2.get(f"{served.url}/openapi.json").json()

    assert document["components"]["securitySchemes"].keys() == {"bearer", "key"}
    for path, item in document["paths"].items():
        for operation in item.values():
            is_open = path == "/healthz"
            assert bool(operation.get("security")) is not is_open
            assert ("401" in operation["responses"]) is not is_open


def test_every_error_in_the_document_is_a_problem(served: Served) -> None:
    document = httpx2.get(f"{served.url}/openapi.json").json()
    for item in document["paths"].values():
        for operation in item.values():
            for status, told in operation["responses"].items():
                if status >= "400" and (operation["operationId"], status) != ("health", "503"):
                    assert list(told["content"]) == ["application/problem+json"]


def test_every_operation_says_what_it_does(served: Served) -> None:
    document = httpx2.get(f"{served.url}/openapi.json").json()
    names = []
    for item in document["paths"].values():
        for operation in item.values():
            assert operation["summary"]
            assert operation["tags"]
            names.append(operation["operationId"])
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if body:
                assert "examples" in body or "examples" in body["schema"], operation["operationId"]

    assert len(names) == len(set(names))
