"""A file of settings as it was read: values, each with the place it stands at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

Step = str | int
Path = tuple[Step, ...]
"""Keys and indices, from the top of the file."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands."""

    file: str
    line: int
    """From 1; of the key, where it has one."""
    key: str
    """The path, as it stands in the file: `models[0].window`. Empty for the whole file."""

    def below(self, step: Step) -> str:
        """Give the path of what is in the value."""
        if isinstance(step, int):
            return f"{self.key}[{step}]"
        return f"{self.key}.{step}" if self.key else step

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "environment"


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and where it stands."""

    value: "Mapping[str, Node] | tuple[Node, ...] | object"
    place: Place
    written: str = ""
    """A text as it stands in the file, where a variable of the environment was put in it."""
    variables: tuple[str, ...] = ()
    """The variables that were put in."""
    unset: tuple[str, ...] = ()
    """Those that are not set; the text then is as it was written."""

    @property
    def keys(self) -> "Mapping[str, Node]":
        """What is in a mapping; nothing where it is none."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> "tuple[Node, ...]":
        """What is in a list; nothing where it is none."""
        return self.value if isinstance(self.value, tuple) else ()

    def child(self, step: Step) -> "Node | None":
        """Give what is below a key or an index, if it is there."""
        if isinstance(step, int):
            return self.items[step] if -1 < step < len(self.items) else None
        return self.keys.get(step)

    def find(self, path: Path) -> "Node | None":
        """Give what is at a path, if it is there."""
        node: Node | None = self
        for step in path:
            node = node and node.child(step)
        return node

    def plain(self) -> object:
        """Give the value without places."""
        if isinstance(self.value, Mapping):
            return {key: node.plain() for key, node in self.keys.items()}
        if isinstance(self.value, tuple):
            return [node.plain() for node in self.items]
        return self.value

    def having(self, key: str, node: "Node") -> "Node":
        """Give the mapping with another value below a key."""
        return replace(self, value={**self.keys, key: node})

    def lacking(self, *keys: str) -> "Node":
        """Give the mapping without some keys."""
        return replace(self, value={k: node for k, node in self.keys.items() if k not in keys})

    def put(self, path: Path, node: "Node") -> "Node":
        """Give the same with another value at a path that is there."""
        if not path:
            return node
        step, *below = path
        child = self.child(step)
        new = node if child is None else child.put(tuple(below), node)
        if isinstance(step, str):
            return self.having(step, new)
        return replace(self, value=(*self.items[:step], new, *self.items[step + 1 :]))

    def cut(self, path: Path) -> "Node":
        """Give the same without what is at a path."""
        *above, last = path
        node = self.find(tuple(above))
        if node is None or node.child(last) is None:
            return self
        if isinstance(last, str):
            return self.put(tuple(above), node.lacking(last))
        items = (*node.items[:last], *node.items[last + 1 :])
        return self.put(tuple(above), replace(node, value=items))

    def walk(self, path: Path = ()) -> "Iterator[tuple[Path, Node]]":
        """Give everything below, from the top, with its path."""
        yield path, self
        for key, node in self.keys.items():
            yield from node.walk((*path, key))
        for index, node in enumerate(self.items):
            yield from node.walk((*path, index))
