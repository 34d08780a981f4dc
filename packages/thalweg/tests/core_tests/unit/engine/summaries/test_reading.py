"""An answer of a model is read as a summary, or refused."""

from dataclasses import replace

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
        f"```markdown\n{ASKED}```",
        f"<summary>\n{ASKED}</summary>",
        f"<think>\nThe user wants a table.\n## Goal\n- nonsense\n</think>\n{ASKED}",
        f"The user wants a table.\n</think>\n{ASKED}",
        ASKED.replace("- ", "* ").replace("## Goal", "**Goal**").replace("## Next", "**Next"),
    ],
)
def test_headings_are_known_in_any_dress(answer: str) -> None:
    """Level, case, fences and reasoning around them change nothing."""
    summary = read_summary(answer)

    assert [len(found) for found in summary.sections.values()] == [1, 1, 1, 2, 1, 1]
    assert summary.goal[0].lower() == READ.goal[0].lower()


def test_the_form_that_is_asked_for_is_read_to_the_letter() -> None:
    """Bullets are removed, words are kept."""
    assert read_summary(ASKED) == READ


@pytest.mark.parametrize(
    "answer",
    [
        "**Goal:** ship it in May\n**Next steps:**\n1. tag\n2. push",
        "**Goal**: ship it in May\n__Next steps__\n1. tag\n2. push",
        "Goal: ship it in May\n\nNext steps:\n- tag\n- push",
        "Goal\n====\nship it in May\n\nNext steps\n----------\n1) tag\n2) push",
        "## 1. Goal\n- ship it in May\n## 2. Next steps\n- tag\n- push",
        "**1. Goal**\n- ship it in May\n**2. Next steps**\n- tag\n- push",
        "1. **Goal**\n   - ship it in May\n2. **Next steps**\n   - tag\n   - push",
        "- **Goal:**\n  - ship it in May\n- **Next steps:**\n  - tag\n  - push",
        "## Goal：\n- ship it in May\n**Next steps：**\n- tag\n- push",
        "## Goal ##\n- ship it in May\n## Next steps ##\n- tag\n- push",
        "## Goal\n```\nship it in May\n\n## Next steps\n- tag\n- push",
        "# GOAL:\n* ship it in May\n# next steps\n* tag\n* push\n# Open questions\nNone.",
    ],
)
def test_other_forms_say_the_same(answer: str) -> None:
    """Colons, numbers and underlines."""
    assert read_summary(answer) == Summary(goal=("ship it in May",), next_steps=("tag", "push"))


def test_a_fence_around_the_summary_alone_is_no_part_of_it() -> None:
    """Words before it are the state of work, as without a fence; words after it a last line."""
    summary = read_summary(f"Here it is:\n\n```markdown\n{ASKED}```\n\nThat is all.")

    assert summary == replace(
        READ,
        state=("Here it is:", *READ.state),
        questions=(*READ.questions, "That is all."),
    )


@pytest.mark.parametrize("line", ["- goal: 3 parts", "1. Goal", "```\ngoal: 3\n# parts\n```"])
def test_a_line_of_a_list_or_of_code_is_no_heading(line: str) -> None:
    """But for a requested title that is bold, or a heading of Markdown."""
    summary = read_summary(f"## Decisions\n- Keep the old endpoint.\n{line}\n- Drop it later.")

    assert not summary.goal
    assert summary.decisions[-1] == "Drop it later."


def test_a_line_that_begins_bold_is_kept() -> None:
    summary = read_summary("## Goal\n- ship it in May\n\n**By noon** if we can")

    assert "**By noon** if we can" in summary.goal


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
        ("OK", "none of the requested sections"),
        ("Sure, I'll summarise the conversation for you.", "none of the requested sections"),
        ("好的", "none of the requested sections"),
        ("I'm sorry, but I can't help with that.", "none of the requested sections"),
        ("抱歉,我无法完成这个请求。", "none of the requested sections"),
        ("Es tut mir leid.\n\n- Dabei kann ich nicht helfen.", "none of the requested sections"),
        ("# Error\nThe conversation was too long.", "none of the requested sections"),
        ("## Goal\n\n## Constraints\n\n## Next steps\n", "headings"),
        ("## Goal\nNone\n## Open questions\n- N/A", "headings"),
        ("## Goal\nHm.", "too short"),
    ],
)
def test_what_says_nothing_is_refused(answer: str, why: str) -> None:
    """The record alone, without it, is better than this."""
    with pytest.raises(SummaryError, match=why):
        read_summary(answer)


def test_a_prompt_of_the_user_may_have_any_form() -> None:
    """All of the answer is the state of work, but for the sections that have the known titles."""
    answer = "We tagged 1.2.\n\n## Artifacts\n- dist.zip\n## Next steps\n- push it"

    summary = read_summary(answer, is_custom=True)

    assert summary.state == ("We tagged 1.2.", "Artifacts: dist.zip")
    assert summary.next_steps == ("push it",)
    assert read_summary("It all went well so far.", is_custom=True).state
    for empty in ("OK", "", "## Artifacts\n"):
        with pytest.raises(SummaryError):
            read_summary(empty, is_custom=True)


def test_a_deeper_heading_belongs_to_its_section() -> None:
    answer = "## Decisions\n### Storage\n- SQLite it is\n## Timings\n- 12 s"

    summary = read_summary(answer)

    assert summary.decisions == ("Storage: SQLite it is",)
    assert summary.state == ("Timings: 12 s",)


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
