"""A file in the shape of the settings: keys that may be in two places, and DeerFlow's keys."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from pydantic import TypeAdapter

from thalweg.engine.data_files import read_table
from thalweg.engine.sections import SettingsSection
from thalweg.errors import SettingsError
from thalweg_server.settings.fixed import nearly
from thalweg_server.settings.nodes import Node, Path
from thalweg_server.settings.notices import SettingNotice
from thalweg_server.settings.sections.agents import GENERAL_PURPOSE, SubagentSettings
from thalweg_server.settings.whole import Settings


@dataclass(frozen=True, slots=True)
class DeerFlow:
    """What DeerFlow's keys mean here: `deerflow.toml`, which explains each table."""

    source: str
    packages: tuple[str, ...]
    shared: Sequence[str]
    moved_from: Sequence[str]
    not_of_models: Sequence[str]
    absent: Mapping[str, str]
    instead: Mapping[str, str]
    moved: Mapping[str, str]
    classes: Mapping[str, str]
    built_in: Mapping[str, str]

    def owns(self, name: Node | None) -> bool:
        """Return whether a value names something in DeerFlow's own packages."""
        return name is not None and str(name.value).startswith(self.packages)

    def why_idle(self, path: str) -> str:
        """Return what happens in place of a key that has no effect; empty if nothing does."""
        return next((why for start, why in self.instead.items() if path.startswith(start)), "")


@cache
def deerflow() -> DeerFlow:
    """Read the table."""
    return TypeAdapter(DeerFlow).validate_python(read_table(__package__, "deerflow.toml"))


@dataclass(slots=True)
class FileShaper:
    """A file while it is brought into shape, with its errors and notices."""

    root: Node
    is_deerflows: bool
    """Whether the file has a section that only DeerFlow's files have."""
    notices: list[SettingNotice] = field(default_factory=list)
    problems: list[SettingsError] = field(default_factory=list)

    def take(self, *path: str) -> Node | None:
        """Remove and return a value; `None` if it is absent or null."""
        node = self.root.find(path)
        if node is None:
            return None
        self.root = self.root.put(path, None)
        return None if node.value is None else node

    def put(self, node: Node, *path: str) -> None:
        """Add a value; report an error if there is one already."""
        other = self.root.find(path)
        section = self.root.find(path[:-1])
        if other is not None and other.value is not None:
            self.contradict(node, other)
        elif section is None or section.value is None:
            self.root = self.root.put(path[:-1], Node({path[-1]: node}, node.place))
        elif isinstance(section.value, Mapping):  # else the section itself is reported
            self.root = self.root.put(path, node)

    def contradict(self, one: Node, other: Node) -> None:
        """Report two keys for one setting."""
        problem = f"{other.place.key} in line {other.place.line} has the same meaning"
        self.problems.append(one.place.error(problem, "remove one of the two"))

    def idle(self, node: Node, why: str = "") -> None:
        """Report a key that has no effect."""
        message = f"has no effect here{why and f': {why}'}"
        self.notices.append(SettingNotice(node.place, message, "no effect"))

    def taken_as(self, node: Node, what: str) -> None:
        """Report a key that is read as another one."""
        self.notices.append(SettingNotice(node.place, f"is taken as {what}", "taken as"))

    def drop(self, node: Node, keys: Collection[str]) -> Node:
        """Return a mapping without keys that have no effect, with a notice for each."""
        for key, each in node.keys.items():
            if key in keys:
                self.idle(each)
        return node.lacking(*keys)

    def foreign_keys(self, node: Node, known: Collection[str]) -> list[str]:
        """Return the unknown keys of a mapping that are DeerFlow's.

        A key that looks like a mistyped one of ours is not, unless the file is DeerFlow's.
        """
        unknown = [key for key in node.keys if key not in known]
        return [key for key in unknown if self.is_deerflows or not nearly(key, known)]


def shaped(root: Node) -> FileShaper:
    """Bring a file into shape."""
    foreign = deerflow()
    known = {*Settings.model_fields, *foreign.absent, *foreign.moved_from}
    known |= {*_CHANGES, *_ALSO_AT_THE_TOP}
    empty = [key for key, node in root.keys.items() if node.value is None and key in known]
    is_deerflows = not foreign.absent.keys().isdisjoint(root.keys)
    shaping = FileShaper(root.lacking(*empty), is_deerflows)
    for key in _ALSO_AT_THE_TOP:
        if (node := shaping.take(key)) is not None:
            shaping.put(node, "summarization", key)
    for section, change in _CHANGES.items():
        if section in shaping.root.keys:
            change(shaping)
    for old, new in foreign.moved.items():
        if (node := shaping.take(*old.split("."))) is not None:
            shaping.put(node, *new.split("."))
            shaping.taken_as(node, new)
    _drop_foreign(shaping, foreign, known)
    return shaping


