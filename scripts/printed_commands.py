"""Run every command that the program and its pages print, where they print it.

    python -m scripts.printed_commands [VERSION …]

For each Python (default: 3.11, 3.12 and 3.13, those that are here), with uv and with pip: a clone
is copied and installed without extras into an environment of its own, and commands run in an empty
home. The commands are those of texts in the sources, of README and the pages of docs, and those
that errors and `doctor` print there. A command works if it ends with 0, still runs after some
seconds, or reports the state of the empty home; an unknown command, option or argument, a
traceback, an installer that fails and one that looks up a package of ours on an index are failures.

Prints a row for each environment: commands tried, commands that worked; then those that failed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scripts.workspace import ROOT, find_python, projects

VERSIONS = ("3.11", "3.12", "3.13")
SECONDS = "8"
"""After which a command that still runs is ended."""
_LINE = re.compile(
    r"^\s*(?:\$ )?(?:[\w./]*/)?(?:uv run(?: --\S+(?: thalweg-\S+)?)* )?thalweg ([a-z][^\n#|>&;]*)",
    re.MULTILINE,
)
_QUOTED = re.compile(r"`+(?:uv run(?: --[\w-]+(?: thalweg-\w+)?)* )?thalweg ([a-z][^`\n]*)`")
_AFTER = re.compile(
    r"(?:[Rr]un(?: it)?:|next:|then:|fix = \"|→|convert it:) +(?:[\w./]*/)?"
    r"thalweg ([a-z][^`\"\n;)]*)"
)
_INSTALL = re.compile(
    r"(?:; |→ +)((?:uv pip install|\S*python\S* -m pip install) .*)$", re.MULTILINE
)
_WRONG = re.compile(
    r"there is no such command|no such option|there is no command|No such (?:command|option)"
    r"|unrecognized arguments|arguments are required|Missing argument|unexpected extra"
    r"|invalid choice|Traceback|No module named",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"(?:request|response) for: \S+/([\w.-]+)/$"
    r"|location\(s\) to search for versions of ([\w.-]+):$",
    re.MULTILINE,
)
_NO_VALUE = {"[options]", "…", "..."}
_VALUES = {"N": "1", "POSITION": "1", "MODE": "off", "A-B": "1-2", "DATE": "2026-11-20"}
NOBODY = "postgresql://nobody@127.0.0.1:1/none"
PROVOKING = (
    "doctor",
    "chat --model openai:x hello",
    "chat --model ollama:x hello",
    "chat --model anthropic:x hello",
    "chat hello",
    "config init --model openai:x",
    "config init other.yaml --model anthropic:x",
    "config show",
    "record on --agent claude-code --yes",
    "record import",
    "record search heron",
    "record",
    "serve --host 0.0.0.0",
    "ui",
    "memory show",
    "memory delete",
    "memory learn",
    f"thread list --archive {NOBODY}",
    "thread list",
    "thread delete t1 --yes --checkpoints checkpoints.db",
    f"db upgrade --url {NOBODY}",
    f"db status --url {NOBODY}",
    "eval --probe needle --model openai:x",
    "eval --probe nothing",
    "replay nothing.jsonl",
    "replay --policy nothing",
    "prices nothing",
    "sessions",
    "memory explain",
)
"""Commands that fail in an empty home, or report it."""


def texts() -> Iterator[str]:
    """Yield the texts that print commands: sources of packages, README and pages."""
    for folder in ROOT.glob("packages/*/src"):
        for path in sorted(folder.rglob("*.*")):
            if path.suffix in {".py", ".md", ".yaml", ".toml", ".html"}:
                yield path.read_text(encoding="utf-8")
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")]
    for path in sorted(pages):
        if path.name not in {"CHANGELOG.md", "moved.md"} and "decisions" not in path.parts:
            yield path.read_text(encoding="utf-8")


def commands_in(text: str) -> set[str]:
    """Return the arguments of the calls of `thalweg` in a text, with values for placeholders."""
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    lines = _LINE.findall(blocks)
    found = [*lines, *_QUOTED.findall(text), *_AFTER.findall(text)]
    return {command for each in found if (command := as_command(each, is_whole=each in lines))}


def as_command(text: str, *, is_whole: bool) -> str:
    """Return a command with values in place of names in capitals; the help of a mere name."""
    if re.search(r"[{}]", text):
        text = re.sub(r"\{[^}]*\}", "x", re.sub(r"(?<=[\w}])\{[^}]*\}", "", text))
    words = [word.strip("[],.") for word in text.split() if word not in _NO_VALUE]
    words = [word.removesuffix("…") for word in words]
    named = [word for word in words if re.fullmatch(r"[a-z][\w-]*", word)]
    if (not is_whole and len(words) == len(named)) or "`" in text:
        return " ".join([*words, "--help"])
    filled = (
        _VALUES.get(word, "x" if re.fullmatch(r"[A-Z][A-Z_.-]*", word) else word) for word in words
    )
    return " ".join(filled)


def make(version: str, installer: str, folder: Path) -> Path:
    """Copy a clone, install all of it without extras, and return the folder of programs."""
    clone = folder / "clone"
    names = ["packages", "pyproject.toml", "uv.lock", "README.md"]
    listed = _run(["git", "ls-files", "-z", *names], ROOT, is_needed=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, clone / name)
    if installer == "uv":
        sync = ["uv", "sync", "-q", "--no-dev", "--all-packages", "--python", find_python(version)]
        _run(sync, clone, is_needed=True, UV_PROJECT_ENVIRONMENT=str(folder / "env"))
    else:
        _run([find_python(version), "-m", "venv", "env"], folder, is_needed=True)
        paths = [clone / "packages" / name for name in projects()]
        _run(["env/bin/python", "-m", "pip", "install", "-q", *paths], folder, is_needed=True)
    return folder / "env/bin"


def _run(
    command: Sequence[str | Path], folder: Path, *, is_needed: bool = False, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a command; with `is_needed` its failure ends the program."""
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(  # noqa: S603 (the program's own lines)
        [*map(str, command)],
        cwd=folder,
        env=kept | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if is_needed and done.returncode:
        message = f"{command}: {(done.stdout + done.stderr)[-2_000:]}"
        raise SystemExit(message)
    return done


def run_all(programs: Path, home: Path, commands: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return the exit code and the output of each command, run in an empty home."""
    kept = {name: os.environ[name] for name in ("LANG", "UV_CACHE_DIR") if name in os.environ}
    path = f"{programs}:{os.environ['PATH']}"
    environ = {**kept, "BARE_SECONDS": SECONDS, "HOME": str(home), "PATH": path, "BROWSER": "true"}
    done = subprocess.run(  # noqa: S603 (ours)
        [programs / "python", ROOT / "tests/repo/bare_commands.py"],
        input=json.dumps([("command", command) for command in commands]),
        cwd=home,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2_000:])
    ends = json.loads(done.stdout)
    return {name: (code, out + err) for name, (code, out, err) in zip(commands, ends, strict=True)}


def install(line: str, home: Path) -> str:
    """Run a printed line of an installer; return what is wrong, or nothing."""
    done = _run(["sh", "-c", line], home, PIP_VERBOSE="2", RUST_LOG="uv=debug")
    output = done.stdout + done.stderr
    looked_up = {"".join(pair).lower().replace("_", "-") for pair in _REQUESTS.findall(output)}
    if ours := looked_up & {*projects()}:
        return f"an index was asked for {', '.join(ours)}"
    return output[-300:] if done.returncode else ""


def check(version: str, installer: str, known: set[str]) -> tuple[int, dict[str, str]]:
    """Return the number of commands tried in one environment, and what is wrong by command."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        programs = make(version, installer, folder)
        home = folder / "home"
        home.mkdir()
        ends = run_all(programs, home, PROVOKING)
        output = "\n".join(text for _, text in ends.values())
        lines = {*_INSTALL.findall(output)}
        later = run_all(programs, home, sorted(known | commands_in(output)))
        wrong = {
            f"thalweg {name}": text.strip()[-300:]
            for name, (code, text) in later.items()
            if _WRONG.search(text) or (code and not text.strip() and code > 0)
        }
        failed = {line: problem for line in sorted(lines) if (problem := install(line, home))}
        return len(later) + len(lines), wrong | failed


def main(versions: Iterable[str]) -> int:
    """Check each environment, and print the figures; return the exit code."""
    known = set[str]().union(*map(commands_in, texts()))
    print("| Python | installed with | tried | worked |\n|---|---|---:|---:|")
    problems: dict[str, str] = {}
    for version in versions:
        if not find_python(version):
            print(f"| {version} | not here | | |")
            continue
        for installer in ("uv", "pip"):
            tried, wrong = check(version, installer, known)
            print(f"| {version} | {installer} | {tried} | {tried - len(wrong)} |", flush=True)
            problems |= wrong
    for command, problem in problems.items():
        print(f"\n{command}\n    {problem}")
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or VERSIONS))
