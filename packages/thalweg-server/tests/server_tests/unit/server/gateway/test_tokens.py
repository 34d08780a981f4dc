"""Tokens of an OpenID provider: the right ones come in, and no other does."""

import asyncio
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.gateway.tokens import ProviderTokens
from thalweg_server.settings.sections import OidcSettings

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | bytes
ISSUER = "https://id.example"
RSA = rsa.generate_private_key(65_537, 2_048)
OTHER = rsa.generate_private_key(65_537, 2_048)
CURVE = ec.generate_private_key(ec.SECP256R1())


def jwk(kid: str, key: Key = RSA, **more: object) -> dict[str, Any]:
    if isinstance(key, ec.EllipticCurvePrivateKey):
        told = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        assert isinstance(key, rsa.RSAPrivateKey)
        told = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**told, "kid": kid, **more}


@dataclass
class World:
    """A provider, as it is on the web."""

    keys: list[dict[str, Any]] = field(default_factory=lambda: [jwk("k1")])
    fetched: list[str] = field(default_factory=list)
    is_down: bool = False
    issuer: str = ISSUER

    def fetch(self, url: str) -> bytes:
        """Return the content of an address."""
        self.fetched.append(url)
        if self.is_down:
            msg = "no route"
            raise OSError(msg)
        if url.endswith("openid-configuration"):
            return json.dumps({"issuer": self.issuer, "jwks_uri": f"{ISSUER}/keys"}).encode()
        return json.dumps({"keys": self.keys}).encode()

    def tokens(self, **more: str) -> ProviderTokens:
        """Make what reads its tokens."""
        given = {"owner_prefix": "", **more}
        provider = OidcSettings(issuer=ISSUER, audience="thalweg", **given)
        return ProviderTokens(provider, fetch=self.fetch)


def token(
    key: Key = RSA,
    claims: Mapping[str, object] | None = None,
    *,
    kid: str | None = "k1",
    algorithm: str = "RS256",
) -> str:
    now = int(time.time())
    told = {"iss": ISSUER, "aud": "thalweg", "sub": "ada", "exp": now + 600, **(claims or {})}
    told = {
        name: value() if isinstance(value, partial) else value
        for name, value in told.items()
        if value is not None
    }
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(told, key, algorithm, headers)


def owner(tokens: ProviderTokens, given: str) -> str:
    return asyncio.run(tokens.owner(given))


def refused(tokens: ProviderTokens, given: str) -> GatewayRefusal:
    with pytest.raises(GatewayRefusal) as caught:
        owner(tokens, given)
    return caught.value


def test_a_signed_token_says_whose_it_is() -> None:
    assert owner(World().tokens(), token()) == "ada"


def test_the_claim_that_names_the_owner_can_be_another() -> None:
    tokens = World().tokens(owner_claim="email")

    assert owner(tokens, token(RSA, {"email": "ada@example.org"})) == "ada@example.org"


@pytest.mark.parametrize("name", [None, "", "  ", 7, ["ada"], "a" * 256])
def test_a_claim_that_names_nobody_lets_nobody_in(name: object) -> None:
    assert refused(World().tokens(), token(RSA, {"sub": name})).status_code == 401


def test_owners_of_tokens_have_names_of_their_own() -> None:
    assert owner(World().tokens(owner_prefix="oidc:"), token()) == "oidc:ada"


@pytest.mark.parametrize("name", ["local", "thalweg-health"])
def test_no_token_speaks_for_an_owner_that_nobody_is(name: str) -> None:
    assert refused(World().tokens(), token(RSA, {"sub": name})).status_code == 401
    assert owner(World().tokens(owner_prefix="oidc:"), token(RSA, {"sub": name})) == f"oidc:{name}"


def test_an_owner_is_not_too_long_with_its_prefix() -> None:
    tokens = World().tokens(owner_prefix="oidc:")
    assert owner(tokens, token(RSA, {"sub": "a" * 250})) == f"oidc:{'a' * 250}"
    assert refused(tokens, token(RSA, {"sub": "a" * 251})).status_code == 401


