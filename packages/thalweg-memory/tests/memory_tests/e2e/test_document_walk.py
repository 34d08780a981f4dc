"""DeerFlow's document as its documentation prints it, with an agent, a command and a person."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_tests.e2e.test_memory_taken_out import SAID, Ada

SEEDS = """{
  "userContext": {
    "workContext": "Software engineer at a startup building AI agents",
    "personalContext": "Prefers Python and functional programming",
    "topOfMind": "Currently debugging LangGraph middleware issues"
  },
  "history": {
    "recentMonths": "Implemented authentication system in March 2024",
    "earlierContext": "Migrated from monolith to microservices in 2023",
    "longTermBackground": "Has been working with LangChain since 2022"
  },
  "facts": [
    {
      "id": "fact-1",
      "content": "User prefers async/await over callbacks",
      "category": "preference",
      "confidence": 0.95,
      "createdAt": "2024-03-15T10:30:00Z",
      "source": "conversation"
    },
    {
      "id": "fact-2",
      "content": "User's project uses PostgreSQL for checkpointing",
      "category": "knowledge",
      "confidence": 0.90,
      "createdAt": "2024-03-14T15:20:00Z",
      "source": "conversation"
    }
  ]
}
"""
EMPTY: dict[str, Any] = {
    "userContext": {"workContext": "", "personalContext": "", "topOfMind": ""},
    "history": {"recentMonths": "", "earlierContext": "", "longTermBackground": ""},
    "facts": [],
}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Return the path of the document, which exists before the memory does."""
    path = tmp_path / "memory.json"
    path.write_text(SEEDS, "utf-8")
    return path


@pytest.fixture
def ada(tmp_path: Path, document: Path) -> Iterator[Ada]:
    """A user with an agent, whose memory is in the document."""
    assert document.exists()
    one = Ada(tmp_path, storage="json")
    yield one
    one.store.close()


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `thalweg memory` on the same memory, in a process of its own."""
    options = ["--db", str(folder / "memory.db"), "--document", str(folder / "memory.json")]
    return subprocess.run(
        [sys.executable, "-m", "thalweg", "memory", *arguments, *options],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
    )


def test_the_walk(ada: Ada, document: Path, tmp_path: Path) -> None:
    """Read, learn, edit, remove, clear and delete."""
    asked = ada.chat("Callbacks or async/await: which do I prefer?", "t0")
    assert "User prefers async/await over callbacks" in asked
    assert "Currently debugging LangGraph middleware issues" in asked
    assert document.read_text("utf-8") == SEEDS

    ada.chat(SAID, "t1")
    ada.learn()
    learned = json.loads(document.read_text("utf-8"))["facts"][2]
    assert list(learned) == ["id", "content", "category", "confidence", "createdAt", "source"]
    rest = document.read_text("utf-8").replace(f",\n    {json.dumps(learned, indent=2)}", "")
    assert json.loads(document.read_text("utf-8")) == {
        **json.loads(SEEDS),
        "facts": [*json.loads(SEEDS)["facts"], learned],
    }
    assert rest.startswith(SEEDS[: SEEDS.index("0.90")])

    text = document.read_text("utf-8").replace("over callbacks", "over threads")
    document.write_text(text, "utf-8")
    done = command(tmp_path, "history")
    assert "memory.json was edited by hand" in done.stdout
    assert "User prefers async/await over threads" in ada.chat("async/await or what?", "t2")
    assert document.read_text("utf-8") == text

    body = json.loads(text)
    del body["facts"][1]
    document.write_text(json.dumps(body), "utf-8")
    assert "PostgreSQL" not in ada.chat("Which checkpointing does my project use?", "t3")
    assert [fact["id"] for fact in json.loads(document.read_text("utf-8"))["facts"]] == [
        "fact-1",
        learned["id"],
    ]

    assert command(tmp_path, "delete", "--all", "--yes").returncode == 0
    assert json.loads(document.read_text("utf-8")) == EMPTY
    assert not ada.knows()


def test_a_document_deleted_during_an_extraction_stays_empty(ada: Ada, document: Path) -> None:
    """Facts, profile and turns are gone; a new, empty file is created."""
    ada.chat(SAID, "t1")
    ada.meanwhile = document.unlink
    ada.learn()
    assert json.loads(document.read_text("utf-8")) == EMPTY
    assert ada.memory.facts() == []
    assert not ada.knows()
    ada.meanwhile = lambda: None
    ada.learn()
    assert json.loads(document.read_text("utf-8")) == EMPTY


def test_a_broken_document_is_never_overwritten(ada: Ada, document: Path, tmp_path: Path) -> None:
    """Processes that write meanwhile keep their changes in the database."""
    ada.memory.facts()
    broken = SEEDS.replace('"fact-2",', '"fact-2"').replace("over callbacks", "over threads")
    document.write_text(broken, "utf-8")
    assert command(tmp_path, "add", "User keeps four bees").returncode == 0
    ada.memory.remember("User rows on Sundays")
    failed = command(tmp_path, "show")
    assert failed.returncode == 2
    assert "User rows on Sundays" in failed.stdout
    assert "memory.json: line 23 column 7: expecting ',' delimiter; correct it" in failed.stderr
    assert document.read_text("utf-8") == broken
    document.write_text(broken.replace('"fact-2"', '"fact-2",'), "utf-8")
    assert command(tmp_path, "show").returncode == 0
    assert [fact["content"] for fact in json.loads(document.read_text("utf-8"))["facts"]] == [
        "User prefers async/await over threads",
        "User's project uses PostgreSQL for checkpointing",
        "User keeps four bees",
        "User rows on Sundays",
    ]
