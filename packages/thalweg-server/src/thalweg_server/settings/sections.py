"""The sections of `config.yaml`, and all of them as one value."""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from ipaddress import ip_address
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from thalweg.database.base import POSTGRES_SCHEMES
from thalweg.engine.sections import KeyPath, SettingsSection, name_remedy, refuse
from thalweg.engine.settings import ContextPolicy
from thalweg_agent.graph.small import SMALL_WINDOW, small_policy
from thalweg_memory.facts.settings import MemorySettings
from thalweg_server.settings.fields import (
    Deferred,
    Distinct,
    FrozenMapping,
    Import,
    Name,
    Open,
    Options,
    Owner,
    Secret,
    Secrets,
    is_owner,
    refuse_repeated,
    thawed,
)

GENERAL_PURPOSE = "general-purpose"
"""The subagent that is always there; settings may change it."""
MIB = 1_024 * 1_024
HEADER_TIMEOUT_S = 20.0
DOCUMENTS = (
    ".csv .docx .gif .html .jpeg .jpg .json .jsonl .log .md .pdf .png .pptx .py .toml .tsv .txt "
    ".webp .xlsx .xml .yaml .yml"
)
_WITH_PROVIDER = re.compile(r"[a-z][\w-]*:.+")


class ModelSettings(Open):
    """A chat model. Other keys are passed to its constructor as they are.

    Example:
        >>> mini = ModelSettings(name="mini", provider="openai", options={"temperature": 0})
        >>> mini.model, mini.arguments()
        ('mini', {'temperature': 0})
    """

    KNOWN_KEYS: ClassVar[frozenset[str]] = frozenset({"user", "n"})

    name: Name
    """Its name: here, in requests and in the chat."""
    display_name: str = ""
    """What people are shown; its name when it is empty."""
    description: str = ""
    """Its purpose, for people who choose."""
    provider: Name | None = None
    """Of LangChain's `init_chat_model`: `anthropic`, `openai`, `ollama`, …"""
    use: Import | None = None
    """The class itself, as `langchain_openai:ChatOpenAI`, in place of a provider."""
    model: Name = ""
    """The provider's name for it; the name by default."""
    api_key: Secret | None = None
    """The key; best as a variable: `$OPENAI_API_KEY`. The provider's own variable by
    default."""
    base_url: str | None = Field(default=None, repr=False)
    """Its address, if not its provider's: any OpenAI-compatible address."""
    window: PositiveInt | None = None
    """Tokens it accepts, its answer included; the model's own by default."""
    max_output: PositiveInt | None = None
    """Tokens of its longest answer, and that of `max_tokens`; the model's own by default."""
    supports_thinking: bool = False
    """Whether it can think before it answers."""
    supports_vision: bool = False
    """Whether it can be shown images."""
    options: Options = Field(default=FrozenMapping[object]())
    """Other arguments of its constructor: `temperature`, `timeout`, `max_retries`, … They may
    be keys of the model itself, too."""

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        # Without a name, the missing name is the error, not a missing model.
        model = data.get("model") or data.get("name", "-")
        # `max_tokens` is the word of most providers, and is passed on as well.
        output, tokens = data.get("max_output"), data.get("max_tokens")
        if output is not None and tokens is not None and output != tokens:
            problem = f"it is {tokens} and max_output is {output}"
            refuse(problem, "remove one of the two", key="max_tokens", conflicting_key="max_output")
        if output is None and isinstance(tokens, int):
            output = tokens
        return {**data, "model": model, "max_output": output}

    @model_validator(mode="after")
    def _validate_maker(self) -> Self:
        if self.use and self.provider:
            problem = f"it is defined by {self.use} and by the provider {self.provider}"
            refuse(problem, "leave one out", key="use", conflicting_key="provider")
        return self

    @model_validator(mode="after")
    def _validate_window(self) -> Self:
        if self.window and self.max_output and self.max_output >= self.window:
            problem = f"an answer of {self.max_output} tokens fills the window of {self.window}"
            fix = f"write less than {self.window}, or a larger window"
            refuse(problem, fix, key="max_output", conflicting_key="window")
        return self

    def arguments(self) -> dict[str, Any]:
        """Return the options as a constructor takes them, with the values of secrets."""
        return {name: thawed(value) for name, value in self.options.items()}