def seconds_from_now(offset: int) -> int:
    return int(time.time()) + offset


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"exp": partial(seconds_from_now, -120)}, "has expired"),
        ({"nbf": partial(seconds_from_now, 1200)}, "not valid yet"),
        ({"aud": "other"}, "another audience"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"exp": None}, "lacks"),
        ({"aud": None}, "lacks"),
        ({"iss": None}, "lacks"),
    ],
)
def test_a_token_that_does_not_hold_here_and_now_is_refused(
    claims: Mapping[str, object], said: str
) -> None:
    refusal = refused(World().tokens(), token(RSA, claims))

    assert refusal.status_code == 401
    assert said in refusal.detail
    assert refusal.headers is not None
    assert 'error="invalid_token"' in refusal.headers["WWW-Authenticate"]


@pytest.mark.parametrize("algorithm", [[], {}, 7, None, True, ["RS256"]])
def test_an_algorithm_that_is_no_text_is_refused(algorithm: object) -> None:
    head = urlsafe_b64encode(json.dumps({"alg": algorithm, "kid": "k1"}).encode()).decode()

    assert refused(World().tokens(), f"{head.rstrip('=')}.e30.x").status_code == 401


def test_clocks_may_be_a_minute_apart() -> None:
    assert owner(World().tokens(), token(RSA, {"exp": int(time.time()) - 30})) == "ada"


def test_another_s_signature_is_refused() -> None:
    assert "signature" in refused(World().tokens(), token(OTHER)).detail


def test_a_token_without_a_signature_is_refused() -> None:
    unsigned = jwt.encode({"iss": ISSUER, "aud": "thalweg", "sub": "ada"}, "", "none")

    assert "'none'" in refused(World().tokens(), unsigned).detail


def test_a_public_key_is_no_secret_to_sign_with() -> None:
    public = RSA.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    head, claims, _ = token(bytes(32), algorithm="HS256").split(".")
    signed = hmac.digest(public, f"{head}.{claims}".encode(), "sha256")
    forged = f"{head}.{claims}.{urlsafe_b64encode(signed).decode().rstrip('=')}"

    assert "'HS256'" in refused(World().tokens(), forged).detail


def test_a_key_is_used_for_its_own_algorithm_alone() -> None:
    world = World(keys=[jwk("k1", alg="RS512"), jwk("k2", use="enc"), jwk("k3", CURVE)])

    assert owner(world.tokens(), token(algorithm="RS512")) == "ada"
    assert owner(world.tokens(), token(CURVE, kid="k3", algorithm="ES256")) == "ada"
    for kid in ("k1", "k2", "k3"):
        assert refused(world.tokens(), token(kid=kid)).status_code == 401


def test_a_secret_among_the_public_keys_signs_nothing() -> None:
    secret = {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ", "kid": "k1"}
    forged = token(b"secret-secret-secret-secret-1234", algorithm="HS256")

    assert refused(World(keys=[secret]).tokens(), forged).status_code == 401


@pytest.mark.parametrize("word", ["x", "a.b", "a.b.c", "a.b.c.d", "..", "eyJ.eyJ.", "é.é.é"])
def test_what_is_no_token_is_refused(word: str) -> None:
    assert refused(World().tokens(), word).status_code == 401


def test_keys_are_fetched_once_and_again_when_one_is_new() -> None:
    world = World()
    tokens = world.tokens()

    async def asked() -> None:
        assert await tokens.owner(token()) == "ada"
        assert await tokens.owner(token()) == "ada"
        assert len(world.fetched) == 2  # where the keys are, and the keys
        world.keys = [jwk("k2", OTHER)]
        tokens._keys._tried_at -= 60  # noqa: SLF001 (a minute later)
        assert await tokens.owner(token(OTHER, kid="k2")) == "ada"

    asyncio.run(asked())
    assert len(world.fetched) == 4


def test_unknown_keys_make_no_flood_of_requests() -> None:
    world = World()
    tokens = world.tokens(jwks_url=f"{ISSUER}/keys")

    async def asked() -> None:
        for number in range(50):
            with pytest.raises(GatewayRefusal):
                await tokens.owner(token(kid=f"k-{number}"))

    asyncio.run(asked())
    assert len(world.fetched) == 1


def test_a_provider_that_is_away_is_told_as_such_and_known_keys_still_do() -> None:
    world = World(is_down=True)
    assert refused(world.tokens(), token()).status_code == 503

    world = World()
    tokens = world.tokens()
    owner(tokens, token())
    world.is_down = True
    tokens._keys._fetched_at = tokens._keys._tried_at = -1e9  # noqa: SLF001 (long ago)
    assert owner(tokens, token()) == "ada"


def test_a_discovery_document_of_another_issuer_is_not_believed() -> None:
    assert refused(World(issuer="https://evil.example").tokens(), token()).status_code == 503
