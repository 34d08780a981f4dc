"""Two owners of one gateway: by no route does one see, or change, what is the other's.

The routes come from the document, so a new one is tried as well.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from server_tests.gateway import worlds
from server_tests.serving import Served, gateway
from thalweg_server.api.problems import Problem
from thalweg_server.gateway import create_app

DOCUMENT = create_app(worlds.settings(Path("nowhere"), keys=worlds.KEYS)).openapi()
NAMED = [
    (method, path, operation["operationId"])
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if "{" in path and not {"models", "skills", "owners"} & {*path.split("/")}
]
MAKES = {"start_run", "stream", "upload_file", "set_memory_mode"}
"""Operations that create a missing thread: the caller's own, even if another owner has the id."""
NONE = {
    "thread": "t-none",
    "run": "r-none",
    "name": "none.md",
    "path": "uploads/none.md",
    "fact": "fact_none",
    "operation": "999999",
    "owner": "nobody",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a gateway with keys for two."""
    with gateway(worlds.settings(tmp_path_factory.mktemp("home"), keys=worlds.KEYS)) as found:
        yield found


@pytest.fixture(scope="module")
def hers(served: Served) -> Mapping[str, str]:
    """Create Ada's data; return its ids."""
    return worlds.furnish(served.url, worlds.ADA, "plans-of-ada")


def body_of(operation: str) -> dict[str, Any]:
    """Return the body of an operation, from its own example."""
    if operation == "upload_file":
        return {"files": {"files": ("a.md", b"words")}}
    for item in DOCUMENT["paths"].values():
        for told in item.values():
            if told["operationId"] == operation and "requestBody" in told:
                content = told["requestBody"]["content"]["application/json"]
                named = [each["value"] for each in content.get("examples", {}).values()]
                return {"json": [*named, *content.get("schema", {}).get("examples", ())][0]}
    return {}


def ask(
    served: Served, method: str, path: str, operation: str, ids: Mapping[str, str]
) -> httpx2.Response:
    """Ask as Bob."""
    url = served.url + path.format(**ids)
    return httpx2.request(
        method, url, headers=worlds.BOB, timeout=30, params={"timeout": 0}, **body_of(operation)
    )


def told(answer: httpx2.Response, ids: Mapping[str, str]) -> object:
    """Return an answer's problem, with ids replaced by placeholders."""
    problem = Problem.model_validate_json(answer.content)
    said = [problem.instance, problem.detail, *map(str, problem.arguments)]
    for name, id_ in sorted(ids.items(), key=lambda each: -len(each[1])):
        said = [words.replace(id_, f"<{name}>") for words in said]
    return problem.model_copy(update={"instance": "", "detail": "", "arguments": ()}), said


@pytest.mark.parametrize(("method", "path", "operation"), NAMED, ids=[each[2] for each in NAMED])
def test_another_s_things_are_as_things_that_are_not_there(
    served: Served, hers: Mapping[str, str], method: str, path: str, operation: str
) -> None:
    before = everything(served)

    found = ask(served, method, path, operation, hers)

    if operation in MAKES:
        assert found.status_code in {200, 201, 202}
        thread = f"{served.url}/api/threads/{hers['thread']}"
        if operation == "start_run":
            url = f"{thread}/runs/{found.json()['id']}/wait?timeout=20"
            httpx2.get(url, headers=worlds.BOB, timeout=30)
        assert httpx2.delete(thread, headers=worlds.BOB).status_code in {200, 404}
    else:
        none = ask(served, method, path, operation, NONE)
        assert found.status_code == 404, found.text
        assert told(found, hers) == told(none, NONE)
    assert everything(served) == before


def everything(served: Served) -> dict[str, object]:
    """Read all of Ada's by all routes that need no more than a thread."""
    with httpx2.Client(base_url=served.url, headers=worlds.ADA, timeout=30) as http:
        paths = [
            path.format(thread="plans-of-ada")
            for path, item in DOCUMENT["paths"].items()
            if "get" in item and path.count("{") - path.count("{thread}") == 0
            if path.startswith("/api/") and not path.endswith(("/search", "/explain"))
        ]
        return {path: http.get(path).text for path in paths}


def test_lists_have_one_s_own_alone(served: Served, hers: Mapping[str, str]) -> None:
    theirs = [id_ for id_ in hers.values() if len(id_) > 2]
    # Runs of the tests above are remembered with the id of Bob's own thread, which is Ada's, too.
    assert httpx2.delete(f"{served.url}/api/memory", headers=worlds.BOB).is_success
    for path, item in DOCUMENT["paths"].items():
        if "get" in item and "{" not in path and path.startswith("/api/"):
            params = {"q": "Ada keeps notes"}
            text = httpx2.get(served.url + path, headers=worlds.BOB, params=params).text
            assert not [id_ for id_ in theirs if id_ in text], path


@pytest.mark.parametrize("key", [None, "Bearer x", "Bearer", "Basic YWRhOg==", "bearer null"])
def test_no_route_answers_without_a_key(served: Served, key: str | None) -> None:
    headers = {} if key is None else {"authorization": key}
    for path, item in DOCUMENT["paths"].items():
        for method in item:
            if path != "/healthz":
                url = served.url + path.format(**NONE)
                assert httpx2.request(method, url, headers=headers).status_code == 401, path
