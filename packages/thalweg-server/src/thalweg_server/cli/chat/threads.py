"""Which thread a chat is in."""

import secrets
from datetime import UTC, datetime

from thalweg.errors import ConfigError
from thalweg_server.client import ThalwegClient


def new_thread() -> str:
    """Return an id that people can distinguish: the time at which the thread began."""
    return f"chat-{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def newest_thread(client: ThalwegClient) -> str:
    """Return the thread that was used last.

    Raises:
        ConfigError: There is none.
    """
    newest = client.list_threads(limit=1).items
    if not newest:
        raise ConfigError("--continue", "there is no thread yet", "omit it to begin one")
    return newest[0].id
