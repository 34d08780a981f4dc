"""Small results for the tests of the report, made by hand."""

from dataclasses import replace

from thalweg.engine.pricing.usage import Usage
from thalweg_evals.base import Outcome
from thalweg_evals.plan import TrialKey
from thalweg_evals.results import Result
from thalweg_evals.trace import Request, Trace, TracedCall, TracedMessage, TracedTurn

HOSTILE = (
    "</script><script>document.title='taken'</script><!-- <img src=x onerror=alert(1)> "
    "\u2028\u202e ' \" & \x00 \ud800 https://example.org/x.js 漢字"
)
CODE = "QX-1234"
SIZES = (900, 1_900, 2_900, 700, 1_700, 2_700, 800)
"""Of the requests of a trial: two compactions, before the fourth and the last."""


def a_request(number: int, tokens: int, *texts: str) -> Request:
    """Make a request: system, user, and a call with its result."""
    calls = (TracedCall("c1", "read_page", {"page": 3}),)
    messages = (
        TracedMessage("system", "You are a clerk."),
        *(TracedMessage("user", text) for text in texts),
        TracedMessage("assistant", "", calls),
        TracedMessage("tool", f"Page 3, read for request {number}", answers="c1", name="read_page"),
    )
    return Request(
        number=number,
        turn=number,
        thread="main",
        kind="agent",
        messages=messages,
        tools=("read_page",),
        tokens=tokens,
        answer=TracedMessage("assistant", "I do not know it."),
    )


def a_trace(text: str = "hello", sizes: tuple[int, ...] = SIZES) -> Trace:
    """Make a trace in which the code is in the first three requests, and then is missing."""
    requests = [
        a_request(k, size, *([f"The code is {CODE}."] if k < 3 else []), f"{text} {k}")
        for k, size in enumerate(sizes)
    ]
    return Trace(requests, [TracedTurn("main", text, "I do not know it.") for _ in sizes])


def a_result(
    subject: str = "thalweg",
    verdict: Outcome = "passed",
    *,
    probe: str = "needle",
    number: int = 1,
    trigger: float | None = 0.25,
    text: str = "hello",
) -> Result:
    """Make the result of a trial."""
    whys = {
        "passed": "the code was told",
        "failed": f"{CODE} was not told: 'I do not know it.'",
        "untested": "nothing was compacted",
        "not offered": "not offered: files",
    }
    trace = Trace() if verdict == "not offered" else a_trace(text)
    return Result(
        key=TrialKey("scripted:searcher", subject, trigger, probe, "user_aside", number),
        seed=number,
        window=8_000,
        verdict=verdict,
        why=whys[verdict],
        request=len(trace.requests) - 1 if trace.requests else None,
        compactions=len(trace.compactions()),
        tokens=Usage(sum(one.tokens for one in trace.requests), output=70),
        cost=0.004,
        seconds=0.2,
        trace=trace,
    )


def an_evaluation() -> list[Result]:
    """Make the results of two subjects: one passes, the other fails or is not tried."""
    results = [a_result("thalweg", number=number) for number in (1, 2, 3)]
    results += [a_result("other", "failed", number=number) for number in (1, 2, 3)]
    results += [a_result("thalweg", probe="trail"), a_result("other", "not offered", probe="trail")]
    judged = replace(a_result("thalweg", probe="tone"), judged=True)
    return [*results, judged, a_result("other", "untested", probe="tone")]


def hostile() -> list[Result]:
    """Make results in which every text tries to be more than text."""
    made = a_result("thalweg", "failed", text=HOSTILE)
    key = replace(made.key, model=HOSTILE, subject=HOSTILE, probe=HOSTILE, variant=HOSTILE)
    requests = [
        replace(
            one,
            tools=(HOSTILE,),
            error=HOSTILE,
            messages=(
                *one.messages,
                TracedMessage("tool", HOSTILE, (TracedCall("c", HOSTILE, {HOSTILE: 1}),)),
            ),
            answer=TracedMessage("assistant", HOSTILE, name=HOSTILE),
        )
        for one in made.trace.requests
    ]
    why = f"`{CODE}` was not told: {HOSTILE}"
    return [replace(made, key=key, why=why, error=HOSTILE, trace=Trace(requests))]
