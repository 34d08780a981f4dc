"""One owner with a key of their own against another: requests, tokens, commands, floods."""

import asyncio
import hmac
import itertools
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from benchmarks import gateway_floods, gateway_fuzz, sandbox
from benchmarks.attacks.outcome import Effort, Outcome
from thalweg.errors import ConfigError
from thalweg_agent.backends.bubblewrap import BubblewrapBackend, check_bubblewrap
from thalweg_agent.backends.local.process_limits import ProcessLimits
from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.gateway.tokens import ProviderTokens
from thalweg_server.settings.sections import OidcSettings

_ISSUER = "https://id.example"
_PROCESSES = 128
_CHILDREN = 300
_FORKS = f"""
import os, time
made = 0
for _ in range({_CHILDREN}):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        time.sleep(3)
        os._exit(0)
    made += 1
print("made", made)
"""
MOST_WAIT_S = 1.0
MOST_MEMORY = 600_000_000
"""Bytes of a gateway under a flood."""


def by_requests(effort: Effort) -> Outcome:
    """Try every operation with hostile ids, paths, bodies, and the other's real ids."""
    told = asyncio.run(
        gateway_fuzz.fuzz(1_000 if effort == "quick" else gateway_fuzz.TRIES, seed=11)
    )
    answers = ", ".join(f"{count:,} x {status}" for status, count in sorted(told.statuses.items()))
    return Outcome(told.tries, tuple(told.wrong), answers)


def by_forged_tokens(effort: Effort) -> Outcome:
    """Sign tokens with other keys, other algorithms, other claims, or not at all."""
    del effort
    key = rsa.generate_private_key(65_537, 2_048)
    keys = [{**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "k1"}]

    def fetch(url: str) -> bytes:
        is_discovery = url.endswith("openid-configuration")
        found = {"issuer": _ISSUER, "jwks_uri": f"{_ISSUER}/keys"} if is_discovery else {}
        return json.dumps(found or {"keys": keys}).encode()

    provider = OidcSettings(issuer=_ISSUER, audience="thalweg", owner_prefix="")
    tokens = ProviderTokens(provider, fetch=fetch)
    breaches: list[str] = []
    forged = [*_forged(key)]
    for name, token in forged:
        try:
            owner = asyncio.run(tokens.owner(token))
        except GatewayRefusal as refusal:
            if refusal.status_code != 401:  # noqa: PLR2004 (HTTP's)
                breaches.append(f"{name}: {refusal.status_code}")
        except Exception as error:  # noqa: BLE001 (a bug is what is looked for)
            breaches.append(f"{name}: {error!r}")
        else:
            breaches.append(f"{name}: let in as {owner}")
    if asyncio.run(tokens.owner(jwt.encode(_claims(), key, "RS256", {"kid": "k1"}))) != "ada":
        breaches.append("a good token is refused: nothing was shown")
    return Outcome(len(forged), tuple(breaches))


def _claims(**changed: object) -> dict[str, Any]:
    claims = {"iss": _ISSUER, "aud": "thalweg", "sub": "ada", "exp": int(time.time()) + 600}
    return {name: value for name, value in {**claims, **changed}.items() if value is not None}


