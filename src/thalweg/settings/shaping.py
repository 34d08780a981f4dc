"""A file in the shape of the settings: what may stand in two places, and DeerFlow's keys."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from thalweg.errors import SettingsError
from thalweg.sections import Section
from thalweg.settings import foreign
from thalweg.settings.agents import GENERAL_PURPOSE, SubagentSettings
from thalweg.settings.fixed import nearly
from thalweg.settings.nodes import Node, Place
from thalweg.settings.notices import Notice, no_effect, taken_as

MILLION = 1_000_000


@dataclass(slots=True)
class Shaping:
    """A file on its way, and what was found on it."""

    root: Node
    is_deerflows: bool = False
    """Whether the file has a section that only DeerFlow's files have."""
    notices: list[Notice] = field(default_factory=list)
    problems: list[SettingsError] = field(default_factory=list)

    def take(self, *path: str) -> Node | None:
        """Take something out; `None` where it is not, or is nothing."""
        node = self.root.find(path)
        if node is None:
            return None
        self.root = self.root.cut(path)
        return None if node.value is None else node

    def put(self, node: Node, *path: str) -> None:
        """Put something where it belongs, unless something stands there."""
        section, key = path
        there = self.root.find(path)
        if there is not None and there.value is not None:
            self.contradict(node, there)
            return
        at = self.root.keys.get(section)
        if at is None or at.value is None:
            at = Node({}, node.place)
        if isinstance(at.value, Mapping):  # else the section itself is what is wrong
            self.root = self.root.having(section, at.having(key, node))

    def contradict(self, one: Node, other: Node) -> None:
        """Say that something is said twice."""
        problem = f"{other.place.key} in line {other.place.line} says the same"
        self.wrong(one, problem, "leave one of the two out")

    def wrong(self, node: Node, problem: str, mend: str) -> None:
        """Say what is wrong."""
        at = node.place
        self.problems.append(SettingsError(at.file, at.line, at.key, problem, mend))

    def drop_unknown(self, section: str) -> None:
        """Drop the keys of a section that only DeerFlow has, with a notice each.

        A key one edit away from one of ours is kept, and refused later as a slip of the finger,
        unless the file is DeerFlow's.
        """
        node = self.root.keys.get(section)
        known = _fields_of(section)
        for key, each in node.keys.items() if node is not None else ():
            if key not in known and (self.is_deerflows or not nearly(key, known)):
                self.root = self.root.cut((section, key))
                self.notices.append(no_effect(each, _instead(section, key)))

    def each(self, section: str, change: Callable[[Node], Node | None]) -> None:
        """Change the items of a list; what is `None` then is taken out."""
        node = self.root.keys.get(section)
        if node is not None and node.items:
            changed = [change(each) for each in node.items]
            kept = tuple(each for each in changed if each is not None)
            self.root = self.root.having(section, replace(node, value=kept))


def shaped(root: Node) -> Shaping:
    """Bring a file into shape."""
    empty = [key for key, node in root.keys.items() if node.value is None]
    known = root.lacking(*(key for key in empty if _is_known(key)))
    shaping = Shaping(known, is_deerflows=not foreign.ABSENT.keys().isdisjoint(root.keys))
    _checkpoints(shaping)
    _memory(shaping)
    for old, new in foreign.MOVED:
        node = shaping.take(*old)
        if node is not None:
            shaping.put(node, *new)
            if len(old) > 1:
                shaping.notices.append(taken_as(node, ".".join(new)))
    _skills(shaping)
    _subagents(shaping)
    _sandbox(shaping)
    shaping.each("models", lambda node: _model(shaping, node))
    shaping.each("tools", lambda node: _tool(shaping, node))
    for section in foreign.SHARED:
        shaping.drop_unknown(section)
    for section in ("database", "uploads"):
        _rest(shaping, section)
    for key in tuple(shaping.root.keys):
        if key in foreign.ABSENT or (shaping.is_deerflows and _is_strange(key)):
            found = shaping.take(key)
            if found is not None:
                shaping.notices.append(no_effect(found, foreign.ABSENT.get(key, "")))
    return shaping


def _fields_of(section: str) -> Collection[str]:
    from thalweg.settings.whole import Settings  # noqa: PLC0415 (not for a look at one file)

    kind = Settings.model_fields[section].annotation
    return kind.model_fields if isinstance(kind, type) and issubclass(kind, Section) else ()


