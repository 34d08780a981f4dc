"""What the recorded assistant can report about a Python module after reading it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method, with its line numbers."""

    name: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        """Length, signature and docstring included."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Module:
    """One file of Python."""

    path: str
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The folder it lies in."""
        return str(PurePosixPath(self.path).parent)

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.path).name

    @property
    def dotted(self) -> str:
        """The name it is imported by: its path below the copied tree."""
        parts = PurePosixPath(self.path).with_suffix("").parts[1:]
        return ".".join(part for part in parts if part != "__init__")

    @property
    def lines(self) -> int:
        """Lines of the file."""
        return len(self.text.splitlines())

    @property
    def purpose(self) -> str:
        """First line of the module's docstring."""
        return (ast.get_docstring(self.tree) or "no docstring").splitlines()[0]

    @property
    def public(self) -> list[str]:
        """Names the module defines for others, sorted."""
        return sorted({name for name in _defined(self.tree) if not name.startswith("_")})

    @property
    def constants(self) -> list[str]:
        """Public names in capitals."""
        return [name for name in self.public if name.isupper()]

    @property
    def functions(self) -> list[Function]:
        """Every function and method, longest first."""
        found = [
            Function(node.name, node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        return sorted(found, key=lambda function: (-function.lines, function.first))

    @property
    def imports(self) -> list[str]:
        """Modules it imports, sorted."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
        return sorted(found)

    def imports_name(self, name: str) -> bool:
        """Whether it imports this name from another module."""
        return any(
            isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names)
            for node in ast.walk(self.tree)
        )

    def opening(self) -> str:
        """Return the lines that end the docstring and imports; the text is in the file once."""
        head = self.tree.body[0] if self.tree.body else None
        for before, node in pairwise([*self.tree.body, ast.Pass()]):
            if not isinstance(before, ast.Import | ast.ImportFrom) and not _is_text(before):
                break
            head = before
            if not isinstance(node, ast.Import | ast.ImportFrom):
                break
        lines = self.text.splitlines()
        last = (head.end_lineno or 1) if head else 1
        first = last
        while first > 1 and self.text.count("\n".join(lines[first - 1 : last])) > 1:
            first -= 1
        return "\n".join(lines[first - 1 : last])


def read_module(path: str, text: str) -> Module:
    """Parse a file."""
    return Module(path, text, ast.parse(text))


def export_list(names: list[str]) -> str:
    """Write `__all__` as the formatter would.

    Example:
        >>> export_list(["Budget"])
        '__all__ = ["Budget"]'
    """
    line = f"__all__ = [{', '.join(_quoted(name) for name in names)}]"
    if len(line) <= 100:  # noqa: PLR2004 (the line length of the project)
        return line
    return "\n".join(["__all__ = [", *(f"    {_quoted(name)}," for name in names), "]"])


def _quoted(name: str) -> str:
    return f'"{name}"'


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
