"""YAML into nodes: every value keeps its line, and no key stands twice."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.errors import SettingsError
from thalweg.settings.nodes import Node, Place

MOST_NODES = 50_000
"""Values of one file; aliases that multiply make more of a small one."""
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"


def read(text: bytes, file: str) -> tuple[Node, tuple[SettingsError, ...]]:
    """Read a file.

    Args:
        text: What is in it.
        file: What it is called, for the places.

    Returns:
        Its values, and what is wrong with it as YAML that does not keep it from being read.

    Raises:
        SettingsError: It is not YAML, or not keys and values.
    """
    top = Place(file, 1, "")
    if not text.strip():
        return Node({}, top), ()
    # Slow to import, and of no use where there is no file.
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415

    loader = None
    try:
        loader = yaml.SafeLoader(_decoded(text, file))
        root = loader.get_single_node()
        if root is None:
            return Node({}, top), ()
        reader = _Reader(file, loader)
        node = reader.node(root, top)
    except yaml.YAMLError as error:
        raise _in_words(error, file) from None
    except RecursionError:
        raise SettingsError(file, 1, "", "it is nested too deep", "nest it less") from None
    finally:
        if loader is not None:
            loader.dispose()
    if node.value is None:
        return Node({}, top), ()
    if not isinstance(node.value, dict):
        mend = "begin with a section, such as `models:`"
        raise SettingsError(file, 1, "", "it holds no keys and values", mend)
    return node, tuple(reader.problems)


def _decoded(text: bytes, file: str) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        problem = f"byte 0x{text[error.start]:02x} is not UTF-8"
        raise SettingsError(file, line, "", problem, "save the file as UTF-8") from None


@dataclass(slots=True)
class _Reader:
    """Makes nodes of what PyYAML composed."""

    file: str
    loader: Any  # of PyYAML, which has no types
    problems: list[SettingsError] = field(default_factory=list)
    made: int = 0
    above: list[int] = field(default_factory=list)

    def node(self, given: Any, place: Place) -> Node:  # noqa: ANN401 (of PyYAML)
        self.made += 1
        if self.made > MOST_NODES:
            problem = f"it has more than {MOST_NODES:,} values, aliases included"
            raise SettingsError(self.file, place.line, place.key, problem, "write fewer")
        if id(given) in self.above:
            raise SettingsError(self.file, place.line, place.key, "it is inside itself", "end it")
        self.above.append(id(given))
        try:
            match given.id:
                case "mapping" if given.tag == f"{_TAG}map":
                    return Node(self._mapping(given, place), place)
                case "sequence" if given.tag == f"{_TAG}seq":
                    items = tuple(
                        self.node(each, Place(self.file, _line(each), place.below(index)))
                        for index, each in enumerate(given.value)
                    )
                    return Node(items, place)
                case "scalar":
                    return Node(self._scalar(given, place), place)
                case _:
                    return self._strange(place)
        finally:
            self.above.pop()

    def _mapping(self, given: Any, place: Place) -> dict[str, Node]:  # noqa: ANN401
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in given.value:
            if key.tag == _MERGE:
                for node in self._merged(value, place):
                    merged = {**node.keys, **merged}
                continue
            name = key.value if key.id == "scalar" else ""
            below = Place(self.file, _line(key), place.below(name))
            if key.id != "scalar":
                self._say(place.key, _line(key), "a key is no text", "write keys as plain words")
            elif name in own:
                first = own[name].place.line
                mend = f"keep the one or the other; the first is in line {first}"
                self._say(below.key, below.line, f"{name!r} is here a second time", mend)
            else:
                own[name] = self.node(value, below)
        return {**{name: node for name, node in merged.items() if name not in own}, **own}

    def _merged(self, value: Any, place: Place) -> Sequence[Node]:  # noqa: ANN401
        """Give the mappings that `<<` puts in, the ones that count more first."""
        at = Place(self.file, _line(value), place.key)
        node = self.node(value, at)
        nodes = node.items or (node,)
        if not all(isinstance(each.value, dict) for each in nodes):
            self._say(
                at.below("<<"), at.line, "`<<` takes keys and values", "name an anchor of some"
            )
            return ()
        return nodes

    def _scalar(self, given: Any, place: Place) -> object:  # noqa: ANN401
        if given.tag in {f"{_TAG}{kind}" for kind in ("str", "int", "float", "bool", "null")}:
            try:
                value: object = self.loader.construct_object(given)
            except ValueError:
                self._say(place.key, place.line, f"{given.value!r} is no number", "quote it")
                return given.value
            return value
        if given.tag == f"{_TAG}timestamp":
            return given.value  # a date is a text to every setting there is
        return self._strange(place).value

    def _strange(self, place: Place) -> Node:
        # The tag itself is not told: it may be a password that begins with `!`.
        mend = "leave it out, or put a text that begins with ! in quotes"
        self._say(place.key, place.line, "a tag means nothing here", mend)
        return Node(None, place)

    def _say(self, key: str, line: int, problem: str, mend: str) -> None:
        self.problems.append(SettingsError(self.file, line, key, problem, mend))


def _line(given: Any) -> int:  # noqa: ANN401
    return int(given.start_mark.line) + 1


_MENDS = (
    ("'\\t'", "indent with spaces, not with tabs"),
    (
        "mapping values are not allowed",
        "put a text with a colon in quotes, or mend the indentation",
    ),
    ("could not find expected ':'", "write `key: value`, with a space behind the colon"),
    ("expected <block end>", "give lines of one section the same indentation"),
    ("unexpected end of stream", "close the quote"),
    ("found unexpected ':'", "put a text with a colon in quotes"),
    ("cannot start any token", "put a text that begins with such a character in quotes"),
    ("undefined alias", "define it with &name first, or put a text that begins with * in quotes"),
    ("expected a single document", "leave out `---`: one file is one configuration"),
    ("expected ',' or", "close the bracket, or put a comma"),
    ("unknown escape character", "use single quotes around a text with backslashes"),
)


def _in_words(error: Exception, file: str) -> SettingsError:
    """Say where and why a file is not YAML."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    found = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    said = f"{context}: {found}" if context else str(found)
    # What looks like a name may be the beginning of a password.
    said = re.sub(r"(alias|anchor|tag|tag handle) ('[^']*'|\"[^\"]*\")", r"\1", said)
    mend = next(
        (mend for sign, mend in _MENDS if sign in said), "look at the line and at those above"
    )
    if mark is None:
        return SettingsError(file, 1, "", f"it is not YAML: {said}", mend)
    where = f"line {mark.line + 1}, column {mark.column + 1}"
    return SettingsError(file, mark.line + 1, "", f"it is not YAML, {where}: {said}", mend)
