"""SHA-256 of texts and bytes, in one place: hashlib brings OpenSSL, which costs a command 2 ms to load."""

from __future__ import annotations


def sha256(data: bytes) -> str:
    """Return the digest as 64 hexadecimal digits."""
    import hashlib  # most commands that could need a digest make none

    return hashlib.sha256(data).hexdigest()
