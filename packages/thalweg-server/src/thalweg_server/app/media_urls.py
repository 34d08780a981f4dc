"""Addresses in messages, which a model's provider or server fetches in its own network."""

import socket
from collections.abc import Iterator, Mapping
from ipaddress import IPv6Network, ip_address
from unicodedata import normalize
from urllib.parse import urlsplit

from thalweg.errors import ConfigError

_LOCAL_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_NAT64 = IPv6Network("64:ff9b::/96")


def check_media_urls(values: object) -> None:
    """Validate the addresses in the content of the messages in an input or an update of a graph.

    Args:
        values: As JSON has them: an object, a message, a list of either, pairs of channel and
            value, or nodes with their inputs.

    Raises:
        ConfigError: One is invalid, not of `https`, `http` or `data`, or on a private network.
    """
    for url in _urls([*_contents(values)]):
        fix = "send the content itself as a data: URL, or set gateway.private_urls"
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            raise ConfigError("content", "an address is invalid", fix) from None
        if parts.scheme == "data":
            continue
        if parts.scheme not in {"http", "https"}:
            raise ConfigError("content", f"an address has the scheme {parts.scheme[:20]!a}", fix)
        if {*"@%"} & {*parts.netloc} or {*"\\ "} & {*url} or not url.isprintable():
            problem = (
                "an address has a user, a % in its host, a backslash, a space or a control code"
            )
            raise ConfigError("content", problem, fix)
        if _is_private(host):
            raise ConfigError("content", "an address is on a private network", fix)


def _contents(values: object, *, is_messages: bool = False) -> Iterator[object]:
    """Yield the content of each message, and nothing else: arguments of tools are not fetched."""
    match values:
        case ["messages", messages] if not is_messages:
            yield from _contents(messages, is_messages=True)
        case [str(), content] if is_messages:
            yield content
        case list():
            for one in values:
                yield from _contents(one, is_messages=is_messages)
        case Mapping():
            if "role" in values or "type" in values:
                yield values.get("content")
            if isinstance(kwargs := values.get("kwargs"), Mapping):
                yield kwargs.get("content")
            yield from _contents(values.get("messages"), is_messages=True)
            if "node" in values:
                yield from _contents(values.get("input"))


def _urls(content: object) -> Iterator[str]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            if isinstance(value, str):
                if str(key).lower().endswith(("url", "uri")):
                    yield value
            elif key not in {"args", "input"}:  # of a call of a tool
                yield from _urls(value)
    elif isinstance(content, list | tuple):
        for one in content:
            yield from _urls(one)


def _is_private(host: str) -> bool:
    """Return whether a host is on a private network, by its name; nothing is resolved.

    Example:
        >>> [
        ...     _is_private(host)
        ...     for host in (
        ...         "127.1",
        ...         "0x7f000001",
        ...         "::1",
        ...         "db.internal",
        ...         "64:ff9b::7f00:1",
        ...         "①②⑦。1",
        ...     )
        ... ]
        [True, True, True, True, True, True]
        >>> [_is_private(host) for host in ("8.8.8.8", "example.org", "2606:4700::1111")]
        [False, False, False]
    """
    name = normalize("NFKC", host).replace("。", ".").rstrip(".").lower()
    try:
        packed = (
            socket.inet_aton(name) if ":" not in name else socket.inet_pton(socket.AF_INET6, name)
        )
    except OSError:
        return ":" in name or "." not in name or name.endswith(_LOCAL_NAMES)
    address = ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    return address in _NAT64 or not (mapped or address).is_global
