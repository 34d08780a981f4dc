"""Measure the language and the layout of a package.

    uv run python scripts/marks.py [FOLDER] [--words] [--texts] [--check]

FOLDER is a package (default: all of `packages`); any installed package may be named.
`--words` lists the idiosyncratic words with their counts, `--classes` the class names that several
classes share. `--check` exits with 1 where a limit of `LIMITS` is exceeded or one of `LEAST` is not
reached. `--texts` measures what people read instead: each page of the documentation, and the
messages in each package (errors, help, log lines, labels); with `--words`, every sentence that has
an idiosyncratic word.
"""

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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

LIMITS = {
    "idiosyncratic words per 1,000": 5.0,
    "shared class names": 20,
    "files in the largest package": 20,
    "largest file, lines": 480,
    "functions over 40 lines": 50,
    "modules in import rings": 0,
}
LEAST = {"terms of the field per 1,000": 20.0}
TEXT_LIMITS = {"documentation": 9.0, "messages": 5.5}
"""Idiosyncratic words per 1,000, over all pages and over all messages."""
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_CODE = re.compile(
    r"```.*?```|``[^`]*``|`[^`]*`|^\s*>>>.*$|^\s*\.\.\. .*$", re.DOTALL | re.MULTILINE
)
_LONG = 40
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

    @property
    def lines(self) -> int:
        """Lines of the file, blank ones included."""
        return len(self.text.splitlines())


def read_package(folder: Path) -> list[Source]:
    """Parse every module below a package's folder, sorted by path."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
        text = path.read_text(encoding="utf-8")
        found.append(
            Source(path, ".".join(p for p in parts if p != "__init__"), text, ast.parse(text))
        )
    return found


def docstring_words(sources: Sequence[Source]) -> list[str]:
    """Return the words of all docstrings in small letters, code left out.

    Strings under an assignment document an attribute and count, too.
    """
    words: list[str] = []
    for source in sources:
        for text in _docstrings(source.tree):
            words += (word.lower() for word in _WORD.findall(_CODE.sub(" ", text)))
    return words


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
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


def long_functions(sources: Sequence[Source]) -> int:
    """Count functions longer than 40 lines, signature and docstring included."""
    return sum(
        node.end_lineno - node.lineno + 1 > _LONG
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    )


def import_rings(sources: Sequence[Source]) -> list[list[str]]:
    """Return groups of modules that import each other, also for types or in functions."""
    names = {source.name for source in sources}
    packages = {source.name for source in sources if source.path.name == "__init__.py"}
    graph = {source.name: _imports(source, names, packages) for source in sources}
    return [sorted(ring) for ring in _components(graph) if len(ring) > 1]


def _imports(source: Source, names: set[str], packages: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(source.tree):
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


def _components(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Yield the strongly connected components (Tarjan 1972), without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            for child in following:
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, iter(sorted(graph[child]))))
                    break
                if child in on_stack:
                    low[node] = min(low[node], index[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    ring = set(stack[stack.index(node) :])
                    del stack[stack.index(node) :]
                    on_stack -= ring
                    yield ring


def measure(folder: Path) -> dict[str, float]:
    """Return every mark of a package by its name."""
    sources = read_package(folder)
    words = docstring_words(sources)
    thousand = len(words) / 1000 or 1
    per_package = Counter(source.path.parent for source in sources)
    return {
        "files": len(sources),
        "lines": sum(source.lines for source in sources),
        "docstring words": len(words),
        "idiosyncratic words per 1,000": round(
            sum(w in IDIOSYNCRATIC for w in words) / thousand, 1
        ),
        "terms of the field per 1,000": round(sum(w in FIELD for w in words) / thousand, 1),
        "shared class names": len(shared_classes(sources)),
        "entries at the top level": sum(
            not entry.name.startswith((".", "__")) for entry in folder.iterdir()
        ),
        "files in the largest package": max(per_package.values()),
        "largest file, lines": max(source.lines for source in sources),
        "functions over 40 lines": long_functions(sources),
        "modules in import rings": sum(map(len, import_rings(sources))),
    }


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
            _CODE.sub(" ", text) for text in _messages(source.tree)
        )
    return {name: texts for name, texts in found.items() if texts}


def _messages(tree: ast.Module) -> Iterator[str]:
    skipped: set[int] = set()
    for node in ast.walk(tree):
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


def print_texts(folder: Path, *, sentences: bool) -> set[str]:
    """Print the rates of pages and messages; return the names of the limits exceeded."""
    over, root = set(), folder.parents[1]
    folders = [folder, *root.glob("packages/*/src/*/")]
    sources = [source for each in folders for source in read_package(each)]
    pages, messages = page_sentences(root), package_messages(sources)
    for title, texts in (("documentation", pages), ("messages", messages)):
        every = [text for part in texts.values() for text in part]
        for name, part in {**texts, f"{title}, all": every}.items():
            words = [word.lower() for text in part for word in _WORD.findall(text)]
            rate = 1000 * sum(word in IDIOSYNCRATIC for word in words) / (len(words) or 1)
            print(f"{name:50} {len(words):7,} words {rate:6.1f} idiosyncratic per 1,000")
        over |= {title} if rate > TEXT_LIMITS[title] else set()  # the rate of all
    for name, part in {**pages, **messages}.items() if sentences else ():
        for text in part:
            if found := IDIOSYNCRATIC.intersection(map(str.lower, _WORD.findall(text))):
                print(f"{len(found)} {name}: {' '.join(text.split())}")
    return over


def main() -> int:
    """Print the marks; return 1 where `--check` finds a limit exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    default = Path(__file__).parents[1] / "src" / "thalweg"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--words", action="store_true", help="list the idiosyncratic words")
    parser.add_argument("--classes", action="store_true", help="list the shared class names")
    parser.add_argument("--check", action="store_true", help="exit with 1 above a limit")
    parser.add_argument("--texts", action="store_true", help="measure documentation and messages")
    options = parser.parse_args()
    if options.texts:
        over_texts = print_texts(options.folder, sentences=options.words)
        return int(options.check and bool(over_texts))
    marks = measure(options.folder)
    missed = {n: f"at most {most:g}" for n, most in LIMITS.items() if marks[n] > most}
    missed |= {n: f"at least {least:g}" for n, least in LEAST.items() if marks[n] < least}
    for name, value in marks.items():
        limit = f"   ({missed[name]})" if name in missed else ""
        print(f"{name:32} {value:10,.10g}{limit}")
    sources = read_package(options.folder)
    if options.words:
        counts = Counter(w for w in docstring_words(sources) if w in IDIOSYNCRATIC)
        print(*(f"{count:6} {word}" for word, count in counts.most_common()), sep="\n")
    if options.classes:
        for name, where in shared_classes(sources).items():
            print(f"{name}: {', '.join(where)}")
    return int(options.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
