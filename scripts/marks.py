"""Measure the language and the size of the packages, of their tests, examples and scripts.

    uv run python scripts/marks.py [FOLDER] [--words] [--texts] [--check]

Each mark has a ceiling that must not be exceeded and a target that is still to be reached. With
FOLDER, only the language of that folder is measured; any installed package may be named.
`--words` lists the idiosyncratic words of docstrings and identifiers with their counts, `--classes`
the class names that several classes share. `--check` exits with 1 if a mark exceeds its ceiling.
`--texts` measures pages and messages instead: each page of the documentation, and the messages in
each package (errors, help, log lines, labels); with `--words`, every sentence that has an
idiosyncratic word.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]

IDIOSYNCRATIC = frozenset(
    {
        "tell",
        "tells",
        "telling",
        "told",
        "teller",
        "say",
        "says",
        "saying",
        "said",
        "stand",
        "stands",
        "standing",
        "stood",
        "beside",
        "whoever",
        "whichever",
        "whatever",
        "give",
        "gives",
        "giving",
        "given",
        "gave",
        "known",
        "knows",
        "anew",
        "mend",
        "mends",
        "mended",
        "mending",
        "stay",
        "stays",
        "stayed",
        "left",
        "leave",
        "leaves",
        "leaving",
        "nobody",
        "somebody",
        "ought",
        "amid",
        "upon",
        "thereof",
        "herein",
        "aught",
        "forth",
        "hence",
        "heard",
        "hear",
        "hears",
        "hearing",
        "speak",
        "speaks",
        "spoken",
        "spoke",
        "goes",
        "gone",
        "unheard",
        "foretold",
        "rung",
        "rungs",
        "ladder",
        "room",
        "rooms",
        "beneath",
        "behind",
        "grasp",
    }
)
"""Words of everyday speech that technical prose of the field uses rarely: for what is returned,
logged, raised, stored or kept, the field has verbs of its own."""

FIELD = frozenset(
    {
        "return",
        "returns",
        "returned",
        "parse",
        "parses",
        "parsed",
        "request",
        "requests",
        "response",
        "responses",
        "store",
        "stores",
        "stored",
        "cache",
        "caches",
        "cached",
        "handler",
        "handlers",
        "lock",
        "locks",
        "locked",
        "retry",
        "retries",
        "retried",
        "validate",
        "validates",
        "validated",
        "raise",
        "raises",
        "raised",
        "render",
        "renders",
        "rendered",
        "compute",
        "computes",
        "computed",
        "convert",
        "converts",
        "converted",
        "emit",
        "emits",
        "emitted",
        "apply",
        "applies",
        "applied",
        "callback",
        "callbacks",
        "query",
        "queries",
        "resume",
        "resumes",
    }
)
"""Terms and verbs of LangChain, LangGraph, HTTP and databases."""

IDENTIFIERS = frozenset(
    {
        "anew",
        "asked",
        "asks",
        "began",
        "beginnings",
        "beside",
        "brought",
        "desk",
        "foretold",
        "grasp",
        "handed",
        "hear",
        "heard",
        "hearing",
        "look",
        "looker",
        "looks",
        "mend",
        "mended",
        "met",
        "mine",
        "ours",
        "said",
        "say",
        "saying",
        "says",
        "shelf",
        "shelve",
        "shelved",
        "stir",
        "stirred",
        "tell",
        "telling",
        "theirs",
        "told",
        "wanted",
        "whoever",
    }
)
"""Words that names of functions, classes, arguments and attributes have a technical term for."""

CEILINGS = {
    "docstrings of src: idiosyncratic words per 1,000": (1.0, 1.0),
    "docstrings of src: headless `what` per 1,000": (0.5, 0.5),
    "docstrings of src: `where` for `if` per 1,000": (0.5, 0.5),
    "identifiers of src: idiosyncratic words per 1,000": (1.0, 1.0),
    "class names of src that several modules define": (20, 20),
    "modules of src in an import ring": (0, 0),
    "docstrings of tests: idiosyncratic words per 1,000": (1.0, 1.0),
    "docstrings of examples: idiosyncratic words per 1,000": (1.0, 1.0),
    "docstrings of benchmarks: idiosyncratic words per 1,000": (1.0, 1.0),
    "docstrings of scripts: idiosyncratic words per 1,000": (1.0, 1.0),
    "code lines of strict_llm": (2_900, 2_900),
    "code lines of thalweg": (21_479, 16_500),  # skills restored in full, errors: 15
    "code lines of thalweg_agent": (10_558, 10_500),  # files larger than the memory, names: 21
    "code lines of thalweg_evals": (2_483, 2_474),
    "code lines of thalweg_integrations": (829, 900),
    "code lines of thalweg_memory": (8_011, 7_500),  # what the forgetting tools left: 27
    "code lines of thalweg_recorder": (6_415, 4_800),  # subagents are forgotten: 29
    "code lines of thalweg_server": (16_281, 11_500),  # limits of waits, of delayed runs: 21
    "code lines in all without strict_llm": (66_055, 59_500),
    "files in all packages": (625, 750),
    "files visited by one turn": (33, 30),
    "changes of file in one turn": (290, 290),
    "calls of functions in one turn": (560, 560),  # from run to run up to 9 more: threads
}
"""The ceiling of each mark, and its target."""
OTHERS = ("examples", "benchmarks", "scripts")
"""Folders whose docstrings are measured besides those of the packages and their tests."""
LEAST = {"docstrings of src: terms of the field per 1,000": 20.0}
TEXT_LIMITS = {"documentation": 9.0, "messages": 5.5}
"""Idiosyncratic words per 1,000, over all pages and over all messages."""
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_CODE = re.compile(
    r"```.*?```|``[^`]*``|`[^`]*`|^\s*>>>.*$|^\s*\.\.\. .*$", re.DOTALL | re.MULTILINE
)
_PART = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
_HEADLESS = re.compile(r"\bwhat (?:is|are|was|it|they|a|an|the|has|have|follows)\b", re.IGNORECASE)
_WHERE_FOR_IF = re.compile(r"\bwhere (?:it|they|there|none|nothing|no|a|an|the)\b", re.IGNORECASE)
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
_MESSAGE_WORDS = 4
_SENTENCE_END = re.compile(r"(?<=[.?!])\s|\n(?=[-|#\d]|\s*\n)")
_NO_PROSE = re.compile(r"[\\^]|\w\|\w|\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE)\b")


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the package, parsed."""

    path: Path
    name: str
    """Dotted, as it is imported."""
    text: str
    tree: ast.Module
    nodes: list[ast.AST]
    """Every node of the tree."""


