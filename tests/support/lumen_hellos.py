"""First messages of TLS clients, made here."""

from __future__ import annotations

import ssl
import struct


def hello(*names: bytes, extension: bytes = b"", split: int = 0) -> bytes:
    """Return a ClientHello that names these hosts; `split`: in records of so many bytes."""
    listed = b"".join(b"\0" + struct.pack(">H", len(name)) + name for name in names)
    named = struct.pack(">HHH", 0, len(listed) + 2, len(listed)) + listed if names else b""
    extensions = named + extension
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + len(body).to_bytes(3, "big") + body
    parts = [message[at : at + split] for at in range(0, len(message), split)] if split else [message]
    return b"".join(b"\x16\3\1" + struct.pack(">H", len(part)) + part for part in parts)


def real_hello(name: str) -> bytes:
    """Return the one that Python's own TLS sends."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()
