"""A scripted model understands the questions, and answers in the requested form."""

from typing import Any

import pytest
from langchain.agents.middleware.summarization import DEFAULT_SUMMARY_PROMPT
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import get_buffer_string
from langchain_core.tools import tool

from thalweg.context.request.refusals import overflow_of
from thalweg.engine.entries import Message, Text
from thalweg.engine.summaries.ask import ask_for, ask_in_place
from thalweg.engine.summaries.check import SummarySource
from thalweg.engine.summaries.reading import read_summary
from thalweg.engine.summaries.transcripts import chunks
from thalweg.engine.tokens import exact_counter
from thalweg_evals import World
from thalweg_evals.moves import Move, Respond, Search, View
from thalweg_evals.scripted import COMPETENCES, WorldModel
from thalweg_evals.world import passed

GOAL = "Please bring the Aurora to berth 7 by Friday."
DONE = "The pilot is booked for the Aurora."


def act(view: View) -> Move:
    """Report a code, or look for it."""
    if found := view.find(r"code is (\S+)\."):
        return Respond(f"It is {found[1]}.")
    return Search("the code is", Respond(f"heard {view.prompt[:60]!r}"))


WORLD = World(
    user="",
    score=lambda _: passed(""),
    act=act,
    gist=(r"Please bring [^.]+\.", r"The pilot is booked[^.]*\."),
)
"""Keeps a goal and what was done; looks for a code."""


@tool
def recall(query: str) -> str:
    """Look for something."""
    return query


@tool
def grep(pattern: str, path: str, output_mode: str) -> str:
    """Look into a file."""
    return pattern + path + output_mode


def _asked(*messages: BaseMessage, tools: bool, competence: str = "searcher") -> AIMessage:
    mind = WorldModel(world=WORLD, competence=COMPETENCES[competence], window=100_000)
    model: Any = mind.bind_tools([recall]) if tools else mind
    answer: AIMessage = model.invoke(list(messages))
    return answer


TALK: tuple[BaseMessage, ...] = (
    HumanMessage(GOAL),
    AIMessage(DONE),
    HumanMessage("Please read page 4 of the harbour log with read_page."),
    AIMessage("Its last word is quay."),
)


def _source() -> list[Message]:
    return [
        Message("user" if one.type == "human" else "assistant", (Text(one.text),)) for one in TALK
    ]


@pytest.mark.parametrize("in_place", [True, False])
def test_the_summary_that_our_engine_asks_for_is_taken_whole(*, in_place: bool) -> None:
    if in_place:
        answer = _asked(*TALK, HumanMessage(ask_in_place(3)), tools=True)
    else:
        [transcript] = chunks([*enumerate(_source())], 10_000, exact_counter())
        answer = _asked(HumanMessage(ask_for(transcript)), tools=False)

    summary, dropped = SummarySource.of(_source()).checked(read_summary(answer.text))

    assert not dropped
    assert summary.goal == (GOAL,)
    assert DONE in summary.state
    assert any("up to page 4" in line for line in summary.state)


@pytest.mark.parametrize("in_place", [True, False])
def test_the_summary_of_a_talk_without_a_goal_is_taken_too(*, in_place: bool) -> None:
    talk = [Message("user", (Text("Good morning."),)), Message("assistant", (Text("Hello."),))]
    if in_place:
        said = [HumanMessage("Good morning."), AIMessage("Hello.")]
        answer = _asked(*said, HumanMessage(ask_in_place(1)), tools=True)
    else:
        [transcript] = chunks([*enumerate(talk)], 10_000, exact_counter())
        answer = _asked(HumanMessage(ask_for(transcript)), tools=False)

    summary, dropped = SummarySource.of(talk).checked(read_summary(answer.text))

    assert not dropped
    assert not summary.is_empty


def test_the_summary_that_langchain_asks_for_has_its_headings() -> None:
    buffer = get_buffer_string(TALK, format="xml")
    answer = _asked(HumanMessage(DEFAULT_SUMMARY_PROMPT.format(messages=buffer)), tools=False)

    assert answer.text.splitlines() == [
        "## SESSION INTENT",
        f"- {GOAL}",
        "## SUMMARY",
        f"- {DONE}",
        "- Pages of the harbour log were read one after the other, up to page 4.",
    ]


def test_the_summary_of_a_running_turn_keeps_what_the_user_asked() -> None:
    call: Any = {"name": "recall", "args": {"query": "q"}, "id": "c"}
    running = [
        *TALK,
        HumanMessage("Who is the pilot?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("<message>no & nothing</message>", tool_call_id="c"),
    ]
    buffer = get_buffer_string(running, format="xml")

    answer = _asked(HumanMessage(DEFAULT_SUMMARY_PROMPT.format(messages=buffer)), tools=False)

    assert "- Who is the pilot?" in answer.text.splitlines()


@pytest.mark.parametrize(
    "words",
    [
        "Write a summary of the report into summary.md.",
        "Please summarize our conversation in a letter to the pilot.",
        "Here is a summary of the conversation to date:\n\nThey talked of the Aurora.",
        "The history of the harbour is long; extract the year in which this context arose.",
    ],
)
def test_a_user_who_speaks_of_summaries_is_answered(words: str) -> None:
    answer = _asked(
        SystemMessage("Be brief."), HumanMessage(words), tools=True, competence="forgetful"
    )

    assert answer.text == f"heard {words[:60]!r}"


def test_a_forgetful_model_writes_the_newest_lines_and_never_looks() -> None:
    summary = _asked(*TALK, HumanMessage(ask_in_place(3)), tools=True, competence="forgetful")
    answer = _asked(HumanMessage("What is the code?"), tools=True, competence="forgetful")

    assert GOAL not in summary.text
    assert "Its last word is quay." in summary.text
    assert not answer.tool_calls


def test_a_search_is_given_up_where_it_finds_nothing() -> None:
    mind = WorldModel(world=WORLD, competence=COMPETENCES["searcher"], window=100_000)
    model = mind.bind_tools([recall, grep])
    where = "All is kept in /conversation_history/a.md and /conversation_history/b.md."
    talk: list[BaseMessage] = [HumanMessage(where), AIMessage("Yes."), HumanMessage("The code?")]
    made: list[str] = []

    while (answer := model.invoke(talk)).tool_calls:
        made.append(answer.tool_calls[0]["name"])
        talk += [answer, ToolMessage("nothing", tool_call_id=answer.tool_calls[0]["id"] or "")]

    assert made == ["recall", "grep", "grep", "grep", "grep"]
    assert answer.text == "heard 'The code?'"


def test_a_request_beyond_its_window_is_refused_in_a_provider_s_words() -> None:
    mind = WorldModel(world=WORLD, competence=COMPETENCES["searcher"], window=50)

    with pytest.raises(ContextOverflowError) as caught:
        mind.invoke("word " * 100)

    overflow = overflow_of(caught.value)
    assert overflow is not None
    assert overflow.limit == 50