def read_source(path: Path, name: str, text: str) -> Source:
    """Parse the text of a module."""
    tree = ast.parse(text)
    return Source(path, name, text, tree, list(ast.walk(tree)))


def read_package(folder: Path) -> list[Source]:
    """Parse every module below a package's folder, sorted by path."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
        name = ".".join(part for part in parts if part != "__init__")
        found.append(read_source(path, name, path.read_text(encoding="utf-8")))
    return found


def read_packages(*folders: Path) -> list[Source]:
    """Parse every module below several folders."""
    return [source for folder in folders for source in read_package(folder)]


def packages(root: Path) -> dict[str, Path]:
    """Return the folder of each package that a checkout ships, by its name."""
    # A checkout of before the packages has all of it in `src`.
    folders = [*root.glob("packages/*/src/*/")] or [*root.glob("src/*/")]
    return {folder.name: folder for folder in sorted(folders)}


def code_lines(source: Source) -> int:
    """Count the lines of code: no blank lines, comments, docstrings or imports."""
    other: set[int] = set()
    for node in source.nodes:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                other.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - other)


def statements(source: Source) -> int:
    """Count the statements, without imports and docstrings; wrapping lines has no effect."""
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in source.nodes
    )


def docstrings(sources: Sequence[Source]) -> list[str]:
    """Return all docstrings without their code.

    Strings under an assignment document an attribute and count, too.
    """
    return [_CODE.sub(" ", text) for source in sources for text in _docstrings(source)]


def words_of(texts: Sequence[str]) -> list[str]:
    """Return the words of texts in small letters."""
    return [word.lower() for text in texts for word in _WORD.findall(text)]


def identifier_words(sources: Sequence[Source]) -> list[str]:
    """Return the words of defined names: functions, classes, arguments, variables, attributes."""
    names: list[str] = []
    for source in sources:
        for node in source.nodes:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    names.append(node.name)
                case ast.arg():
                    names.append(node.arg)
                case ast.Name(ctx=ast.Store()):
                    names.append(node.id)
                case ast.Attribute(ctx=ast.Store()):
                    names.append(node.attr)
    return [word.lower() for name in names for word in _PART.split(name) if word]


def _docstrings(source: Source) -> Iterator[str]:
    for node in source.nodes:
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    yield text


def shared_classes(sources: Sequence[Source]) -> dict[str, list[str]]:
    """Return names of top-level classes that more than one module defines, with the modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(source.name)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def import_ring(sources: Sequence[Source]) -> list[str]:
    """Return modules that import each other in a ring, also for types or in functions."""
    names = {source.name for source in sources}
    packages = {source.name for source in sources if source.path.name == "__init__.py"}
    graph = {source.name: _imports(source, names, packages) for source in sources}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _imports(source: Source, names: set[str], packages: set[str]) -> set[str]:
    found: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = source.name.split(".")
                above = above[: len(above) - node.level + (source.name in packages)]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                deep = f"{base}.{alias.name}"
                found |= {deep} if deep in names else {base} & names
    return found - {source.name}


