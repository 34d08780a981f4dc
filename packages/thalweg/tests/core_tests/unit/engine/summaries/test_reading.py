"""An answer of a model is read as a summary, or refused."""

import pytest

from thalweg.engine.summaries.reading import MAX_LINE_CHARS, MAX_LINES, read_summary
from thalweg.engine.summaries.summary import Summary
from thalweg.errors import SummaryError

ASKED = """\
## Goal
- "make `thalweg replay` print a table"
## Constraints
- "no new dependencies"
## Decisions
- Use rich, since it is there; a table of our own was rejected.
## State of work
- Wrote src/table.py.
- `pytest tests/test_table.py`: 14 passed in 0.82 s.
## Next steps
- Document it in README.md.
## Open questions
- Should it wrap?
"""
READ = Summary(
    goal=('"make `thalweg replay` print a table"',),
    constraints=('"no new dependencies"',),
    decisions=("Use rich, since it is there; a table of our own was rejected.",),
    state=("Wrote src/table.py.", "`pytest tests/test_table.py`: 14 passed in 0.82 s."),
    next_steps=("Document it in README.md.",),
    questions=("Should it wrap?",),
)


@pytest.mark.parametrize(
    "answer",
    [
        ASKED,
        ASKED.upper().replace("## GOAL", "## GOAL"),
        ASKED.replace("## ", "### "),
        f"Sure, here is the summary:\n\n{ASKED}\n\nLet me know if you need more.",
        f"```markdown\n{ASKED}```",
        f"<summary>\n{ASKED}</summary>",
        f"<think>\nThe user wants a table.\n## Goal\n- nonsense\n</think>\n{ASKED}",
        f"The user wants a table.\n</think>\n{ASKED}",
        ASKED.replace("- ", "* ").replace("## Goal", "**Goal**").replace("## Next", "**Next"),
    ],
)
def test_headings_are_known_in_any_dress(answer: str) -> None:
    """Level, case, fences, reasoning and politeness around them change nothing."""
    summary = read_summary(answer)

    assert [len(found) for found in summary.sections.values()] == [1, 1, 1, 2, 1, 1]
    assert summary.goal[0].lower() == READ.goal[0].lower()


def test_the_form_that_is_asked_for_is_read_to_the_letter() -> None:
    """Bullets are removed, words are kept."""
    assert read_summary(ASKED) == READ


@pytest.mark.parametrize(
    "answer",
    [
        "**Goal:** ship it\n**Next steps:**\n1. tag\n2. push",
        "Goal: ship it\n\nNext steps:\n- tag\n- push",
        "1. **Goal**: ship it\n2. **Next steps**\n   - tag\n   - push",
        "Goal\n====\nship it\n\nNext steps\n----------\n1) tag\n2) push",
        '{"Goal": "ship it", "next_steps": ["tag", "push"], "open questions": []}',
        '{"summary": {"goal": ["ship it"], "Next Steps": "- tag\\n- push"}}',
        "# 目标\n- ship it\n# 下一步\n- tag\n- push\n# 未决问题\n无",
        "一、目标:ship it\n二、下一步:\n- tag\n- push".replace(":", "\uff1a"),
        "## Session intent\nship it\n## Next steps\n- [ ] tag\n- [ ] push\n".replace("[ ] ", ""),
    ],
)
def test_other_forms_say_the_same(answer: str) -> None:
    """Colons, numbers, underlines, JSON and Chinese."""
    assert read_summary(answer) == Summary(goal=("ship it",), next_steps=("tag", "push"))


def test_text_under_no_known_heading_is_the_state_of_work() -> None:
    """A model's own heading is kept with the first line under it; rows of tables are lines."""
    answer = "Tried twice.\n\n## Goal\n- ship\n## Timings\n| run | s |\n|---|---|\n| a | 12 |\n"

    summary = read_summary(answer)

    assert summary.goal == ("ship",)
    assert summary.state == ("Tried twice.", "Timings: | run | s |", "| a | 12 |")


def test_a_wrapped_line_is_one_line() -> None:
    """A line that continues below its bullet is joined; code and lists are not."""
    answer = "## Decisions\n- keep the old\n  endpoint\n- drop\n```\nDROP TABLE x;\nCOMMIT;\n```"

    assert read_summary(answer).decisions == (
        "keep the old endpoint",
        "drop",
        "DROP TABLE x;",
        "COMMIT;",
    )


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("<think>I should summarise.</think>", "empty"),
        ("<think>I should summ", "empty"),
        ("OK", "acknowledges"),
        ("Sure, I'll summarise the conversation for you.", "acknowledges"),
        ("ACK_21", "acknowledges"),
        ("好的", "acknowledges"),
        ("Understood. I will continue with the task.", "acknowledges"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("I cannot summarize this conversation. It may hold private data.", "refusal"),
        ("抱歉,我无法完成这个请求。", "refusal"),
        ("Lo siento, no puedo ayudar con eso.", "refusal"),
        ("Es tut mir leid, dabei kann ich nicht helfen.", "refusal"),
        ("## Goal\nI'm sorry, I can't help with that.", "refusal"),
        ("## Goal\n\n## Constraints\n\n## Next steps\n", "headings"),
        ("## Goal\nNone\n## Open questions\n- N/A", "headings"),
        ("Hm.", "too short"),
        ("Error generating summary: timeout", "error text"),
        (
            "Error generating summary: Error code: 429 - {'error': 'slow down'}\nRetry.",
            "error text",
        ),
        ("Previous conversation was too long to summarize.", "error text"),
        ("No previous conversation history.", "error text"),
    ],
)
def test_what_says_nothing_is_refused(answer: str, why: str) -> None:
    """The record alone, without it, is better than this."""
    with pytest.raises(SummaryError, match=why):
        read_summary(answer)


def test_a_summary_about_such_an_error_is_read() -> None:
    """The words are refused as the beginning of an answer alone."""
    text = "## Goal\nFix 'Error generating summary: timeout'.\n## Next steps\n- Run it again."
    assert read_summary(text).goal == ("Fix 'Error generating summary: timeout'.",)


@pytest.mark.parametrize(
    ("finish", "why"),
    [
        ("length", "cut off"),
        ("MAX_TOKENS", "cut off"),
        ("max_tokens", "cut off"),
        ("content_filter", "stopped"),
        ("SAFETY", "stopped"),
        ("tool_calls", "called a tool"),
    ],
)
def test_an_answer_that_did_not_end_is_refused(finish: str, why: str) -> None:
    """Half a summary cannot be distinguished from a whole one by its looks."""
    with pytest.raises(SummaryError, match=why):
        read_summary(ASKED, finish=finish)


@pytest.mark.parametrize("finish", ["", "stop", "end_turn", "STOP", "completed"])
def test_an_answer_that_ended_is_read(finish: str) -> None:
    """For any name that its provider has for that."""
    assert read_summary(ASKED, finish=finish) == READ


def test_an_answer_without_measure_is_bounded() -> None:
    """A model that repeats itself does not fill the store."""
    summary = read_summary("## State of work\n" + f"- {'x' * 2_000}\n" * 199)

    assert len(summary.state) == MAX_LINES
    assert max(map(len, summary.state)) == MAX_LINE_CHARS
