"""Files over HTTP: sent, listed, fetched in parts, and never run by a browser."""

from collections.abc import Iterator

import httpx2
import pytest

from server_tests.gateway.worlds import settings
from server_tests.serving import Served, gateway

WORDS = bytes(range(32, 127)) * 100


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    with gateway(settings(home, max_upload_bytes=100_000)) as found:
        yield found


def send(served: Served, thread: str, *files: tuple[str, bytes]) -> httpx2.Response:
    url = f"{served.url}/api/threads/{thread}/uploads"
    return httpx2.post(url, files=[("files", file) for file in files], timeout=30)


def test_what_was_sent_is_listed_and_comes_back_byte_for_byte(served: Served) -> None:
    sent = send(served, "whole", ("a.txt", WORDS), ("b.md", b"# b"))
    thread = f"{served.url}/api/threads/whole"

    assert sent.status_code == 201
    names = [each["name"] for each in sent.json()["items"]]
    assert names == ["a.txt", "b.md"]
    assert [each["name"] for each in httpx2.get(f"{thread}/uploads").json()["items"]] == names
    assert httpx2.get(thread).status_code == 200  # the thread was made
    assert httpx2.get(f"{thread}/artifacts/uploads/a.txt").content == WORDS


@pytest.mark.parametrize(
    ("asked", "start", "stop"), [("0-9", 0, 10), ("9490-", 9490, 9500), ("-5", 9495, 9500)]
)
def test_a_part_is_fetched_without_the_rest(
    served: Served, asked: str, start: int, stop: int
) -> None:
    send(served, f"parts-{start}", ("a.txt", WORDS))
    url = f"{served.url}/api/threads/parts-{start}/artifacts/uploads/a.txt"
    answer = httpx2.get(url, headers={"range": f"bytes={asked}"})

    assert answer.status_code == 206
    assert answer.content == WORDS[start:stop]
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/9500"


def test_a_part_past_the_end_is_a_problem_that_says_how_long_the_file_is(served: Served) -> None:
    send(served, "past", ("a.txt", WORDS))
    url = f"{served.url}/api/threads/past/artifacts/uploads/a.txt"
    answer = httpx2.get(url, headers={"range": "bytes=9500-"})

    assert answer.status_code == 416
    assert answer.headers["content-range"] == "bytes */9500"
    assert answer.json()["code"] == "file.range"


def test_what_one_has_already_is_not_sent_again(served: Served) -> None:
    send(served, "same", ("a.txt", WORDS))
    url = f"{served.url}/api/threads/same/artifacts/uploads/a.txt"
    etag = httpx2.get(url).headers["etag"]
    answer = httpx2.get(url, headers={"if-none-match": etag})

    assert (answer.status_code, answer.content) == (304, b"")


def test_a_page_is_saved_and_not_shown(served: Served) -> None:
    send(served, "page", ("a.html", b"<!doctype html><script>alert(1)</script>"))
    url = f"{served.url}/api/threads/page/artifacts/uploads/a.html?inline=true"
    headers = httpx2.get(url).headers

    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"].startswith("attachment")
    assert headers["x-content-type-options"] == "nosniff"


def test_where_one_file_is_refused_none_is_kept(served: Served) -> None:
    refused = send(served, "none", ("a.txt", WORDS), ("b.exe", b"MZ\x00\x00"))

    assert refused.status_code == 422
    assert refused.json()["code"] == "file.refused"
    assert httpx2.get(f"{served.url}/api/threads/none/uploads").status_code == 404


def test_too_much_is_refused_before_it_is_read(served: Served) -> None:
    assert send(served, "large", ("a.txt", b"x" * 100_001)).json()["code"] == "file.refused"
    answer = send(served, "large", ("a.txt", b"x" * 3_000_000))

    assert answer.status_code == 413
    assert answer.json()["code"] == "request.too_large"


@pytest.mark.parametrize(
    "body", [b"", b"--x--\r\n", b"--x\r\n\r\n", b"no form", b"--x\r\nA: b\r\n"]
)
def test_a_broken_form_is_told_so(served: Served, body: bytes) -> None:
    url = f"{served.url}/api/threads/broken/uploads"
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = httpx2.post(url, content=body, headers=headers)

    assert answer.status_code in {400, 422}
    assert answer.headers["content-type"] == "application/problem+json"