def language(name: str, sources: Sequence[Source]) -> dict[str, float]:
    """Return the marks of the language of docstrings."""
    texts = docstrings(sources)
    words = words_of(texts)
    return {
        f"docstrings of {name}: idiosyncratic words per 1,000": _per_1000(
            sum(word in IDIOSYNCRATIC for word in words), len(words)
        )
    }


def language_of_source(name: str, sources: Sequence[Source]) -> dict[str, float]:
    """Return the marks of the language of a package: docstrings, names, import rings."""
    texts = docstrings(sources)
    words, names = words_of(texts), identifier_words(sources)
    rates = {
        "terms of the field": sum(word in FIELD for word in words),
        "headless `what`": sum(len(_HEADLESS.findall(text)) for text in texts),
        "`where` for `if`": sum(len(_WHERE_FOR_IF.findall(text)) for text in texts),
    }
    return {
        **language(name, sources),
        **{
            f"docstrings of {name}: {what} per 1,000": _per_1000(count, len(words))
            for what, count in rates.items()
        },
        f"identifiers of {name}: idiosyncratic words per 1,000": _per_1000(
            sum(word in IDENTIFIERS for word in names), len(names)
        ),
        f"class names of {name} that several modules define": len(shared_classes(sources)),
        f"modules of {name} in an import ring": len(import_ring(sources)),
    }


def _per_1000(count: int, of: int) -> float:
    return round(1000 * count / (of or 1), 1)


def sizes(sources: Sequence[Source]) -> dict[str, float]:
    """Return the code lines of each package, their sum, and the number of files."""
    lines: Counter[str] = Counter()
    for source in sources:
        lines[source.name.partition(".")[0]] += code_lines(source)
    return {
        **{f"code lines of {name}": count for name, count in sorted(lines.items())},
        "code lines in all without strict_llm": lines.total() - lines["strict_llm"],
        "statements in all without strict_llm": sum(
            statements(source) for source in sources if not source.name.startswith("strict_llm")
        ),
        "files in all packages": len(sources),
    }


def trip() -> dict[str, float]:
    """Return the files that the third turn of an agent visits, changes and calls (`trip.py`)."""
    command = [sys.executable, "-W", "ignore", str(ROOT / "scripts" / "trip.py")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    names = "files visited by", "changes of file in", "calls of functions in"
    return {f"{name} one turn": int(n) for name, n in zip(names, done.stdout.split(), strict=True)}


def measure(root: Path, sources: Sequence[Source]) -> dict[str, float]:
    """Return every mark of a repository and of the modules of its packages, by its name."""
    tests = (*root.glob("packages/*/tests/"), root / "tests")
    marks = language_of_source("src", sources)
    for name, folders in {"tests": tests, **{name: (root / name,) for name in OTHERS}}.items():
        marks |= language(name, read_packages(*folders))
    return {**marks, **sizes(sources), **trip()}


def page_sentences(root: Path) -> dict[str, list[str]]:
    """Return the sentences of the pages that people write, by path, without code.

    The changelog is a history and keeps its words.
    """
    pages = [root / f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "README")]
    pages += [*(root / "docs").rglob("*.md"), *root.glob("packages/*/README.md")]
    texts = {page: page.read_text("utf-8") for page in pages}
    return {
        str(page.relative_to(root)): _SENTENCE_END.split(_CODE.sub(" ", text))
        for page, text in sorted(texts.items())
    }