def _by_name(data: object) -> object:
    """Convert `[a, b]` to `{a: true, b: true}`."""
    if isinstance(data, list | tuple) and all(isinstance(each, str) for each in data):
        return dict.fromkeys(data, True)
    return data


class AgentSettings(SettingsSection):
    """The agent that answers."""

    system_prompt: str | None = None
    """Your instructions, at the beginning of the system prompt."""
    model: Name | None = None
    """A name in `models:`, or `provider:model`; the first of `models:` by default."""
    recursion_limit: PositiveInt = 1_000
    """Most steps of one run, each a call of the model or of its tools."""
    profile: Literal["auto", "full", "small"] = "auto"
    """Size of its instructions and tools: `full`, or `small` with `ls`, `read_file`, `write_file`
    and `recall`. `auto` is `small` for a window below 16,000 tokens, unless the file names
    `sandbox.use`, `subagents` or `skills`, which that agent lacks."""
    interrupt_on: Annotated[Options, BeforeValidator(_by_name)] = Field(
        default=FrozenMapping[object]()
    )
    """Tools whose calls wait for a person: a list, or `{execute: true}`."""


class SubagentSettings(SettingsSection):
    """A subagent. A setting that is not set is that of the main agent."""

    name: Name
    """The name by which the agent calls it."""
    description: str = ""
    """Its purpose: the agent chooses a subagent by it."""
    system_prompt: str | None = None
    """Its instructions."""
    tools: tuple[Name, ...] | None = None
    """Names of the tools it may use; all of the agent's by default."""
    model: Name | None = None
    """A name in `models:`, or `provider:model`; the agent's own by default."""
    skills: tuple[Name, ...] | None = None
    """Names of the skills it may read; all by default, none for `[]`."""
    timeout_seconds: PositiveFloat | None = None
    """Seconds from its start to its end; those of `subagents` by default."""
    max_turns: PositiveInt | None = None
    """Calls of its model; those of `subagents` by default."""

    @model_validator(mode="after")
    def _validate_description(self) -> Self:
        if self.name != GENERAL_PURPOSE and not self.description.strip():
            fix = "describe when the agent should use it"
            refuse(f"subagent {self.name!r} has no description", fix, key="description")
        return self


def _listed(data: object) -> object:
    """Convert `{reader: {…}}` to `[{name: reader, …}]`."""
    if isinstance(data, Mapping):
        return [
            {"name": name, **spec} if isinstance(spec, Mapping) else spec
            for name, spec in data.items()
        ]
    return data


class SubagentsSettings(SettingsSection):
    """Subagents: a task of its own for an agent with a context of its own."""

    enabled: bool = True
    """Whether the agent has any."""
    timeout_seconds: PositiveFloat = 3_600
    """Seconds that one may take from its start to its end."""
    max_turns: PositiveInt = 100
    """Calls of its model that one may make."""
    max_tokens: PositiveInt | None = None
    """Tokens that one may use, input and output; unlimited by default."""
    max_concurrent: PositiveInt = 3
    """How many may run at once in one run."""
    max_total_per_run: PositiveInt = 50
    """How many one run may start in total; a further call returns an error with the limit."""
    no_answer: str = ""
    """The report of one that completed without a text. Empty: an account of its calls, files and
    last results. DeerFlow's is `No response`."""
    retention_days: PositiveFloat | None = None
    """Days that the thread of one is kept after its end; its report is always kept. `null`: as long
    as the thread that it worked for."""
    max_threads: PositiveInt | None = None
    """How many threads of subagents that ended one thread keeps, the newest; all for `null`."""
    agents: Annotated[Distinct[SubagentSettings], BeforeValidator(_listed)] = ()
    """The subagents besides `general-purpose`; one of that name changes it."""


class SkillsSettings(SettingsSection):
    """Skills: folders with a SKILL.md, which the agent reads when a task needs them."""

    enabled: bool = True
    """Whether the agent has any."""
    paths: tuple[Name, ...] = ("skills",)
    """Folders that hold skills. Of two skills with one name the later counts; a folder that is
    not there is passed over."""


