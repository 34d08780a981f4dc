"""A `config.yaml` of DeerFlow as one of ours: `thalweg config init --from`."""

import re
from collections.abc import Mapping
from typing import Any, Final

from thalweg.engine.data_files import read_table
from thalweg.engine.sections import SettingsSection
from thalweg.errors import SettingsError
from thalweg_server.settings.loading import SettingNotice, validated
from thalweg_server.settings.nodes import Node, escaped, fill, read
from thalweg_server.settings.sections import GENERAL_PURPOSE, Settings, SubagentSettings

_VARIABLE: Final = re.compile(r"\$[A-Za-z_]\w*", re.ASCII)
_PER_MILLION: Final = {"output": "output_per_million", "read": "input_cache_hit_per_million"}


def convert(
    text: bytes, file: str, environ: Mapping[str, str]
) -> tuple[str, tuple[SettingNotice, ...]]:
    """Convert a configuration.

    Args:
        text: The content of a file of DeerFlow.
        file: Its name, for positions.
        environ: Variables, by which the result is validated; it keeps their names.

    Returns:
        Our file, and a notice for each key that was left out or changed.

    Raises:
        SettingsError: The file is no YAML, or a value cannot be used; it names every error.
    """
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 (slow; only files need it)

    root, problems = read(text, file)
    converter = _Converter(root)
    converter.convert()
    # Sections in our order, without those that became empty.
    plain = root.plain()
    plain = {name: plain[name] for name in Settings.model_fields if plain.get(name)}
    problems += [*converter.problems, *fill(root, environ), *validated(root)[1]]
    if problems:
        raise SettingsError.of(sorted(problems, key=lambda problem: problem.line))
    dumped: str = yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=100)
    notices = sorted(converter.notices, key=lambda notice: notice.position.line)
    return f"# Converted from {file} by `thalweg config init --from`.\n{dumped}", tuple(notices)


