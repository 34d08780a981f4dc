"""Webhooks: a run that has ended is sent to an address that its request names.

A request could name an address that only this machine reaches. So a host that is not in
`gateway.webhook_hosts` must resolve to public addresses alone, and the connection goes to the
address that was checked.
"""

import asyncio
import logging
import socket
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from thalweg.errors import ConfigError

_TIMEOUT_S = 10.0
_PAUSES_S = (1.0, 5.0, 25.0)
"""Before further attempts."""
_log = logging.getLogger("thalweg.server.webhooks")


async def send_webhook(url: str, body: Mapping[str, Any], hosts: Collection[str]) -> bool:
    """Send a JSON body to an address; return whether it was accepted.

    Args:
        url: The address.
        body: What JSON can represent.
        hosts: Hosts that may be on private networks.
    """
    for pause_s in (*_PAUSES_S, None):
        try:
            address, headers, extensions = await checked_address(url, hosts)
            async with httpx2.AsyncClient(timeout=_TIMEOUT_S, trust_env=False) as http:
                answer = await http.post(
                    address, json=dict(body), headers=headers, extensions=extensions
                )
            if answer.is_success:
                return True
            problem = f"it answered {answer.status_code}"
        except ConfigError as error:
            _log.warning("a webhook is not sent: %s", error)
            return False
        except (httpx2.HTTPError, OSError) as error:
            problem = type(error).__name__
        if pause_s is not None:
            await asyncio.sleep(pause_s)
    _log.warning("a webhook was not accepted: %s", problem)
    return False


async def checked_address(
    url: str, hosts: Collection[str]
) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Return where a webhook connects to, with the headers and options that name its host.

    Raises:
        ConfigError: The address is not one of HTTP, or is on a private network.
        OSError: The name is not resolved.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigError("webhook", "it is not an address of http or https", "send a whole URL")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(place[4][0]) for place in found]
    if host not in hosts and not all(ip_address(one).is_global for one in addresses):
        problem = f"{host} is on a private network"
        raise ConfigError("webhook", problem, "add it to gateway.webhook_hosts")
    address = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
    place = urlunsplit((parts.scheme, f"{address}:{port}", parts.path, parts.query, ""))
    named = host if parts.port is None else f"{host}:{parts.port}"
    return place, {"Host": named}, {"sni_hostname": host}