def _validate_folder(folder: str) -> str:
    if not folder.startswith("/"):
        refuse(f"{folder!r} is not an absolute path", "write one such as /workspace")
    return folder


class SandboxSettings(SettingsSection):
    """Commands: whether the agent has the tool `execute`, and the sandbox that confines it."""

    use: Literal["none", "bubblewrap", "docker", "podman", "custom", "host"] = "none"
    """Where commands run: nowhere; confined on this machine by `bubblewrap`; each in a container of
    `docker` or `podman`; in what `factory` makes (`custom`); or unconfined on this machine as the
    user who started it (`host`), which is refused where more than one owner comes in."""
    network: bool = False
    """Whether commands reach the network; those of `bubblewrap` then reach services of this
    machine, too. Commands on the `host` always do."""
    timeout_seconds: PositiveFloat = 120
    """Seconds that a command may take unless the agent asks for another time."""
    memory_mb: PositiveInt = 1_024
    """MiB of memory that a command and its children may use; not on the `host`."""
    processes: PositiveInt = 256
    """Processes that a command may have at once; not on the `host`."""
    env: Secrets = Field(default=FrozenMapping[SecretStr]())
    """Variables of commands besides PATH, HOME and LANG. Nothing else of this process's own
    environment is passed on."""
    read_only: tuple[Name, ...] = ()
    """Folders of this machine that commands may read, at the same paths; of `bubblewrap`."""
    image: Name = "docker.io/library/python:3.13-slim"
    """The image for the containers of `docker` and `podman`."""
    factory: Import | None = None
    """Of `custom`: `module:attribute`, called with an owner, a thread's id and `options` by name.
    It returns a sandbox as deepagents has them (`SandboxBackendProtocol`): of Daytona, Modal,
    Runloop or your own. Limits, network and environment are its business."""
    options: Options = Field(default=FrozenMapping[object]())
    """What `factory` is called with as well."""
    folder: Annotated[Name, AfterValidator(_validate_folder)] = "/workspace"
    """Of `custom`: the folder of the thread's files in the sandbox."""

    @property
    def is_on(self) -> bool:
        """Whether commands can be run at all."""
        return self.use != "none"

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of `env`, with their values."""
        return {name: value.get_secret_value() for name, value in self.env.items()}

    @model_validator(mode="after")
    def _validate_use(self) -> Self:
        if self.read_only and self.use not in {"none", "bubblewrap"}:
            fix = "remove it, or use bubblewrap"
            refuse(f"commands of {self.use} do not support it", fix, key="read_only")
        if self.use == "custom" and self.factory is None:
            refuse("no sandbox is configured", "name sandbox.factory", key="use")
        return self


class ToolGroup(SettingsSection):
    """A name under which tools are put together."""

    name: Name
    """The name of the group."""


class ToolSettings(Open):
    """A tool that is imported. Keys that are not listed here are its options."""

    name: Name
    """The name by which the model calls it."""
    group: str = ""
    """The group it belongs to, of `tool_groups`."""
    use: Import
    """Its location: `module:attribute`, a LangChain tool or a function with a docstring."""
    options: Options = Field(default=FrozenMapping[object]())
    """Arguments for it, if the attribute is a class or takes any.

    They may be keys of the tool itself, too."""

    def arguments(self) -> dict[str, Any]:
        """Return the options as a constructor takes them, with the values of secrets."""
        return {name: thawed(value) for name, value in self.options.items()}


class GraphSettings(SettingsSection):
    """A graph of your own, served as an assistant of LangGraph's API."""

    name: Name
    """Its id, such as `researcher`; `agent` replaces the gateway's own agent there."""
    graph: Name
    """Its location: `module:attribute` or `./file.py:attribute`, a compiled graph or a function
    that returns one. The function may take the run's config."""
    description: str = ""
    """Its purpose, for people."""


