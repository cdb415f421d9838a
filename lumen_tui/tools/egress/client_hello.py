"""The host that a TLS client names before anything is encrypted (RFC 8446, 4.1.2; RFC 6066, 3)."""

from __future__ import annotations

from collections.abc import Iterator

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D
MOST = 32 * 1024  # bytes until the whole of it must have come


class NotTls(ValueError):
    """The bytes begin no TLS connection that names its host; the text says why."""


class _Short(Exception):
    """More bytes are needed."""


class _Bytes:
    """Reads numbers and blocks off the front."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise _Short
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def block(self, size: int) -> bytes:
        """Return a block behind its length of `size` bytes."""
        return self.take(self.number(size))

    def __bool__(self) -> bool:
        return self._at < len(self._data)


def server_name(data: bytes) -> str | None:
    """Return the host that a ClientHello names, empty where it names none; None where it is not whole yet. NotTls."""
    try:
        message = _handshake(data)
    except _Short:
        if len(data) > MOST:
            raise NotTls("its first message is too long") from None
        return None
    try:
        return _named(message)
    except _Short:
        raise NotTls("its first message is damaged") from None


def _handshake(data: bytes) -> bytes:
    """Return the first handshake message, put together from its records."""
    records, message = _Bytes(data), b""
    while True:
        if (records.number(1), records.number(1)) != (_HANDSHAKE, 3):
            raise NotTls("it is no TLS")
        records.number(1)
        part = records.block(2)
        if not part:
            raise NotTls("an empty record")
        message += part
        if message[0] != _CLIENT_HELLO:
            raise NotTls("it does not begin with a ClientHello")
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4], "big"):
            return message[4 : 4 + int.from_bytes(message[1:4], "big")]


def _named(message: bytes) -> str:
    hello = _Bytes(message)
    hello.take(2 + 32)  # version, random
    for size in (1, 2, 1):  # session, ciphers, compressions
        hello.block(size)
    names = []
    for kind, body in _extensions(_Bytes(hello.block(2)) if hello else _Bytes(b"")):
        if kind == _ENCRYPTED_HELLO:
            raise NotTls("its ClientHello is encrypted, so that its host is not seen")
        if kind == _SERVER_NAME:
            listed = _Bytes(_Bytes(body).block(2))
            while listed:
                names.append((listed.number(1), listed.block(2)))
    if len(names) > 1 or any(kind for kind, _ in names):
        raise NotTls("it names more than one host")
    return names[0][1].decode("ascii", "replace") if names else ""


def _extensions(listed: _Bytes) -> Iterator[tuple[int, bytes]]:
    while listed:
        yield listed.number(2), listed.block(2)
