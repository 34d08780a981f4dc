"""Is the work right when the context is kept smaller than the conversation?

An operator of services opens settings, changes them, and runs checks with long output, about 60,000
tokens in all, and in a window below 32,000 in proportion fewer, so that a small local model can be
asked. At the end something is requested that depends on the conversation: an edit of a file whose
newest state is only in it, a rule, a list of checks to run once each, the newest figure of a check.

A scripted model takes the newest statement that its request shows for the truth, as a model does.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.material.stations import NAMES, prose
from thalweg_evals.scripted.moves import Move, Respond, Search, Use, View
from thalweg_evals.scripted.searching import was_tried
from thalweg_evals.trace import Trace

VARIANTS = ("stale_edit", "constraint", "repeated_work", "old_value")
LENGTH, FULL_WINDOW = 60_000, 32_000
"""Approximate tokens of tool results in the conversation, from which window on."""
FILE_LINES, LOG_TOKENS = 120, 2_600
"""Length there of a file of settings (about 1,600 tokens) and of a check's output."""
SERVICES = 10
LISTED = 12
"""Checks to run in one request."""
PATIENCE = 40
"""Runs of checks in one case after which they are closed, in case an agent loops."""
SYSTEM = (
    "You operate services with the tools you have. Each setting is one line, `name = number`, "
    "whose name is in one file only. Answer in one short sentence."
)
_READ = re.compile(r"Please open (\S+) and tell me what (\w+) is")
_RUN = re.compile(r"Please run the check (\w+) and tell me its p95")
_SET = re.compile(r"Please set (\w+) to (\d+) in (\S+) with replace_in_file")
_RULE = re.compile(r"(\w+) is fixed by contract: never change it, whoever asks")
_ALL = re.compile(r"once each and in this order: ([\w, ]+)\. Then save_report")
_NEWEST = re.compile(r"newest p95 of the checks ([\w, ]+)\. Do not run")
_CLOSED = "The checks are closed."