class McpServer(Deferred):
    """A server of the Model Context Protocol: a command that is started, or an address."""

    enabled: bool = True
    """Whether its tools are there."""
    description: str = ""
    """Its purpose, for people."""
    command: Name | None = None
    """What to start, without its arguments."""
    args: tuple[str, ...] = Field(default=(), repr=False)
    """Arguments of the command."""
    env: Secrets = Field(default=FrozenMapping[SecretStr]())
    """Variables of the command besides the usual few, such as PATH."""
    url: Name | None = Field(default=None, repr=False)
    """Its address, if it is running already."""
    transport: Literal["stdio", "streamable_http", "sse", "websocket"] | None = None
    """The protocol: `stdio` to a command and `streamable_http` to an address by default."""
    headers: Secrets = Field(default=FrozenMapping[SecretStr]())
    """Headers of every request to its address."""

    @model_validator(mode="after")
    def _validate_address(self) -> Self:
        if self.command and self.url:
            fix = "leave one out"
            refuse("it has a command and an address", fix, key="url", conflicting_key="command")
        if not self.command and not self.url:
            refuse("it has neither a command nor an address", "write command: or url:")
        if self.transport and (self.transport == "stdio") != bool(self.command):
            target, key = ("a command", "command") if self.command else ("an address", "url")
            fix = "use stdio" if self.command else "use streamable_http, sse, websocket"
            problem = f"{self.transport} does not reach {target}"
            refuse(problem, fix, key="transport", conflicting_key=key)
        return self


class StorageSettings(SettingsSection):
    """Where threads, memory, runs and files are kept. A running gateway keeps the old ones."""

    url: Secret | None = None
    """A PostgreSQL server, `postgresql://user:password@host/name`, for one machine or many; a
    SQLite file in `home` by default. It may hold a password and is never shown whole."""
    direct_url: Secret | None = None
    """The address of the server itself, if `url` is a pooler in transaction mode: one connection
    of each process listens there."""
    home: Name = ".thalweg"
    """The folder of Thalweg's own files; the variable THALWEG_HOME by default."""
    files: Name = "database"
    """Where files of threads are: in the `database`, or in a folder of this name."""

    @field_validator("url", "direct_url")
    @classmethod
    def _validate_url(cls, url: Secret | None) -> Secret | None:
        if url is not None and not url.get_secret_value().startswith(POSTGRES_SCHEMES):
            fix = "write postgresql://user:password@host/name, or null for SQLite in storage.home"
            refuse("it is not the address of a PostgreSQL server", fix)
        return url

    @property
    def address(self) -> str | None:
        """The PostgreSQL server with its password: to connect, not to show."""
        return None if self.url is None else self.url.get_secret_value()

    @property
    def direct_address(self) -> str | None:
        """The address to listen at, with its password."""
        return None if self.direct_url is None else self.direct_url.get_secret_value()


def _validate_suffix(suffix: str) -> str:
    if not re.fullmatch(r"(\.[a-z0-9]+){1,2}", suffix):
        refuse(f"{suffix[:40]!r} is not a file extension", "write one such as .pdf")
    return suffix


Suffix = Annotated[
    str, StringConstraints(to_lower=True, strict=True), AfterValidator(_validate_suffix)
]


class RetentionSettings(SettingsSection):
    """When old data is deleted. A thread is looked at after its next run, and then regularly."""

    runs_days: PositiveFloat | None = None
    """Days that ended runs and their events are kept, except the newest run of a thread; without
    end for `null`. Messages are in the archive."""
    threads_days: PositiveFloat | None = None
    """Days after its last use that a thread is kept; then it is deleted as by its owner."""


class OwnerLimits(SettingsSection):
    """Limits of one owner; a request beyond them is answered with 429 and `Retry-After`."""

    requests_per_minute: PositiveInt | None = 6_000
    """Requests of any kind; without end for `null`."""
    runs_per_minute: PositiveInt | None = 600
    """Runs that may be started; without end for `null`."""
    runs_at_once: PositiveInt | None = 32
    """Maximum due or running runs, on all gateways together; a delayed run is accepted only if the
    due, running and delayed runs together are below it. No limit for `null`."""
    tokens_per_day: PositiveInt | None = None
    """Tokens of models, input and output, since midnight UTC, in all processes; a call counts when
    it is sent, and is corrected by the usage that its provider reports."""
    cost_per_day: PositiveFloat | None = None
    """US dollars for models, in the same way; models without a known price cost nothing."""


