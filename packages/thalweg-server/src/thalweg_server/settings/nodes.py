"""A YAML file as a tree of values, each with its line and column, read in one pass.

The nodes that PyYAML composes have the positions, and PyYAML resolves scalars and merges as for
every other reader of YAML. `ruamel.yaml` keeps positions as well, but it would be a second parser
(skills need PyYAML) and stops at the first repeated key.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from thalweg.engine.data_files import read_table
from thalweg.engine.sections import KeyPath, dotted
from thalweg.errors import SettingsError

MOST_NODES = 50_000
"""Values of one file; aliases that multiply make more of a small one."""
_TAG = "tag:yaml.org,2002:"
_KINDS = frozenset(("map", "seq", "str", "int", "float", "bool", "null", "timestamp"))
_REFERENCE = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[^{}]*)(?P<end>\}?))", re.ASCII
)
_INSIDE = re.compile(r"([A-Za-z_]\w*)(?::-(.*))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a value, which is that of its key if it has one."""

    file: str
    line: int = 1
    """From 1."""
    column: int = 1
    """From 1."""
    path: KeyPath = ()
    """Keys and indices from the top of the file; empty for the whole file."""

    @property
    def key(self) -> str:
        """The path as the file has it: `models[0].window`."""
        return dotted(self.path)

    def error(self, problem: str, fix: str, *below: str | int) -> SettingsError:
        """Return the error of the value, or of a key below it that the file does not have."""
        key = dotted(below, self.key)
        return SettingsError(self.file, self.line, self.column, key, problem, fix)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.file else "environment"


class Substituted(str):
    """A text whose variables were substituted, with the node that has it."""

    __slots__ = ("node",)
    node: "Node"


@dataclass(slots=True, eq=False)
class Node:
    """A value and its position. A removed one (`is_removed`) counts as absent."""

    value: "dict[str, Node] | list[Node] | object"
    position: Position
    written: str = ""
    """The text as in the file, if it refers to variables."""
    variables: tuple[str, ...] = ()
    """The variables that were substituted."""
    unset: tuple[str, ...] = ()
    """Those that are not set; the text is then as written."""
    is_removed: bool = False

    @property
    def keys(self) -> "dict[str, Node]":
        """The values of a mapping; empty for any other value."""
        nodes = self.value if isinstance(self.value, dict) else {}
        return {key: node for key, node in nodes.items() if not node.is_removed}

    @property
    def items(self) -> "list[Node]":
        """The items of a list or a mapping; empty for a scalar."""
        nodes = self.value if isinstance(self.value, list) else self.keys.values()
        return [node for node in nodes if not node.is_removed]

    def child(self, step: str | int) -> "Node | None":
        """Return the value at a key or an index, or `None`."""
        if isinstance(step, int):
            return self.items[step] if -1 < step < len(self.items) else None
        return self.keys.get(step)

    def find(self, *path: str | int) -> "Node | None":
        """Return the value at a path, or `None`."""
        node: Node | None = self
        for step in path:
            node = node and node.child(step)
        return node

    def put(self, new: "Node", *path: str) -> None:
        """Set the value at a path of keys; mappings that are missing on the way are added."""
        *above, last = path
        node = self
        for step in above:
            if node.child(step) is None or node.keys[step].value is None:
                node.value = {**node.keys, step: Node({}, new.position)}
            node = node.keys[step]
        if isinstance(node.value, dict):  # if not, the section itself is an error
            node.value[last] = new

    def plain(self) -> Any:  # noqa: ANN401 (YAML has any value)
        """Return the value without positions; a text with variables is a `Substituted`."""
        if isinstance(self.value, dict):
            return {k: node.plain() for k, node in self.keys.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.items]
        if not self.variables:
            return self.value
        text = Substituted(self.value)
        text.node = self
        return text

    def walk(self) -> "Iterator[Node]":
        """Yield this node and every one below it."""
        yield self
        for node in self.items:
            yield from node.walk()


def read(text: bytes, file: str) -> tuple[Node, list[SettingsError]]:
    """Parse a file.

    Args:
        text: The content.
        file: Its name, for positions.

    Returns:
        The values, and errors of the YAML that do not keep it from being parsed.

    Raises:
        SettingsError: The text is not YAML, or not a mapping.
    """
    top = Position(file)
    if not text.strip():
        return Node({}, top), []
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 (slow; only files need it)

    reader = _Reader(file, yaml.constructor.SafeConstructor())
    try:
        composed = yaml.compose(text.decode("utf-8-sig"), Loader=yaml.SafeLoader)
        node = Node({}, top) if composed is None else reader.node(composed, top)
    except UnicodeDecodeError as error:
        lines = text[: error.start].split(b"\n")
        at = replace(top, line=len(lines), column=len(lines[-1].decode("utf-8-sig")) + 1)
        problem = f"byte 0x{text[error.start]:02x} is not UTF-8"
        raise at.error(problem, "save the file as UTF-8") from None
    except yaml.YAMLError as error:
        raise _no_yaml(error, top) from None
    except RecursionError:
        problem = "it is nested too deep, or contains itself"
        raise top.error(problem, "nest it less") from None
    if node.value is None:
        node.value = {}
    if not isinstance(node.value, dict):
        problem = "it is not a mapping"
        raise top.error(problem, "begin with a section, such as `models:`")
    return node, reader.problems