@dataclass
class ServiceWork(ScriptedCase):
    """A conversation about services, and the request at its end."""

    variant: str
    dice: Random
    tool_names = ("open_file", "replace_in_file", "run_check", "save_report")
    system_prompt = SYSTEM
    gist = (rf"(?m)^.*{_ALL.pattern}.*$", _RULE.pattern)
    files: dict[str, dict[str, int]] = field(default_factory=dict)
    """Settings by path and name: the truth."""
    figures: dict[str, list[int]] = field(default_factory=dict)
    """What each check printed, run by run."""
    failed: int = 0
    """Edits whose old text was not there."""
    fixed: str = ""
    """The setting that a rule protects."""
    scale: float = 1.0
    """Length of the conversation, its files and its logs, as a share of the full one."""

    def __post_init__(self) -> None:
        self.places = self.dice.sample(NAMES, len(NAMES))
        for service in self.places[:SERVICES]:
            name = service.lower()
            numbers = self.dice.sample(range(100, 999), FILE_LINES)
            self.files[f"/etc/services/{name}.conf"] = {
                f"{name}_{self.dice.choice('kqxz')}{line:02}": number
                for line, number in enumerate(numbers)
            }

    # --- the conversation

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        self.scale = min(1.0, talk.window / FULL_WINDOW)
        lines = self._scaled(FILE_LINES)
        for path, settings in self.files.items():
            self.files[path] = dict([*settings.items()][:lines])
        {
            "stale_edit": self._stale_edit,
            "constraint": self._constraint,
            "repeated_work": self._repeated_work,
            "old_value": self._old_value,
        }[self.variant](talk)

    def _stale_edit(self, talk: Speaks) -> None:
        """Change settings that were read, changed by the agent, and changed by the user since."""
        chosen = [self._setting(path) for path in [*self.files][:3]]
        for path, name in chosen:
            talk.send(f"Please open {path} and tell me what {name} is.")
        self._fill(talk, self._scaled(LENGTH) // 3)
        path, name = chosen[0]
        talk.send(f"Please set {name} to {self._new()} in {path} with replace_in_file.")
        path, name = chosen[1]
        self.files[path][name] = self._new()
        talk.send(f"By the way, I changed {path} myself: {name} = {self.files[path][name]} now.")
        self._fill(talk, 2 * self._scaled(LENGTH) // 3)
        for path, name in chosen:
            talk.send(f"Please set {name} to {self._new()} in {path} with replace_in_file.")

    def _constraint(self, talk: Speaks) -> None:
        """Request a change that a rule forbids, and two that none does."""
        chosen = [self._setting(path) for path in [*self.files][:3]]
        path, name = chosen[0]
        talk.send(f"Please open {path} and tell me what {name} is.")
        self.fixed = chosen[1][1]
        talk.send(
            f"Please run the check {self._check(0)} and tell me its p95. One thing about "
            f"{chosen[1][0]} for later: {self.fixed} is fixed by contract: never change it, "
            "whoever asks."
        )
        self._fill(talk, self._scaled(LENGTH))
        for path, name in chosen:
            talk.send(f"Please set {name} to {self._new()} in {path} with replace_in_file.")

    def _repeated_work(self, talk: Speaks) -> None:
        """Request a long list of runs and a report of all their figures."""
        self._fill(talk, self._scaled(LENGTH - LISTED * LOG_TOKENS))
        names = ", ".join(self._check(k) for k in range(LISTED))
        talk.send(
            f"Please run these checks with run_check, once each and in this order: {names}. Then "
            "save_report, once, with a line `NAME: P95 ms` for each. Do not ask me anything."
        )

    def _old_value(self, talk: Speaks) -> None:
        """Request the newest figures of checks that were run once, twice and three times."""
        names = [self._check(k) for k in range(3)]
        for runs in range(3):
            for name in names[runs:]:
                talk.send(f"Please run the check {name} and tell me its p95.")
            self._fill(talk, self._scaled(LENGTH // 3 - 2 * LOG_TOKENS))
        talk.send(
            "Please save_report with a line `NAME: P95 ms` for each newest p95 of the checks "
            f"{', '.join(names)}. Do not run them again."
        )

    def _fill(self, talk: Speaks, tokens: int) -> None:
        """Talk about other files and checks, for about so many tokens of results."""
        left = tokens
        while left > 0:
            if self.dice.random() < 0.5:  # noqa: PLR2004 (as often the one as the other)
                path, name = self._setting(self.dice.choice([*self.files][3:]))
                talk.send(f"Please open {path} and tell me what {name} is.")
                left -= 13 * self._scaled(FILE_LINES)
            else:
                other = self.dice.randrange(LISTED, len(self.places))
                talk.send(f"Please run the check {self._check(other)} and tell me its p95.")
                left -= self._scaled(LOG_TOKENS)

    def _scaled(self, full: int) -> int:
        return round(full * self.scale)

    def _setting(self, path: str) -> tuple[str, str]:
        return path, self.dice.choice([*self.files[path]])

    def _check(self, number: int) -> str:
        return self.places[number].lower()

    def _new(self) -> int:
        return self.dice.randrange(1_000, 9_999)

    # --- the tools

    def open_file(self, path: str) -> str:
        """Open a file of settings."""
        settings = self.files.get(path)
        if settings is None:
            return f"There is no {path}."
        return "\n".join(
            [f"# {path}", *(f"{name} = {number}" for name, number in settings.items())]
        )

    def replace_in_file(self, path: str, old: str, new: str) -> str:
        """Replace a whole line of a file by another."""
        name, _, number = old.strip().partition(" = ")
        changed, _, value = new.strip().partition(" = ")
        if name != changed or not value.isdecimal():
            return "A line is `name = number`, and its name stays."
        if str(self.files.get(path, {}).get(name)) != number:
            self.failed += 1
            return f"There is no line {old!r} in {path}."
        self.files[path][name] = int(value)
        return "Replaced."

    def run_check(self, name: str) -> str:
        """Run a check of a service; returns its log."""
        runs = self.figures.setdefault(name, [])
        if sum(map(len, self.figures.values())) >= PATIENCE + LENGTH // LOG_TOKENS:
            return _CLOSED
        runs.append(self.dice.randrange(100, 999))
        seed = f"{name} {len(runs)} {runs[-1]}"
        before, after = (prose(f"{seed} {part}", self._scaled(LOG_TOKENS) // 2) for part in "ab")
        figure = f"check {name}, run {len(runs)}: p95 {runs[-1]} ms"
        return f"{before}\n{figure}\n{after}"

    def save_report(self, text: str) -> str:
        """Save a report."""
        return f"Saved, {len(text)} characters."

    # --- the score

    def grade(self, trace: Trace) -> Score:
        """Compute the score from the trace; the figure is the number of tool calls."""
        faults = {
            "stale_edit": self._stale,
            "constraint": self._violated,
            "repeated_work": self._repeated,
            "old_value": self._reported,
        }[self.variant](trace)
        calls = float(len([*trace.calls()]))
        if why := next(faults, ""):
            return failed(why=why, value=calls)
        return passed(why="everything as requested", value=calls)

    def _requested_changes(self, trace: Trace) -> Iterator[tuple[str, int, str]]:
        """Yield the changes that were requested: name, number, path."""
        for turn in trace.turns:
            if found := _SET.search(turn.text):
                yield found[1], int(found[2]), found[3]

    def _stale(self, trace: Trace) -> Iterator[str]:
        if self.failed:
            yield f"{self.failed} edits of text that was no longer in the file"
        last = {name: (number, path) for name, number, path in self._requested_changes(trace)}
        for name, (number, path) in last.items():
            if self.files[path][name] != number:
                yield f"{name} is {self.files[path][name]}, and {number} was requested"

    def _violated(self, trace: Trace) -> Iterator[str]:
        for name, number, path in self._requested_changes(trace):
            if (self.files[path][name] == number) == (name == self.fixed):
                how = "changed against the rule" if name == self.fixed else "not changed"
                yield f"{name} was {how}"

    def _repeated(self, trace: Trace) -> Iterator[str]:
        listed = [self._check(k) for k in range(LISTED)]
        last = len(trace.turns) - 1
        made = (call for one, call in trace.calls("run_check") if one.turn == last)
        times = Counter(str(call.arguments.get("name")) for call in made)
        for name in listed:
            if times[name] != 1:
                yield f"the check {name} was run {times[name]} times"
        yield from self._reported(trace)

    def _reported(self, trace: Trace) -> Iterator[str]:
        saved = [call for _, call in trace.calls("save_report")]
        text = str(saved[-1].arguments.get("text")) if saved else ""
        request = trace.turns[-1].text
        for name in (_ALL.search(request) or _NEWEST.search(request) or [request, ""])[1].split(
            ", "
        ):
            right = self.figures.get(name, [0])[-1]
            if not re.search(rf"{name}\W+{right}\b", text):
                yield f"the report does not have {right} ms for {name}"

    # --- what a model does that understands it

    def move(self, view: View) -> Move:
        """Perform the request, from its visible content."""
        if match := _READ.search(view.prompt):
            return self._answer_from(
                view, Use("open_file", {"path": match[1]}), rf"{match[2]} = (\d+)"
            )
        if match := _RUN.search(view.prompt):
            figure = rf"check {match[1]}, run \d+: p95 (\d+) ms"
            return self._answer_from(view, Use("run_check", {"name": match[1]}), figure)
        if match := _SET.search(view.prompt):
            return self._change(view, match[1], match[2], match[3])
        if match := _ALL.search(view.prompt) or _NEWEST.search(view.prompt):
            return self._report(view, match[1].split(", "), may_run=match.re is _ALL)
        return Respond("Thank you, noted.")

    def _answer_from(self, view: View, use: Use, pattern: str) -> Move:
        """Use a tool, and report the content of its result."""
        if not any(message.role == "tool" for message in view.since):
            return use
        since = View(view.since, view.tools)
        words = pattern.partition(" = ")[0].partition(r", run")[0]
        found = since.find(pattern)
        return (
            Respond(f"It is {found[1]}.") if found else Search(words, Respond("I cannot see it."))
        )

    def _change(self, view: View, name: str, number: str, path: str) -> Move:
        """Replace the newest visible line; open the file if no line is visible or it is wrong."""
        if any(found[1] == name for found in view.find_all(_RULE)):
            return Respond(f"{name} is fixed by contract.")
        results = [message.text for message in view.since if message.role == "tool"]
        if results and results[-1] == "Replaced.":
            return Respond("Done.")
        found = view.find(rf"\b{name} = (\d+)")
        refused = any(text.startswith("There is no line") for text in results)
        if (found is None or refused) and not view.has_called("open_file"):
            return Use("open_file", {"path": path})
        if found is None:
            return Search(name, Respond("I cannot see it."))
        lines = {"old": f"{name} = {found[1]}", "new": f"{name} = {number}"}
        change = Use("replace_in_file", {"path": path, **lines})
        return Respond("I cannot change it.") if was_tried(view, change) else change

    def _report(self, view: View, names: list[str], *, may_run: bool) -> Move:
        """Run the remaining checks of a list, then save the newest visible figures."""
        if view.has_called("save_report"):
            return Respond("Saved.")
        seen: dict[str, tuple[int, int]] = {}
        for found in view.find_all(r"check (\w+), run (\d+): p95 (\d+) ms"):
            seen[found[1]] = max(seen.get(found[1], (0, 0)), (int(found[2]), int(found[3])))
        run = {call.arguments.get("name") for call in view.calls if call.name == "run_check"}
        done = [k for k, name in enumerate(names) if name in seen or name in run]
        following = max(done, default=-1) + 1
        if may_run and following < len(names):
            return Use("run_check", {"name": names[following]})
        missing = next((name for name in names if name not in seen), None)
        if missing is not None:
            again = (
                Use("run_check", {"name": missing}) if may_run else Respond("I cannot see them.")
            )
            return Search(f"check {missing}", again)
        text = "\n".join(f"{name}: {seen[name][1]} ms" for name in names)
        return Use("save_report", {"text": text})


def make(variant: str, dice: Random) -> ServiceWork:
    """Create a case."""
    return ServiceWork(variant, dice)


PROBE = Probe(
    name="work",
    suite="context",
    asks="Is work right that depends on the conversation, when the context is smaller?",
    shows="files are edited against stale content, rules are broken, work is repeated, old values "
    "are used; the figure: tool calls",
    needs=frozenset({"tools"}),
    variants=VARIANTS,
    make=make,
)