def _instead(section: str, key: str) -> str:
    """Return what happens in place of a key that has no effect."""
    for (of, start), why in foreign.INSTEAD:
        if of == section and key.startswith(start):
            return why
    return ""


def _is_known(key: str) -> bool:
    from thalweg.settings.whole import Settings  # noqa: PLC0415 (not for a look at one file)

    theirs = {old[0] for old, _ in foreign.MOVED} | {"checkpointer", *foreign.ABSENT}
    return key in Settings.model_fields or key in theirs


def _is_strange(key: str) -> bool:
    from thalweg.settings.whole import Settings  # noqa: PLC0415 (not for a look at one file)

    return not _is_known(key) and not nearly(key, Settings.model_fields)


def _rest(shaping: Shaping, section: str) -> None:
    """Tell what is left of a section that is not ours."""
    node = shaping.take(section)
    for key, each in node.keys.items() if node is not None else ():
        shaping.notices.append(no_effect(each, _instead(section, key)))


def _checkpoints(shaping: Shaping) -> None:
    """`database` and `checkpointer`: one storage here."""
    node = shaping.take("checkpointer")
    if node is not None:
        address = node.keys.get("connection_string")
        kind = node.keys.get("type")
        if address is not None and kind is not None and kind.value == "postgres":
            if shaping.root.find(("database", "postgres_url")) is None:
                shaping.put(address, "storage", "url")
                shaping.notices.append(taken_as(address, "storage.url"))
        else:
            shaping.notices.append(no_effect(node, "see storage"))
    backend = shaping.root.find(("database", "backend"))
    if backend is not None:
        shaping.take("database", "backend")
        if backend.value == "memory":
            told = "everything is kept in a file in storage.home"
            shaping.notices.append(no_effect(backend, told))
        unused = {"sqlite": "postgres_url", "postgres": "sqlite_dir"}.get(str(backend.value))
        left = shaping.take("database", unused) if unused else None
        if left is not None:
            shaping.notices.append(no_effect(left, f"the backend is {backend.value}"))


def _memory(shaping: Shaping) -> None:
    inner = shaping.take("memory", "backend_config")
    for key, node in inner.keys.items() if inner is not None else ():
        if node.value is not None and node.value != "":
            shaping.put(node, "memory", key)
    _document(shaping)
    mode = shaping.root.find(("memory", "mode"))
    if mode is not None and mode.value == "middleware":
        memory = shaping.root.keys["memory"]
        inject = replace(mode, value="inject")
        shaping.root = shaping.root.having("memory", memory.having("mode", inject))


def _document(shaping: Shaping) -> None:
    """Read a `storage_path` without a `storage` as DeerFlow does: a document, or a folder."""
    path = shaping.root.find(("memory", "storage_path"))
    if path is None or not path.value or shaping.root.find(("memory", "storage")) is not None:
        return
    if str(path.value).endswith(".json"):
        shaping.put(Node("json", path.place), "memory", "storage")
        shaping.notices.append(taken_as(path, "the document of memory.storage: json"))
    else:
        why = "import its documents with `thalweg memory import FILE`"
        shaping.take("memory", "storage_path")
        shaping.notices.append(no_effect(path, why))


def _sandbox(shaping: Shaping) -> None:
    """Commands are off until a sandbox of ours is named, whatever else allowed them."""
    for path in (("agent", "shell"), ("sandbox", "allow_host_bash")):
        node = shaping.take(*path)
        if node is not None and node.value is not False:
            shaping.notices.append(no_effect(node, "commands are off until sandbox.use names one"))
    use = shaping.root.find(("sandbox", "use"))
    if use is not None and str(use.value).startswith(foreign.THEIRS):
        shaping.take("sandbox", "use")
        shaping.notices.append(no_effect(use, "use bubblewrap, docker or podman"))


def _skills(shaping: Shaping) -> None:
    path = shaping.take("skills", "path")
    if path is not None:
        shaping.put(Node((path,), path.place), "skills", "paths")


