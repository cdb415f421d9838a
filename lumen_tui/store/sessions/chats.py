"""chat.jsonl: the conversation of the operator and the main agent, read from its end and appended to."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lumen_tui.model.chat import ChatLine, Conversation, ConversationBook, EntryKind, conversation_of, pieces
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.times import iso
from lumen_tui.storage import backwards
from lumen_tui.storage.journal import Follower, Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.redaction import clean

_TAIL = 4 * 1024 * 1024  # bytes of the newest lines that are looked at


def read(layout: Layout) -> Conversation:
    """Return the newest conversation, as far as the end of the file holds it; damaged lines are skipped."""
    data = backwards.read_tail(layout.chat, _TAIL)
    return conversation_of(_decoded(line for _, line in split_lines(data, 0)))


def _decoded(lines: Iterable[bytes]) -> Iterable[ChatLine]:
    for line in lines:
        try:
            yield decode_safe(line, ChatLine)
        except UNDECODABLE:
            continue


class FollowedChat:
    """The conversation, brought up to date from where the last look ended."""

    def __init__(self, layout: Layout) -> None:
        self._follower = Follower(layout.chat)
        self._book = ConversationBook()
        self._generation = -1
        self.conversation = Conversation()

    def refresh(self) -> bool:
        """Take in what is new; return whether anything was."""
        if not self._follower.pending():
            return False
        if self._generation < 0:
            self._skip()
        for _, data in self._follower.pieces():
            self._take(data)
        self.conversation = self._book.conversation
        return True

    def _skip(self) -> None:
        """Begin near the end of a long file."""
        self._generation = self._follower.generation
        try:
            status = os.stat(self._follower.path, follow_symlinks=False)
        except OSError:
            return
        if status.st_size > _TAIL:
            start = status.st_size - len(backwards.read_tail(self._follower.path, _TAIL))
            self._follower.resume((status.st_dev, status.st_ino, start))

    def _take(self, data: bytes) -> None:
        if self._follower.generation != self._generation:
            self._generation, self._book = self._follower.generation, ConversationBook()
        for line in _decoded(line for _, line in split_lines(data, 0)):
            self._book.take(line)

    def close(self) -> None:
        """Close the file."""
        self._follower.close()


def append(layout: Layout, *lines: ChatLine) -> None:
    """Append lines, together and durably. Raise StoreError."""
    Journal(layout.chat).append_all(lines)


def in_pieces(kind: EntryKind, text: str, turn: int, now: float, *, answer: int = 0) -> list[ChatLine]:
    """Return a text of any length as lines; its secrets are masked before it is parted."""
    return [ChatLine(kind, at=iso(now), turn=turn, text=part, answer=answer) for part in pieces(clean(text))]
