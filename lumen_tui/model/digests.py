"""Digests of texts and bytes, in one place: hashlib brings OpenSSL, which costs a command 4 ms to load."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import _Hash, blake2b
    from hashlib import sha256 as _sha256
else:
    try:
        from _sha2 import sha256 as _sha256
    except ImportError:
        try:
            from _sha256 import sha256 as _sha256  # as it is called before Python 3.12
        except ImportError:  # an interpreter without modules of its own for digests
            from hashlib import sha256 as _sha256


def sha256(data: bytes) -> str:
    """Return the digest as 64 hexadecimal digits."""
    return _sha256(data).hexdigest()


def text_digest(text: str) -> str:
    """Return the hash of a text, by which an edit knows what it was written for."""
    return sha256(text.encode("utf-8", "replace"))


def openssl_sha256(data: bytes = b"") -> _Hash:
    """Return hashlib's digest of what may be megabytes: slower to load, and several times as fast."""
    import hashlib

    return hashlib.sha256(data)


def keyed_digests() -> type[blake2b]:
    """Return BLAKE2b as hashlib has it."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b