def _subagents(shaping: Shaping) -> None:
    """DeerFlow has overrides and agents of one's own in two mappings; here it is one list."""
    listed: list[Node] = []
    where: Place | None = None
    for key in ("agents", "custom_agents"):
        node = shaping.root.find(("subagents", key))
        if node is None or not isinstance(node.value, Mapping):
            continue
        shaping.take("subagents", key)
        where = where or node.place
        for name, spec in node.keys.items():
            if key == "agents" and name != GENERAL_PURPOSE and "description" not in spec.keys:
                shaping.notices.append(no_effect(spec, f"there is no subagent {name!r}"))
            elif isinstance(spec.value, Mapping):
                listed.append(spec.having("name", Node(name, spec.place)))
            else:
                listed.append(spec)
    if where is not None:
        shaping.put(
            Node(tuple(_subagent(shaping, each) for each in listed), where), "subagents", "agents"
        )


def _subagent(shaping: Shaping, node: Node) -> Node:
    model = node.keys.get("model")
    if model is not None and model.value == "inherit":
        node = node.lacking("model")
    known = SubagentSettings.model_fields
    unknown = (key for key in node.keys if key not in known)
    return _without(
        shaping, node, {key for key in unknown if shaping.is_deerflows or not nearly(key, known)}
    )


def _without(shaping: Shaping, node: Node, keys: Collection[str]) -> Node:
    """Take out what does nothing."""
    gone = [each for key, each in node.keys.items() if key in keys]
    shaping.notices += map(no_effect, gone)
    return node.lacking(*keys) if gone else node


def _model(shaping: Shaping, node: Node) -> Node:
    keys = node.keys
    if not keys:
        return node
    for old, new in (("context_window", "window"), ("max_tokens", "max_output")):
        if old in keys and new in keys:
            if keys[old].value != keys[new].value:
                told = f"it is {keys[old].value} and {new} in line {keys[new].place.line} is"
                shaping.wrong(keys[old], f"{told} {keys[new].value}", "leave one of the two out")
        elif old in keys:
            node = node.having(new, keys[old])
    # `max_tokens` is the provider's own word for it, and is handed on.
    node = node.lacking("context_window")
    use = keys.get("use")
    if use is not None and str(use.value).startswith(foreign.THEIRS):
        known = foreign.CLASSES.get(str(use.value).rpartition(":")[2])
        if known:
            node = node.having("use", replace(use, value=known))
            shaping.notices.append(taken_as(use, known))
    prices = keys.get("pricing")
    if prices is not None:
        node = node.lacking("pricing")
        _prices(shaping, node, prices)
    return _without(shaping, node, foreign.ABSENT_OF_MODELS)


def _prices(shaping: Shaping, model: Node, prices: Node) -> None:
    """Prices per million tokens, as multiples of the input price: which is how they are used."""
    named = model.keys.get("model") or model.keys.get("name")
    figures = {key: node.value for key, node in prices.keys.items()}
    base = figures.get("input_per_million")
    if named is None or not isinstance(base, int | float) or base <= 0:
        shaping.notices.append(no_effect(prices, "it has no input_per_million above 0"))
        return
    told: dict[str, Node] = {}
    ratios = (("output", "output_per_million"), ("read", "input_cache_hit_per_million"))
    for ours, theirs in ratios:
        figure = figures.get(theirs)
        if isinstance(figure, int | float):
            told[ours] = Node(figure / base, prices.keys[theirs].place)
    if figures.get("currency", "USD") == "USD":
        told["base"] = Node(base, prices.keys["input_per_million"].place)
    pricing = shaping.root.find(("summarization", "pricing")) or Node({}, prices.place)
    models = pricing.keys.get("models") or Node({}, prices.place)
    name = str(named.value)
    if name in models.keys:
        shaping.contradict(prices, models.keys[name])
        return
    section = shaping.root.keys.get("summarization") or Node({}, prices.place)
    models = models.having(name, Node(told, prices.place))
    section = section.having("pricing", pricing.having("models", models))
    shaping.root = shaping.root.having("summarization", section)
    shaping.notices.append(taken_as(prices, f"pricing.models[{name!r}]"))


def _tool(shaping: Shaping, node: Node) -> Node | None:
    use = node.keys.get("use")
    if use is None or not str(use.value).startswith(foreign.THEIRS):
        return node
    name = node.keys.get("name")
    built_in = foreign.BUILT_IN.get(str(name.value)) if name is not None else None
    if built_in:
        shaping.notices.append(taken_as(node, f"the agent's own {built_in}"))
    else:
        why = f"{use.value} is DeerFlow's own; name another module:attribute"
        shaping.notices.append(no_effect(node, why))
    return None
