"""`thalweg eval`: probes, with agents beside each other; a table, failures, a picture."""

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.cli.parsing import AS_JSON, Argument, argument, single_command
from thalweg.cli.printing import Column, fold, one_line, print_json, print_lines, table
from thalweg.cli.progress import progress_bar
from thalweg.cli.values import parse_names, whole_number
from thalweg.engine.sections import name_remedy
from thalweg.errors import ConfigError
from thalweg_evals.comparison import difference, outcomes, rate

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from thalweg_evals.picture import TokenSeries
    from thalweg_evals.world import Probe, Score, World

DEFAULT_TRIGGER = 0.25
"""Share of the window: early enough to compact often, late enough to permit work."""
MAX_LISTED_FAILURES = 12
"""How many are listed one by one."""
SCRIPTED = "scripted:"
DEFAULT_MODEL = f"{SCRIPTED}searcher"
_MODEL_HELP = """\
scripted:searcher (the default), scripted:literal or scripted:forgetful, which need no
key; ollama:NAME, provider:model, openai:NAME@http://host/v1, or a name in the settings' models."""
_POLICY_HELP = """thalweg (the default), thalweg-careful, thalweg-frugal, thalweg-middleware,
langchain, deepagents, provider or none; or module:attribute or path/to/file.py:attribute of a graph
of LangGraph or of a function that creates one."""
_TRIGGER_HELP = f"Default: {DEFAULT_TRIGGER}. `default` uses the agent's own trigger."
_WINDOW_HELP = "Default: 64,000 for a scripted model, and its own for any other."
_FAIL_UNDER = "Exit code 1 if a smaller share of an agent's tested conversations passes, as 0.9."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One conversation, and its result."""

    probe: str
    case: str
    number: int
    model: str
    policy: str
    trigger: float | None
    score: "Score"
    compactions: int
    tokens: int
    """Of all requests, as the model reported them, or as counted."""

    @property
    def column(self) -> str:
        """The heading of its column."""
        at = "own trigger" if self.trigger is None else f"{self.trigger:g}"
        return f"{self.policy}, {at}"


def _list_option(flag: str, metavar: str, about: str) -> Argument:
    about = f"{about} May be repeated, or separated by commas."
    return argument(flag, metavar=metavar, action="append", default=[], help=about)


def _integer_option(flag: str, metavar: str, default: int | None, about: str) -> Argument:
    read = whole_number(flag)
    return argument(flag, metavar=metavar, type=read, default=default, help=about)


def _file_option(flag: str, about: str) -> Argument:
    return argument(flag, metavar="FILE", type=Path, help=about)


@single_command(
    _list_option("--model", "NAMES", f"The model: {_MODEL_HELP}"),
    _list_option("--policy", "NAMES", f"The agent: {_POLICY_HELP}"),
    _list_option(
        "--probe", "NAMES", "Only these: a probe, a PROBE/CASE, or a pattern such as 'work/*'."
    ),
    _list_option(
        "--trigger",
        "SHARES",
        f"Share of the window at which a context is compacted. {_TRIGGER_HELP}",
    ),
    _integer_option("--window", "TOKENS", None, f"Tokens that the model accepts. {_WINDOW_HELP}"),
    _integer_option("--trials", "N", 1, "Repetitions of each case, with other names and numbers."),
    _integer_option("--seed", "N", 0, "Seed of all names and numbers, the same for every agent."),
    _file_option("--svg", "Draw the tokens of each request over time, with compactions marked."),
    argument("--fail-under", type=float, default=0.0, metavar="RATE", help=_FAIL_UNDER),
    _file_option("--config", "The settings, if not config.yaml here."),
    argument("--list", dest="is_listing", action="store_true", help="List the probes."),
    AS_JSON,
)
def evaluate(options: Namespace) -> int:
    """Test an agent: does it keep its objective, and find again content removed from its context?

    Each probe has one conversation with an agent that forces its context to be compacted, and
    checks whether the content that should be kept or found was. Without a model's name a scripted
    model answers, which does everything right that its context lets it: so any failure is the
    agent's.

    Exit code 1 when --fail-under is not met; 2 when something cannot be done.
    """
    from thalweg_evals.probes import PROBES  # noqa: PLC0415 (LangChain takes seconds to load)

    cases = pick_cases(PROBES, parse_names(options.probe))
    if options.is_listing:
        print_lines(_probe_lines(PROBES, cases))
        return 0
    start = time.monotonic()
    trials, series = _play_all(options, PROBES, cases)
    if options.svg is not None:
        _write_picture(options.svg, series)
    by_column = _by_column(trials)
    rates = {name: rate(one.score.verdict for one in of).value for name, of in by_column.items()}
    low = [name for name, value in rates.items() if value < options.fail_under]
    if options.as_json:
        print_json({"trials": [asdict(one) for one in trials], "below": low})
    else:
        print_lines(report(trials))
        print_lines([f"{len(trials)} conversations in {time.monotonic() - start:.1f} s."])
        print_lines(f"Below {options.fail_under:g}: {name}" for name in low)
    return 1 if low else 0


def pick_cases(probes: "Mapping[str, Probe]", names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the cases that names select, as pairs of probe and case.

    Args:
        probes: All probes.
        names: Names of probes (`needle`), of cases (`needle/many`), or patterns of either;
            everything if empty.

    Raises:
        ConfigError: A name matches nothing.
    """
    cases = [(name, case) for name, one in probes.items() for case in one.cases]

    def fits(pair: tuple[str, str], name: str) -> bool:
        return fnmatchcase(pair[0], name) or fnmatchcase("/".join(pair), name)

    for name in names:
        if not any(fits(pair, name) for pair in cases):
            known = ["/".join(pair) for pair in cases] if "/" in name else list(probes)
            fix = name_remedy(name, known, "--list shows the probes")
            raise ConfigError("--probe", f"no probe fits {name!r}", fix)
    return [pair for pair in cases if not names or any(fits(pair, name) for name in names)]


