"""A real task, start to end: an agent fixes a repository in a window that is too small for it."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.maintainer import (
    CONSTRAINTS,
    MAINTAINER,
    MENDER,
    REQUEST,
    answer,
    is_menders,
    is_summary,
    see,
)
from core_tests.e2e.shop import PARTS, Shop, write_shop
from strict_llm import Answer, Request, StrictProvider
from strict_llm_tests.chat_models import chat_model
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.journal import page_from_json
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import LocalShellBackend

WINDOW = 12_000
SEED = int(os.environ.get("THALWEG_TASK_SEED", "7"))
TICKET = f"SHOP-{SEED:04}"
ASKED = REQUEST.format(constraints="\n".join(CONSTRAINTS), ticket=TICKET)


@dataclass
class Talk:
    """The requests to the model and its answers."""

    requests: list[Request] = field(default_factory=list)
    called: Counter[tuple[bool, str]] = field(default_factory=Counter)
    """By who called (the mender?) and which tool."""

    def answer(self, request: Request) -> Answer:
        """Answer as the maintainer does, and keep what was asked."""
        said = answer(request)
        self.requests.append(request)
        self.called.update((is_menders(request), name) for name, _ in said.calls)
        return said

    def of(self, *, mender: bool) -> list[Request]:
        """List the requests for a next step of one of the two agents."""
        return [r for r in self.requests if is_menders(r) is mender and not is_summary(r)]


@dataclass
class Task:
    """A task that is done."""

    shop: Shop
    untouchable: str
    talk: Talk
    provider: StrictProvider
    archive: Archive
    messages: list[Any]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Task]:
    """Let the agent do it, once for all tests."""
    shop = write_shop(tmp_path_factory.mktemp("shop"), SEED)
    untouchable, talk = shop.untouchable(), Talk()
    with (
        StrictProvider(window=WINDOW, answer=talk.answer) as provider,
        chat_model(provider, "openai-chat") as model,
        open_archive(tmp_path_factory.mktemp("archive") / "thalweg.db") as archive,
    ):
        model.profile = {"max_input_tokens": WINDOW}
        agent = create_deep_agent(
            model,
            system_prompt=MAINTAINER,
            subagents=[
                {
                    "name": "mender",
                    "description": "Mends one part of the shop.",
                    "system_prompt": MENDER,
                }
            ],
            backend=LocalShellBackend(root_dir=shop.folder, virtual_mode=True, inherit_env=True),
            checkpointer=InMemorySaver(),
            archive=archive,
        )
        result = agent.invoke({"messages": [("user", ASKED)]}, {"configurable": {"thread_id": "t"}})
        yield Task(shop, untouchable, talk, provider, archive, result["messages"])


@pytest.mark.nightly
@pytest.mark.slow
def test_the_tests_of_the_repository_pass(task: Task) -> None:
    """Run for real, by this test alone."""
    ran = subprocess.run(
        [sys.executable, "-m", "unittest"],
        cwd=task.shop.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert f"Ran {len(PARTS)} tests" in ran.stderr


def test_every_module_says_what_is_in_force(task: Task) -> None:
    """The values were read in the pages; nothing else was changed in the code."""
    for name, part in PARTS.items():
        code = (task.shop.folder / "shop" / f"{name}.py").read_text(encoding="utf-8")
        assert code == part.source(name, task.shop.settings[name], mended=True)


def test_what_the_user_forbade_did_not_happen(task: Task) -> None:
    """Tests and vendored files are as they were."""
    assert task.shop.untouchable() == task.untouchable


def test_the_line_of_the_release_holds_what_was_read_at_the_beginning(task: Task) -> None:
    """By then the page that names the release was out of sight, and `recall` brought it back."""
    log = (task.shop.folder / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()

    assert [line for line in log if TICKET in line and line.endswith(task.shop.release)]
    assert task.talk.called[False, "recall"] == 1


def test_every_request_was_valid_and_inside_the_window(task: Task) -> None:
    """The provider refuses what the real ones refuse, and refused nothing."""
    assert [
        (seen.status, seen.problems) for seen in task.provider.requests if seen.status != 200
    ] == []
    assert max(seen.tokens for seen in task.provider.requests) <= WINDOW


def test_the_task_outgrew_the_window_many_times(task: Task) -> None:
    """At least five compactions, and the tokens that passed would have filled five windows."""
    key = ThreadKey("local", "t")
    edits = Counter(
        type(edit).__name__
        for text in task.archive.turns(key)
        for edit in page_from_json(text).edits
    )

    assert edits["Fold"] >= 5, edits


def test_the_users_words_are_in_every_request(task: Task) -> None:
    """The first request is there word for word, with each constraint, after any fold."""
    for request in task.talk.of(mender=False):
        users = see(request).users
        assert ASKED in users
        assert all(rule in users for rule in CONSTRAINTS)


def test_the_subagent_did_its_part_in_a_thread_of_its_own(task: Task) -> None:
    """Its steps are in no request of the main agent, which gets one line for them."""
    theirs, ours = task.talk.of(mender=True), task.talk.of(mender=False)

    assert task.talk.called[False, "task"] == 1
    assert task.talk.called[True, "edit_file"] >= 1
    assert len(theirs) >= 4
    assert not any("docs/reports.md" in step.about for r in ours for step in see(r).steps)
    assert not any(ASKED in see(r).users for r in theirs)


def test_requests_only_grow_between_compactions(task: Task) -> None:
    """The prefix that a provider has cached holds until an edit is justified."""
    pairs = list(pairwise(task.talk.of(mender=False)))
    kept = sum(after.items[: len(before.items)] == before.items for before, after in pairs)

    turns = task.archive.turns(ThreadKey("local", "t"))
    edited = sum(bool(page_from_json(text).edits) for text in turns)
    assert len(pairs) - kept <= edited
    assert kept >= 0.6 * len(pairs), (kept, len(pairs))
