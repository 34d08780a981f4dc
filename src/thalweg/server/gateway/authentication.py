"""Who may come in, and as which owner: keys, bearer tokens, or this machine alone.

An owner comes from a key, from a claim of a signed token, or from there being neither; never
from anything else in a request.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from thalweg.server.gateway.problems import GatewayRefusal, refuse

LOCAL = "local"
"""The owner of everything if callers need not authenticate."""
_KEY_HEADER = "x-api-key"
OWNER = "thalweg.owner"
"""Where in a request's scope its owner is noted."""
_OPEN = frozenset({"/", "/healthz", "/docs", "/openapi.json", "/favicon.ico"})
"""Paths that reveal no owner's data."""
UNKNOWN = "this key is unknown here"
_CHALLENGE = 'Bearer realm="thalweg"'


class TokenReader(Protocol):
    """Reads bearer tokens."""

    async def owner(self, token: str) -> str:
        """Return the owner of a token.

        Raises:
            Refusal: It is not valid.
        """
        ...


class Keys:
    """Owners by key; of a key only its hash is kept."""

    def __init__(self, owners: Iterable[tuple[str, str]]) -> None:
        """Keep hashes.

        Args:
            owners: Key and owner of each.
        """
        self._owners = tuple((_hashed(key), owner) for key, owner in owners)

    def __len__(self) -> int:
        return len(self._owners)

    def owner(self, key: str) -> str | None:
        """Return the owner of a key; all keys are compared, in constant time each."""
        given = _hashed(key)
        found = None
        for known, owner in self._owners:
            if hmac.compare_digest(known, given):
                found = owner
        return found


class Lock(Protocol):
    """Decides for one gateway who may come in."""

    async def owner(self, headers: Headers, scope: Scope) -> str:
        """Return the owner of a request.

        Raises:
            Refusal: It is not allowed.
        """
        ...


@dataclass(frozen=True, slots=True)
class KeyLock:
    """Lets in who brings a key or a token; who brings two, if both are the same owner's."""

    keys: Keys
    tokens: TokenReader | None = None

    async def owner(self, headers: Headers, scope: Scope) -> str:
        """Return the owner of a request; see `Lock.owner`."""
        del scope
        given = headers.get(_KEY_HEADER)
        bearer = _bearer(headers)
        owners = set()
        if given is not None:
            owners.add(self.keys.owner(given))
        if bearer is not None:
            owners.add(self.keys.owner(bearer) or await self._of_token(bearer))
        if not owners:
            said = "send credentials: Authorization: Bearer KEY"
            raise unauthorized("auth.missing", said, "")
        owner = owners.pop()
        if owner is None or owners:
            raise unauthorized("auth.unknown", UNKNOWN, "invalid_token")
        return owner

    async def _of_token(self, bearer: str) -> str | None:
        return None if self.tokens is None else await self.tokens.owner(bearer)


@dataclass(frozen=True, slots=True)
class LoopbackLock:
    """Allows callers on this machine, except for a browser's pages from other origins.

    A page can make a browser send requests to this machine: under a name of its own that resolves
    to 127.0.0.1, or across origins. The host and origin headers of a request reveal it.
    """

    origins: frozenset[str] = frozenset()
    """Allowed origins, in addition to the gateway's own."""

    async def owner(self, headers: Headers, scope: Scope) -> str:
        """Return the owner of a request; see `Lock.owner`."""
        client = scope.get("client")
        if client is not None and not is_this_machine(client[0]):
            said = "without a key, only this machine has access; set gateway.keys"
            raise GatewayRefusal(403, "auth.not_local", said)
        host = headers.get("host", "")
        if not is_this_machine(_name_of(host)):
            said = "without a key, this gateway is reached as localhost alone; set gateway.keys"
            raise GatewayRefusal(403, "auth.host", said)
        origin = headers.get("origin")
        mine = f"{scope.get('scheme', 'http')}://{host}".lower()
        if origin is None:
            # A page of another port of this machine is "same-site".
            is_strange = headers.get("sec-fetch-site") in {"cross-site", "same-site"}
        else:
            is_strange = origin.lower() != mine and origin not in self.origins
        if is_strange:
            said = (
                "requests from a page of another origin are refused; add it to gateway.cors_origins"
            )
            raise GatewayRefusal(403, "auth.origin", said)
        return LOCAL


@dataclass(frozen=True, slots=True)
class TokenLock:
    """Lets in who is on this machine, as `LoopbackLock` does, and brings its token."""

    keys: KeyLock
    machine: LoopbackLock

    async def owner(self, headers: Headers, scope: Scope) -> str:
        """Return the owner of a request; see `Lock.owner`."""
        await self.machine.owner(headers, scope)
        return await self.keys.owner(headers, scope)


@dataclass(frozen=True, slots=True)
class OpenLock:
    """Lets in everybody as one owner: for a gateway in the process of its only caller."""

    whose: str

    async def owner(self, headers: Headers, scope: Scope) -> str:
        """Return the owner of a request; see `Lock.owner`."""
        del headers, scope
        return self.whose


class AccessRules(Protocol):
    """Decides which requests are allowed."""

    @property
    def lock(self) -> Lock:
        """Of everything else."""
        ...

    @property
    def metrics(self) -> Lock | None:
        """Of `/metrics`; `None`: everybody may."""
        ...


class AuthenticationMiddleware:
    """ASGI middleware: notes the owner of a request, or refuses it before its body is read."""

    def __init__(self, application: ASGIApp, rules: Callable[[], AccessRules]) -> None:
        self._application = application
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        if scope["type"] == "http" and (lock := self._lock_of(scope["path"])) is not None:
            try:
                owner = await lock.owner(Headers(scope=scope), scope)
            except GatewayRefusal as refusal:
                await refuse(refusal, scope, receive, send)
                return
            scope[OWNER] = owner
        await self._application(scope, receive, send)

    def _lock_of(self, path: str) -> Lock | None:
        if path == "/metrics":
            return self._rules().metrics
        is_open = path in _OPEN or path.startswith("/docs/")
        return None if is_open else self._rules().lock


def is_this_machine(name: str) -> bool:
    """Return whether a host's name or address is this machine's.

    Example:
        >>> [is_this_machine(name) for name in ("localhost", "127.0.0.1", "::ffff:127.0.0.1")]
        [True, True, True]
        >>> [is_this_machine(name) for name in ("10.0.0.1", "evil.example", "")]
        [False, False, False]
    """
    if name.lower() == "localhost":
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback if mapped is None else bool(mapped.is_loopback)


def unauthorized(code: str, detail: str, error: str) -> GatewayRefusal:
    """Return the refusal of a caller with missing or invalid credentials."""
    more = f', error="{error}", error_description="{detail}"' if error else ""
    return GatewayRefusal(401, code, detail, {"WWW-Authenticate": _CHALLENGE + more})


def _bearer(headers: Headers) -> str | None:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" and given.strip() else None


def _hashed(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _name_of(host: str) -> str:
    found = _HOST.fullmatch(host)
    return "" if found is None else found[1].strip("[]")


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]*)?")