def as_triggers(values: Sequence[str]) -> list[float | None]:
    """Read shares of the window.

    Raises:
        ConfigError: One is not a share.

    Example:
        >>> as_triggers(["0.1,default"])
        [0.1, None]
    """
    return [_parse_trigger(text) for text in parse_names(values)] or [DEFAULT_TRIGGER]


def _parse_trigger(text: str) -> float | None:
    if text == "default":
        return None
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        fix = "pass one above 0 and up to 1, or `default`"
        raise ConfigError("--trigger", f"{text!r} is not a share of the window", fix)
    return share


def _model(
    name: str, options: Namespace
) -> tuple["BaseChatModel | Callable[[World], BaseChatModel]", int]:
    """Return a model, or what creates the scripted one of a world; and the window."""
    from thalweg.context.request.models import limits_for  # noqa: PLC0415 (see above)
    from thalweg.engine import ContextPolicy  # noqa: PLC0415
    from thalweg_evals import scripted  # noqa: PLC0415
    from thalweg_server.models import model_by_name  # noqa: PLC0415
    from thalweg_server.settings.loading import load_settings  # noqa: PLC0415

    if name.startswith(SCRIPTED):
        window = options.window or scripted.WINDOW
        return scripted.scripted_model(name.removeprefix(SCRIPTED), window), window
    model = model_by_name(name, load_settings(options.config))
    limits = limits_for(model, ContextPolicy(window=options.window))
    if limits.note:
        sys.stderr.write(f"thalweg: {limits.note}\n")
    return model, limits.window


def _play_all(
    options: Namespace, probes: "Mapping[str, Probe]", cases: Sequence[tuple[str, str]]
) -> "tuple[list[Trial], list[TokenSeries]]":
    from thalweg_evals.agents import policy_named  # noqa: PLC0415 (see above)
    from thalweg_evals.picture import token_series  # noqa: PLC0415
    from thalweg_evals.world import play  # noqa: PLC0415

    models = {
        name: _model(name, options) for name in parse_names(options.model) or (DEFAULT_MODEL,)
    }
    policies = {name: policy_named(name) for name in parse_names(options.policy) or ("thalweg",)}
    numbers = range(1, options.trials + 1)
    # Compared agents are adjacent.
    plan = list(product(numbers, cases, as_triggers(options.trigger), models, policies))
    trials: list[Trial] = []
    series: list[TokenSeries] = []
    with progress_bar("evaluating", len(plan)) as advance:
        for number, (name, case), trigger, model, policy in plan:
            made, window = models[model]
            score, trace = play(
                probes[name],
                case,
                policies[policy],
                made,
                window=window,
                trigger=trigger,
                seed=options.seed,
                number=number,
            )
            trial = Trial(
                probe=name,
                case=case,
                number=number,
                model=model,
                policy=policy,
                trigger=trigger,
                score=score,
                compactions=len(trace.compactions()),
                tokens=sum(one.input_tokens or one.tokens for one in trace.requests),
            )
            trials.append(trial)
            series.append(token_series(f"{name}/{case}, {trial.column}", trace))
            advance(f"{name}/{case}")
    return trials, series


