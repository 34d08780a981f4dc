"""`sandbox:`: where commands of the agent run, and their limits."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, SecretStr, model_validator

from thalweg.engine.sections import SettingsSection, refuse
from thalweg_server.settings.fixed import FrozenMapping, Options, Secrets
from thalweg_server.settings.parts import Import, Name


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