class _Converter:
    """A tree that is changed to our shape."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.notices: list[SettingNotice] = []
        self.problems: list[SettingsError] = []
        self._table: dict[str, Any] = read_table(__package__, "deerflow.toml")
        self._packages = tuple(self._table["packages"])

    def convert(self) -> None:
        """Change the tree."""
        for node in self.root.walk():
            # A text is one variable or none.
            if isinstance(node.value, str) and not _VARIABLE.fullmatch(node.value):
                node.value = escaped(node.value)
        if self.root.child("auth") is None and self.root.find("gateway", "keys") is None:
            node = Node(False, self.root.position)  # noqa: FBT003 (the value of a setting)
            self.root.put(node, "gateway", "local_token")
            self._note(node, "gateway.local_token: false was added, as its routes need no token")
        self._storage()
        self._memory()
        self._subagents()
        for key, change in (("models", self._model), ("tools", self._tool)):
            listed = self.root.child(key)
            for node in listed.items if listed is not None else ():
                change(node)
        if (path := self._take("skills", "path")) is not None:
            self._put(Node([path], path.position), "skills.paths")
        for old, new in self._table["moved"].items():
            if (moved := self._take(*old.split("."))) is not None:
                self._put(moved, new)
        use = self.root.find("sandbox", "use")
        if use is not None and self._is_own(use):
            self._leave_out(use, "write bubblewrap, docker or podman")
        self._sections()

    def _sections(self) -> None:
        """Leave out the sections and keys that are not ours."""
        for name in self._table["moved_from"]:
            section = self._take(name)
            for node in section.items if section is not None else ():
                self._leave_out(node)
        for name, node in self.root.keys.items():
            info = Settings.model_fields.get(name)
            kind = info and info.annotation
            if info is None:
                self._leave_out(node, self._table["absent"].get(name, ""))
            elif isinstance(kind, type) and issubclass(kind, SettingsSection):
                self._leave_out_unknown(node, kind)

    def _take(self, *path: str) -> Node | None:
        """Remove and return a value; `None` if it is absent or null."""
        node = self.root.find(*path)
        if node is None or node.value is None:
            return None
        node.is_removed = True
        return Node(node.value, node.position)

    def _put(self, node: Node, key: str) -> None:
        """Add a value at a path, with a notice."""
        path = key.split(".")
        if self.root.find(*path) is not None:
            problem = f"it means {key}, which the file has as well"
            self.problems.append(node.position.error(problem, "remove one of the two"))
        self.root.put(node, *path)
        self._note(node, f"became {key}")

    def _note(self, node: Node, message: str) -> None:
        self.notices.append(SettingNotice(node.position, message, "changed"))

    def _leave_out(self, node: Node, why: str = "") -> None:
        """Remove a value; there is a notice unless it is `null`."""
        node.is_removed = True
        key = node.position.key.replace(".backend_config", "")
        starts = self._table["instead"].items()
        why = why or next((text for start, text in starts if key.startswith(start)), "")
        message = f"has no counterpart here{why and f': {why}'}"
        if node.value is not None:
            self.notices.append(SettingNotice(node.position, message, "left out"))

    def _leave_out_unknown(self, node: Node, section: type[SettingsSection]) -> None:
        for key, each in node.keys.items():
            if key not in section.model_fields:
                self._leave_out(each)

    def _is_own(self, node: Node | None) -> bool:
        """Return whether a value names an object in DeerFlow's own packages."""
        return node is not None and str(node.value).startswith(self._packages)

    def _storage(self) -> None:
        """Keep one address: that of `database` before that of `checkpointer`."""
        backend = self._take("database", "backend")
        kind = self._take("checkpointer", "type")
        if backend is not None:
            unused = "sqlite_dir" if backend.value == "postgres" else "postgres_url"
            if (node := self.root.find("database", unused)) is not None:
                self._leave_out(node, f"the backend is {backend.value}")
        elif kind is not None and kind.value == "postgres":
            address = self._take("checkpointer", "connection_string")
            if address is not None:
                self._put(address, "storage.url")

    def _memory(self) -> None:
        inner = self._take("memory", "backend_config")
        for key, node in inner.keys.items() if inner is not None else ():
            if node.value not in (None, ""):
                self.root.put(node, "memory", key)
        mode = self.root.find("memory", "mode")
        if mode is not None and mode.value == "middleware":
            mode.value = "inject"
        path = self.root.find("memory", "storage_path")
        if path is not None and not str(path.value).endswith(".json"):
            # A folder of documents, one for each user.
            self._leave_out(path, "import its documents with `thalweg memory import FILE`")

    def _subagents(self) -> None:
        """DeerFlow has overrides and agents of one's own in two mappings; here it is one list."""
        listed: list[Node] = []
        for key in ("agents", "custom_agents"):
            agents = self._take("subagents", key)
            for name, node in agents.keys.items() if agents is not None else ():
                if key == "agents" and name != GENERAL_PURPOSE:
                    self._leave_out(node, f"there is no subagent {name!r}")
                    continue
                model = node.child("model")
                if model is not None and model.value == "inherit":
                    model.is_removed = True
                self._leave_out_unknown(node, SubagentSettings)
                node.put(Node(name, node.position), "name")
                listed.append(node)
        if listed:
            self.root.put(Node(listed, listed[0].position), "subagents", "agents")

    def _model(self, node: Node) -> None:
        for key, why in self._table["not_of_models"].items():
            if (each := node.child(key)) is not None:
                self._leave_out(each, why)
        if (window := node.child("context_window")) is not None:
            window.is_removed = True
            node.put(Node(window.value, window.position), "window")
        use = node.child("use")
        if use is not None and self._is_own(use):
            known = self._table["classes"].get(str(use.value).rpartition(":")[2])
            if known is None:
                self._leave_out(node, f"{use.value} is DeerFlow's own; name another class")
                return
            use.value = known
            self._note(use, f"became {known}")
        if (prices := node.child("pricing")) is not None:
            self._prices(prices, node.child("model") or node.child("name"))

    def _prices(self, prices: Node, model: Node | None) -> None:
        """Convert prices per million tokens to multiples of the input price."""
        prices.is_removed = True
        data = prices.plain() if prices.keys else {}
        base = data.get("input_per_million")
        if model is None or not isinstance(base, int | float) or base <= 0:
            self._leave_out(prices, "it has no input_per_million above 0")
            return
        figures = {name: data.get(key) for name, key in _PER_MILLION.items()}
        tariff: dict[str, object] = {
            name: figure / base
            for name, figure in figures.items()
            if isinstance(figure, int | float)
        }
        if data.get("currency", "USD") == "USD":
            tariff["base"] = base
        priced = {name: Node(figure, prices.position) for name, figure in tariff.items()}
        self.root.put(
            Node(priced, prices.position), "summarization", "pricing", "models", str(model.value)
        )
        self._note(prices, f"became summarization.pricing.models[{str(model.value)!r}]")

    def _tool(self, node: Node) -> None:
        if not self._is_own(node.child("use")):
            return
        name = node.child("name")
        built_in = self._table["built_in"].get(str(name.value)) if name is not None else None
        if built_in:
            node.is_removed = True
            self._note(node, f"is the agent's own {built_in}")
        else:
            use = node.keys["use"].value
            self._leave_out(node, f"{use} is DeerFlow's own; name another module:attribute")