def package_messages(sources: Sequence[Source]) -> dict[str, list[str]]:
    """Return the messages of each package: errors, help, log lines, labels.

    A message is a string literal of four words or more that is neither a docstring nor an item of
    a collection or split into one (those are tables), nor SQL or a pattern. The fields of an
    f-string are not counted.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        found[".".join(source.name.split(".")[:2])] += (
            _CODE.sub(" ", text) for text in _messages(source)
        )
    return {name: texts for name, texts in found.items() if texts}


def _messages(source: Source) -> Iterator[str]:
    skipped: set[int] = set()
    for node in source.nodes:
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                skipped.add(id(docstring))
            case (
                ast.Set(elts=items)
                | ast.List(elts=items)
                | ast.Tuple(elts=items)
                | ast.JoinedStr(values=items)
            ):
                skipped |= set(map(id, items))
            case ast.Attribute(value=table, attr="split"):
                skipped.add(id(table))
        message = _literal(node)
        if id(node) not in skipped and _is_prose(message):
            yield " ".join(message.split())


def _literal(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=items):
            return "".join(_literal(item) or "{}" for item in items)
    return ""


def _is_prose(text: str) -> bool:
    words = _WORD.findall(text)
    lower = sum(word.islower() for word in words)
    return (
        len(text.split()) >= _MESSAGE_WORDS
        and lower * 2 > len(words)
        and not _NO_PROSE.search(text)
    )


def print_texts(root: Path, *, sentences: bool) -> set[str]:
    """Print the rates of pages and messages; return the names of the limits exceeded."""
    over = set()
    pages = page_sentences(root)
    messages = package_messages(read_packages(*packages(root).values()))
    for title, texts in (("documentation", pages), ("messages", messages)):
        every = [text for part in texts.values() for text in part]
        for name, part in {**texts, f"{title}, all": every}.items():
            words = words_of(part)
            rate = _per_1000(sum(word in IDIOSYNCRATIC for word in words), len(words))
            print(f"{name:50} {len(words):7,} words {rate:6.1f} idiosyncratic per 1,000")
        over |= {title} if rate > TEXT_LIMITS[title] else set()  # the rate of all
    for name, part in {**pages, **messages}.items() if sentences else ():
        for text in part:
            if found := IDIOSYNCRATIC.intersection(words_of([text])):
                print(f"{len(found)} {name}: {' '.join(text.split())}")
    return over


def exceeded(marks: dict[str, float]) -> dict[str, str]:
    """Return the limit of each mark that exceeds its ceiling or is below its least value."""
    over = {
        name: f"at most {most:,g}" for name, (most, _) in CEILINGS.items() if marks[name] > most
    }
    return over | {
        name: f"at least {least:g}" for name, least in LEAST.items() if marks[name] < least
    }


def main() -> int:
    """Print the marks; return 1 where `--check` finds a limit exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path, help="a package; default: the repository")
    parser.add_argument("--words", action="store_true", help="list the idiosyncratic words")
    parser.add_argument("--classes", action="store_true", help="list the shared class names")
    parser.add_argument("--check", action="store_true", help="exit with 1 above a ceiling")
    parser.add_argument("--texts", action="store_true", help="measure documentation and messages")
    options = parser.parse_args()
    if options.texts:
        over_texts = print_texts(ROOT, sentences=options.words)
        return int(options.check and bool(over_texts))
    folders = [options.folder] if options.folder else packages(ROOT).values()
    sources = read_packages(*folders)
    if options.folder:
        marks, over = language_of_source(options.folder.name, sources), {}
    else:
        marks = measure(ROOT, sources)
        over = exceeded(marks)
    for name, value in marks.items():
        target = CEILINGS.get(name, (0.0, value))[1]
        hint = f"   ({over[name]})" if name in over else ""
        hint += f"   (target {target:,g})" if value > target else ""
        print(f"{name:58} {value:10,.10g}{hint}")
    if options.words:
        counts = Counter(word for word in words_of(docstrings(sources)) if word in IDIOSYNCRATIC)
        print(*(f"{count:6} {word}" for word, count in counts.most_common()), sep="\n")
        print("In identifiers:")
        counts = Counter(word for word in identifier_words(sources) if word in IDENTIFIERS)
        print(*(f"{count:6} {word}" for word, count in counts.most_common()), sep="\n")
    if options.classes:
        for name, where in shared_classes(sources).items():
            print(f"{name}: {', '.join(where)}")
    for name, limit in over.items() if options.check else ():
        hint = "or raise CEILINGS in scripts/marks.py with the reason"
        print(f"{name}: {marks[name]:,.10g}, {limit}; shorten it, {hint}", file=sys.stderr)
    return int(options.check and bool(over))


if __name__ == "__main__":
    sys.exit(main())
