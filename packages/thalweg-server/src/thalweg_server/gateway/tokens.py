"""Bearer tokens of an OpenID provider: signed by it, for this gateway, and not expired.

The provider's public keys are fetched on demand and cached; they are fetched again for an unknown
key, but at most once every few seconds, for any number of tokens.
"""

import asyncio
import json
import logging
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

import jwt

from thalweg_server.app.opening import NOBODY
from thalweg_server.gateway.authentication import LOCAL, UNKNOWN, unauthorized
from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.settings.fields import is_owner
from thalweg_server.settings.sections import OidcSettings

_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_FAMILIES = {
    **dict.fromkeys(_RSA, ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", None),
}
"""Signatures that are taken, and the kind and curve of their keys. None is symmetric: a public
key is no secret."""
LEEWAY_S = 60
"""How far the clocks may be apart."""
_NOBODYS = frozenset({LOCAL, NOBODY})
"""Owners that no token is valid for: the owner of data from before keys, and that of health
checks."""
_KEPT_S = 600.0
_PAUSE_S = 10.0
_TIMEOUT_S = 5.0
_MOST_BYTES = 1 << 20
_LOG = logging.getLogger("thalweg.gateway")

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, HTTPException, jwt.PyJWTError)
"""Errors raised by the answer of a provider that is down or out of order."""

Fetch = Callable[[str], bytes]


class ProviderTokens:
    """Reads tokens of one provider."""

    def __init__(self, provider: OidcSettings, *, fetch: Fetch | None = None) -> None:
        """Prepare; nothing is fetched yet.

        Args:
            provider: The provider of the tokens.
            fetch: Fetches the content of an address; runs in a thread.
        """
        self._provider = provider
        self._keys = _KeySet(provider, fetch or _fetched)

    async def owner(self, token: str) -> str:
        """Return the owner of a token.

        Raises:
            GatewayRefusal: It is not valid.
        """
        try:
            head = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise unauthorized("auth.unknown", UNKNOWN, "invalid_token") from None
        algorithm = head.get("alg")
        if not isinstance(algorithm, str) or algorithm not in _FAMILIES:
            detail = f"tokens signed with {str(algorithm)[:20]!a} are not accepted"
            raise _invalid(detail)
        key = await self._keys.get(head.get("kid"), algorithm)
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._provider.audience,
                issuer=self._provider.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.InvalidTokenError as error:
            raise _invalid(_reason(error)) from None
        return self._owner_in(claims)

    def _owner_in(self, claims: dict[str, Any]) -> str:
        claim, prefix = self._provider.owner_claim, self._provider.owner_prefix
        named = claims.get(claim)
        owner = f"{prefix}{named}"
        is_named = isinstance(named, str) and is_owner(named) and is_owner(owner)
        if not is_named or owner in _NOBODYS:
            detail = f"the token has no claim {claim} that could name an owner"
            raise _invalid(detail)
        return owner


@dataclass(frozen=True, slots=True)
class _Key:
    key: Any
    jwk: dict[str, Any]

    def verifies(self, algorithm: str) -> bool:
        """Whether it is of the kind that an algorithm needs, and for nothing else."""
        family, curve = _FAMILIES[algorithm]
        return (
            self.jwk.get("kty") == family
            and (curve is None or self.jwk.get("crv") == curve)
            and self.jwk.get("alg") in {None, algorithm}
            and self.jwk.get("use") in {None, "sig"}
        )


class _KeySet:
    """The provider's keys by their ids, fetched again when they are old or one is missing."""

    def __init__(self, provider: OidcSettings, fetch: Fetch) -> None:
        self._provider = provider
        self._fetch = fetch
        self._keys: dict[str | None, _Key] = {}
        self._fetched_at = -_KEPT_S
        self._tried_at = -_PAUSE_S
        self._turn = asyncio.Lock()

    async def get(self, kid: object, algorithm: str) -> Any:  # noqa: ANN401 (a key of `cryptography`)
        """Return the key that verifies a signature.

        Raises:
            Refusal: There is no such key, or the provider cannot be reached.
        """
        name = kid if isinstance(kid, str) else None
        if (key := self._known(name)) is None or self._is_old:
            await self._renew(name)
            key = self._known(name)
        if key is None and not self._keys:
            detail = "the provider of tokens cannot be reached; try again later"
            raise GatewayRefusal(503, "auth.provider", detail, {"Retry-After": "10"})
        if key is None:
            detail = "the token is signed with a key that its provider does not have"
            raise _invalid(detail)
        if not key.verifies(algorithm):
            detail = "the token's key is not for signatures like this"
            raise _invalid(detail)
        return key.key

    @property
    def _is_old(self) -> bool:
        return time.monotonic() - self._fetched_at > _KEPT_S

    def _known(self, kid: str | None) -> _Key | None:
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    async def _renew(self, kid: str | None) -> None:
        async with self._turn:
            is_there = self._known(kid) is not None and not self._is_old
            if is_there or time.monotonic() - self._tried_at < _PAUSE_S:
                return
            self._tried_at = time.monotonic()
            try:
                self._keys = await asyncio.to_thread(self._read)
                self._fetched_at = time.monotonic()
            except _UNREADABLE as error:
                _LOG.warning("keys of %s cannot be fetched: %s", self._provider.issuer, error)

    def _read(self) -> dict[str | None, _Key]:
        url = self._provider.jwks_url
        if url is None:
            at = f"{self._provider.issuer.rstrip('/')}/.well-known/openid-configuration"
            metadata = json.loads(self._fetch(at))
            if metadata["issuer"] != self._provider.issuer:
                msg = f"{at} is from another issuer: {str(metadata['issuer'])[:200]!a}"
                raise ValueError(msg)
            url = str(metadata["jwks_uri"])
        return dict(_read_keys(json.loads(self._fetch(url))["keys"]))


def _read_keys(keys: list[dict[str, Any]]) -> Iterator[tuple[str | None, _Key]]:
    for each in keys:
        try:
            key = jwt.PyJWK.from_dict(each).key
        except jwt.PyJWTError:
            continue  # of a kind that is not known here: another of them may do
        yield each.get("kid"), _Key(key, each)


def _fetched(url: str) -> bytes:
    if not url.startswith(("https://", "http://")):
        msg = f"{url} is not a web address"
        raise ValueError(msg)
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 (looked at above)
        read: bytes = answer.read(_MOST_BYTES)
        return read


def _invalid(detail: str) -> GatewayRefusal:
    return unauthorized("auth.invalid", detail, "invalid_token")


def _reason(error: jwt.InvalidTokenError) -> str:
    return next((words for kind, words in _REASONS.items() if isinstance(error, kind)), _OTHERWISE)


_REASONS: dict[type[jwt.InvalidTokenError], str] = {
    jwt.ExpiredSignatureError: "the token has expired",
    jwt.ImmatureSignatureError: "the token is not valid yet",
    jwt.InvalidAudienceError: "the token is for another audience",
    jwt.InvalidIssuerError: "the token is from another issuer",
    jwt.MissingRequiredClaimError: "the token lacks exp, iss or aud",
    jwt.InvalidSignatureError: "the token's signature is wrong",
}
_OTHERWISE = "the token is invalid"
