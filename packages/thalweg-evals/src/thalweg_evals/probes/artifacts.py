"""Does the agent keep track of the files it made, and of their content?

It looks ships up, saves the results under paths that only the look-up returns, and later corrects
some of the files. The context is compacted in between and at the end. The files exist in tools of
the case that write and never read: the agent can only use the conversation. Their actual content is
computed from the calls that it made.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed, untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.scripted.moves import Move, Respond, Search, Use, View, written
from thalweg_evals.trace import Trace

VARIANTS = ("which", "state", "change")
"""The final question: the paths; the content of each file; another change, which needs both."""
SHIPS = ("Aurora", "Boreas", "Calypso", "Demeter", "Electra", "Fortuna", "Galatea", "Halcyon")
FILES, MOVED = 4, 2
"""How many files are made, and how many of them are corrected."""
_PATH = re.compile(r"/berths/\w+\.txt")
_SAVED = r"/berths/\w+\.txt[^/]{0,40}?ship: \w+\W{1,3}n?berth: \d+"
_CHANGED = r"/berths/\w+\.txt[^/]{0,40}?berth: \d+[^/]{0,40}?berth: \w+"
_MOVED = r"/berths/\w+\.txt[^/]{0,40}?berth: \d+\W{1,3}n?before: \d+"
_LOOKED_UP = re.compile(r"look up the (\w+) with look_up for day (\d)")
_NONE = "none"


@dataclass(frozen=True, slots=True)
class Ship:
    """A ship, its berth on each day, and its file."""

    name: str
    path: str
    berths: tuple[int, ...]
    pilot: str

    def record(self, day: int) -> str:
        """Return the result of a look-up."""
        now = f"file: {self.path}\nship: {self.name}\nberth: {self.berths[day - 1]}"
        before = f"\nbefore: {self.berths[day - 2]}" if day > 1 else f"\npilot: {self.pilot}"
        return f"{now}{before}"


@dataclass
class ShipFiles(ScriptedCase):
    """Files of ships, made and corrected."""

    variant: str
    ships: tuple[Ship, ...]
    """The first of them are those that move."""
    tool_names = ("look_up", "save_file", "replace_in_file")
    system_prompt = "You keep the files of a harbour with the tools you have. Be brief."
    gist = (_SAVED, _CHANGED, _MOVED)
    """A good summary lists the files that were made and their changes."""
    _files: dict[str, str] = field(default_factory=dict)

    @property
    def ask(self) -> str:
        """The final question."""
        return {
            "which": f"Which {FILES} files did you save in all? Give me the path of each.",
            "state": f"What berth stands in each of the {FILES} files now? Give me one line for "
            "each ship: its name and the berth.",
            "change": f"The {self.ships[0].name} has left. Please put berth: {_NONE} in the place "
            "of its berth in its file, with replace_in_file. Leave the rest as it is.",
        }[self.variant]

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        for ship in self.ships:
            talk.send(
                f"Please look up the {ship.name} with look_up for day 1, and save its ship, berth "
                "and pilot with save_file, as they are told, in the file that is named there."
            )
        talk.fill(compactions=1)
        for ship in self.ships[:MOVED]:
            talk.send(
                f"The {ship.name} has moved. Please look up the {ship.name} with look_up for day "
                "2, and correct the berth in its file with replace_in_file."
            )
        talk.fill(compactions=1)
        talk.send(self.ask)

    def grade(self, trace: Trace) -> Score:
        """Compare the answer, or the change made, with the actual files."""
        turn = trace.put(self.ask)
        if turn is None or len(trace.compactions()) < 2:  # noqa: PLR2004 (see `run`)
            return untested(why="the context was not compacted twice")
        before = files_of(trace, turns=turn)
        if why := self._unlike(before):
            return untested(why=f"the files were not made as asked: {why}")
        if self.variant == "change":
            wrong = self._wrong_change(before, files_of(trace, turns=turn + 1))
        elif self.variant == "which":
            wrong = self._wrong_paths(trace.answer)
        else:
            wrong = self._wrong_states(trace.answer)
        if not wrong:
            return passed(why=f"all {FILES} files were right", value=0.0)
        return failed(why="; ".join(wrong), value=float(len(wrong)))

    def _now(self, ship: Ship) -> int:
        return ship.berths[1] if ship in self.ships[:MOVED] else ship.berths[0]

    def _unlike(self, files: dict[str, str]) -> str:
        """Return which file differs from the request; empty if none does."""
        for ship in self.ships:
            if f"berth: {self._now(ship)}" not in files.get(ship.path, ""):
                return f"that of the {ship.name}"
        extra = set(files) - {ship.path for ship in self.ships}
        return f"{min(extra)} was not asked for" if extra else ""

    def _wrong_paths(self, answer: str) -> list[str]:
        reported, paths = set(_PATH.findall(answer)), {ship.path for ship in self.ships}
        return [
            *(f"{path} was not reported" for path in sorted(paths - reported)),
            *(f"{path} was reported and is no file" for path in sorted(reported - paths)),
        ]

    def _wrong_states(self, answer: str) -> list[str]:
        """Return the ships whose stated berth is wrong, searching up to the next ship's name."""
        names = "|".join([*(s.name for s in self.ships), *(re.escape(s.path) for s in self.ships)])
        parts = re.split(f"({names})", answer)
        reported: dict[str, str] = {}
        for name, behind in zip(parts[1::2], parts[2::2], strict=True):
            reported[name] = reported.get(name, "") + behind
        wrong: list[str] = []
        for ship in self.ships:
            passage = reported.get(ship.name, "") + reported.get(ship.path, "")
            numbers = re.findall(r"\d+", passage)
            others = {str(berth) for berth in ship.berths} - {str(self._now(ship))}
            if str(self._now(ship)) not in numbers:
                wrong.append(f"berth {self._now(ship)} of the {ship.name} was not reported")
            elif others & set(numbers) and not re.search(_BEFORE, passage, re.IGNORECASE):
                wrong.append(f"two berths were reported for the {ship.name}")
        return wrong

    def _wrong_change(self, before: dict[str, str], after: dict[str, str]) -> list[str]:
        left = self.ships[0]
        old, new = f"berth: {self._now(left)}", f"berth: {_NONE}"
        expected = {**before, left.path: before[left.path].replace(old, new)}
        return [
            f"the file of the {ship.name} is {after.get(ship.path, '')!r}"
            for ship in self.ships
            if after.get(ship.path, "").split() != expected[ship.path].split()
        ] + [f"{path} was made" for path in sorted(set(after) - set(expected))]

    def move(self, view: View) -> Move:
        """Save the files, and answer from the visible content."""
        if match := _LOOKED_UP.search(view.prompt):
            return self._keep(view, match[1], int(match[2]))
        known = VisibleFiles.of(view)
        if "Which" in view.prompt:
            paths = sorted(known.paths)
            answer = Respond("\n".join(paths) or "I do not know.")
            return answer if len(paths) >= FILES else self._search(known, answer)
        if "What berth" in view.prompt:
            lines = [f"{ship}: {known.berth(ship)}" for ship in known.ships]
            answer = Respond("\n".join(lines) or "I do not know.")
            complete = len(known.ships) >= FILES and not known.unclear
            return answer if complete else self._search(known, answer)
        if match := re.search(r"The (\w+) has left\. Please put (berth: \w+)", view.prompt):
            return self._change(view, known, match[1], match[2])
        return Respond("Good morning.")

    def _keep(self, view: View, ship: str, day: int) -> Move:
        """Look a ship up, then save or correct its file."""
        if not view.has_called("look_up"):
            return Use("look_up", {"ship": ship, "day": day})
        result = next((one.text for one in view.since if one.name == "look_up"), "")
        facts = dict(line.split(": ", 1) for line in result.splitlines() if ": " in line)
        if not {"file", "berth"} <= facts.keys() or len(view.calls) > 1:
            return Respond("Done.")
        if day == 1:
            text = "\n".join(line for line in result.splitlines() if not line.startswith("file"))
            return Use("save_file", {"path": facts["file"], "text": text})
        old, new = f"berth: {facts['before']}", f"berth: {facts['berth']}"
        return Use("replace_in_file", {"path": facts["file"], "old": old, "new": new})

    def _change(self, view: View, known: "VisibleFiles", ship: str, new: str) -> Move:
        if view.has_called("replace_in_file"):
            return Respond("Done.")
        path, berth = known.files.get(ship, ""), known.berth(ship)
        change = Use("replace_in_file", {"path": path, "old": f"berth: {berth}", "new": new})
        if not path or ship in known.unclear:
            otherwise = change if path else Respond("I do not know where its file is.")
            return Search(f"ship: {ship}", otherwise)
        return change

    def _search(self, known: "VisibleFiles", otherwise: Respond) -> Search:
        """Search for the first named ship without visible data, else for any."""
        ships = [*known.unclear, *(one for one in known.named if one not in known.files)]
        return Search(f"ship: {ships[0]}" if ships else "/berths/", otherwise)

    def look_up(self, ship: str, day: int) -> str:
        """Look a ship up as of a day."""
        found = next((one for one in self.ships if one.name.lower() == ship.lower()), None)
        if found is None or not 1 <= day <= len(found.berths):
            return "There is nothing about that ship and day."
        return found.record(day)

    def save_file(self, path: str, text: str) -> str:
        """Save a text as a file; an existing file is replaced."""
        self._files[path] = text
        return "Saved."

    def replace_in_file(self, path: str, old: str, new: str) -> str:
        """Replace a text in a file by another; the old text must be in the file."""
        if old not in self._files.get(path, ""):
            return "There is no such text in that file; nothing was changed."
        self._files[path] = self._files[path].replace(old, new)
        return "Replaced."


