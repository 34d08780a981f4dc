"""`gateway:`: the address of the HTTP server and its authentication."""

import re
from ipaddress import ip_address
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    model_validator,
)

from thalweg.engine.sections import SettingsSection, refuse
from thalweg_server.settings.parts import Name, Owner, Secret, is_owner, refuse_repeated


def _validate_suffix(suffix: str) -> str:
    if not re.fullmatch(r"(\.[a-z0-9]+){1,2}", suffix):
        refuse(f"{suffix[:40]!r} is not a file extension", "write one such as .pdf")
    return suffix


Suffix = Annotated[
    str, StringConstraints(to_lower=True, strict=True), AfterValidator(_validate_suffix)
]
MIB = 1_024 * 1_024
HEADER_TIMEOUT_S = 20.0
DOCUMENTS = (
    ".csv .docx .gif .html .jpeg .jpg .json .jsonl .log .md .pdf .png .pptx .py .toml .tsv .txt "
    ".webp .xlsx .xml .yaml .yml"
)


class OwnerLimits(SettingsSection):
    """Limits of one owner; a request beyond them is answered with 429 and `Retry-After`."""

    requests_per_minute: PositiveInt | None = 6_000
    """Requests of any kind; without end for `null`."""
    runs_per_minute: PositiveInt | None = 600
    """Runs that may be started; without end for `null`."""
    runs_at_once: PositiveInt | None = 32
    """Runs that may be queued or running, on all gateways together; without end for `null`."""
    tokens_per_day: PositiveInt | None = None
    """Tokens of models, input and output, since midnight UTC; a gateway counts those of the runs
    that it performed since its own start."""


class GatewayKey(SettingsSection):
    """A key of an owner."""

    key: Secret
    """The key that a client sends as `Authorization: Bearer KEY`; best as a variable."""
    owner: Owner
    """The owner whose threads, memory and files it opens."""
    limits: OwnerLimits | None = None
    """Limits of this owner, in place of `gateway.limits`."""


def _validate_prefix(prefix: str) -> str:
    if prefix and not is_owner(prefix):
        refuse(f"an owner cannot begin with {prefix[:40]!a}", "use a prefix such as oidc:")
    return prefix


def _have_distinct_keys(keys: tuple[GatewayKey, ...]) -> tuple[GatewayKey, ...]:
    refuse_repeated([each.key for each in keys], "key", "use a separate key for each owner")
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
    """Keys and their owners: `{key: $THALWEG_KEY, owner: ada}`. With none, and no `oidc`, every
    caller is the owner `local`."""
    oidc: OidcSettings | None = None
    """An OpenID provider whose tokens are accepted: `issuer`, `audience`."""
    cors_origins: tuple[Name, ...] = ()
    """Origins of web pages that may call it from a browser."""
    max_upload_bytes: PositiveInt = 50 * MIB
    """Most bytes of one uploaded file."""
    allowed_uploads: tuple[Suffix, ...] = tuple(DOCUMENTS.split())
    """Name suffixes of files that may be uploaded; their content is checked as well."""
    max_streams: PositiveInt = 1_000
    """Streams that one owner may have open at once; another one is answered with 429."""
    limits: OwnerLimits = Field(default_factory=OwnerLimits)
    """Limits of one owner, so that no owner can slow down the others."""
    header_timeout_s: PositiveFloat = HEADER_TIMEOUT_S
    """Seconds in which the headers of a request must arrive; then the connection is closed."""
    metrics: Literal["key", "local", "anyone"] = "key"
    """Who may read `/metrics`: every authenticated caller, this machine alone, or anyone."""

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
