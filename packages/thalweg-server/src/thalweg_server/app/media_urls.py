"""Addresses in messages, which a model's provider or server fetches in its own network."""

import socket
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from thalweg.errors import ConfigError

_KEYS = frozenset({"url", "image_url", "file_url", "file_uri", "uri"})
_LOCAL_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


def check_media_urls(values: object) -> None:
    """Validate the addresses of the messages in an input or an update of a graph.

    Args:
        values: As JSON has them: an object, a list of objects, or pairs of channel and value.

    Raises:
        ConfigError: One is not of `https`, `http` or `data`, or is on a private network.
    """
    for url in _urls([*_messages(values)]):
        parts = urlsplit(url)
        if parts.scheme == "data":
            continue
        fix = "send the content itself as a data: URL, or set gateway.private_urls"
        if parts.scheme not in {"http", "https"}:
            raise ConfigError("content", f"an address has the scheme {parts.scheme[:20]!a}", fix)
        if _is_private(parts.hostname or ""):
            raise ConfigError("content", "an address is on a private network", fix)


def _messages(values: object) -> Iterator[object]:
    match values:
        case Mapping():
            yield values.get("messages")
        case ["messages", content]:
            yield content
        case list():
            for one in values:
                yield from _messages(one)


def _urls(content: object) -> Iterator[str]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key in _KEYS and isinstance(value, str):
                yield value
            else:
                yield from _urls(value)
    elif isinstance(content, list | tuple):
        for one in content:
            yield from _urls(one)


def _is_private(host: str) -> bool:
    """Return whether a host is on a private network, by its name; nothing is resolved.

    Example:
        >>> [
        ...     _is_private(host)
        ...     for host in ("127.1", "0x7f000001", "::1", "db.internal", "intranet")
        ... ]
        [True, True, True, True, True]
        >>> [_is_private(host) for host in ("8.8.8.8", "example.org")]
        [False, False]
    """
    name = host.rstrip(".").lower()
    try:
        packed = (
            socket.inet_aton(name) if ":" not in name else socket.inet_pton(socket.AF_INET6, name)
        )
    except OSError:
        return "." not in name or name.endswith(_LOCAL_NAMES)
    address = ip_address(packed)
    return not (getattr(address, "ipv4_mapped", None) or address).is_global
