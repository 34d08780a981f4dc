"""Does the agent keep track of the files it made, and of their content?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from thalweg_evals.material import SHIPS
from thalweg_evals.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Trace, written
from thalweg_evals.world import Conversation, Score, World, failed, passed, probe, untested

FILES, MOVED = 4, 2
"""How many files are made, and how many of them are corrected."""
_PILOTS = ("Okafor", "Lindqvist", "Moreau", "Tanaka", "Silva", "Novak")
_PATH = re.compile(r"/berths/\w+\.txt")
_SAVED = r"(/berths/\w+\.txt)[^/]{0,40}?ship: (\w+)\W{1,3}n?berth: (\d+)"
_CHANGED = r"(/berths/\w+\.txt)[^/]{0,40}?berth: (\d+)[^/]{0,40}?berth: (\w+)"
_MOVED = r"(/berths/\w+\.txt)[^/]{0,40}?berth: (\d+)\W{1,3}n?before: (\d+)"
_LOOKED_UP = re.compile(r"look up the (\w+) with look_up for day (\d)")
_LEFT = re.compile(r"The (\w+) has left\. Please put (berth: \w+)")
_BEFORE = r"\b(?:was|from|before|previous\w*|former\w*|earlier|moved|old|instead)\b|→|->"
_ABSENT = "There is no such text in that file; nothing was changed."


@dataclass(frozen=True, slots=True)
class _Ship:
    name: str
    path: str
    berths: tuple[int, int]
    """Of the first day and the second."""
    pilot: str
    has_moved: bool

    @property
    def berth(self) -> int:
        """The present berth."""
        return self.berths[1] if self.has_moved else self.berths[0]


def _draw(dice: Random) -> list[_Ship]:
    berths = dice.sample(range(11, 99), 2 * FILES)
    numbers = dice.sample(range(100, 999), FILES)
    return [
        _Ship(
            name,
            f"/berths/{dice.choice('kqxz')}{numbers[k]}.txt",
            (berths[2 * k], berths[2 * k + 1]),
            dice.choice(_PILOTS),
            k < MOVED,
        )
        for k, name in enumerate(dice.sample(SHIPS[:8], FILES))
    ]


@probe(
    "which",
    "state",
    "change",
    asks="Does the agent still remember which files it made, and the present content of each?",
    shows="the trail of what was made is lost or stale; the figure: files that are wrong",
)
def artifacts(case: str, dice: Random, talk: Conversation) -> World:
    """Build ships to look up, whose results are saved under paths that only the look-up returns.

    Later some of the files are corrected. The context is compacted in between and at the end. The
    tools write and never read: the agent can only use the conversation. The final question is for
    the paths; for the content of each file; or for another change, which needs both.
    """
    ships = _draw(dice)
    left = ships[0]
    files: dict[str, str] = {}
    before: dict[str, str] = {}

    def look_up(ship: str, day: int) -> str:
        """Look a ship up as of a day."""
        found = next((one for one in ships if one.name.lower() == ship.lower()), None)
        if found is None or not 1 <= day <= len(found.berths):
            return "There is nothing about that ship and day."
        last = f"before: {found.berths[0]}" if day > 1 else f"pilot: {found.pilot}"
        return f"file: {found.path}\nship: {found.name}\nberth: {found.berths[day - 1]}\n{last}"

    def save_file(path: str, text: str) -> str:
        """Save a text as a file; an existing file is replaced."""
        files[path] = text
        return "Saved."

    def replace_in_file(path: str, old: str, new: str) -> str:
        """Replace a text in a file by another; the old text must be in the file."""
        if not old or old not in files.get(path, ""):
            return _ABSENT
        files[path] = files[path].replace(old, new)
        return "Replaced."

    question = {
        "which": f"Which {FILES} files did you save in all? Give me the path of each.",
        "state": f"What berth stands in each of the {FILES} files now? Give me one line for "
        "each ship: its name and the berth.",
        "change": f"The {left.name} has left. Please put berth: none in the place "
        "of its berth in its file, with replace_in_file. Leave the rest as it is.",
    }[case]

    def user() -> None:
        for ship in ships:
            talk.send(
                f"Please look up the {ship.name} with look_up for day 1, and save its ship, berth "
                "and pilot with save_file, as they are told, in the file that is named there."
            )
        talk.fill(compactions=1)
        for ship in ships[:MOVED]:
            talk.send(
                f"The {ship.name} has moved. Please look up the {ship.name} with look_up for day "
                "2, and correct the berth in its file with replace_in_file."
            )
        talk.fill(compactions=1)
        before.update(files)
        talk.send(question)

    def score(trace: Trace) -> Score:
        if set(before) != {ship.path for ship in ships} or any(
            f"berth: {ship.berth}" not in before[ship.path] for ship in ships
        ):
            return untested("the files were not made as requested")
        if case == "which":
            wrong = list(_wrong_paths(ships, trace.answer))
        elif case == "state":
            wrong = list(_wrong_states(ships, trace.answer))
        else:
            changed = before[left.path].replace(f"berth: {left.berth}", "berth: none")
            right = {**before, left.path: changed}
            wrong = [
                f"the file {path} is {files.get(path)!r}"
                for path in sorted({*files, *right})
                if files.get(path, "").split() != right.get(path, "").split()
            ]
        if wrong:
            return failed("; ".join(wrong), len(wrong))
        return passed(f"all {FILES} files were right", 0)

    return World(
        user=user,
        score=score,
        tools=[look_up, save_file, replace_in_file],
        system_prompt="You keep the files of a harbour with the tools you have. Be brief.",
        compactions=2,
        act=_act,
        gist=(_SAVED, _CHANGED, _MOVED),
    )


def _wrong_paths(ships: list[_Ship], answer: str) -> Iterator[str]:
    reported, paths = set(_PATH.findall(answer)), {ship.path for ship in ships}
    yield from (f"{path} was not reported" for path in sorted(paths - reported))
    yield from (f"{path} was reported and is no file" for path in sorted(reported - paths))


def _wrong_states(ships: list[_Ship], answer: str) -> Iterator[str]:
    """Yield the ships whose reported berth is wrong, searching up to the next ship's name."""
    names = [re.escape(name) for ship in ships for name in (ship.name, ship.path)]
    parts = re.split(f"({'|'.join(names)})", answer)
    pairs = list(zip(parts[1::2], parts[2::2], strict=True))
    for ship in ships:
        passage = "".join(text for name, text in pairs if name in {ship.name, ship.path})
        numbers = re.findall(r"\d+", passage)
        others = {str(berth) for berth in ship.berths} - {str(ship.berth)}
        if str(ship.berth) not in numbers:
            yield f"berth {ship.berth} of the {ship.name} was not reported"
        elif others & set(numbers) and not re.search(_BEFORE, passage, re.IGNORECASE):
            yield f"two berths were reported for the {ship.name}"


