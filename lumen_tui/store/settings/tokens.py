"""One-time tokens: with one, a command that has no terminal counts as the operator's, once. Only hashes are kept."""

from __future__ import annotations

import secrets

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.digests import sha256
from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout

APPROVE = "approve"  # the scope with which a token speaks for the operator
MOST = 20  # that wait to be used
_MOST_BYTES = 64 * 1024


class Token(Struct, frozen=True):
    """One entry of operator-tokens.json."""

    sha256: str
    expires: float  # seconds since 1970
    by: str
    scope: str = APPROVE


def make(layout: Layout, *, by: str, now: float, seconds: float) -> str:
    """Return a new token that can be used once within `seconds`; the oldest of too many is dropped."""
    token = f"lumen-{secrets.token_urlsafe(24)}"
    with locks.waiting_lock(layout.lock("operator")):
        valid = [entry for entry in _read(layout) if entry.expires > now]
        _write(layout, [*valid, Token(_digest(token), now + seconds, by)][-MOST:])
    return token


def use(layout: Layout, token: str, now: float) -> bool:
    """Take a token out of use; return whether it was valid and speaks for the operator."""
    if not token:
        return False
    with locks.waiting_lock(layout.lock("operator")):
        known = _read(layout)
        used = next((entry for entry in known if secrets.compare_digest(entry.sha256, _digest(token))), None)
        if used is None:
            return False
        _write(layout, [entry for entry in known if entry is not used])
    return used.expires > now and used.scope == APPROVE


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "replace"))


def _read(layout: Layout) -> list[Token]:
    """Return the tokens on file; none of a file that cannot be read: then no token counts."""
    try:
        data = files.read(layout.operator_tokens, _MOST_BYTES)
        return [] if data is None else msgspec.json.decode(data, type=list[Token])
    except UNDECODABLE:
        return []


def _write(layout: Layout, tokens: list[Token]) -> None:
    files.replace(layout.operator_tokens, msgspec.json.encode(tokens))