def _write_picture(path: Path, series: "Sequence[TokenSeries]") -> None:
    from thalweg_evals.picture import token_picture  # noqa: PLC0415 (see above)

    try:
        path.write_text(token_picture(series), encoding="utf-8")
    except OSError as error:
        problem = f"it cannot be written: {(error.strerror or str(error)).lower()}"
        raise ConfigError("--svg", f"{path}: {problem}", "name a file that can be") from error


def _probe_lines(probes: "Mapping[str, Probe]", cases: Sequence[tuple[str, str]]) -> Iterator[str]:
    for name in dict.fromkeys(name for name, _ in cases):
        yield name
        own = ", ".join(case for other, case in cases if other == name)
        one = probes[name]
        yield from table([("  asks", one.asks), ("  shows", one.shows), ("  cases", own)])


# --- the report


def report(trials: Sequence[Trial]) -> Iterator[str]:
    """Write a table for each model, the differences to the first column, and the failures."""
    for model in dict.fromkeys(one.model for one in trials):
        of_model = [one for one in trials if one.model == model]
        by_column = _by_column(of_model)
        rows = []
        columns = [Column(model), *(Column(name, is_number=True) for name in by_column)]
        for name in dict.fromkeys(one.probe for one in of_model):
            cells = (_cell([one for one in of if one.probe == name]) for of in by_column.values())
            rows.append((name, *cells))
        rows.append(("all", *(_cell(of, is_sum=True) for of in by_column.values())))
        means = (sum(one.tokens for one in of) / len(of) for of in by_column.values())
        rows.append(("k tokens each", *(f"{mean / 1000:,.0f}" for mean in means)))
        yield from table(rows, columns)
        yield ""
        yield from _differences(by_column)
    failures = [one for one in trials if one.score.verdict != "passed"]
    for one in failures[:MAX_LISTED_FAILURES]:
        what = f"{one.probe}/{one.case} #{one.number}, {one.column}, {one.model}"
        yield from fold(f"{one.score.verdict}: {what}: {one_line(one.score.why, 200)}")
    if len(failures) > MAX_LISTED_FAILURES:
        yield f"… and {len(failures) - MAX_LISTED_FAILURES} more; --json has all of them"


def _by_column(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for one in trials:
        found.setdefault(one.column, []).append(one)
    return found


def _cell(trials: Sequence[Trial], *, is_sum: bool = False) -> str:
    found = rate(one.score.verdict for one in trials)
    interval = f" ({100 * found.low:.0f}-{100 * found.high:.0f} %)" if is_sum else ""
    tested = f"{round(found.value * found.n)} of {found.n}{interval}" if found.n else ""
    untested = f"{len(trials) - found.n} untested" if len(trials) > found.n else ""
    return ", ".join(filter(None, (tested, untested)))


def _differences(by_column: Mapping[str, Sequence[Trial]]) -> Iterator[str]:
    """Compare each column with the first, on the conversations that both have."""
    (first, base), *others = by_column.items()
    for name, trials in others:
        pairs = zip(trials, base, strict=True)
        found = difference(outcomes((a.score.verdict, b.score.verdict) for a, b in pairs))
        if found.n:
            value, low, high = (f"{100 * at:+.0f}" for at in (found.value, found.low, found.high))
            points = f"{value} points ({low} to {high}), {found.n} pairs"
            yield from fold(f"{name} beside {first}: {points}")
    if others:
        yield ""