class GatewayKey(SettingsSection):
    """A key of an owner."""

    key: Secret | None = None
    """The key that a client sends as `Authorization: Bearer KEY`; best as a variable."""
    sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")] | None = None
    """The SHA-256 of the key in place of `key`: `printf %s KEY | sha256sum`."""
    owner: Owner
    """The owner whose threads, memory and files it opens."""
    id: str = ""
    """A name of the key for logs; by default the first digits of its hash."""
    role: Literal["owner", "operator"] = "owner"
    """An `operator` also reads `/metrics`, and the data of the owner that the header
    `X-Thalweg-Owner` names."""
    expires: AwareDatetime | None = None
    """The time from which it is refused, with a time zone: `2027-01-31T00:00:00Z`."""
    limits: OwnerLimits | None = None
    """Limits of this owner, in place of `gateway.limits`."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the key, in hexadecimal digits."""
        if self.key is None:
            return self.sha256 or ""
        return hash_key(self.key.get_secret_value())

    @model_validator(mode="after")
    def _validate_key(self) -> Self:
        if (self.key is None) == (self.sha256 is None):
            refuse("a key has either `key` or `sha256`", "set one of them", key="key")
        return self


def hash_key(key: str) -> str:
    """Return the SHA-256 of a key, in hexadecimal digits."""
    return sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def _validate_prefix(prefix: str) -> str:
    if prefix and not is_owner(prefix):
        refuse(f"an owner cannot begin with {prefix[:40]!a}", "use a prefix such as oidc:")
    return prefix


def _have_distinct_keys(keys: tuple[GatewayKey, ...]) -> tuple[GatewayKey, ...]:
    refuse_repeated(
        [each.digest.encode() for each in keys], "key", "use a separate key for each owner"
    )
    return keys


class OidcSettings(SettingsSection):
    """An OpenID provider whose bearer tokens are accepted."""

    issuer: Name
    """Its address, as its tokens name it in `iss`."""
    audience: Name
    """What its tokens for this gateway name in `aud`."""
    owner_claim: Name = "sub"
    """The claim of a token that names the owner."""
    owner_prefix: Annotated[str, AfterValidator(_validate_prefix)] = "oidc:"
    """Prefix of the owners of tokens, so that no claim of a token is the owner of a key. Empty:
    owners of keys and of tokens with the same name are the same."""
    jwks_url: Name | None = None
    """Where its public keys are; those of its discovery document by default."""


