"""Typed ids: made here, checked here, before any of them becomes a path.

The module is on the path of the hot verbs, so it imports nothing but `os`.
"""

from __future__ import annotations

import os

KINDS = ("mem", "sig", "tsk", "pkt", "apr", "evo", "ses", "cmd", "act", "evt", "rly", "arc", "sch")
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base 32: no i, l, o, u
CHARS = 13  # 13 x 5 = 65 bits
_MAX_LENGTH = 64
NAME = "[a-z0-9][a-z0-9-]{0,63}"  # as a pattern: what check_name takes
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_WORD = _LOWER | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.")


class BadId(ValueError):
    """An id or a name from outside that must not become a path."""


class Ambiguous(LookupError):
    """The beginning of an id that several share."""

    def __init__(self, candidates: tuple[str, ...]) -> None:
        super().__init__(", ".join(candidates))
        self.candidates = candidates


def new_id(kind: str) -> str:
    """Return a fresh id such as `mem-7f2k9c0w4h1zt`: the kind and 65 random bits."""
    return f"{kind}-{_written(os.urandom(9))}"


def short_hash(text: str) -> str:
    """Return 65 bits of the text's hash, written as ids are: the same text gives the same id."""
    from lumen_tui.model.digests import sha256  # the hot verbs seldom need it

    return _written(bytes.fromhex(sha256(text.encode("utf-8", "replace"))))


def _written(data: bytes) -> str:
    number = int.from_bytes(data[:9], "big")
    return "".join([ALPHABET[number >> 5 * at & 31] for at in range(CHARS)])


def check_name(text: str, kind: str = "name") -> str:
    """Return `text` where it is a lower-case slug of 1 to 64 characters; raise BadId otherwise.

    Used for everything that becomes a file name: task ids, role names, session ids.
    """
    good = 0 < len(text) <= _MAX_LENGTH and text[0] in _LOWER and all(c in _LOWER or c == "-" for c in text)
    if not good:
        what = f"{kind} {text[:80]!r} is not usable" if text else f"{kind} is missing"
        raise BadId(f"{what}: 1 to 64 of a-z, 0-9 and hyphens, beginning with a letter or digit")
    return text


def check_wu(text: str) -> str:
    """Return the id of a work unit (`WU-` and up to nine digits) or raise BadId."""
    head, dash, digits = text.partition("-")
    if head != "WU" or not dash or not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise BadId(f"work unit {text[:80]!r} is not usable: write it as WU-042")
    return text


def is_wu(text: str) -> bool:
    """Return whether this is the id of a work unit."""
    try:
        return bool(check_wu(text))
    except BadId:
        return False


def check_label(text: str, kind: str = "label") -> str:
    """Return a one-line label (lane, reader, tag) of at most 100 characters, or raise BadId."""
    if not 0 < len(text) <= 100 or not text.isprintable() or text != text.strip():
        raise BadId(f"{kind} {text[:80]!r} is not usable: one line of 1 to 100 printable characters")
    return text


def check_file_name(text: str, kind: str = "file name") -> str:
    """Return `text` where it is a plain file name without folders or hidden files, or raise BadId."""
    if not 0 < len(text) <= 100 or text[0] in ".-" or not all(c in _WORD for c in text):
        raise BadId(f"{kind} {text[:80]!r} is not usable: letters, digits, '-', '_' and '.'")
    return text


def short(identifier: str, width: int = 4) -> str:
    """Return what a person reads of an id: `tsk-7f2k9c…` becomes `7f2k`; a name given by a person stays whole."""
    kind, dash, digits = identifier.partition("-")
    if dash and kind in KINDS and len(digits) > width:
        return digits[:width]
    return identifier
