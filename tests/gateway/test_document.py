"""The whole API by its own document: nothing answers what the document does not say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.gateway import worlds
from tests.serving import Served, gateway
from thalweg.server.gateway import create_app


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a gateway with keys, and a thread, a run, a fact and a file to name."""
    home = tmp_path_factory.mktemp("home")
    with gateway(worlds.settings(home, keys=worlds.KEYS)) as found:
        worlds.furnish(found.url, worlds.ADA)
        yield found


DOCUMENT = create_app(worlds.settings(Path("nowhere"), keys=worlds.KEYS)).openapi()
schema = schemathesis.openapi.from_dict(DOCUMENT)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@pytest.mark.filterwarnings("ignore:Do not use the `random`")  # the server does, beside it
def test_every_operation_answers_as_the_document_says(case: Case[Any], served: Served) -> None:
    excluded = _EXCLUDED | (_OF_HEADERS if case.headers else set())
    case.call_and_validate(
        base_url=served.url, headers=worlds.ADA, excluded_checks=sorted(excluded, key=str)
    )


_EXCLUDED = {positive_data_acceptance}
"""What a document cannot say is refused in words: a fact with hidden characters, an old cursor."""
_OF_HEADERS = {negative_data_rejection}
"""A header that is not in the document is no violation of it."""


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
