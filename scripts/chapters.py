# ruff: noqa: RUF001 (the user also writes Chinese)
"""The plot of the sample: what the user asks, and how the assistant does it.

The assistant is a script. What it does next follows from what its tools returned, and
every tool works on real files, so the sizes, the errors and the repetitions are real.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TypeVar

from scripts.recorder import Call, Recorder
from scripts.survey import Function, Module, export_list, read_module
from scripts.workbench import Workbench

FORBIDDEN = frozenset({"testing", "tests"})
FEW_NAMES = 3
"""From the change of mind on, modules with fewer public names get no `__all__`."""
LONGEST = 16
CONSTANTS = 64

_T = TypeVar("_T")

COUNT_IMPORTS = '''"""Count how often each module of the tree is imported by the others."""

import ast
import sys
from pathlib import Path

tree = Path(sys.argv[1])
counts = {}
for path in sorted(tree.rglob("*.py")):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            counts[node.module] += 1
for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
    print(f"{count:4} {name}")
'''


@dataclass(slots=True)
class Session:
    """One session on one tree."""

    bench: Workbench
    thread: Recorder
    todos: dict[str, str] = field(default_factory=dict)
    exported: dict[str, str] = field(default_factory=dict)
    """The `__all__` written into each module, by path."""

    def play(self) -> None:
        """Play every chapter."""
        self.opening()
        self.survey()
        self.exports()
        self.noqa_in_chinese()
        self.rename()
        self.constants()
        self.long_functions()
        self.imports()
        self.examples()
        self.closing()

    def modules(self) -> list[Module]:
        """Parse every Python file of the tree in its current state."""
        names = self.bench.files(self.bench.tree)
        return [read_module(path, text) for path, text in names if path.endswith(".py")]

    def open_modules(self) -> list[Module]:
        """Return the modules that may be edited."""
        return [m for m in self.modules() if not FORBIDDEN & set(PurePosixPath(m.path).parts)]

    def plan(self, **changes: str) -> Call:
        """Change the list of what is to do."""
        self.todos |= {name.replace("_", " "): status for name, status in changes.items()}
        todos = [{"content": name, "status": status} for name, status in self.todos.items()]
        return "write_todos", {"todos": todos}

    def opening(self) -> None:
        """The user describes the task."""
        tree = self.bench.tree
        self.thread.system(
            "You are a coding agent in a repository. Use the tools to look before you change "
            "anything, check what you changed, and keep a list of todos. Answer briefly."
        )
        goal = f"Please get the Python code under {tree}/ ready for its first release review"
        never = "Never touch anything in a folder called tests or testing"
        self.thread.user(
            f"{goal} on 14 May 2026. Ines Okafor will review it, from the branch "
            "release/0.4-harbor. First look around and tell me which files are the largest and "
            f"what they are for. {never}, not even to fix a typo: another team owns them.",
            ("goal", goal),
            ("constraint", never),
        )

    def survey(self) -> None:
        """Look around: folders, files, the largest ones whole."""
        tree = self.bench.tree
        self.thread.act(
            "I begin with a list of what to do and a look at the tree.",
            self.plan(look_around="in_progress", read_the_largest_files="pending"),
            ("list_files", {"path": tree}),
            ("glob", {"pattern": f"{tree}/**/*.py"}),
        )
        modules = self.modules()
        folders = sorted({m.folder for m in modules})
        for some in _by(3, folders):
            text = f"{len(modules)} modules in {len(folders)} folders. Next: {_and(some)}."
            self.thread.act(text, *(("list_files", {"path": path}) for path in some))
        self.thread.act(
            "Now the classes, to see what the code speaks about.",
            ("grep", {"pattern": "^class ", "path": tree}),
        )
        largest = sorted(modules, key=lambda m: (-m.lines, m.path))[:6]
        self.thread.act("The largest come next.", self.plan(read_the_largest_files="in_progress"))
        for pair in _by(2, largest):
            text = "; ".join(f"{m.name} has {m.lines} lines" for m in pair) + ". I read them whole."
            self.thread.act(text, *map(_read, pair))
        self.thread.act(
            "That is enough of an overview.",
            self.plan(look_around="completed", read_the_largest_files="completed"),
        )
        told = "\n".join(f"- {m.path}, {m.lines} lines: {m.purpose}" for m in largest)
        self.thread.say(f"The largest files are:\n{told}")

    def exports(self) -> None:
        """Add an `__all__` to every module; half way the user has second thoughts."""
        request = "give every module an `__all__`, sorted, right behind its imports"
        constraint = "do not add a dependency"
        self.thread.user(
            f"Good. Now {request}. The ticket is QUAY-2291. Compile each folder when you are done "
            f"with it, and {constraint}: the wheel has to stay below 640 kB. The rules for "
            "exported names are at https://wiki.example.org/harbor/exports if you need them.",
            ("request", request),
            ("constraint", constraint),
            pause_s=412.0,
        )
        self.thread.act(
            "I go folder by folder.",
            self.plan(give_every_module_an_export_list="in_progress"),
            ("grep", {"pattern": "^__all__", "path": self.bench.tree}),
        )
        folders = sorted({m.folder for m in self.open_modules()})
        for number, folder in enumerate(folders):
            self._exports_of(folder, slips=number == min(1, len(folders) - 1))
            if number == 1:
                self._aside()
            if number == len(folders) // 2:
                self._second_thoughts()
        self.thread.act(
            "Every folder is done.", self.plan(give_every_module_an_export_list="completed")
        )
        self.thread.say(f"{len(self.exported)} modules have an `__all__` now.")

    def _exports_of(self, folder: str, *, slips: bool) -> None:
        modules = [m for m in self.open_modules() if m.folder == folder]
        wanting = [m for m in modules if self._wants_exports(m)]
        spared = [m.name for m in modules if m not in wanting]
        if spared:
            self.thread.act(
                f"In {folder} I leave {_and(spared)} as it is.", ("list_files", {"path": folder})
            )
        for some in _by(2, wanting):
            self.thread.act(f"{_and([m.name for m in some])} in {folder}.", *map(_read, some))
            for module in some:
                self._export(module, slips=slips and module is wanting[0])
            self.thread.act("Does a star import give these names?", *map(_star, some))
        self._compile(folder)

    def _wants_exports(self, module: Module) -> bool:
        least = 1 if self.todos.get("take out short export lists") is None else FEW_NAMES
        return len(module.public) >= least and "__all__" not in module.text

    def _export(self, module: Module, *, slips: bool) -> None:
        right = export_list(module.public)
        written = right.removesuffix("]") if slips else right
        opening = module.opening()
        edit = {"path": module.path, "old": opening, "new": f"{opening}\n\n{written}"}
        names = "1 public name" if len(module.public) == 1 else f"{len(module.public)} public names"
        text = f"{module.name} has {module.lines} lines and {names}."
        self.thread.act(f"{text} Its first line says: {module.purpose}", ("edit_file", edit))
        self.exported[module.path] = right
        if slips:
            self._mend(module, written, right)

    def _mend(self, module: Module, written: str, right: str) -> None:
        self._compile(module.folder)
        line = 1 + self.bench.text(module.path).partition(written)[0].count("\n")
        near = {"path": module.path, "offset": max(1, line - 4), "limit": 10}
        self.thread.act("It does not compile. I look at the place.", ("read_file", near))
        edit = {"path": module.path, "old": f"{written}\n", "new": f"{right}\n"}
        self.thread.act("I forgot the closing bracket.", ("edit_file", edit))
        self._compile(module.folder)

    def _compile(self, folder: str) -> None:
        command = f"python -m compileall -q {folder}"
        self.thread.act(f"I compile {folder}.", ("run", {"command": command}))

    def _aside(self) -> None:
        self.thread.user(
            "Something else, before I forget: the staging machine for the review is "
            "atlas-07.example.net, and Ines wants the bundle under /srv/review/harbor-4. Her "
            "office hours are Thursdays from 15:40. Nothing to do now, go on.",
            ("request", "Nothing to do now, go on"),
            pause_s=95.0,
        )

    def _second_thoughts(self) -> None:
        request = "no `__all__` in modules with fewer than three public names"
        self.thread.user(
            f"I changed my mind: {request}. It is noise there. Take it out again where you "
            "already put it, and leave the others as they are.",
            ("request", request),
            pause_s=655.0,
        )
        few = [m for m in self.open_modules() if m.path in self.exported]
        few = [m for m in few if len([n for n in m.public if n != "__all__"]) < FEW_NAMES]
        self.thread.act(
            f"{len(few)} of the {len(self.exported)} modules I changed have fewer than three.",
            self.plan(take_out_short_export_lists="in_progress"),
        )
        for some in _by(2, few):
            for module in some:
                gone = f"\n\n{self.exported.pop(module.path)}"
                edit = {"path": module.path, "old": gone, "new": ""}
                self.thread.act(f"Out of {module.name} again.", ("edit_file", edit))
            heads = [("read_file", {"path": m.path, "offset": 1, "limit": 24}) for m in some]
            self.thread.act("I read the beginning of what I changed.", *heads)
        for folder in sorted({m.folder for m in few}):
            self._compile(folder)
        self.thread.act("Done.", self.plan(take_out_short_export_lists="completed"))
        self.thread.say(f"Taken out of {len(few)} modules. I go on with the other folders.")

    def noqa_in_chinese(self) -> None:
        """Count suppressed warnings; the user writes Chinese."""
        request = "把所有 noqa 注释按文件统计一下，写进 notes/noqa.md"
        self.thread.user(
            f"请{request}，标题用中文，按数量从多到少排列。不要修改代码。",
            ("request", request),
            ("constraint", "不要修改代码"),
            pause_s=130.0,
        )
        pattern = {"pattern": "# noqa", "path": self.bench.tree}
        [hits] = self.thread.act("我先搜索所有 noqa 注释。", ("grep", pattern))
        found = Counter(h.partition(":")[0] for h in hits.splitlines() if "# noqa" in h)
        rows = "\n".join(f"| {path} | {count} |" for path, count in found.most_common())
        page = f"# 被忽略的检查\n\n| 文件 | 数量 |\n| --- | --- |\n{rows}\n"
        self.thread.act(
            f"共 {found.total()} 处，分布在 {len(found)} 个文件中。",
            ("write_file", {"path": "notes/noqa.md", "content": page}),
        )
        self.thread.act("写完后再读一遍确认。", ("read_file", {"path": "notes/noqa.md"}))
        self.thread.say(f"已写入 notes/noqa.md：{len(found)} 个文件，共 {found.total()} 处。")

    def rename(self) -> None:
        """Rename a constant that several modules use; one place is missed at first."""
        modules = self.open_modules()
        chosen = next(_renamable(modules), None)
        if chosen is None:
            return
        home, old = chosen
        new = f"DEFAULT_{old}"
        request = f"rename the constant {old} in {home.path} to {new}, everywhere"
        self.thread.user(f"Next: {request}.", ("request", request), pause_s=388.0)
        grep: Call = ("grep", {"pattern": rf"\b{old}\b", "path": self.bench.tree})
        self.thread.act(
            f"Who uses {old}?", self.plan(**{f"rename_{old.lower()}": "in_progress"}), grep
        )
        self._replace(home, old, new)
        users = [m for m in modules if m.path != home.path and re.search(rf"\b{old}\b", m.text)]
        user = next(m for m in users if m.imports_name(old))
        load: Call = ("run", {"command": f'python -c "import {user.dotted}"'})
        self.thread.act(f"Does {user.name} still load?", load)
        self.thread.act(f"It does not, it still says {old}. Where else?", grep)
        for module in users:
            self._replace(module, old, new)
        self.thread.act("Again, and is the old name gone?", load, grep)
        for folder in sorted({m.folder for m in [home, *users]}):
            self._compile(folder)
        self.thread.act("Renamed.", self.plan(**{f"rename {old.lower()}": "completed"}))
        self.thread.say(f"{old} is {new} now, in {1 + len(users)} files.")

    def _replace(self, module: Module, old: str, new: str) -> None:
        edit = {"path": module.path, "old": old, "new": new, "replace_all": True}
        self.thread.act(f"I replace it in {module.name}.", ("edit_file", edit))

    def constants(self) -> None:
        """Ask of every public constant who else uses it."""
        request = "which public constants does nobody use outside their own module"
        self.thread.user(
            f"Now tell me {request}? Write them to notes/constants.md, I will decide what to do.",
            ("request", request),
            pause_s=70.0,
        )
        self.thread.act("I look for each.", self.plan(look_for_unused_constants="in_progress"))
        alone: list[str] = []
        all_of = [(m, name) for m in self.open_modules() for name in m.constants][:CONSTANTS]
        text = f"{len(all_of)} constants to look at."
        for some in _by(2, all_of):
            text = self._look_for(some, text, alone)
        page = "# Constants used in their own module only\n\n" + "\n".join(alone) + "\n"
        self.thread.act(
            text,
            ("write_file", {"path": "notes/constants.md", "content": page}),
            self.plan(look_for_unused_constants="completed"),
        )
        self.thread.say(f"{len(alone)} of {len(all_of)} are used at home only.")

    def _look_for(self, some: Sequence[tuple[Module, str]], text: str, alone: list[str]) -> str:
        """Search for some constants; return what was found, for the text of the next turn."""
        tree, told = self.bench.tree, []
        calls: list[Call] = [
            ("grep", {"pattern": rf"\b{name}\b", "path": tree}) for _, name in some
        ]
        for (module, name), hits in zip(some, self.thread.act(text, *calls), strict=True):
            files = {hit.partition(":")[0] for hit in hits.splitlines()}
            if files == {module.path}:
                alone.append(f"- {name} in {module.path}")
            told.append(f"{name} stands in {_and(sorted(files))}.")
        return " ".join(told)

    def long_functions(self) -> None:
        """Let a subagent find the longest functions, then read them."""
        request = "look at the longest functions and note for each how many branches it has"
        self.thread.user(
            f"Please {request}, in notes/long_functions.md. Let a subagent do the search.",
            ("request", request),
            pause_s=540.0,
        )
        every = [(m, f) for m in self.open_modules() for f in m.functions]
        longest = sorted(every, key=lambda pair: (-pair[1].lines, pair[0].path))[:LONGEST]
        rows = [f"{m.path}:{f.first}-{f.last} {f.name}, {f.lines} lines" for m, f in longest]
        report = f"{len(every)} functions; the longest are:\n" + "\n".join(rows)
        asked = f"List the {LONGEST} longest functions under {self.bench.tree} with their lines."
        task: Call = ("task", {"subagent_type": "explorer", "description": asked})
        self.thread.act("I hand the search on.", task, report=report)
        notes = ["# Long functions", ""]
        text = f"{len(longest)} functions to read."
        for module, function in longest:
            where = {"path": module.path, "offset": function.first, "limit": function.lines}
            self.thread.act(text, ("read_file", where))
            text = f"{function.name} has {_branches(module, function)} branches."
            notes.append(f"- {module.path}, {function.lines} lines: {text}")
        page = {"path": "notes/long_functions.md", "content": "\n".join(notes) + "\n"}
        self.thread.act(text, ("write_file", page))
        self.thread.say(f"The longest is {longest[0][1].name} with {longest[0][1].lines} lines.")

    def imports(self) -> None:
        """Write a tool, meet its bug, fix it; the user wants another form."""
        request = "write tools/imports.py, which counts how often each module is imported"
        self.thread.user(f"And {request}.", ("request", request), pause_s=60.0)
        path = "tools/imports.py"
        run: Call = ("run", {"command": f"python {path} {self.bench.tree}"})
        self.thread.act("A short script.", ("write_file", {"path": path, "content": COUNT_IMPORTS}))
        self.thread.act("I try it.", run)
        edit = {"path": path, "old": "counts = {}", "new": "counts = Counter()"}
        need = {
            "path": path,
            "old": "import sys\n",
            "new": "import sys\nfrom collections import Counter\n",
        }
        self.thread.act(
            "A plain dict has no count to add to.", ("edit_file", edit), ("edit_file", need)
        )
        self.thread.act("Again.", run)
        request = "print JSON instead of that table"
        self.thread.user(f"On second thoughts, {request}.", ("request", request), pause_s=340.0)
        script = self.bench.text(path)
        table = script[script.index("for name, count in") :]
        self.thread.act("I read it once more.", ("read_file", {"path": path}))
        json_out = {"path": path, "old": table, "new": "print(json.dumps(counts, indent=1))\n"}
        need = {"path": path, "old": "import ast\n", "new": "import ast\nimport json\n"}
        self.thread.act("JSON it is.", ("edit_file", json_out), ("edit_file", need))
        [said] = self.thread.act("Does it run?", run)
        self.thread.say(f"tools/imports.py prints JSON now, {len(said.splitlines()) - 2} modules.")

    def examples(self) -> None:
        """Run the examples in the docstrings, and read what has none."""
        request = "run every example that stands in a docstring"
        self.thread.user(f"Before we close: {request}.", ("request", request), pause_s=150.0)
        having = [m for m in self.open_modules() if ">>>" in m.text]
        text = f"{len(having)} modules have examples."
        self.thread.act(text, self.plan(run_the_examples="in_progress"))
        for some in _by(2, having):
            calls = [("run", {"command": _doctest(m)}) for m in some]
            said = self.thread.act(f"{_and([m.name for m in some])}.", *calls)
            text = " ".join(said)
        self.thread.act("All examples were run.", self.plan(run_the_examples="completed"))
        self.thread.say(f"I ran the examples of {len(having)} modules; the last said: {text}")

    def closing(self) -> None:
        """Look over the work once more and sum up."""
        request = "Sum up what you changed and what is left for me to decide"
        self.thread.user(f"{request}.", ("request", request), pause_s=720.0)
        self.thread.act(
            "I look at the result once more.",
            ("grep", {"pattern": "^__all__", "path": self.bench.tree}),
            ("glob", {"pattern": "notes/*.md"}),
        )
        for path in sorted(self.exported)[:8]:
            head = {"path": path, "offset": 1, "limit": 30}
            self.thread.act(f"The beginning of {path}.", ("read_file", head))
        notes = ("noqa", "constants", "long_functions")
        self.thread.act(
            "And the notes.", *(("read_file", {"path": f"notes/{name}.md"}) for name in notes)
        )
        self._compile(self.bench.tree)
        self.thread.say(
            f"{len(self.exported)} modules have an `__all__`, everything compiles, and three notes "
            "lie in notes/. Left for you: the constants that only their own module uses. "
            "Nothing in a folder called tests or testing was touched."
        )


def _read(module: Module) -> Call:
    return "read_file", {"path": module.path}


def _star(module: Module) -> Call:
    shown = "print(sorted(n for n in dir() if n[0] != '_'))"
    return "run", {"command": f'python -c "from {module.dotted} import *; {shown}"'}


def _doctest(module: Module) -> str:
    return f'python -c "import doctest, {module.dotted} as m; print(doctest.testmod(m))"'


def _branches(module: Module, function: Function) -> int:
    kinds = ast.If | ast.IfExp | ast.For | ast.While | ast.Try | ast.Match
    inside = [n for n in ast.walk(module.tree) if isinstance(n, kinds)]
    return sum(function.first <= n.lineno <= function.last for n in inside)


def _renamable(modules: Sequence[Module]) -> Iterator[tuple[Module, str]]:
    """Find constants that others import and whose name is part of no other name."""
    whole = "\n".join(m.text for m in modules)
    for module in modules:
        for name in module.constants:
            alone = len(re.findall(rf"\b{name}\b", whole)) == whole.count(name)
            others = [m for m in modules if m.path != module.path and m.imports_name(name)]
            if alone and others:
                yield module, name


def _by(size: int, things: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for first in range(0, len(things), size):
        yield things[first : first + size]


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
