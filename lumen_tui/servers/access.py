"""Who is connected, and how much they may ask for. Whatever cannot be settled is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from lumen_tui.model.access import READS, Principal, Scope, program_name
from lumen_tui.storage import origin
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.settings import access

TOKEN = "LUMEN_ACCESS_TOKEN"  # noqa: S105 - a name: of the token with which a program on stdio is known
_BURST = {Scope.ACT: 60.0, Scope.APPROVE: 30.0}  # requests at once
_A_SECOND = {Scope.ACT: 2.0, Scope.APPROVE: 1.0}  # requests a second in the long run


class AccessRefused(Exception):
    """This program may not connect like this; the text says what to do. It never holds a token."""


class TokenBook:
    """Who has which token, read again only when access.json changes, so that a token that is revoked ends at once."""

    def __init__(self, layout: Layout) -> None:
        self._entries = Stamped(lambda: [layout.access], lambda: access.listed(layout))

    def principal(self, token: str, kind: str, now: float) -> Principal:
        """Return who has a token. AccessRefused for one that is unknown, revoked or over, without saying which."""
        self._entries.refresh()
        entry = access.find(self._entries.value, token, now) if token else None
        if entry is None:
            raise AccessRefused("the token is not valid: `lumen-tui access add NAME` makes one")
        return Principal(entry.name, kind, frozenset(entry.scopes))


def on_stdio(
    layout: Layout, environ: Mapping[str, str], kind: str, *, name: str, scopes: frozenset[Scope], now: float
) -> Principal:
    """Return who started us as a server on its own pipes: whoever can do that may run our commands as well.

    With a token in $LUMEN_ACCESS_TOKEN it gets of `scopes` those of the token. To answer for the operator it needs one
    wherever an agent is seen to have started it, and below one of our own workers nothing lets it.
    """
    token = environ.get(TOKEN, "")
    known = TokenBook(layout).principal(token, kind, now) if token else None
    if Scope.APPROVE in scopes and (problem := _no_approvals(environ, known)):
        raise AccessRefused(problem)
    if known is not None:
        return Principal(known.name, kind, known.scopes & scopes)
    return Principal(program_name(name), kind, scopes)


def _no_approvals(environ: Mapping[str, str], known: Principal | None) -> str:
    """Return why this process may not answer for the operator; empty where it may."""
    evidence = origin.agent_evidence(environ)
    if not evidence:
        return ""
    if origin.below_worker(environ):
        return "a worker of this agent may not answer approvals"
    if known is None:
        return (
            f"an agent started this ({evidence}): to answer approvals it needs a token of yours in ${TOKEN} "
            "(`lumen-tui access add NAME --scope read --scope act --scope approve`)"
        )
    return "" if known.may(Scope.APPROVE) else f"the token of {known.name} has no scope approve"


def at_terminal(environ: Mapping[str, str] = os.environ) -> None:
    """Refuse everybody but the operator; for what hands out rights."""
    if reason := origin.no_operator(environ):
        raise AccessRefused(f"only the operator gives access, at a terminal or in the room: {reason}")


class RateLimit:
    """How often one principal may ask, by scope: a bucket of each, so that a flood of reads blocks no answer."""

    def __init__(self, monotonic: Callable[[], float], reads: float = READS) -> None:
        """`reads` is how many a second one principal may make in the long run."""
        self._monotonic = monotonic
        self._a_second = {**_A_SECOND, Scope.READ: reads}
        self._burst = {**_BURST, Scope.READ: 2 * reads}
        self._buckets: dict[tuple[str, Scope], tuple[float, float]] = {}

    def wait(self, who: Principal, scope: Scope) -> float:
        """Count a request; return 0, or the seconds after which to try again where it is one too many."""
        now = self._monotonic()
        room, since = self._buckets.get((who.by, scope), (self._burst[scope], now))
        room = min(self._burst[scope], room + (now - since) * self._a_second[scope])
        if room < 1:
            return (1 - room) / self._a_second[scope]
        self._buckets[who.by, scope] = (room - 1, now)
        return 0.0