def _forged(key: rsa.RSAPrivateKey) -> Iterator[tuple[str, str]]:
    now = int(time.time())
    wrong: tuple[dict[str, object], ...] = (
        *(
            {"aud": value}
            for value in (None, "", "other", [], ["other"], {"thalweg": 1}, "Thalweg")
        ),
        *({"iss": value} for value in (None, "", "https://evil.example", f"{_ISSUER}/")),
        *({"exp": value} for value in (None, now - 120, 0, -1, "soon")),
        *({"nbf": value} for value in (now + 600, "later")),
        *({"iat": value} for value in (now + 600, "now")),
        *({"sub": value} for value in (None, "", " ", 7, ["ada"], "local", "thalweg-health")),
    )
    for claims in wrong:
        yield f"claims {claims}", jwt.encode(_claims(**claims), key, "RS256", {"kid": "k1"})
    other = rsa.generate_private_key(65_537, 2_048)
    embedded = RSAAlgorithm.to_jwk(other.public_key(), as_dict=True)
    headers: tuple[dict[str, Any], ...] = (
        *({"kid": kid} for kid in ("k1", "unknown", "", "../../dev/null", "' OR 1=1 --")),
        *({"kid": "k1", name: f"{_ISSUER}.evil.example/keys"} for name in ("jku", "x5u")),
        {"kid": "k1", "jwk": embedded},
        {"kid": "k1", "crit": ["exp"]},
    )
    for header in headers:
        yield f"another key, {header}", jwt.encode(_claims(), other, "RS256", header)
    yield "crit", jwt.encode(_claims(), key, "RS256", {"kid": "k1", "crit": ["x"], "x": 1})
    for algorithm, signer in (
        ("ES256", ec.generate_private_key(ec.SECP256R1())),
        ("EdDSA", ed25519.Ed25519PrivateKey.generate()),
    ):
        yield algorithm, jwt.encode(_claims(), signer, algorithm, {"kid": "k1"})
    _, claims, signature = jwt.encode(_claims(), key, "RS256", {"kid": "k1"}).split(".")
    names: tuple[object, ...] = (
        "none",
        "None",
        "NONE",
        "nOnE",
        "",
        "HS256",
        "HS512",
        "RS256 ",
        "rs256",
    )
    for name in (*names, [], {}, 7, None, True, ["RS256"]):
        head = _encoded(json.dumps({"alg": name, "kid": "k1"}).encode())
        yield f"alg {name!r}, no signature", f"{head}.{claims}."
        yield f"alg {name!r}, another's signature", f"{head}.{claims}.{signature}"
    public = key.public_key()
    head = _encoded(b'{"alg":"HS256","kid":"k1"}')
    for encoding, form in itertools.product(
        (Encoding.DER, Encoding.PEM), (PublicFormat.SubjectPublicKeyInfo, PublicFormat.PKCS1)
    ):
        secret = public.public_bytes(encoding, form)
        signed = _encoded(hmac.digest(secret, f"{head}.{claims}".encode(), "sha256"))
        yield "the public key as a secret", f"{head}.{claims}.{signed}"
    good = f"{_encoded(json.dumps({'alg': 'RS256', 'kid': 'k1'}).encode())}"
    for token in (
        f"{good}.{claims}",
        f"{good}..{signature}",
        f"{good}.{claims}.{signature[:-4]}",
        ".",
        "..",
        "a.b.c",
    ):
        yield f"a part is missing: {token[:20]}", token


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def by_commands(effort: Effort) -> Outcome:
    """Look for the other's marker from a shell, then fork more than a command may."""
    del effort
    try:
        check_bubblewrap()
    except ConfigError as problem:
        return Outcome(0, (), f"not tried: {problem}")
    found = sandbox.attack(sandbox.confined)
    with TemporaryDirectory() as folder:
        Path(folder, "forks.py").write_text(_FORKS)
        shell = BubblewrapBackend(folder, limits=ProcessLimits(processes=_PROCESSES), timeout=20)
        output = shell.execute("python3 forks.py").output
    made = int(output.partition("made ")[2].split()[0]) if "made " in output else -1
    if not 0 < made < _PROCESSES:
        found.append(f"of {_CHILDREN} children under a limit of {_PROCESSES}: {output[:80]}")
    figure = f"{made} of {_CHILDREN} children were made under a limit of {_PROCESSES}"
    return Outcome(len(sandbox.ATTACKS) + 1, tuple(found), figure)


def by_floods(effort: Effort) -> Outcome:
    """Send each flood of `gateway_floods`, and see what another owner waits for."""
    breaches: list[str] = []
    waits, memory = 0.0, 0
    for name in gateway_floods.FLOODS:
        _, seen = gateway_floods.flooded(name, 4.0 if effort == "quick" else gateway_floods.FLOOD_S)
        waits, memory = max(waits, seen.p99), max(memory, seen.memory)
        if seen.p99 > MOST_WAIT_S or seen.memory > MOST_MEMORY or seen.refused:
            p99, mb = 1e3 * seen.p99, seen.memory / 1e6
            breaches.append(f"{name}: p99 {p99:.0f} ms, {mb:.0f} MB, {seen.refused} refused")
    figure = f"another owner waits {1e3 * waits:.0f} ms at most (p99); {memory / 1e6:.0f} MB"
    return Outcome(len(gateway_floods.FLOODS), tuple(breaches), figure)