_BEFORE = r"\b(?:was|from|before|previous\w*|former\w*|earlier|moved|old|instead)\b|→|->"


@dataclass(frozen=True, slots=True)
class VisibleFiles:
    """The files as a request shows them."""

    files: dict[str, str]
    """Paths by ship."""
    berths: dict[str, list[str]]
    """All visible berths of a path, in any order."""
    replaced: set[tuple[str, str]]
    """Replaced berths, as pairs of path and berth."""
    paths: set[str]
    named: tuple[str, ...]
    """Ships that the user mentioned."""
    moved: tuple[str, ...]
    """Those that moved, by the user's words."""

    @classmethod
    def of(cls, view: View) -> "VisibleFiles":
        """Read all files from a request, in any of its messages."""
        known = cls({}, {}, set(), set(), *_spoken_of(view))
        for text in map(written, view.messages):
            known.paths.update(_PATH.findall(text))
            for found in re.findall(_SAVED, text):
                path, ship, berth = _PATH.findall(found)[0], *re.findall(r": (\w+)", found)[-2:]
                known.files[ship] = path
                known.berths.setdefault(path, []).append(berth)
            for found in re.findall(_CHANGED, text):
                known.learn(_PATH.findall(found)[0], *re.findall(r"berth: (\w+)", found)[:2])
            for found in re.findall(_MOVED, text):
                new, old = re.findall(r": (\d+)", found)[-2:]
                known.learn(_PATH.findall(found)[0], old, new)
        return known

    def learn(self, path: str, old: str, new: str) -> None:
        """Record that one berth replaced another."""
        if old != new:
            self.replaced.add((path, old))
            self.berths.setdefault(path, []).append(new)

    @property
    def ships(self) -> list[str]:
        """Ships with a visible file."""
        return sorted(self.files)

    def berth(self, ship: str) -> str:
        """Return the berth that was not replaced; empty if none is visible."""
        path = self.files.get(ship, "")
        left = [b for b in self.berths.get(path, ()) if (path, b) not in self.replaced]
        return left[-1] if left else ""

    @property
    def unclear(self) -> list[str]:
        """Ships with a mentioned change that is not visible."""
        changed = {path for path, _ in self.replaced}
        return [one for one in self.moved if self.files.get(one) not in changed]


