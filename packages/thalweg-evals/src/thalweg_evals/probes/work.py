"""Is the work right when the context is kept smaller than the conversation?

A scripted model takes the newest statement that its request shows for the truth, as a model does.
"""

import re
from collections.abc import Callable, Iterator
from random import Random

from thalweg_evals.material import STATIONS, prose
from thalweg_evals.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Trace
from thalweg_evals.world import Conversation, Score, World, failed, passed, probe

LENGTH, FULL_WINDOW = 60_000, 32_000
"""Approximate tokens of tool results in the conversation, from which window on."""
FILE_LINES, LOG_TOKENS = 120, 2_600
"""Length there of a file of settings (about 1,600 tokens) and of a check's output."""
SERVICES = 10
LISTED = 12
"""Checks to run in one request."""
MOST = 63
"""Runs of checks in one conversation after which they are closed, in case an agent loops."""
SYSTEM = (
    "You operate services with the tools you have. Each setting is one line, `name = number`, "
    "whose name is in one file only. Answer in one short sentence."
)
_FIGURE = re.compile(r"check (\w+), run (\d+): p95 (\d+) ms")
_READ = re.compile(r"Please open (\S+) and tell me what (\w+) is")
_RUN = re.compile(r"Please run the check (\w+) and tell me its p95")
_SET = re.compile(r"Please set (\w+) to (\d+) in (\S+) with replace_in_file")
_RULE = re.compile(r"(\w+) is fixed by contract: never change it, whoever asks")
_ALL = re.compile(r"once each and in this order: ([\w, ]+)\. Then save_report")
_NEWEST = re.compile(r"newest p95 of the checks ([\w, ]+)\. Do not run")


