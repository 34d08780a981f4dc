"""Who may come in, and as which owner: keys, bearer tokens, or this machine alone.

An owner comes from a key, from a claim of a signed token, or from there being neither; never
from anything else in a request.
"""

import hmac
import re
import shlex
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Scope

from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.settings.fields import is_owner
from thalweg_server.settings.sections import GatewayKey, hash_key, is_loopback

LOCAL = "local"
"""The owner of everything if callers need not authenticate."""
_KEY_HEADER = "x-api-key"
OWNER = "thalweg.owner"
"""Where in a request's scope its owner is noted."""
KEY_ID, IS_OPERATOR = "thalweg.key", "thalweg.operator"
"""The same, for the name of its key, and whether an operator sent it."""
_OTHER = "x-thalweg-owner"
"""The header in which an operator names the owner whose data it reads."""
UNKNOWN = "this key is unknown here"
_CHALLENGE = 'Bearer realm="thalweg"'


def other_owner(scope: Scope) -> str | None:
    """Return the owner that an operator acts for; `None` if the request names none.

    Raises:
        GatewayRefusal: The caller is no operator, or the request would change data.
    """
    other = Headers(scope=scope).get(_OTHER)
    if other is None:
        return None
    if not scope.get(IS_OPERATOR):
        raise GatewayRefusal(403, "auth.operator", f"{_OTHER} needs the key of an operator")
    if scope["method"] not in {"GET", "HEAD"}:
        raise GatewayRefusal(403, "auth.operator", f"with {_OTHER}, data is only read")
    if not is_owner(other):
        raise GatewayRefusal(403, "auth.operator", f"{_OTHER} names no owner")
    return other


class Keys:
    """The keys of callers."""

    def __init__(self, keys: Iterable[GatewayKey]) -> None:
        """Keep keys of settings."""
        self._keys = tuple((each.digest, each) for each in keys)

    def find(self, key: str) -> GatewayKey | None:
        """Return a key unless it is unknown; all are compared, in constant time each.

        Raises:
            GatewayRefusal: It has expired.
        """
        given = hash_key(key)
        found = None
        for digest, each in self._keys:
            if hmac.compare_digest(digest, given):
                found = each
        if found is not None and found.expires is not None and found.expires <= datetime.now(UTC):
            raise unauthorized("auth.expired", "this key has expired", "invalid_token")
        return found


Lock = Callable[[Scope], Awaitable[str]]
"""Returns the owner of a request, or raises the `GatewayRefusal` of one that is not allowed."""


@dataclass(frozen=True, slots=True)
class LoopbackLock:
    """Allows callers on this machine, except for a browser's pages from other origins.

    A page can make a browser send requests to this machine: under a name of its own that resolves
    to 127.0.0.1, or across origins. The host and origin headers of a request reveal it.
    """

    origins: frozenset[str] = frozenset()
    """Allowed origins, in addition to the gateway's own."""

    async def __call__(self, scope: Scope) -> str:
        """Return the owner of a request; see `Lock`."""
        scope[IS_OPERATOR] = True
        headers = Headers(scope=scope)
        client = scope.get("client")
        if client is not None and not is_loopback(client[0]):
            detail = "without a key, only this machine has access; set gateway.keys"
            raise GatewayRefusal(403, "auth.not_local", detail)
        host = headers.get("host", "")
        if not is_loopback(_name_of(host)):
            detail = "without a key, this gateway is reached as localhost alone; set gateway.keys"
            raise GatewayRefusal(403, "auth.host", detail)
        origin = headers.get("origin")
        own_origin = f"{scope.get('scheme', 'http')}://{host}".lower()
        if origin is None:
            # A page of another port of this machine is "same-site".
            is_strange = headers.get("sec-fetch-site") in {"cross-site", "same-site"}
        else:
            is_strange = origin.lower() != own_origin and origin not in self.origins
        if is_strange:
            detail = (
                "requests from a page of another origin are refused; add it to gateway.cors_origins"
            )
            raise GatewayRefusal(403, "auth.origin", detail)
        return LOCAL


@dataclass(frozen=True, slots=True)
class KeyLock:
    """Lets in who brings a key or a token; who brings two, if both are the same owner's."""

    keys: Keys
    tokens: Callable[[str], Awaitable[str]] | None = None
    """Returns the owner of a bearer token that is no key, or raises a `GatewayRefusal`."""
    machine: LoopbackLock | None = None
    """Who must be let in by it as well."""
    token_file: Path | None = None
    """The file of this machine's token, which is the only key."""

    async def __call__(self, scope: Scope) -> str:
        """Return the owner of a request; see `Lock`."""
        if self.machine is not None:
            await self.machine(scope)
        headers = Headers(scope=scope)
        given = headers.get(_KEY_HEADER)
        bearer = _bearer(headers)
        owners = set()
        if given is not None:
            owners.add(self._of_key(given, scope))
        if bearer is not None:
            owners.add(self._of_key(bearer, scope) or await self._of_token(bearer))
        if not owners:
            detail = "send credentials: Authorization: Bearer KEY"
            if self.token_file is not None:
                header = (
                    f'"Authorization: Bearer $(cat {shlex.quote(str(self.token_file.absolute()))})"'
                )
                url = shlex.quote(f"http://{headers.get('host', '')}{scope.get('path', '')}")
                detail = (
                    f"send the token of this machine: curl -H {header} {url}; "
                    "gateway.local_token: false accepts requests without it"
                )
            raise unauthorized("auth.missing", detail, "")
        owner = owners.pop()
        if owner is None or owners:
            raise unauthorized("auth.unknown", UNKNOWN, "invalid_token")
        return owner

    def _of_key(self, given: str, scope: Scope) -> str | None:
        key = self.keys.find(given)
        if key is None:
            return None
        scope[KEY_ID], scope[IS_OPERATOR] = key.id or key.digest[:8], key.role == "operator"
        return key.owner

    async def _of_token(self, bearer: str) -> str | None:
        return None if self.tokens is None else await self.tokens(bearer)


@dataclass(frozen=True, slots=True)
class OpenLock:
    """Lets in everybody as one owner: for a gateway in the process of its only caller."""

    whose: str

    async def __call__(self, scope: Scope) -> str:
        """Return the owner of a request; see `Lock`."""
        scope[IS_OPERATOR] = True
        return self.whose


@dataclass(frozen=True, slots=True)
class OperatorLock:
    """Lets in operators alone."""

    lock: Lock

    async def __call__(self, scope: Scope) -> str:
        """Return the owner of a request; see `Lock`."""
        owner = await self.lock(scope)
        check_operator(scope)
        return owner


def check_operator(scope: Scope) -> None:
    """Refuse a request that passed its lock, unless an operator sent it.

    Raises:
        GatewayRefusal: Somebody else sent it.
    """
    if not scope.get(IS_OPERATOR):
        detail = "this needs the key of an operator: set role: operator in gateway.keys"
        raise GatewayRefusal(403, "auth.operator", detail)


def unauthorized(code: str, detail: str, error: str) -> GatewayRefusal:
    """Return the refusal of a caller with missing or invalid credentials."""
    more = f', error="{error}", error_description="{detail}"' if error else ""
    return GatewayRefusal(401, code, detail, {"WWW-Authenticate": _CHALLENGE + more})


def _bearer(headers: Headers) -> str | None:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" and given.strip() else None


def _name_of(host: str) -> str:
    found = _HOST.fullmatch(host)
    return "" if found is None else found[1].strip("[]")


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]*)?")