def _spoken_of(view: View) -> Iterator[tuple[str, ...]]:
    spoken = [found.groups() for found in view.find_all(_LOOKED_UP)]
    yield tuple(dict.fromkeys(str(ship) for ship, _ in spoken))
    yield tuple(dict.fromkeys(str(ship) for ship, day in spoken if day != "1"))


def files_of(trace: Trace, *, turns: int) -> dict[str, str]:
    """Compute the files after some turns from the calls that were made."""
    files: dict[str, str] = {}
    for one in trace.requests:
        if one.kind == "harness" or one.turn >= turns:
            continue
        for call in one.calls:
            path = str(call.arguments.get("path", ""))
            if call.name == "save_file":
                files[path] = str(call.arguments.get("text", ""))
            elif call.name == "replace_in_file" and path in files:
                old, new = (str(call.arguments.get(key, "")) for key in ("old", "new"))
                files[path] = files[path].replace(old, new) if old else files[path]
    return files


def make(variant: str, dice: Random) -> ShipFiles:
    """Create a case."""
    berths = dice.sample(range(11, 99), 2 * FILES)
    names = dice.sample(range(100, 999), FILES)
    pilots = ("Okafor", "Lindqvist", "Moreau", "Tanaka", "Silva", "Novak")
    ships = tuple(
        Ship(
            ship,
            f"/berths/{dice.choice('kqxz')}{names[k]}.txt",
            (berths[2 * k], berths[2 * k + 1]),
            dice.choice(pilots),
        )
        for k, ship in enumerate(dice.sample(SHIPS, FILES))
    )
    return ShipFiles(variant, ships)


PROBE = Probe(
    name="artifacts",
    suite="context",
    asks="Does the agent still remember which files it made, and the present content of each?",
    shows="the trail of what was made is lost or stale; the figure: files that are wrong",
    needs=frozenset({"tools"}),
    variants=VARIANTS,
    make=make,
)
