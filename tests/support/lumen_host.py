"""A little web server of this machine, with TLS where a test asks for it, that keeps what came to it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from dataclasses import dataclass, field


@dataclass
class Host:
    """A server: what came to it, and what it answers."""

    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    tls: ssl.SSLContext | None = None
    got: list[bytearray] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(client):
            if self.tls:
                client = self.tls.wrap_socket(client, server_side=True)
            client.settimeout(20)
            data = bytearray()
            self.got.append(data)
            answered = False
            while part := client.recv(65_536):
                data += part
                if not answered and b"\r\n\r\n" in data:
                    answered = True
                    client.sendall(self.answer)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()
