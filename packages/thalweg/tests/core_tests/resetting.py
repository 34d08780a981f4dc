"""A TCP proxy on loopback that resets connections in the middle of a conversation."""

import socket
import struct
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit

_CHUNK = 65_536
_RESETS = struct.pack("ii", 1, 0)
"""Closing sends RST rather than FIN."""
_SYNC = b"S\0\0\0\4"
"""How a packet ends that the server answers; a plain query begins with `Q`."""


class ResettingProxy:
    """Passes bytes to a PostgreSQL server, until `cut` ends every connection by a reset.

    Args:
        url: Of the server, which listens at a socket in a folder.
        replace: Bytes in what the server sends, and bytes of the same length to send instead.
    """

    def __init__(self, url: str, replace: tuple[bytes, bytes] = (b"\0", b"\0")) -> None:
        self._replace = replace
        parts = urlsplit(url)
        self._server = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        place = f"{parts.username}@127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = f"postgresql://{place}{parts.path}?sslmode=disable&gssencmode=disable"
        self.is_cut = False
        self._lock = threading.Lock()
        self._passing: int | None = None
        self._is_answer_lost = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._unanswered: set[socket.socket] = set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._reset()

    def cut(self, passing: int, *, is_answer_lost: bool) -> None:
        """Reset every connection when clients have sent one request more than `passing`.

        Args:
            passing: Requests that are answered before.
            is_answer_lost: The request still reaches the server, and its answer no client.
        """
        with self._lock:
            self._passing, self._is_answer_lost, self.is_cut = passing, is_answer_lost, False

    def pass_all(self) -> None:
        """Reset nothing from now on."""
        with self._lock:
            self._passing = None

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                with self._lock:
                    self._pairs.append((client, server))
                for pump in (self._to_server, self._to_client):
                    threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        is_ended = False
        with suppress(OSError):
            while not is_ended and (packet := client.recv(_CHUNK)):
                is_request = packet.startswith(b"Q") or packet.endswith(_SYNC)
                if is_request and self._is_last():
                    is_ended = not self._is_answer_lost
                    self._unanswered.add(server)
                if not is_ended:
                    server.sendall(packet)
            if not is_ended:
                server.shutdown(socket.SHUT_WR)
        if is_ended:  # and not where a reset ended the reading: others have connected since
            self._reset(client)

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while packet := server.recv(_CHUNK):
                if server in self._unanswered:
                    self._reset(client)
                    return
                client.sendall(packet.replace(*self._replace))
            client.shutdown(socket.SHUT_WR)

    def _is_last(self) -> bool:
        with self._lock:
            if self._passing is None:
                return False
            self._passing -= 1
            self.is_cut = self._passing < 0
            if self.is_cut:
                self._passing = None
            return self.is_cut

    def _reset(self, last: socket.socket | None = None) -> None:
        """Reset every connection; `last` is the one whose client is not to notice it earlier."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        pairs.sort(key=lambda pair: pair[0] is last)
        for end in (end for pair in pairs for end in pair):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
            with suppress(OSError):
                end.shutdown(socket.SHUT_RD)  # wakes the thread that reads it
            end.close()
