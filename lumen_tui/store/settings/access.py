"""Tokens of programs that connect from outside: hashed at rest, with scopes and an end, revoked by their name."""

from __future__ import annotations

import msgspec

from lumen_tui.model.access import AccessToken, Scope
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.digests import sha256
from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout

MOST = 100
BEGINNING = "lumen-access-"  # so that a scanner of secrets knows one
_MOST_BYTES = 256 * 1024


class TokenRefused(Exception):
    """There is a token of this name, or there are too many."""


def add(layout: Layout, name: str, scopes: frozenset[Scope], *, by: str, now: float, seconds: float) -> str:
    """Return a new token, which is shown this once. TokenRefused where the name has one that is still valid."""
    import secrets  # 4 ms, which a server without a token does without

    token = f"{BEGINNING}{secrets.token_urlsafe(32)}"
    with locks.waiting_lock(layout.lock("operator")):
        valid = [entry for entry in _read(layout) if entry.expires > now]
        if any(entry.name == name for entry in valid):
            raise TokenRefused(f"{name} has a token: `access revoke {name}` ends it")
        if len(valid) >= MOST:
            raise TokenRefused(f"there are {MOST} tokens: revoke some first")
        ordered = tuple(scope for scope in Scope if scope in scopes)
        _write(layout, [*valid, AccessToken(name, _digest(token), ordered, now, now + seconds, by)])
    return token


def listed(layout: Layout) -> list[AccessToken]:
    """Return all tokens, those that are over as well."""
    return _read(layout)


def revoke(layout: Layout, name: str) -> bool:
    """End the token of a name; return whether there was one."""
    with locks.waiting_lock(layout.lock("operator")):
        known = _read(layout)
        remaining = [entry for entry in known if entry.name != name]
        if len(remaining) < len(known):
            _write(layout, remaining)
    return len(remaining) < len(known)


def find(entries: list[AccessToken], token: str, now: float) -> AccessToken | None:
    """Return the entry of a token among these. Takes as long for a wrong token as for a right one."""
    import secrets

    digest, match = _digest(token), None
    for entry in entries:
        if secrets.compare_digest(entry.sha256, digest):
            match = entry
    return match if match is not None and match.created <= now < match.expires else None


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "replace"))


def _read(layout: Layout) -> list[AccessToken]:
    """Return what is on file; of a file that cannot be read nothing: then no token counts."""
    try:
        data = files.read(layout.access, _MOST_BYTES)
        return [] if data is None else msgspec.json.decode(data, type=list[AccessToken])
    except UNDECODABLE:
        return []


def _write(layout: Layout, tokens: list[AccessToken]) -> None:
    files.replace(layout.access, msgspec.json.encode(tokens))
