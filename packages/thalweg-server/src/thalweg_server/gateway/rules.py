"""The gateway's settings in their effective form, rebuilt when they change."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import SecretStr
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from thalweg_server.gateway.authentication import (
    LOCAL,
    KeyLock,
    Keys,
    Lock,
    LoopbackLock,
    OpenLock,
    OperatorLock,
)
from thalweg_server.gateway.bodies import BodyLimits
from thalweg_server.gateway.local_token import LocalToken
from thalweg_server.gateway.tokens import ProviderTokens
from thalweg_server.settings import GatewaySettings
from thalweg_server.settings.sections import GatewayKey, OwnerLimits

_OPEN = frozenset(
    {"/", "/ok", "/healthz", "/livez", "/readyz", "/docs", "/openapi.json", "/favicon.ico"}
)
"""Paths that reveal no owner's data."""
_FILES_AT_ONCE = 4
_FORM_BYTES = 1 << 20
"""Bytes of a form in addition to its files."""


@dataclass(frozen=True, slots=True)
class GatewayRules:
    """Who may come in, and with how much."""

    settings: GatewaySettings
    lock: Lock
    metrics: Lock | None
    """Who may read `/metrics`; `None` for everybody."""
    bodies: BodyLimits
    is_embedded: bool
    """Whether the only caller is the process itself."""
    origins: frozenset[str]

    @property
    def is_locked(self) -> bool:
        """Whether callers must authenticate."""
        return isinstance(self.lock, KeyLock)

    def lock_of(self, path: str) -> Lock | None:
        """Return the lock of a path below the root path; `None` if everybody may come in."""
        if path == "/metrics":
            return self.metrics
        is_open = path in _OPEN or path.startswith(("/docs/", "/page/"))
        return None if is_open else self.lock

    def limits_of(self, owner: str) -> OwnerLimits:
        """Return the limits of an owner."""
        return _UNLIMITED if self.is_embedded else self.settings.limits_of(owner)


def rule_book(
    settings: Callable[[], GatewaySettings], owner: str | None, token: LocalToken | None
) -> Callable[[], GatewayRules]:
    """Return a function that returns the rules: the same object until the settings change.

    Args:
        settings: Returns the current settings.
        owner: The owner of everything, if the caller is already authenticated.
        token: The token of callers on this machine if the settings have no keys.
    """
    rules = rules_of(settings(), owner, token)

    def current() -> GatewayRules:
        nonlocal rules
        now = settings()
        if rules.settings is not now and rules.settings != now:
            rules = rules_of(now, owner, token)
        return rules

    return current


def rules_of(
    settings: GatewaySettings, owner: str | None = None, token: LocalToken | None = None
) -> GatewayRules:
    """Read the rules in the settings."""
    origins = frozenset(settings.cors_origins)
    lock: Lock
    if owner is not None:
        lock = OpenLock(owner)
    elif settings.is_open and settings.local_token and token is not None:
        own = GatewayKey(key=SecretStr(token.value), owner=LOCAL, id="local", role="operator")
        keys = Keys([own])
        lock = KeyLock(keys, machine=LoopbackLock(origins), token_file=token.path)
    elif settings.is_open:
        lock = LoopbackLock(origins)
    else:
        keys = Keys(settings.keys)
        oidc = settings.oidc
        tokens = None if oidc is None else ProviderTokens(oidc).owner
        lock = KeyLock(keys, tokens)
    who = settings.metrics
    operator = OperatorLock(lock)
    metrics = {"local": LoopbackLock(), "anyone": None, "key": lock, "operator": operator}[who]
    bodies = BodyLimits(form_bytes=_FILES_AT_ONCE * settings.max_upload_bytes + _FORM_BYTES)
    return GatewayRules(settings, lock, metrics, bodies, owner is not None, origins)


_UNLIMITED = OwnerLimits(requests_per_minute=None, runs_per_minute=None, runs_at_once=None)
"""Of the only caller of an application in its own process."""


_READ_HEADERS = """
Authorization X-API-Key X-Auth-Scheme X-Thread-Id X-Thalweg-Owner
Content-Type Last-Event-ID Range If-Range If-None-Match
"""
_SHOWN_HEADERS = """
Location Content-Location X-Pagination-Next Content-Range Content-Disposition
ETag Retry-After WWW-Authenticate
"""
"""Headers of requests and of answers that pages of listed origins use."""


class CorsByRules(CORSMiddleware):
    """CORS by the rules as they are now. No cookies: a page has to bring a key."""

    def __init__(self, application: ASGIApp, rules: Callable[[], GatewayRules]) -> None:
        super().__init__(
            application,
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_private_network=True,  # a page on https whose origin is listed
            allow_headers=_READ_HEADERS.split(),
            expose_headers=_SHOWN_HEADERS.split(),
        )
        self._rules = rules

    def is_allowed_origin(self, origin: str) -> bool:
        """Return whether the current rules allow an origin.

        See `CORSMiddleware.is_allowed_origin`.
        """
        origins = self._rules().origins
        return origin in origins or "*" in origins
