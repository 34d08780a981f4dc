"""A server with OpenAI's API as a subject: its agents manage their own context."""

import json
import os
import re
from dataclasses import dataclass
from urllib.error import URLError
from urllib.request import Request, urlopen

from thalweg.errors import ConfigError
from thalweg_evals.base import Agent, Need, Setting
from thalweg_evals.subjects.graphs import GraphAgent, langchain_graph
from thalweg_server.models import model_by_name
from thalweg_server.settings import Settings

_ADDRESS = re.compile(r"(?:((?!https?://).+?)@)?(https?://.+)")
KEY = "OPENAI_API_KEY"
WITHIN_S = 10.0
"""Timeout of a server's list of models, in seconds."""
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RemoteSubject:
    """An agent at a URL, which receives the whole conversation, unmanaged on this side."""

    name: str
    model: str
    url: str
    offers: frozenset[Need] = frozenset({"tools", "system_prompt"})

    def begin(self, setting: Setting) -> Agent:
        """Create an agent. The trial's model is not used: the server has its own."""
        model = model_by_name(f"openai:{self.model}@{self.url}", Settings())
        return GraphAgent(langchain_graph(setting, model))


def served(name: str) -> RemoteSubject | None:
    """Return the subject for `http://host/v1` or `NAME@http://host/v1`; `None` for another name.

    Raises:
        ConfigError: The name has no model, and the server lists none.

    Example:
        >>> served("clerk@http://127.0.0.1:8000/v1").model, served("agents.clerk:make")
        ('clerk', None)
    """
    found = _ADDRESS.fullmatch(name)
    if found is None:
        return None
    url = found[2].rstrip("/")
    return RemoteSubject(name, found[1] or _first_model(name, url), url)


def _first_model(name: str, url: str) -> str:
    key = os.environ.get(KEY)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    fix = f"write NAME@{url}, with the name of its model"
    try:
        with urlopen(Request(f"{url}/models", headers=headers), timeout=WITHIN_S) as answer:  # noqa: S310 (http alone)
            body = json.loads(answer.read(_MOST_BYTES))
        return str(body["data"][0]["id"])
    except (URLError, TimeoutError) as error:
        problem = f"{url}/models does not answer ({error})"
        raise ConfigError(name, problem, fix) from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ConfigError(name, f"{url}/models names no model", fix) from error
