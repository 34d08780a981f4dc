"""A counter of tokens of the caller's, in place of the exact one."""

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent

from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.journal import page_at
from thalweg.context.middleware import ContextMiddleware
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel


def test_requests_are_counted_by_it(tmp_path: Path) -> None:
    """A vocabulary of its own, a character each: a message of 3,000 counts as 3,000."""
    with open_archive(tmp_path / "a.db") as archive:
        middleware = ContextMiddleware(archive=archive, token_counter=len)
        agent: Any = create_agent(ScriptedModel(script=lambda _: "Hi."), middleware=[middleware])
        words = {"messages": [("user", "word " * 600)]}
        agent.invoke(words, {"configurable": {"thread_id": "t"}})
        _, page = page_at(archive, ThreadKey("local", "t"))
    assert 3_000 <= page.tokens["history"] < 3_100


@pytest.mark.parametrize(
    ("counter", "problem"),
    [
        (7, "it is of type int"),
        (lambda text: text, "for a text of 23 characters"),
        (lambda _: 0, "it returned 0"),
        (lambda text: text.missing, "it raised AttributeError"),
    ],
)
def test_what_counts_nothing_is_refused_before_any_run(
    counter: Any,  # noqa: ANN401 (what callers give)
    problem: str,
) -> None:
    with pytest.raises(ConfigError, match=problem):
        ContextMiddleware(token_counter=counter)
