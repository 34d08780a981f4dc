"""The ledger of savings of a live thread, and a provider's charges with and without folds."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from recorder_tests.e2e.test_cli import here
from thalweg import ContextMiddleware, ContextPolicy
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.savings import BranchSavings, compute_savings
from thalweg.archive.threads.thread_history import turns
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter
from thalweg.testing import ScriptedModel

KEY = ThreadKey("local", "t")
FRAME = 4
"""Tokens that this provider adds to each message."""
tokens = cache(exact_counter())


class CachingModel(ScriptedModel):
    """Finds the longest beginning that its last request had, too, and reports it."""

    last: list[str] = Field(default_factory=list)
    charged: list[Usage] = Field(default_factory=list)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        result = super()._generate(messages, stop, run_manager, **kwargs)
        texts = [json.dumps(kwargs.get("tools", [])), *(str(message.text) for message in messages)]
        sizes = [FRAME + tokens(text) for text in texts]
        pairs = enumerate(zip(self.last, texts, strict=False))
        same = next((k for k, (a, b) in pairs if a != b), min(len(self.last), len(texts)))
        used = Usage(sum(sizes), sum(sizes[:same]), sum(sizes[same:]), 1)
        self.last = texts
        self.charged.append(used)
        answer = result.generations[0].message
        usage = {
            "input_tokens": used.input,
            "output_tokens": used.output,
            "total_tokens": used.input + used.output,
            "input_token_details": {"cache_read": used.cached, "cache_creation": used.written},
        }
        told = AIMessage(answer.content, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=told)])


def talk(archive: Archive | str, requests: int, *, folds: bool = True) -> list[Usage]:
    """Talk for a while; return what the provider charged for each call."""
    model = CachingModel(script=lambda _: "An answer. " * 200)
    window = 20_000 if folds else 2_000_000
    policy = ContextPolicy(window=window, summarize=False, enabled=folds)
    agent = create_agent(
        model,
        middleware=[ContextMiddleware(policy, archive=archive)],
        checkpointer=InMemorySaver(),
    )
    for number in range(requests):
        said: Any = {"messages": [("user", f"topic {number} " + "blah " * 300)]}
        agent.invoke(said, {"configurable": {"thread_id": "t"}})
    return model.charged


def ledger(archive: Archive) -> BranchSavings:
    """Draw up the ledger of the thread."""
    return compute_savings(archive, KEY, turns(archive, KEY))


def prices(archive: Archive) -> Tariff:
    """Read what the thread was charged by."""
    digest = turns(archive, KEY)[-1].page.tariff
    return Tariff.model_validate_json(archive.attachment(KEY, digest))


def cost(charged: list[Usage], tariff: Tariff) -> float:
    """Add up what a provider charged for input."""
    return sum(tariff.read * one.cached + tariff.write * one.written for one in charged)


@pytest.mark.slow
def test_the_ledger_is_what_the_same_thread_would_have_cost_more_without_folds() -> None:
    """By the provider's own reports of both, within a twentieth."""
    with open_archive(":memory:") as archive:
        paid, never = talk(archive, 90), talk(":memory:", 90, folds=False)
        saved, tariff = ledger(archive), prices(archive)

    assert len(saved.lines) >= 3
    truth = cost(never, tariff) - cost(paid, tariff)
    assert truth > 0
    assert saved.realised == pytest.approx(truth, rel=0.05)
    assert 0 < saved.beyond < cost(never, tariff)


def test_a_page_costs_the_same_however_many_folds_came_before() -> None:
    """What the ledger needs of a turn is three small fields; who asks adds them up."""
    with open_archive(":memory:") as archive:
        talk(archive, 90)
        bodies = archive.turns(KEY, 0, None)
        plain = [json.loads(body) for body in bodies]

    quiet = [len(json.dumps(p)) for p in plain if p["kind"] == "call" and not p["edits"]]
    assert max(quiet) - min(quiet) < 250
    assert len({page["tariff"] for page in plain if page["kind"] == "call"}) == 1


def test_what_came_of_a_fold_is_told_under_it(tmp_path: Path) -> None:
    """In words and as JSON, the same figures."""
    place = tmp_path / "thalweg.db"
    with open_archive(place) as archive:
        talk(archive, 22)
        saved = ledger(archive)
        record, line = next(iter(saved.lines.items()))
        turn = turns(archive, KEY)[record].turn
    told = here("thread", "show", "t", "--archive", place).stdout.splitlines()
    plain = json.loads(here("thread", "show", "t", "--json", "--archive", place).stdout)
    one = here("thread", "show", "t", "--turn", str(turn), "--archive", place).stdout

    (under,) = (k for k, text in enumerate(told) if text.startswith("        fold "))
    assert told[under + 1].split("; ") == [
        f"        predicted {line.forecast.gain:+,.0f} after {line.forecast.calls} calls",
        f"so far {line.realised:+,.0f} (break-even after {-(-line.forecast.break_even // 1):.0f})",
    ]
    assert told[under + 1].strip() in one
    assert plain["turns"][record]["saving"] == {**line.to_json(), "turn": turn}
    assert plain["saved"] == round(saved.realised, 1)
    assert all(one["saving"] is None for one in plain["turns"] if one["turn"] != turn)