class GatewaySettings(SettingsSection):
    """The HTTP server."""

    host: Name = "127.0.0.1"
    """The address it listens on; one that other machines reach needs `keys` or `oidc`. A running
    gateway keeps the old one."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8_001
    """The port it listens on; 0 takes a free one. A running gateway keeps the old one."""
    keys: Annotated[tuple[GatewayKey, ...], AfterValidator(_have_distinct_keys)] = ()
    """Keys and their owners: `{key: $THALWEG_KEY, owner: ada}`. With none, and no `oidc`, callers
    of this machine with its token (`local_token`) are the owner `local`."""
    local_token: bool = True
    """Whether callers of this machine send the token that the gateway keeps in its data folder, if
    there are neither `keys` nor `oidc`; `false` accepts every process of this machine. `Host`,
    `Origin` and `Sec-Fetch-Site` are checked in any case."""
    oidc: OidcSettings | None = None
    """An OpenID provider whose tokens are accepted: `issuer`, `audience`."""
    cors_origins: tuple[Name, ...] = ()
    """Origins of web pages that may call it from a browser."""
    webhook_hosts: tuple[Name, ...] = ()
    """Hosts on private networks that webhooks of runs may be sent to; public ones always may."""
    max_upload_bytes: PositiveInt = 50 * MIB
    """Most bytes of one uploaded file."""
    allowed_uploads: tuple[Suffix, ...] = tuple(DOCUMENTS.split())
    """Name suffixes of files that may be uploaded; their content is checked as well."""
    max_streams: PositiveInt = 1_000
    """Streams and waits for runs that one owner may have open at once; another one is answered
    with 429."""
    max_runs: PositiveInt = 100
    """Runs that one process performs at a time; further ones wait for any process."""
    run_time_limit_s: PositiveFloat = 3_600
    """Seconds that an attempt at a run may take; then the run fails."""
    limits: OwnerLimits = Field(default_factory=OwnerLimits)
    """Limits of one owner, so that no owner can slow down the others."""
    header_timeout_s: PositiveFloat = HEADER_TIMEOUT_S
    """Seconds in which the headers of a request must arrive; then the connection is closed."""
    metrics: Literal["operator", "key", "local", "anyone"] = "operator"
    """Who may read `/metrics`: keys of operators and callers of this machine, every authenticated
    caller, this machine alone, or anyone."""
    drain_s: NonNegativeFloat = 0.0
    """Seconds after SIGTERM in which runs may end here; then others continue them. `/readyz`
    answers 503 and no run is started meanwhile."""
    root_path: str = ""
    """The path prefix that a proxy removes: `/agents`."""
    private_urls: bool = False
    """Whether messages may name addresses on private networks, and other schemes than `https`,
    `http` and `data`: for media that a model server of your own fetches."""

    @property
    def is_open(self) -> bool:
        """Whether callers are not authenticated."""
        return not self.keys and self.oidc is None

    @property
    def may_have_more_owners(self) -> bool:
        """Whether callers may be of more than one owner."""
        return self.oidc is not None or len({each.owner for each in self.keys}) > 1

    @model_validator(mode="after")
    def _validate_owners(self) -> Self:
        prefix = "" if self.oidc is None else self.oidc.owner_prefix
        for each in self.keys:
            if prefix and each.owner.startswith(prefix):
                problem = f"a token could be {each.owner!r}, which begins with {prefix!r}"
                refuse(problem, "rename the owner, or set oidc.owner_prefix", key="keys")
        return self

    def limits_of(self, owner: str) -> OwnerLimits:
        """Return the limits of an owner: those of a key, or the usual ones."""
        own = {each.owner: each.limits for each in self.keys if each.limits is not None}
        return own.get(owner, self.limits)

    @model_validator(mode="after")
    def _validate_host(self) -> Self:
        if self.is_open and not is_loopback(self.host):
            problem = f"other machines reach {self.host}, and no authentication is configured"
            refuse(problem, "add gateway.keys or gateway.oidc, or use 127.0.0.1", key="host")
        return self


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address.

    Example:
        >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1")]
        [True, True, True, True]
        >>> [is_loopback(host) for host in ("0.0.0.0", "10.0.0.1", "evil.example", "")]
        [False, False, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


class Settings(SettingsSection):
    """All settings. They never change.

    Example:
        >>> Settings().gateway.port
        8001
    """

    models: Distinct[ModelSettings] = ()
    """The chat models that may be used; the first is the default."""
    agent: AgentSettings = Field(default_factory=AgentSettings)
    """The agent that answers."""
    summarization: ContextPolicy = Field(default_factory=ContextPolicy)
    """How a thread is kept inside its window. Its `offload` and `pricing` may be at the top
    of the file as well."""
    memory: MemorySettings = Field(default_factory=MemorySettings)
    """Memory across threads."""
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    """Where commands of the agent run."""
    subagents: SubagentsSettings = Field(default_factory=SubagentsSettings)
    """Agents that the agent can delegate tasks to."""
    skills: SkillsSettings = Field(default_factory=SkillsSettings)
    """Instructions that the agent can read."""
    tools: Distinct[ToolSettings] = ()
    """Tools besides the agent's own."""
    tool_groups: Distinct[ToolGroup] = ()
    """Groups that tools belong to."""
    mcp_servers: Annotated[Mapping[str, McpServer], AfterValidator(FrozenMapping)] = Field(
        default=FrozenMapping[McpServer]()
    )
    """Servers of the Model Context Protocol, by name."""
    agents: Distinct[GraphSettings] = ()
    """Graphs of your own, each an assistant of LangGraph's API."""
    langgraph: Name | None = None
    """A `langgraph.json` whose `graphs` are served as well; its `env` is not read."""
    retention: RetentionSettings = Field(default_factory=RetentionSettings)
    """When old runs and threads are deleted."""
    storage: StorageSettings = Field(default_factory=StorageSettings)
    """Where everything is kept."""
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    """The HTTP side."""

    @model_validator(mode="after")
    def _validate_host_shell(self) -> Self:
        if self.sandbox.use == "host" and self.gateway.may_have_more_owners:
            problem = (
                "commands on the host read every owner's files and this process's memory, and more "
                "than one owner has access (gateway.keys, gateway.oidc)"
            )
            refuse(
                problem, "use bubblewrap, docker or podman, or allow one owner only", key="sandbox"
            )
        return self

    @classmethod
    def _elsewhere(cls, key: str) -> str:
        """Return the remedy for a key of a section that is at the top of the file."""
        kinds = ((name, field.annotation) for name, field in cls.model_fields.items())
        found = [
            f"{name}.{key}" for name, kind in kinds if key in getattr(kind, "model_fields", ())
        ]
        convert = "thalweg config init thalweg.yaml --from FILE"
        fix = f"use {', '.join(cls.model_fields)}; for a file of DeerFlow: {convert}"
        return f"did you mean {' or '.join(found)}?" if found else fix

    @model_validator(mode="after")
    def _validate_model_names(self) -> Self:
        known = tuple(model.name for model in self.models)
        for key, name in self.model_references():
            if name not in known and not _WITH_PROVIDER.fullmatch(name):
                usual = f"add it to models:, or write provider:model, such as openai:{name}"
                fix = name_remedy(
                    name, known, f"use {', '.join(known)}; or {usual}" if known else usual
                )
                refuse(f"there is no model {name!r} in models:", fix, key=key)
        return self

    def model_references(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield every setting that names a model: its path and the name."""
        named: tuple[tuple[KeyPath, str | None], ...] = (
            (("agent", "model"), self.agent.model),
            (("summarization", "model_name"), self.summarization.model_name),
            (("memory", "model_name"), self.memory.model_name),
            *(
                (("subagents", "agents", index, "model"), agent.model)
                for index, agent in enumerate(self.subagents.agents)
            ),
        )
        yield from ((key, name.strip()) for key, name in named if name is not None)

    def model_named(self, name: str) -> ModelSettings | None:
        """Find one of `models` by its name."""
        return next((model for model in self.models if model.name == name), None)

    @property
    def default_model(self) -> str | None:
        """The name of the model that answers if a run names none; `None` if there is none."""
        return self.agent.model or next((model.name for model in self.models), None)

    def has_small_agent(self, window: int) -> bool:
        """Return whether the agent of a model is the small one.

        It is for a window below 16,000 tokens with `agent.profile: auto`, unless settings name
        what it lacks: commands, subagents or skills.
        """
        names_more = self.sandbox.is_on or any(
            name in self.model_fields_set and getattr(self, name).enabled
            for name in ("subagents", "skills")
        )
        is_small = window < SMALL_WINDOW and not names_more
        return self.agent.profile == "small" or (self.agent.profile == "auto" and is_small)

    @property
    def short_models(self) -> list[str]:
        """The names of the models whose window in these settings is for the small agent."""
        return [
            model.name
            for model in self.models
            if model.window and self.agent.profile == "auto" and self.has_small_agent(model.window)
        ]

    @property
    def small_agent(self) -> str:
        """A description of the small agent with these settings, by what it lacks."""
        lacking = ["commands", "subagents", "to-do lists", "skills"]
        lacking += ["summaries by a model"] * (not small_policy(self.summarization).summarize)
        lacking += ["learning of facts"] * (not self.names_learning)
        tools = "ls, read_file, write_file and recall"
        return f"{tools}, without {', '.join(lacking)}; agent.profile: full has them"

    @property
    def names_learning(self) -> bool:
        """Whether a key of `memory` besides `enabled` is set."""
        return self.memory.enabled and bool(self.memory.model_fields_set - {"enabled"})

    @property
    def used_models(self) -> frozenset[str]:
        """The names of models that answer, summarize, learn or work for the agent."""
        used = {
            name
            for (section, *_), name in self.model_references()
            if getattr(getattr(self, str(section)), "enabled", True)
        }
        return frozenset(used | ({self.default_model} if self.default_model else set()))

    @property
    def used_parts(self) -> tuple[Deferred, ...]:
        """The models, tools and servers that are used unless a run names another model."""
        return (
            *(model for model in self.models if model.name in self.used_models),
            *self.tools,
            *(server for server in self.mcp_servers.values() if server.enabled),
        )