def _drop_foreign(shaping: FileShaper, foreign: DeerFlow, known: Collection[str]) -> None:
    """Remove what only DeerFlow has, with a notice for each key or section."""
    for section in (*foreign.shared, *foreign.moved_from):
        node = shaping.root.keys.get(section, Node({}, shaping.root.place))
        for key in shaping.foreign_keys(node, _fields_of(section)):
            shaping.root = shaping.root.put((section, key), None)
            shaping.idle(node.keys[key], foreign.why_idle(f"{section}.{key}"))
    shaping.root = shaping.root.lacking(*foreign.moved_from)
    for key, node in shaping.root.keys.items():
        is_strange = key not in known and not nearly(key, Settings.model_fields)
        if key in foreign.absent or (shaping.is_deerflows and is_strange):
            shaping.root = shaping.root.lacking(key)
            shaping.idle(node, foreign.absent.get(key, ""))


def _fields_of(section: str) -> Collection[str]:
    field = Settings.model_fields.get(section)
    kind = field and field.annotation
    return kind.model_fields if isinstance(kind, type) and issubclass(kind, SettingsSection) else ()


def _checkpointer(shaping: FileShaper) -> None:
    """Use one address of PostgreSQL: that of `database` before this one."""
    node = shaping.take("checkpointer")
    if node is None:
        return
    address, kind = node.keys.get("connection_string"), node.keys.get("type")
    if address is None or kind is None or kind.value != "postgres":
        shaping.idle(node, "see storage")
    elif shaping.root.find(("database", "postgres_url")) is None:
        shaping.put(address, "storage", "url")
        shaping.taken_as(address, "storage.url")


def _database(shaping: FileShaper) -> None:
    backend = shaping.take("database", "backend")
    if backend is None:
        return
    if backend.value == "memory":
        why = "everything is stored in a file in storage.home"
        shaping.idle(backend, why)
    unused = {"sqlite": "postgres_url", "postgres": "sqlite_dir"}.get(str(backend.value))
    left = shaping.take("database", unused) if unused else None
    if left is not None:
        shaping.idle(left, f"the backend is {backend.value}")


def _memory(shaping: FileShaper) -> None:
    inner = shaping.take("memory", "backend_config")
    for key, node in inner.keys.items() if inner is not None else ():
        if node.value is not None and node.value != "":
            shaping.put(node, "memory", key)
    mode = shaping.root.find(("memory", "mode"))
    if mode is not None and mode.value == "middleware":
        shaping.root = shaping.root.put(("memory", "mode"), replace(mode, value="inject"))
    path = shaping.root.find(("memory", "storage_path"))
    if path is None or not path.value or shaping.root.find(("memory", "storage")) is not None:
        return
    # Without a `storage`, DeerFlow reads it as a document, or as a folder of documents.
    if str(path.value).endswith(".json"):
        shaping.put(Node("json", path.place), "memory", "storage")
        shaping.taken_as(path, "the document of memory.storage: json")
    else:
        shaping.take("memory", "storage_path")
        why = "import its documents with `thalweg memory import FILE`"
        shaping.idle(path, why)


def _commands(shaping: FileShaper) -> None:
    """Remove what allows commands elsewhere: here `sandbox.use` alone does."""
    for path in (("agent", "shell"), ("sandbox", "allow_host_bash")):
        node = shaping.take(*path)
        if node is not None and node.value is not False:
            shaping.idle(node, "commands are disabled until sandbox.use names a sandbox")
    use = shaping.root.find(("sandbox", "use"))
    if use is not None and deerflow().owns(use):
        shaping.take("sandbox", "use")
        shaping.idle(use, "use bubblewrap, docker or podman")


def _skills(shaping: FileShaper) -> None:
    if (path := shaping.take("skills", "path")) is not None:
        shaping.put(Node((path,), path.place), "skills", "paths")


