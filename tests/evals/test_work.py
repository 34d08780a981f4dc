"""The probe of work that depends on the conversation: it passes with all of it, and can fail."""

from random import Random

import pytest

from thalweg.lab.evals import Evaluation, evaluate
from thalweg.lab.evals.probes.work import LENGTH, VARIANTS, ServiceWork, make
from thalweg.lab.evals.trace import Request, Trace, TracedCall, TracedMessage, TracedTurn

WHOLE, SMALL = 128_000, 32_000


@pytest.mark.parametrize("subject", ["none", "thalweg-middleware"])
def test_work_is_right_where_nothing_has_to_be_removed(subject: str) -> None:
    """The whole conversation fits into the window."""
    played = evaluate(
        Evaluation(subjects=(subject,), probes=("work",), triggers=(None,), window=WHOLE)
    )

    assert [one.why for one in played.results if one.verdict != "passed"] == []
    assert len(played.results) == len(VARIANTS)
    assert all(r.trace.agents()[-1].tokens > LENGTH / 2 for r in played.results) == (
        subject == "none"
    )


@pytest.mark.parametrize("variant", ["constraint", "old_value"])
def test_an_agent_that_cannot_look_fails_in_a_small_window(variant: str) -> None:
    """LangChain's summaries lose the rule and the figures, and there is nothing to search."""
    probes = (f"work/{variant}",)
    subjects = ("thalweg-middleware", "langchain")
    played = evaluate(Evaluation(subjects=subjects, probes=probes, triggers=(None,), window=SMALL))

    assert [one.verdict for one in played.results] == ["passed", "failed"], played.results


def case(variant: str) -> ServiceWork:
    """Make a case."""
    return make(variant, Random(3))  # noqa: S311 (not a secret)


def trace(asked: str, *calls: tuple[str, dict[str, str]]) -> Trace:
    """Make the trace of one turn with these calls."""
    made = tuple(TracedCall(str(n), name, arguments) for n, (name, arguments) in enumerate(calls))
    request = Request(
        number=0,
        turn=0,
        thread="main",
        kind="agent",
        messages=(),
        tools=(),
        tokens=10,
        answer=TracedMessage("assistant", "", made),
    )
    return Trace([request], [TracedTurn("main", asked, "Done.")])


def test_an_edit_of_text_that_is_gone_fails() -> None:
    """The file has another number by then; the agent sees the refusal, and the probe, too."""
    work = case("stale_edit")
    path = next(iter(work.files))
    name, number = next(iter(work.files[path].items()))
    change = {"path": path, "new": f"{name} = 7"}
    asked = f"Please set {name} to 7 in {path} with replace_in_file."
    tool = work.tools[1]

    assert tool.invoke({**change, "old": f"{name} = {number + 1}"}).startswith("There is no line")
    assert tool.invoke({**change, "old": f"{name} = {number}"}) == "Replaced."
    assert "no longer in the file" in work.grade(trace(asked)).why


def test_a_change_against_the_rule_fails() -> None:
    """And so does a change that was not made although no rule forbids it."""
    work = case("constraint")
    path = next(iter(work.files))
    name = next(iter(work.files[path]))
    asked = trace(f"Please set {name} to 7 in {path} with replace_in_file.")

    assert work.grade(asked).why == f"{name} was not changed"
    work.fixed = name
    assert work.grade(asked).verdict == "passed"
    work.files[path][name] = 7
    assert work.grade(asked).why == f"{name} was changed against the rule"


def test_a_check_that_is_run_twice_fails() -> None:
    """And so does a report with an older figure."""
    work = case("repeated_work")
    listed = [place.lower() for place in work.places[:12]]
    for name in listed:
        work.tools[2].invoke({"name": name})
    asked = f"once each and in this order: {', '.join(listed)}. Then save_report"
    runs = [("run_check", {"name": name}) for name in listed]
    right = "\n".join(f"{name}: {work.figures[name][0]} ms" for name in listed)
    wrong = right.replace(str(work.figures[listed[3]][0]), "7")

    assert work.grade(trace(asked, *runs, ("save_report", {"text": right}))).verdict == "passed"
    twice = work.grade(trace(asked, *runs, runs[2], ("save_report", {"text": right})))
    assert twice.why == f"the check {listed[2]} was run 2 times"
    assert listed[3] in work.grade(trace(asked, *runs, ("save_report", {"text": wrong}))).why
