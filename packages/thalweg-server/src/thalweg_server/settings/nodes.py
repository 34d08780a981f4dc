"""A configuration file as a tree of values, each with its position in the file."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from thalweg.engine.sections import KeyPath, dotted
from thalweg.errors import SettingsError

Step = str | int
Path = KeyPath
"""Keys and indices, from the top of the file."""


@dataclass(frozen=True, slots=True)
class NodePosition:
    """The position of a value."""

    file: str
    line: int
    """From 1; of the key, if the value has one."""
    key: str
    """The path as the file has it: `models[0].window`. Empty for the whole file."""

    def below(self, step: Step) -> str:
        """Return the path of a part of the value."""
        return dotted((step,), self.key)

    def error(self, problem: str, fix: str) -> SettingsError:
        """Return the error of a value at this position."""
        return SettingsError(self.file, self.line, self.key, problem, fix)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "environment"


@dataclass(frozen=True, slots=True)
class UnsetVariable:
    """A variable that a file refers to and the environment does not have."""

    place: NodePosition = field(compare=False)
    """Of the reference; a line added above it changes no setting."""
    variable: str


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position."""

    value: "Mapping[str, Node] | tuple[Node, ...] | object"
    place: NodePosition
    written: str = ""
    """The text as in the file, if it refers to variables."""
    variables: tuple[str, ...] = ()
    """The variables that were substituted."""
    unset: tuple[str, ...] = ()
    """Those that are not set; the text is then as written."""

    @property
    def keys(self) -> "Mapping[str, Node]":
        """The values of a mapping; empty for any other value."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> "tuple[Node, ...]":
        """The items of a list; empty for any other value."""
        return self.value if isinstance(self.value, tuple) else ()

    def child(self, step: Step) -> "Node | None":
        """Return the value at a key or an index, or `None`."""
        if isinstance(step, int):
            return self.items[step] if -1 < step < len(self.items) else None
        return self.keys.get(step)

    def find(self, path: Path) -> "Node | None":
        """Return the value at a path, or `None`."""
        node: Node | None = self
        for step in path:
            node = node and node.child(step)
        return node

    def plain(self) -> object:
        """Return the value without positions."""
        if isinstance(self.value, Mapping):
            return {key: node.plain() for key, node in self.keys.items()}
        if isinstance(self.value, tuple):
            return [node.plain() for node in self.items]
        return self.value

    def put(self, path: Path, new: "Node | None") -> "Node":
        """Return a copy with another value at a path, or with none for `None`.

        Mappings that are missing on the way are added; a list keeps its length unless an item is
        removed.
        """
        step, *rest = path
        if rest:
            new = (self.child(step) or Node({}, (new or self).place)).put(tuple(rest), new)
        if isinstance(step, str):
            others = {key: node for key, node in self.keys.items() if new or key != step}
            return replace(self, value={**others, step: new} if new else others)
        return replace(
            self, value=(*self.items[:step], *([new] if new else ()), *self.items[step + 1 :])
        )

    def lacking(self, *keys: str) -> "Node":
        """Return a copy of the mapping without some keys."""
        return replace(self, value={k: node for k, node in self.keys.items() if k not in keys})

    def mapped(self, change: "Callable[[Node], Node]") -> "Node":
        """Return a copy with every scalar changed."""
        if isinstance(self.value, Mapping):
            return replace(self, value={k: node.mapped(change) for k, node in self.keys.items()})
        if isinstance(self.value, tuple):
            return replace(self, value=tuple(node.mapped(change) for node in self.items))
        return change(self)

    def walk(self, path: Path = ()) -> "Iterator[tuple[Path, Node]]":
        """Yield every value of the tree with its path, outer values first."""
        yield path, self
        for key, node in self.keys.items():
            yield from node.walk((*path, key))
        for index, node in enumerate(self.items):
            yield from node.walk((*path, index))

    def unset_below(self) -> tuple[UnsetVariable, ...]:
        """Return the variables below this value that are not set."""
        return tuple(UnsetVariable(n.place, name) for _, n in self.walk() for name in n.unset)