def _subagents(shaping: FileShaper) -> None:
    """DeerFlow has overrides and agents of one's own in two mappings; here it is one list."""
    listed: list[Node] = []
    places = []
    for key in ("agents", "custom_agents"):
        node = shaping.root.find(("subagents", key))
        if node is None or not isinstance(node.value, Mapping):
            continue
        shaping.take("subagents", key)
        places.append(node.place)
        for name, spec in node.keys.items():
            if key == "agents" and name != GENERAL_PURPOSE and "description" not in spec.keys:
                shaping.idle(spec, f"there is no subagent {name!r}")
            elif isinstance(spec.value, Mapping):
                listed.append(_subagent(shaping, spec.put(("name",), Node(name, spec.place))))
            else:
                listed.append(spec)
    if places:
        shaping.put(Node(tuple(listed), places[0]), "subagents", "agents")


def _subagent(shaping: FileShaper, node: Node) -> Node:
    model = node.keys.get("model")
    if model is not None and model.value == "inherit":
        node = node.lacking("model")
    return shaping.drop(node, shaping.foreign_keys(node, SubagentSettings.model_fields))


def _models(shaping: FileShaper) -> None:
    for index, node in enumerate(shaping.root.keys["models"].items):
        if node.keys:
            model = _model(shaping, node)
            shaping.root = shaping.root.put(("models", index), model)


def _model(shaping: FileShaper, node: Node) -> Node:
    keys = node.keys
    for old, new in (("context_window", "window"), ("max_tokens", "max_output")):
        if old in keys and new in keys:
            if keys[old].value != keys[new].value:
                conflict = f"it is {keys[old].value} and {new} in line {keys[new].place.line} is"
                problem = f"{conflict} {keys[new].value}"
                shaping.problems.append(keys[old].place.error(problem, "remove one of the two"))
        elif old in keys:
            node = node.put((new,), keys[old])
    # `max_tokens` is the provider's own word for it, and is passed on.
    node = node.lacking("context_window")
    use = keys.get("use")
    made_of = deerflow().classes.get(str(use.value).rpartition(":")[2]) if use is not None else None
    if use is not None and made_of and deerflow().owns(use):
        node = node.put(("use",), replace(use, value=made_of))
        shaping.taken_as(use, made_of)
    if "pricing" in keys:
        node = node.lacking("pricing")
        _prices(shaping, node, keys["pricing"])
    return shaping.drop(node, deerflow().not_of_models)


def _prices(shaping: FileShaper, model: Node, prices: Node) -> None:
    """Convert prices per million tokens to multiples of the input price."""
    named = model.keys.get("model") or model.keys.get("name")
    base = prices.keys.get("input_per_million")
    if named is None or base is None or not isinstance(base.value, int | float) or base.value <= 0:
        shaping.idle(prices, "it has no input_per_million above 0")
        return
    tariff: dict[str, Node] = {}
    for target, source in (
        ("output", "output_per_million"),
        ("read", "input_cache_hit_per_million"),
    ):
        figure = prices.keys.get(source)
        if figure is not None and isinstance(figure.value, int | float):
            tariff[target] = replace(figure, value=figure.value / base.value)
    currency = prices.keys.get("currency")
    if currency is None or currency.value == "USD":
        tariff["base"] = base
    path: Path = ("summarization", "pricing", "models", str(named.value))
    other = shaping.root.find(path)
    if other is not None:
        shaping.contradict(prices, other)
        return
    shaping.root = shaping.root.put(path, Node(tariff, prices.place))
    shaping.taken_as(prices, f"pricing.models[{named.value!r}]")


def _tools(shaping: FileShaper) -> None:
    tools = shaping.root.keys["tools"]
    foreign = [node for node in tools.items if deerflow().owns(node.keys.get("use"))]
    for node in foreign:
        name = node.keys.get("name")
        built_in = deerflow().built_in.get(str(name.value)) if name is not None else None
        if built_in:
            shaping.taken_as(node, f"the agent's own {built_in}")
        else:
            why = f"{node.keys['use'].value} is DeerFlow's own; name another module:attribute"
            shaping.idle(node, why)
    if foreign:
        kept = tuple(node for node in tools.items if node not in foreign)
        shaping.root = shaping.root.put(("tools",), replace(tools, value=kept))


_ALSO_AT_THE_TOP = ("offload", "pricing")
"""Keys of `summarization` that may be at the top of the file as well."""
_CHANGES = {
    "checkpointer": _checkpointer,
    "database": _database,
    "memory": _memory,
    "skills": _skills,
    "subagents": _subagents,
    "agent": _commands,
    "sandbox": _commands,
    "models": _models,
    "tools": _tools,
}
"""Functions that change a section if it is in the file, in this order."""