# --- what a model does that understands it


class _Visible:
    """The files as a request shows them, in any of its messages."""

    def __init__(self, view: View) -> None:
        text = "\n".join(map(written, view.messages))
        self.paths = sorted(set(_PATH.findall(text)))
        saved = re.findall(_SAVED, text)
        replaced = [row for row in re.findall(_CHANGED, text) if row[1] != row[2]]
        replaced += [(path, old, new) for path, new, old in re.findall(_MOVED, text) if old != new]
        self.path_of: dict[str, str] = {ship: path for path, ship, _ in saved}
        berths = [(path, berth) for path, _, berth in saved]
        berths += [(path, new) for path, _, new in replaced]
        stale = {(path, old) for path, old, _ in replaced}
        self._berth_at: dict[str, str] = dict(pair for pair in berths if pair not in stale)
        mentioned = [found.groups() for found in view.find_all(_LOOKED_UP)]
        changed = {path for path, _, _ in replaced}
        moved = dict.fromkeys(ship for ship, day in mentioned if day != "1")
        self.unclear = [ship for ship in moved if self.path_of.get(ship) not in changed]
        """Ships with a mentioned change that is not visible."""
        self.missing = [*self.unclear, *(ship for ship, _ in mentioned if ship not in self.path_of)]

    def berth(self, ship: str) -> str:
        """Return the berth that was not replaced; empty if none is visible."""
        return self._berth_at.get(self.path_of.get(ship, ""), "")

    def search(self, otherwise: Respond) -> Search:
        """Search for the first mentioned ship without visible data, else for any."""
        return Search(f"ship: {self.missing[0]}" if self.missing else "/berths/", otherwise)


def _act(view: View) -> Move:
    """Save the files, and answer from the visible content."""
    if match := _LOOKED_UP.search(view.prompt):
        return _save(view, match[1], int(match[2]))
    visible = _Visible(view)
    if "Which" in view.prompt:
        answer = Respond("\n".join(visible.paths) or "I do not know.")
        return answer if len(visible.paths) >= FILES else visible.search(answer)
    if "What berth" in view.prompt:
        lines = [f"{ship}: {visible.berth(ship)}" for ship in sorted(visible.path_of)]
        answer = Respond("\n".join(lines) or "I do not know.")
        is_complete = len(lines) >= FILES and not visible.unclear
        return answer if is_complete else visible.search(answer)
    if match := _LEFT.search(view.prompt):
        return _change(view, visible, match[1], match[2])
    return Respond("Good morning.")


def _change(view: View, visible: _Visible, ship: str, new: str) -> Move:
    """Replace the berth in a ship's file."""
    if view.has_called("replace_in_file"):
        return Respond("Done.")
    path = visible.path_of.get(ship, "")
    old = f"berth: {visible.berth(ship)}"
    change = Use("replace_in_file", {"path": path, "old": old, "new": new})
    if path and ship not in visible.unclear:
        return change
    unknown = Respond("I do not know where its file is.")
    return Search(f"ship: {ship}", change if path else unknown)


def _save(view: View, ship: str, day: int) -> Move:
    """Look a ship up, then save or correct its file."""
    if not view.has_called("look_up"):
        return Use("look_up", {"ship": ship, "day": day})
    result = next((one.text for one in view.results if one.name == "look_up"), "")
    facts = dict(line.split(": ", 1) for line in result.splitlines() if ": " in line)
    if not {"file", "berth"} <= facts.keys() or len(view.calls) > 1:
        return Respond("Done.")
    if day == 1:
        text = "\n".join(line for line in result.splitlines() if not line.startswith("file"))
        return Use("save_file", {"path": facts["file"], "text": text})
    old, new = f"berth: {facts['before']}", f"berth: {facts['berth']}"
    return Use("replace_in_file", {"path": facts["file"], "old": old, "new": new})
