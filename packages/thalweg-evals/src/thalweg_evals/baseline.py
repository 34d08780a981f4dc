"""Compare results with a baseline and report regressions, for CI.

A baseline is a small file to commit: the verdicts of trials, without traces. A results file can be
a baseline, too.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.errors import ConfigError
from thalweg_evals.base import Outcome
from thalweg_evals.candidates import SCRIPTED
from thalweg_evals.kept import Settings, read_kept
from thalweg_evals.plan import TrialKey, in_words
from thalweg_evals.results import Result
from thalweg_evals.statistics import Interval, difference, outcomes, rate

LEAST_PAIRS = 5
"""Least trials of a live model for a comparison: with four, one random failure looks significant.
"""
_FORM = "thalweg eval baseline"
_ROW = ("model", "subject", "trigger", "probe", "variant")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Verdicts to compare later ones with."""

    settings: Settings
    verdicts: Mapping[TrialKey, Outcome]


@dataclass(frozen=True, slots=True)
class Regression:
    """A regression."""

    trials: tuple[TrialKey, ...]
    """Trials that passed in the baseline and do not now."""
    change: Interval
    """Change of the pass rate, on the trials that both have."""

    def __str__(self) -> str:
        cases = ", ".join(f"{key.variant} #{key.number}" for key in self.trials)
        key = self.trials[0]
        where = f"{key.model}, {key.subject}, {in_words(key.trigger)}"
        rate = f"{self.change.value:+.0%} of {self.change.n} trials" if self.change.n else ""
        prefix = f"{rate}, " if rate else ""
        return f"{key.probe}: {where}: {prefix}no longer passed: {cases}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison with a baseline."""

    worse: tuple[Regression, ...]
    compared: int
    """Number of trials that both have."""


def compare(baseline: Baseline, results: Iterable[Result]) -> Comparison:
    """Return the regressions since a baseline.

    A scripted model is deterministic: for it, each trial that passed and does not now counts. For
    any other, the rate of a probe must have fallen significantly.

    Args:
        baseline: The former verdicts.
        results: The present results.
    """
    now: dict[TrialKey, Outcome] = {result.key: result.verdict for result in results}
    shared = [key for key in now if key in baseline.verdicts]
    groups: dict[tuple[str, str, float | None, str], list[TrialKey]] = defaultdict(list)
    for key in shared:
        groups[key.model, key.subject, key.trigger, key.probe].append(key)
    found = (_worse(keys, baseline.verdicts, now) for keys in groups.values())
    worse = tuple(one for one in found if one is not None)
    return Comparison(worse, len(shared))


def _worse(
    keys: Sequence[TrialKey],
    before: Mapping[TrialKey, Outcome],
    now: Mapping[TrialKey, Outcome],
) -> Regression | None:
    lost = tuple(key for key in keys if before[key] == "passed" and now[key] != "passed")
    if not lost:
        return None
    change = difference(outcomes((now[key], before[key]) for key in keys))
    is_sure = change.n >= LEAST_PAIRS and change.high < 0
    if not (is_sure or keys[0].model.startswith(SCRIPTED)):
        return None
    return Regression(lost, change)


def under(least: float, results: Sequence[Result]) -> list[str]:
    """Return the agents whose pass rate is too low, or of which no trial was tested.

    Args:
        least: The share that has to pass.
        results: Results of all trials.
    """
    problems: list[str] = []
    for model, subject in dict.fromkeys((one.key.model, one.key.subject) for one in results):
        of = [one for one in results if (one.key.model, one.key.subject) == (model, subject)]
        found = rate(one.verdict for one in of)
        if not found.n:
            problems.append(f"{subject}, {model}: no trial tested anything")
        elif found.value < least:
            problems.append(
                f"{subject}, {model}: {found.value:.1%} of {found.n} passed, not {least:.1%}"
            )
    return problems


def save_baseline(path: Path, settings: Settings, results: Iterable[Result]) -> None:
    """Write a baseline: small, in a stable order, one line a case.

    Raises:
        ConfigError: The file cannot be written.
    """
    rows: dict[str, list[tuple[int, Outcome]]] = defaultdict(list)
    for result in results:
        row = json.dumps([getattr(result.key, name) for name in _ROW])
        rows[row].append((result.key.number, result.verdict))
    lines = [
        f"  [{row[1:-1]}, {json.dumps(dict(sorted(verdicts)))}]"
        for row, verdicts in sorted(rows.items())
    ]
    head = json.dumps({_FORM: dict(settings)})[1:-1]
    text = f'{{{head}, "columns": {json.dumps([*_ROW, "verdicts"])}, "rows": [\n'
    try:
        path.write_text(text + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    except OSError as error:
        problem = f"it cannot be written: {(error.strerror or str(error)).lower()}"
        fix = "name a file that can be"
        raise ConfigError("--save-baseline", f"{path}: {problem}", fix) from error


def read_baseline(path: Path, settings: Settings) -> Baseline:
    """Parse a baseline, or a file of results.

    Args:
        path: The file.
        settings: Settings of the results to compare. Versions of Thalweg may differ: that is what
            is compared.

    Raises:
        ConfigError: The file cannot be read, has another format, or was made with other settings:
            then its trials are not the same.
    """
    baseline = _baseline(path)
    options = [name for name in settings if name.startswith("--")]
    for name in options:
        if baseline.settings.get(name) != settings[name]:
            was, now = (
                "none" if one.get(name) is None else one[name]
                for one in (baseline.settings, settings)
            )
            problem = f"it was made with {name} {was}, and these results with {now}"
            raise _unusable(path, problem, "use the same, or save a new one")
    return baseline


def _baseline(path: Path) -> Baseline:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem = f"it cannot be read: {(error.strerror or str(error)).lower()}"
        raise _unusable(path, problem) from error
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is no text") from error
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        kept = read_kept(path)
        return Baseline(kept.settings, {one.key: one.verdict for one in kept.results})
    try:
        return Baseline(plain[_FORM], dict(_rows(plain["rows"])))
    except (KeyError, TypeError, ValueError) as error:
        raise _unusable(path, "it is no baseline") from error


_FIX = "name a file that --save-baseline or --out has written"


def _unusable(path: Path, problem: str, fix: str = _FIX) -> ConfigError:
    return ConfigError(f"--baseline {path}", problem, fix)


def _rows(rows: Sequence[Sequence[Any]]) -> Iterable[tuple[TrialKey, Outcome]]:
    for model, subject, trigger, probe, variant, verdicts in rows:
        for number, verdict in verdicts.items():
            yield TrialKey(model, subject, trigger, probe, variant, int(number)), verdict
