"""Programs that connect from outside: who they are, what they may do, and the tokens that say so.

What such a program asks for is done in its own name and is never an order of the operator: see `actions.acting`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from lumen_tui.model import ids

KINDS = ("mcp", "http", "acp")  # how a program speaks to us
HTTP_PORT = 8740
READS = 200  # a second in the long run, of one program; twice as many at once
_MOST_NAME = 40  # characters


class Scope(StrEnum):
    """What a program may do, each by itself: to act does not mean to read, nor to answer for the operator."""

    READ = "read"
    ACT = "act"
    APPROVE = "approve"  # answer calls and questions that wait for a person


USUAL = frozenset({Scope.READ, Scope.ACT})


class Principal(Struct, frozen=True):
    """Who is connected. Without scopes it may do nothing."""

    name: str  # the program: its token's, the operator's word for it, or what it calls itself
    kind: str  # one of KINDS
    scopes: frozenset[Scope] = frozenset()

    @property
    def by(self) -> str:
        """Its name in journals and receipts, which no operator can have by chance: `mcp:claude-code`."""
        return f"{self.kind}:{self.name}"

    def may(self, scope: Scope) -> bool:
        """Return whether it has this scope."""
        return scope in self.scopes


class AccessToken(Struct, frozen=True):
    """One entry of access.json. The token itself is kept nowhere."""

    name: str
    sha256: str
    scopes: tuple[Scope, ...]
    created: float  # seconds since 1970
    expires: float
    by: str


def program_name(text: str) -> str:
    """Return the name of a program as a label may be: what it says of itself, cut and in plain letters."""
    words = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in text[:200])
    return words.strip("._-")[:_MOST_NAME].lower() or "unnamed"


def checked_name(text: str) -> str:
    """Return the name under which a token is kept. Raise BadId for one that is none."""
    return ids.check_name(text, "the name of a program")


def scopes_of(words: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes that are named. Raise ValueError for an unknown one."""
    names = [word.strip() for word in words]
    if unknown := [name for name in names if name not in tuple(Scope)]:
        raise ValueError(f"there is no scope {unknown[0][:40]!r}: {', '.join(Scope)}")
    return frozenset(Scope(name) for name in names)
