"""YAML to nodes: every value keeps its line, and a repeated key is an error."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.engine.data_files import read_table
from thalweg.errors import SettingsError
from thalweg_server.settings.nodes import Node, NodePosition

MOST_NODES = 50_000
"""Values of one file; aliases that multiply make more of a small one."""
_TAG = "tag:yaml.org,2002:"
_USUAL_REMEDY = "check this line and those above"


def read(text: bytes, file: str) -> tuple[Node, tuple[SettingsError, ...]]:
    """Parse a file.

    Args:
        text: The content.
        file: Its name, for positions.

    Returns:
        The values, and errors of the YAML that do not keep it from being parsed.

    Raises:
        SettingsError: The text is not YAML, or not a mapping.
    """
    top = NodePosition(file, 1, "")
    if not text.strip():
        return Node({}, top), ()
    # Slow to import, and of no use where there is no file.
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415

    loader = None
    try:
        loader = yaml.SafeLoader(_decoded(text, file))
        root = loader.get_single_node()
        reader = _NodeConverter(loader)
        node = Node(None, top) if root is None else reader.node(root, top)
    except yaml.YAMLError as error:
        raise _in_words(error, top) from None
    except RecursionError:
        problem = "it is nested too deep"
        raise top.error(problem, "nest it less") from None
    finally:
        if loader is not None:
            loader.dispose()
    if node.value is None:
        return Node({}, top), ()
    if not isinstance(node.value, dict):
        problem = "it is not a mapping"
        raise top.error(problem, "begin with a section, such as `models:`")
    return node, tuple(reader.problems)


def _decoded(text: bytes, file: str) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = NodePosition(file, text[: error.start].count(b"\n") + 1, "")
        problem = f"byte 0x{text[error.start]:02x} is not UTF-8"
        raise place.error(problem, "save the file as UTF-8") from None


@dataclass(slots=True)
class _NodeConverter:
    """Converts the nodes that PyYAML composed."""

    loader: Any  # of PyYAML, which has no types
    problems: list[SettingsError] = field(default_factory=list)
    made: int = 0
    above: list[int] = field(default_factory=list)

    def node(self, given: Any, place: NodePosition) -> Node:  # noqa: ANN401 (of PyYAML)
        self.made += 1
        if self.made > MOST_NODES:
            problem = f"it has more than {MOST_NODES:,} values, aliases included"
            raise place.error(problem, "write fewer")
        if id(given) in self.above:
            problem = "it contains itself"
            raise place.error(problem, "end it")
        self.above.append(id(given))
        try:
            return Node(self._value(given, place), place)
        finally:
            self.above.pop()

    def _value(self, given: Any, place: NodePosition) -> object:  # noqa: ANN401
        match given.id, given.tag.removeprefix(_TAG):
            case "mapping", "map":
                return self._mapping(given, place)
            case "sequence", "seq":
                lines = (replace(place, line=_line(each)) for each in given.value)
                return tuple(
                    self.node(each, replace(at, key=place.below(index)))
                    for index, (each, at) in enumerate(zip(given.value, lines, strict=True))
                )
            case "scalar", "timestamp":
                return given.value  # no setting is a date
            case "scalar", "str" | "int" | "float" | "bool" | "null":
                try:
                    value: object = self.loader.construct_object(given)
                except ValueError:
                    self._report(place, f"{given.value!r} is no number", "quote it")
                    return given.value
                return value
        # The tag itself is not quoted: it may be a password that begins with `!`.
        fix = "remove it, or quote a text that begins with !"
        self._report(place, "tags are not supported", fix)
        return None

    def _mapping(self, given: Any, place: NodePosition) -> dict[str, Node]:  # noqa: ANN401
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in given.value:
            at = replace(place, line=_line(key))
            if key.tag == f"{_TAG}merge":
                for node in self._merged(value, place):
                    merged = {**node.keys, **merged}
            elif key.id != "scalar":
                self._report(at, "a key is not text", "write keys as plain words")
            elif first := own.get(key.value):
                fix = f"keep one of them; the first is in line {first.place.line}"
                at = replace(at, key=first.place.key)
                self._report(at, f"{key.value!r} is repeated", fix)
            else:
                own[key.value] = self.node(value, replace(at, key=place.below(key.value)))
        return {**{name: node for name, node in merged.items() if name not in own}, **own}

    def _merged(self, value: Any, place: NodePosition) -> Sequence[Node]:  # noqa: ANN401
        """Return the mappings that `<<` merges, in the order of precedence."""
        at = replace(place, line=_line(value))
        node = self.node(value, at)
        nodes = node.items or (node,)
        if all(isinstance(each.value, dict) for each in nodes):
            return nodes
        at = replace(at, key=at.below("<<"))
        self._report(at, "`<<` requires a mapping", "use an anchor of a mapping")
        return ()

    def _report(self, place: NodePosition, problem: str, fix: str) -> None:
        self.problems.append(place.error(problem, fix))


def _line(given: Any) -> int:  # noqa: ANN401
    return int(given.start_mark.line) + 1


def _in_words(error: Exception, top: NodePosition) -> SettingsError:
    """Return the error of a text that is not YAML, with a remedy for the usual causes."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    found = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    problem = f"{context}: {found}" if context else str(found)
    # What looks like a name may be the beginning of a password.
    problem = re.sub(r"(alias|anchor|tag|tag handle) ('[^']*'|\"[^\"]*\")", r"\1", problem)
    remedies = read_table(__package__, "yaml_errors.toml")
    fix = next((remedies[sign] for sign in remedies if sign in problem), _USUAL_REMEDY)
    if mark is None:
        return top.error(f"it is not YAML: {problem}", fix)
    where = f"line {mark.line + 1}, column {mark.column + 1}"
    return replace(top, line=mark.line + 1).error(f"it is not YAML, {where}: {problem}", fix)
