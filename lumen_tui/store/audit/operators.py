"""Claims, hand-over notes and what others changed a moment ago, from the actions journal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.operators import MOST_NOTE, RECENT, Claim, Deed, HandoverNote
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.layout import Layout
from lumen_tui.store.audit.action_line import ActionLine
from lumen_tui.store.audit.standing import StandingActs

CLAIM, RELEASE, NOTE = "operator.claim", "operator.release", "operator.note"
_AT = b'"at":"'
_NAME, _SUMMARY = 60, 160  # characters


class _After(msgspec.Struct, frozen=True):
    """What a claim or a note says beside its target."""

    until: str = ""
    text: str = ""


class _Change(msgspec.Struct):
    after: _After = _After()


_change = lazy_decoder(_Change)


class OperatorActs(StandingActs):
    """Follows the journal for one operator; without `news` what others did is not kept."""

    MARKS = (b'"operator.',)

    def __init__(self, layout: Layout, operator: str, *, news: bool = True) -> None:
        super().__init__(layout)
        self._operator = operator
        self._news = news
        self._claims: dict[str, tuple[str, Claim | None, str]] = {}  # action -> target, claim or release, client
        self._notes: dict[str, HandoverNote] = {}
        self._deeds: dict[str, Deed] = {}
        self._news_since = b""  # what is older is no news

    def look(self, now: float) -> None:
        """Read what is new at `now`."""
        self._news_since = times.iso(now - RECENT)[:19].encode()
        self.refresh()
        self._deeds = {name: deed for name, deed in self._deeds.items() if now - deed.at < RECENT}

    def counts(self, line: bytes) -> bool:
        return super().counts(line) or (self._news and self._is_recent(line))

    def _is_recent(self, line: bytes) -> bool:
        begin = line.find(_AT) + len(_AT)
        return begin >= len(_AT) and line[begin : begin + 19] >= self._news_since

    def keep(self, action: ActionLine) -> None:
        by = one_line(action.by, _NAME)
        if action.verb in (CLAIM, RELEASE):
            claim = Claim(action.target, by, times.epoch(action.at), times.epoch(_after(action).until))
            self._claims[action.id] = (action.target, claim if action.verb == CLAIM else None, action.client)
        elif action.verb == NOTE and (text := safe(_after(action).text)[:MOST_NOTE]):
            self._notes[action.id] = HandoverNote(action.id, by, times.epoch(action.at), text)
        if self._news and action.by != self._operator:
            summary = one_line(action.summary or action.verb, _SUMMARY)
            self._deeds[action.id] = Deed(action.id, by, times.epoch(action.at), action.target, summary)

    def drop(self, action: ActionLine) -> None:
        self._deeds.pop(action.id, None)

    def claims(self) -> Iterator[tuple[Claim, str]]:
        """Yield the last claim of each thing that was not released, with the client that made it."""
        last = {target: (claim, client) for name, (target, claim, client) in self._claims.items() if self.stands(name)}
        for claim, client in last.values():
            if claim is not None:
                yield claim, client

    def note(self) -> HandoverNote | None:
        """Return the last hand-over note."""
        return next((note for note in reversed(self._notes.values()) if self.stands(note.id)), None)

    def deeds(self) -> tuple[Deed, ...]:
        """Return what others did in the last minutes, oldest first."""
        return tuple(self._deeds.values())


def _after(action: ActionLine) -> _After:
    for change in action.changes[:1]:
        with contextlib.suppress(*UNDECODABLE):
            return _change.decode(change).after
    return _After()
