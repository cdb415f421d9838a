"""The journal of answers from elsewhere: which tokens wait, which were used, which messages came in already."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lumen_tui.model import times
from lumen_tui.model.answers import DONE, OFFERED, TAKEN, AnswerLine
from lumen_tui.model.decoding import UNDECODABLE, decode_safe, lazy_decoder
from lumen_tui.model.digests import sha256
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines

_LONG = 2 * 1024 * 1024  # bytes from which the journal is shortened
_KEPT = 2 * times.DAY
_line = lazy_decoder(AnswerLine)


class AnswerBook:
    """Follows the journal; not for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self._journal = Journal(layout.answers)
        self._follower = Follower(layout.answers)
        self._generation = self._follower.generation
        self._forget()

    def _forget(self) -> None:
        self._offers: dict[str, AnswerLine] = {}
        self._states: dict[str, str] = {}
        self._messages: dict[str, str] = {}  # via and id -> the same, in the order in which they came

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> None:
        """Read what is new; a line that cannot be read offers nothing."""
        for offset, data in self._follower.pieces():
            self._forget_what_is_gone()
            for _, line in split_lines(data, offset):
                try:
                    self._take(decode_safe(line, AnswerLine))
                except UNDECODABLE:
                    continue
        self._forget_what_is_gone()

    def _forget_what_is_gone(self) -> None:
        """Let no token count whose journal was replaced or removed."""
        if self._generation != self._follower.generation:
            self._generation = self._follower.generation
            self._forget()

    def _take(self, line: AnswerLine) -> None:
        if line.kind == OFFERED:
            self._offers[line.digest] = line
        elif line.digest and self._states.get(line.digest) != DONE and line.digest in self._offers:
            self._states[line.digest] = line.kind
        if line.message and line.kind != TAKEN:
            name = _name(line.via, line.message)
            self._messages.pop(name, None)
            self._messages[name] = line.message

    def offered(self, token: str) -> AnswerLine | None:
        """Return what a token was offered for; None where nothing is known of it."""
        digest = sha256(token.encode("utf-8", "replace"))
        import secrets  # with OpenSSL 4 ms, which only those pay that are answered from elsewhere

        return next((line for known, line in self._offers.items() if secrets.compare_digest(known, digest)), None)

    def state(self, offer: AnswerLine) -> str:
        """Return what became of a token last: offered, taken, done or refused."""
        return self._states.get(offer.digest, OFFERED)

    def heard(self, via: str, message: str) -> bool:
        """Return whether a message that came in was dealt with already."""
        return _name(via, message) in self._messages

    def last_heard(self, via: str) -> str:
        """Return the id of the last message that came this way; empty for none."""
        names = [name for name in self._messages if name.startswith(f"{via} ")]
        return self._messages[names[-1]] if names else ""

    def write(self, *lines: AnswerLine) -> None:
        """Append durably. Raise files.StoreError."""
        self._journal.append_all(lines)
        self.refresh()


def _name(via: str, message: str) -> str:
    return f"{via} {message}"


def shorten(layout: Layout, now: float) -> None:
    """Drop what is two days old from a journal that has grown long: no token counts for so long."""
    try:
        if os.stat(layout.answers).st_size <= _LONG:
            return
    except OSError:
        return

    def change(lines: Iterator[bytes]) -> list[bytes]:
        return [line for line in lines if _is_young(line, now)]

    Journal(layout.answers).rewrite(change)


def _is_young(line: bytes, now: float) -> bool:
    try:
        return now - times.epoch(_line.decode(line).at) < _KEPT
    except UNDECODABLE:
        return False