@probe(
    "stale_edit",
    "constraint",
    "repeated_work",
    "old_value",
    asks="Is work right that depends on the conversation, when the context is smaller?",
    shows="files are edited against stale content, rules are broken, work is repeated, old values "
    "are used; the figure: tool calls",
)
def work(case: str, dice: Random, talk: Conversation) -> World:
    """Build services whose settings an operator opens and changes, and whose checks print much.

    That is about 60,000 tokens in all, and in a window below 32,000 in proportion fewer, so that a
    small local model can be used. At the end something is requested that depends on the
    conversation: an edit of a file whose newest state is only in it, a rule, a list of checks to
    run once each, the newest figure of a check.
    """
    scale = min(1.0, talk.window / FULL_WINDOW)
    files, figures = dict[str, dict[str, int]](), dict[str, list[int]]()
    refused, fixed = 0, ""
    places = [place.lower() for place in dice.sample(STATIONS, len(STATIONS))]
    for service in places[:SERVICES]:
        numbers = dice.sample(range(100, 999), FILE_LINES)
        names = [f"{service}_{dice.choice('kqxz')}{line:02}" for line in range(FILE_LINES)]
        pairs = list(zip(names, numbers, strict=True))
        files[f"/etc/services/{service}.conf"] = dict(pairs[: round(FILE_LINES * scale)])

    def open_file(path: str) -> str:
        """Open a file of settings."""
        if path not in files:
            return f"There is no {path}."
        return "\n".join([f"# {path}", *(f"{name} = {n}" for name, n in files[path].items())])

    def replace_in_file(path: str, old: str, new: str) -> str:
        """Replace a whole line of a file by another."""
        nonlocal refused
        name, _, number = old.strip().partition(" = ")
        changed, _, value = new.strip().partition(" = ")
        if name != changed or not value.isdecimal():
            return "A line is `name = number`, and its name stays."
        if str(files.get(path, {}).get(name)) != number:
            refused += 1
            return f"There is no line {old!r} in {path}."
        files[path][name] = int(value)
        return "Replaced."

    def run_check(name: str) -> str:
        """Run a check of a service; returns its log."""
        if sum(map(len, figures.values())) >= MOST:
            return "The checks are closed."
        runs = figures.setdefault(name, [])
        runs.append(dice.randrange(100, 999))
        half = round(LOG_TOKENS * scale) // 2
        before, after = (prose(f"{name} {len(runs)} {runs[-1]} {part}", half) for part in "ab")
        return f"{before}\ncheck {name}, run {len(runs)}: p95 {runs[-1]} ms\n{after}"

    def save_report(text: str) -> str:
        """Save a report."""
        return f"Saved, {len(text)} characters."

    def setting(path: str) -> tuple[str, str]:
        return path, dice.choice([*files[path]])

    def read(path: str, name: str) -> None:
        talk.send(f"Please open {path} and tell me what {name} is.")

    def run(name: str, aside: str = "") -> None:
        talk.send(f"Please run the check {name} and tell me its p95.{aside}")

    def change(path: str, name: str) -> None:
        number = dice.randrange(1_000, 9_999)
        talk.send(f"Please set {name} to {number} in {path} with replace_in_file.")

    def fill(tokens: int) -> None:
        """Talk about other files and checks, for about so many tokens of results."""
        left = tokens * scale
        while left > 0:
            if dice.random() < 0.5:  # noqa: PLR2004 (as often the one as the other)
                read(*setting(dice.choice([*files][3:])))
                left -= 13 * FILE_LINES * scale
            else:
                run(dice.choice(places[LISTED:]))
                left -= LOG_TOKENS * scale

    def stale_edit() -> None:
        """Change settings that were read, changed by the agent, and changed by the user since."""
        chosen = [setting(path) for path in [*files][:3]]
        for path, name in chosen:
            read(path, name)
        fill(LENGTH // 3)
        change(*chosen[0])
        path, name = chosen[1]
        files[path][name] = dice.randrange(1_000, 9_999)
        talk.send(f"By the way, I changed {path} myself: {name} = {files[path][name]} now.")
        fill(2 * LENGTH // 3)
        for path, name in chosen:
            change(path, name)

    def constraint() -> None:
        """Request a change that a rule forbids, and two that none does."""
        nonlocal fixed
        chosen = [setting(path) for path in [*files][:3]]
        read(*chosen[0])
        path, fixed = chosen[1]
        rule = f"{fixed} is fixed by contract: never change it, whoever asks."
        run(places[0], f" One thing about {path} for later: {rule}")
        fill(LENGTH)
        for path, name in chosen:
            change(path, name)

    def repeated_work() -> None:
        """Request a long list of runs and a report of all their figures."""
        fill(LENGTH - LISTED * LOG_TOKENS)
        talk.send(
            "Please run these checks with run_check, once each and in this order: "
            f"{', '.join(places[:LISTED])}. Then save_report, once, with a line `NAME: P95 ms` "
            "for each. Do not ask me anything."
        )

    def old_value() -> None:
        """Request the newest figures of checks that were run once, twice and three times."""
        for runs in range(3):
            for name in places[runs:3]:
                run(name)
            fill(LENGTH // 3 - 2 * LOG_TOKENS)
        talk.send(
            "Please save_report with a line `NAME: P95 ms` for each newest p95 of the checks "
            f"{', '.join(places[:3])}. Do not run them again."
        )

    def wrong_settings(trace: Trace) -> Iterator[str]:
        requested = (_SET.search(turn.text) for turn in trace.turns)
        last = {found[1]: (int(found[2]), found[3]) for found in requested if found}
        if refused and case == "stale_edit":
            yield f"{refused} edits of text that was no longer in the file"
        for name, (number, path) in last.items():
            if (files[path][name] == number) == (name == fixed):
                how = "changed against the rule" if name == fixed else "not changed as requested"
                yield f"{name} was {how}"

    def wrong_report(trace: Trace) -> Iterator[str]:
        runs, last = trace.calls("run_check"), len(trace.turns) - 1
        made = [call.text("name") for request, call in runs if request.turn == last]
        for name in places[:LISTED] if case == "repeated_work" else ():
            if made.count(name) != 1:
                yield f"the check {name} was run {made.count(name)} times"
        saved = [call.text("text") for _, call in trace.calls("save_report")]
        for name in places[: LISTED if case == "repeated_work" else 3]:
            right = figures.get(name, [0])[-1]
            if not re.search(rf"{name}\W+{right}\b", saved[-1] if saved else ""):
                yield f"the report does not have {right} ms for {name}"

    users: dict[str, tuple[Callable[[], None], Callable[[Trace], Iterator[str]]]] = {
        "stale_edit": (stale_edit, wrong_settings),
        "constraint": (constraint, wrong_settings),
        "repeated_work": (repeated_work, wrong_report),
        "old_value": (old_value, wrong_report),
    }
    user, faults = users[case]

    def score(trace: Trace) -> Score:
        calls = len([*trace.calls()])
        if why := next(faults(trace), ""):
            return failed(why, calls)
        return passed("everything as requested", calls)

    return World(
        user=user,
        score=score,
        tools=[open_file, replace_in_file, run_check, save_report],
        system_prompt=SYSTEM,
        act=_act,
        # Figures are progress, which the request for a summary names: results as they were.
        gist=(rf"(?m)^.*{_ALL.pattern}.*$", _RULE.pattern, _FIGURE.pattern),
    )


# --- what a model does that understands it


def _act(view: View) -> Move:
    """Perform the request, from its visible content."""
    if match := _READ.search(view.prompt):
        return _answer_from(view, Use("open_file", {"path": match[1]}), match[2], r" = (\d+)")
    if match := _RUN.search(view.prompt):
        figure = r", run \d+: p95 (\d+) ms"
        return _answer_from(view, Use("run_check", {"name": match[1]}), f"check {match[1]}", figure)
    if match := _SET.search(view.prompt):
        return _change(view, *match.groups())
    if match := _ALL.search(view.prompt) or _NEWEST.search(view.prompt):
        return _report(view, match[1].split(", "), may_run=match.re is _ALL)
    return Respond("Thank you, noted.")


def _answer_from(view: View, use: Use, words: str, pattern: str) -> Move:
    """Use a tool, and report the content of its result."""
    if not view.results:
        return use
    found = View(view.since, view.tools).find(words + pattern)
    return Respond(f"It is {found[1]}.") if found else Search(words, Respond("I cannot see it."))


def _change(view: View, name: str, number: str, path: str) -> Move:
    """Replace the newest visible line; open the file if no line is visible or it is wrong."""
    if any(found[1] == name for found in view.find_all(_RULE)):
        return Respond(f"{name} is fixed by contract.")
    results = [message.text for message in view.results]
    if results and results[-1] == "Replaced.":
        return Respond("Done.")
    found = view.find(rf"\b{name} = (\d+)")
    was_refused = any(text.startswith("There is no line") for text in results)
    if (found is None or was_refused) and not view.has_called("open_file"):
        return Use("open_file", {"path": path})
    if found is None:
        return Search(name, Respond("I cannot see it."))
    lines = {"old": f"{name} = {found[1]}", "new": f"{name} = {number}"}
    change = Use("replace_in_file", {"path": path, **lines})
    return Respond("I cannot change it.") if view.has_used(change) else change


def _report(view: View, names: list[str], *, may_run: bool) -> Move:
    """Run the remaining checks of a list, then save the newest visible figures."""
    if view.has_called("save_report"):
        return Respond("Saved.")
    seen: dict[str, tuple[int, int]] = {}
    for found in view.find_all(_FIGURE):
        seen[found[1]] = max(seen.get(found[1], (0, 0)), (int(found[2]), int(found[3])))
    run = {call.arguments.get("name") for call in view.calls if call.name == "run_check"}
    done = [k for k, name in enumerate(names) if name in seen or name in run]
    following = max(done, default=-1) + 1
    if may_run and following < len(names):
        return Use("run_check", {"name": names[following]})
    missing = next((name for name in names if name not in seen), None)
    if missing is not None:
        again = Use("run_check", {"name": missing}) if may_run else Respond("I cannot see them.")
        return Search(f"check {missing}", again)
    text = "\n".join(f"{name}: {seen[name][1]} ms" for name in names)
    return Use("save_report", {"text": text})