@dataclass(slots=True)
class _Reader:
    """Converts the nodes that PyYAML composed."""

    file: str
    yaml: Any
    """The constructor of PyYAML, for scalars and merged mappings."""
    problems: list[SettingsError] = field(default_factory=list)
    count: int = 0
    merged: set[int] = field(default_factory=set)

    def node(self, yaml_node: Any, at: Position) -> Node:  # noqa: ANN401 (of PyYAML, which has no types)
        self.count += 1
        tag = yaml_node.tag.removeprefix(_TAG)
        if self.count > MOST_NODES:
            problem = f"it has more than {MOST_NODES:,} values, aliases included"
            raise at.error(problem, "write fewer")
        if tag not in _KINDS:
            # The tag itself is not quoted: it may be a password that begins with `!`.
            problem = "tags are not supported"
            raise at.error(problem, "remove it, or quote a text that begins with !")
        if yaml_node.id == "mapping":
            return Node(self._mapping(yaml_node, at), at)
        if yaml_node.id == "sequence":
            rows = enumerate(yaml_node.value)
            return Node([self.node(each, self._at(each, *at.path, k)) for k, each in rows], at)
        try:
            # No setting is a date.
            value = yaml_node.value if tag == "timestamp" else self.yaml.construct_object(yaml_node)
        except ValueError:
            problem = f"{yaml_node.value!r} is no number"
            raise at.error(problem, "quote it") from None
        return Node(value, at)

    def _mapping(self, yaml_node: Any, at: Position) -> dict[str, Node]:  # noqa: ANN401
        lines: dict[str, int] = {}
        for key, _ in yaml_node.value if id(yaml_node) not in self.merged else ():
            here = self._at(key, *at.path)
            if key.id != "scalar":
                problem = "a key is not text"
                raise here.error(problem, "write keys as plain words")
            if key.value in lines and key.value != "<<":
                fix = f"keep one of them; the first is in line {lines[key.value]}"
                error = here.error(f"{key.value!r} is repeated", fix, key.value)
                self.problems.append(error)
            lines.setdefault(key.value, here.line)
        self.yaml.flatten_mapping(yaml_node)
        self.merged.add(id(yaml_node))
        return {
            key.value: self.node(value, self._at(key, *at.path, key.value))
            for key, value in yaml_node.value
        }

    def _at(self, yaml_node: Any, *path: str | int) -> Position:  # noqa: ANN401
        mark = yaml_node.start_mark
        return Position(self.file, mark.line + 1, mark.column + 1, path)


def _no_yaml(error: Any, top: Position) -> SettingsError:  # noqa: ANN401 (of PyYAML)
    """Return the error of a text that is not YAML, with a remedy for the usual causes."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    found = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    problem = f"{context}: {found}" if context else str(found)
    # The name in it may be the beginning of a password.
    problem = re.sub(r"(alias|anchor|tag|tag handle) ('[^']*'|\"[^\"]*\")", r"\1", problem)
    remedies = read_table(__package__, "settings.toml")["yaml_errors"]
    usual = "check this line and those above"
    fix = next((remedies[sign] for sign in remedies if sign in problem), usual)
    at = top if mark is None else replace(top, line=mark.line + 1, column=mark.column + 1)
    return at.error(f"it is not YAML: {problem}", fix)


class Filled(NamedTuple):
    """A text with its variables substituted."""

    text: str
    variables: tuple[str, ...]
    unset: tuple[str, ...]
    problem: str
    """The error of a reference; empty if there is none."""


def filled(text: str, environ: Mapping[str, str]) -> Filled:
    """Substitute `$NAME`, `${NAME}` and `${NAME:-default}`; `$$` is a dollar.

    An empty variable counts as not set. A text with one that is not set stays as it is.

    Example:
        >>> filled("${HOST:-localhost}:$PORT, 5$$, $5", {"PORT": "80"}).text
        'localhost:80, 5$, $5'
    """
    values: dict[str, str | None] = {}
    problem = ""

    def put(match: re.Match[str]) -> str:
        nonlocal problem
        if match["dollar"]:
            return "$"
        inside = _INSIDE.fullmatch(match["plain"] or match["braced"])
        if inside is None or (match["plain"] is None and not match["end"]):
            problem = problem or f"{match[0]!r} is no variable"
            return ""
        value = environ.get(inside[1]) or inside[2]
        values[inside[1]] = None if values.get(inside[1], "") is None else value
        return value or ""

    done = _REFERENCE.sub(put, text)
    unset = tuple(name for name, value in values.items() if value is None)
    return Filled(text if unset or problem else done, tuple(values), unset, problem)


def escaped(text: str) -> str:
    """Escape a text so that no part of it is read as a variable.

    Example:
        >>> escaped("costs $5 or $HOME"), filled(escaped("$HOME"), {}).text
        ('costs $$5 or $$HOME', '$HOME')
    """
    return text.replace("$", "$$")


def fill(root: Node, environ: Mapping[str, str]) -> Iterator[SettingsError]:
    """Substitute the variables in every text of a tree; yield the errors of references."""
    for node in root.walk():
        if isinstance(node.value, str):
            found = filled(node.value, environ)
            if found.problem:
                fix = "write ${NAME} or ${NAME:-default}, and $$ for a dollar"
                yield node.position.error(found.problem, fix)
            node.written = node.value if found.variables else ""
            node.value, node.variables, node.unset = found[:3]
