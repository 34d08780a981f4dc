"""What could answer here and now: keys, and servers that listen; help for who has neither."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from threading import Thread
from time import monotonic
from typing import Final
from urllib.request import ProxyHandler, build_opener

from thalweg.engine.extras import install_command
from thalweg_server.models.providers import PROVIDERS, ModelProvider, key_of, provider
from thalweg_server.prompts import prompt

WITHIN_S: Final = 0.3
"""Seconds that all servers together are waited for."""
OLLAMA: Final = "http://127.0.0.1:11434"
SERVERS: Final = (
    ("llama.cpp", "http://127.0.0.1:8080"),
    ("LM Studio", "http://127.0.0.1:1234"),
    ("vLLM", "http://127.0.0.1:8000"),
)
"""Servers with OpenAI's API, and their default addresses."""
_MOST_BYTES: Final = 1_000_000
_MOST_MODELS: Final = 20
"""Models of one server that are offered."""


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """A model that could answer."""

    name: str
    """What to type for it."""
    what: str
    """A description of it, in a few words."""
    missing: str = ""
    """The step that is needed before it can be used; empty if it is ready."""

    @property
    def is_ready(self) -> bool:
        """Whether it can be used as it is."""
        return not self.missing


def find_models(environ: Mapping[str, str] | None = None) -> tuple[AvailableModel, ...]:
    """Return available models; the only request sent is for a server's list of models.

    Args:
        environ: The variables to search for keys; the environment of this process by default.

    Returns:
        Ready ones first: keys, servers; then incomplete ones.
    """
    known = os.environ if environ is None else environ
    offers = [*_keys(known), *_servers(known)]
    return tuple(sorted(offers, key=lambda offer: not offer.is_ready))


def _keys(environ: Mapping[str, str]) -> Iterator[AvailableModel]:
    for one in PROVIDERS:
        key = key_of(one, environ)
        if key and one.example:
            name = f"{one.name}:{one.example}"
            yield AvailableModel(name, f"{one.title}, by {key}", _lacks(one))


def _lacks(one: ModelProvider) -> str:
    return "" if find_spec(one.module) else one.install


def _servers(environ: Mapping[str, str]) -> list[AvailableModel]:
    """Query all servers concurrently; a silent one blocks neither the others nor the exit."""
    queries = [partial(_ollama, ollama_address(environ))]
    queries += [partial(_compatible, title, address) for title, address in SERVERS]
    answers: list[list[AvailableModel]] = [[] for _ in queries]

    def ask(number: int) -> None:
        answers[number] = queries[number]()

    until = monotonic() + WITHIN_S
    threads = [Thread(target=ask, args=(number,), daemon=True) for number in range(len(queries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - monotonic()))
    return [offer for answer in list(answers) for offer in answer]


def ollama_address(environ: Mapping[str, str]) -> str:
    """Return the address of Ollama from its own variable.

    Example:
        >>> ollama_address({"OLLAMA_HOST": "0.0.0.0"}), ollama_address({"OLLAMA_HOST": "box:99"})
        ('http://127.0.0.1:11434', 'http://box:99')
    """
    given = environ.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not given:
        return OLLAMA
    scheme, separator, host = given.rpartition("://")
    port = "" if ":" in host.rpartition("]")[2] else ":11434"
    host = host.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 (where it listens, not we)
    return f"{scheme if separator else 'http'}://{host}{port}"


def _ollama(address: str) -> list[AvailableModel]:
    there = _names(address + "/api/tags", "models", "name")
    what = f"Ollama at {address}"
    if there == []:
        missing = "ollama pull qwen3:4b"
        return [AvailableModel("ollama:qwen3:4b", f"{what}, without a model", missing)]
    return _served("ollama", there or [], what)


def _compatible(title: str, address: str) -> list[AvailableModel]:
    there = _names(address + "/v1/models", "data", "id") or []
    names = [f"{name}@{address}/v1" for name in there]
    return _served("openai", names, f"{title} at {address}, or similar")


def _served(provider_name: str, names: list[str], what: str) -> list[AvailableModel]:
    known = provider(provider_name)
    lacks = _lacks(known) if known else ""
    return [AvailableModel(f"{provider_name}:{name}", what, lacks) for name in names]


def _names(url: str, key: str, name: str) -> list[str] | None:
    """Request the models of a server; `None` if no server of this kind answers."""
    opener = build_opener(ProxyHandler({}))  # what is on this machine is behind no proxy
    try:
        with opener.open(url, timeout=WITHIN_S) as response:
            answer = json.loads(response.read(_MOST_BYTES))
    except (OSError, ValueError):  # nobody there, somebody else, or not JSON
        return None
    listed = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        return None
    names = (one.get(name) for one in listed if isinstance(one, dict))
    usable = (one for one in names if isinstance(one, str) and one.isprintable() and one)
    return list(usable)[:_MOST_MODELS]


_SHOWN = 6
"""Offers that fit on a screen with the rest of the text."""


def how_to_answer(offers: Sequence[AvailableModel] = ()) -> str:
    """Return, for one screen, how to get a model, and which were found.

    Args:
        offers: The result of `find_models`.

    Example:
        >>> found = AvailableModel("ollama:qwen3:4b", "Ollama at http://127.0.0.1:11434")
        >>> print(how_to_answer([found]).splitlines()[-1])
          thalweg chat --model ollama:qwen3:4b  (Ollama at http://127.0.0.1:11434)
    """
    if not offers:
        found = "Not found: a key in the environment, a server that listens."
        return _render(found)
    lines = [
        f"  thalweg chat --model {offer.name}  ({_describe(offer)})" for offer in offers[:_SHOWN]
    ]
    more = len(offers) - _SHOWN
    if more > 0:
        lines.append(f"  and {more} more: thalweg doctor")
    return _render("\n".join(["Found here:", *lines]))


def _render(found: str) -> str:
    extras = ("anthropic", "ollama", "openai")
    commands = {
        extra: "" if find_spec(f"langchain_{extra}") else install_command(extra) for extra in extras
    }
    text = prompt("how_to_answer").render(found=found, **commands)
    return "\n".join(line for line in text.splitlines() if not line or line.strip())


def _describe(offer: AvailableModel) -> str:
    return offer.what if offer.is_ready else f"{offer.what}; first: {offer.missing}"
