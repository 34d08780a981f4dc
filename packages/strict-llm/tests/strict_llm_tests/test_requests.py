"""What a script reads in a request, and media for a model without them, in every dialect."""

import json
import urllib.error
import urllib.request

import pytest

from strict_llm import Answer, Model, Request, StrictProvider
from strict_llm_tests.valid_bodies import ANTHROPIC, CHAT, PIXEL, RESPONSES, Object


def gemini(**media: Object) -> Object:
    call = {"functionCall": {"name": "ls", "args": {}}}
    result = {"functionResponse": {"name": "ls", "response": {"output": "ok"}}}
    contents = [
        {"role": "user", "parts": [{"text": "look"}, media]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    return {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": contents}


GEMINI = "/v1beta/models/m:generateContent"
BODIES = {
    "chat": ("/v1/chat/completions", CHAT),
    "responses": ("/v1/responses", RESPONSES),
    "anthropic": ("/v1/messages", ANTHROPIC),
    "gemini": (GEMINI, gemini(inlineData={"mimeType": "image/png", "data": PIXEL})),
    "gemini, by address": (
        GEMINI,
        gemini(fileData={"mimeType": "image/png", "fileUri": "https://e.org/a"}),
    ),
}
HEADERS = {"Authorization": "Bearer x", "anthropic-version": "2023-06-01", "x-goog-api-key": "x"}


def send(provider: StrictProvider, path: str, body: Object) -> int:
    """Post a body, and return the status."""
    url, data = provider.anthropic_url + path, json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, HEADERS)) as answer:  # noqa: S310 (the loopback)
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


@pytest.mark.parametrize("name", BODIES)
def test_a_script_reads_text_and_results(name: str) -> None:
    path, body = BODIES[name]
    read: list[Request] = []

    def script(request: Request) -> Answer:
        read.append(request)
        return Answer("ok")

    with StrictProvider(answer=script) as provider:
        assert send(provider, path, body) == 200
    (request,) = read
    assert (request.last_text, request.ends_in_result) == ("ok", True)
    assert request.items[0].get("role") == "system"


@pytest.mark.parametrize("name", BODIES)
def test_a_model_of_text_alone_refuses_media(name: str) -> None:
    with StrictProvider() as provider:
        provider.models["m"] = Model(text_only=True)
        assert send(provider, *BODIES[name]) == 400
    assert "does not support image" in provider.requests[0].problems[0]
