"""Results for people: a table of probes and subjects, what failed, a request that shows it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.table import Table
from rich.text import Text

from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.usage import NO_USAGE
from thalweg.engine.transcript import printable
from thalweg_evals.candidates import SCRIPTED
from thalweg_evals.plan import in_words
from thalweg_evals.results import Result
from thalweg_evals.runner import Played
from thalweg_evals.spending import spent
from thalweg_evals.statistics import difference, rate
from thalweg_evals.trace import Request, TracedMessage

T = TypeVar("T")
MOST_FAILURES = 12
"""How many are listed one by one."""


def tables(results: Sequence[Result]) -> Iterator[Table]:
    """Lay out results: a table for each model, a line for each probe, a column for each subject.

    Triggers and variants of a probe are combined; if there are several triggers, there is a line
    for each below.
    """
    for model in _each(result.key.model for result in results):
        yield _table(model, [result for result in results if result.key.model == model])


def _table(model: str, results: Sequence[Result]) -> Table:
    subjects = _each(result.key.subject for result in results)
    triggers = sorted(_each(one.key.trigger for one in results), key=lambda at: at or float("inf"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column(Text(printable(model)))
    for subject in subjects:
        table.add_column(Text(printable(subject)), no_wrap=True)

    def add(name: str, of: Sequence[Result], style: str = "") -> None:
        cells = (cell([one for one in of if one.key.subject == subject]) for subject in subjects)
        table.add_row(Text(name), *cells, style=style)

    probes = _each(result.key.probe for result in results)
    for probe in probes:
        add(printable(probe), [result for result in results if result.key.probe == probe])
    if len(probes) > 1:
        add(f"all {len(probes)} probes", results, "bold")
    if len(triggers) > 1:
        for trigger in triggers:
            add(in_words(trigger), [one for one in results if one.key.trigger == trigger])
    if len(subjects) > 1:
        for name, figure, form in _FIGURES:
            means = [
                _mean([r for r in results if r.key.subject == s], figure, form) for s in subjects
            ]
            if any(means):
                table.add_row(Text(name), *means, style="dim")
    return table


def _simulated(result: Result) -> float:
    """Return the cost of a scripted model's trial, with a simulated cache; 0 for any other model.

    The unit is a thousand uncached input tokens.
    """
    is_scripted = result.key.model.startswith(SCRIPTED)
    return spent(result.trace, TARIFFS["anthropic"]).cost / 1_000 if is_scripted else 0.0


# Of a trial. The names and figures are short: six agents fit into a line.
_FIGURES: tuple[tuple[str, Callable[[Result], float], str], ...] = (
    ("k tokens sent", lambda result: result.tokens.input / 1_000, "{:,.0f}"),
    ("dollars", lambda result: result.cost or 0.0, "{:.4f}"),
    ("simulated cost", _simulated, "{:,.0f}"),
)


def _mean(results: Sequence[Result], figure: Callable[[Result], float], form: str) -> str:
    """Format the mean over the tried trials with its interval; empty where all are 0."""
    found = difference((figure(one), 0.0) for one in results if one.verdict != "not offered")
    if not found.value:
        return ""
    mean, low, high = map(form.format, (found.value, found.low, found.high))
    return f"{mean} ({low}-{high})"


def cell(results: Sequence[Result]) -> Text:
    """Format how many passed, the interval of the rate, and how many were not tested."""
    tried = [one.verdict for one in results if one.verdict != "not offered"]
    if not tried:
        return Text("not offered" if results else "", style="dim")
    found = rate(tried)
    untested = tried.count("untested")
    text = Text()
    if found.n:
        passed = tried.count("passed")
        style = "green" if passed == found.n else "red"
        text.append(f"{passed} of {found.n}", style=style)
        text.append(f" ({100 * found.low:.0f}-{100 * found.high:.0f} %)", style="dim")
    if untested:
        text.append(", " if found.n else "").append(f"{untested} untested", style="yellow")
    return text


def failures(results: Sequence[Result], out: str) -> Iterator[str]:
    """Yield the failures, their reasons, and how to show the request.

    Args:
        results: Of all trials.
        out: The file in which results are kept; empty if there is none.
    """
    failed = [result for result in results if result.verdict == "failed"]
    untested = [result for result in results if result.verdict == "untested"]
    for title, found in (("Failed", failed), ("Untested", untested)):
        if found:
            yield f"{title}:"
            yield from map(_failure_lines, found[:MOST_FAILURES])
            if len(found) > MOST_FAILURES:
                yield f"  and {len(found) - MOST_FAILURES} more"
            yield ""
    if failed:
        shown = f"thalweg eval --out {out} --show {failed[0].key.id}"
        yield f"See a request: {shown}" if out else "With --out FILE, --show ID shows the request."


def _failure_lines(result: Result) -> str:
    key = result.key
    where = f"{printable(key.subject)}, {printable(key.model)}, {in_words(key.trigger)}"
    judged = " (a model's judgement)" if result.judged else ""
    return (
        f"  {key.id}  {key.case} #{key.number}: {where}\n           {printable(result.why)}{judged}"
    )


def summary(played: Played, seconds: float) -> str:
    """Describe the duration and the cost."""
    tokens = sum((result.tokens for result in played.results), NO_USAGE)
    new = len(played.results) - played.again
    parts = [f"{new} trials in {seconds:.1f} s"]
    if played.again:
        parts.append(f"{played.again} were played before")
    if played.unplayed:
        parts.append(f"{played.unplayed} were not started: the budget is spent")
    parts.append(f"{tokens.input:,} tokens sent, {tokens.output:,} written")
    if any(result.cost is None for result in played.results):
        parts.append("some prices are unknown")
    if played.spent:
        parts.append(f"{played.spent:,.2f} $")
    return "; ".join(parts) + "."


def request_lines(result: Result, number: int | None = None) -> Iterator[str]:
    """Write a trial, and one of its requests, whole.

    Args:
        result: Of the trial.
        number: Of the request; by default the one that shows what came of it.
    """
    yield f"{result.key.id}  {result.key}"
    yield f"{result.verdict}: {printable(result.why)}"
    index = result.request if number is None else number
    requests = result.trace.requests
    if index is None or not 0 <= index < len(requests):
        yield f"It sent {len(requests)} requests; none of them is number {index}."
        return
    request = requests[index]
    yield _about(request, len(requests))
    for message in (*request.messages, *((request.answer,) if request.answer else ())):
        yield ""
        yield from _message_lines(message, is_answer=message is request.answer)
    if request.error:
        yield f"\nThe model failed: {printable(request.error)}"


def _about(request: Request, among: int) -> str:
    tools = ", ".join(request.tools) or "none"
    return (
        f"request {request.number} of {among}, turn {request.turn}, of the {request.kind}: "
        f"{request.tokens:,} tokens; tools: {tools}"
    )


def _message_lines(message: TracedMessage, *, is_answer: bool) -> Iterator[str]:
    name = f" {printable(message.name)}" if message.name else ""
    yield f"--- {'answered' if is_answer else message.role}{name}"
    if message.text:
        yield "\n".join(printable(line) for line in message.text.splitlines())
    for call in message.calls:
        arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        yield printable(f"{call.name}({arguments})")


def _each(values: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(values))
