"""Mail: what became of each message, and how a reply is read."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec import Struct

from lumen_tui.model.answers import TOKEN_BYTES
from lumen_tui.model.mail_config import ADDRESS
from lumen_tui.model.patterns import lazy_re

RECEIVED, ANSWERED, REFUSED, AUTOMATIC, HELD = "received", "answered", "refused", "automatic", "held"
QUEUED, SENDING, SENT, FAILED, UNSENT = "queued", "sending", "sent", "failed", "not sent"  # of what the agent sends
LEAVING = (QUEUED, SENDING, SENT, FAILED, UNSENT)
_MESSAGE_ID = lazy_re(r"<[!-;=?-~]{1,250}>")
_MOST_REFERENCES = 20  # of a thread: its first message and the newest
_TOKEN = lazy_re(rf"lumen-[A-Za-z0-9_-]{{{TOKEN_BYTES * 4 // 3}}}(?![A-Za-z0-9_-])")
_FROM = lazy_re(rf"(?:[^<>@]*<\s*)?({ADDRESS})\s*>?\s*")


class MailLine(Struct, frozen=True, omit_defaults=True):
    """mail.jsonl: what became of one message; of one that the agent sends each step. Its texts are others' words."""

    id: str
    at: str
    outcome: str
    sender: str = ""
    subject: str = ""
    size: int = 0  # bytes
    attachments: tuple[str, ...] = ()  # names of files beside it
    signal: str = ""
    why: str = ""
    to: str = ""  # of one that the agent sends
    message_id: str = ""
    references: str = ""  # the thread up to it
    schema: int = 1

    @property
    def words(self) -> str:
        """What became of it, and why."""
        return f"{self.outcome}: {self.why}" if self.why else self.outcome


class OutgoingMail(Struct, frozen=True, omit_defaults=True):
    """mail/out/<id>.json: a message that the agent may send and that was not sent yet."""

    id: str
    to: str
    subject: str
    text: str
    at: str
    message_id: str
    in_reply_to: str = ""
    references: str = ""
    schema: int = 1


class Attachment(NamedTuple):
    """A file that came with a message; its name can be one of a file."""

    name: str
    data: bytes


class Letter(NamedTuple):
    """A message as it was read. `sender` is empty where not exactly one address stands in From."""

    sender: str
    subject: str
    message_id: str
    text: str
    attachments: tuple[Attachment, ...]
    automatic: bool  # sent by a program: what answers it would make a loop
    references: str = ""

    @property
    def token(self) -> str:
        """The first token in subject and text, or the empty string."""
        match = _TOKEN.search(f"{self.subject}\n{self.text}")
        return match.group() if match else ""

    @property
    def words(self) -> str:
        """The first line that is not quoted: what a reply says."""
        lines = (line.strip() for line in self.text.splitlines())
        return next((line for line in lines if line and not line.startswith(">") and not _TOKEN.search(line)), "")


def message_ids(header: str) -> list[str]:
    """Return the ids of messages that stand in a header, in order; anything else in it is left out."""
    return _MESSAGE_ID.findall(header[:8000])


def thread_of(references: str, message_id: str) -> str:
    """Return References for what answers a message (RFC 5322, 3.6.4), bounded."""
    known = [each for each in message_ids(references) if each != message_id]
    newest = [*known[:1], *known[1:][-(_MOST_REFERENCES - 2) :], *message_ids(message_id)[:1]]
    return " ".join(newest)


def is_address(text: str) -> bool:
    """Return whether a text is one plain address."""
    return len(text) <= 254 and re.fullmatch(ADDRESS, text) is not None and text.isascii()


def sender_of(header: str) -> str:
    """Return the one address of a From header in small letters; empty for several, or for anything ambiguous."""
    match = _FROM.fullmatch(header.strip())
    return match[1].lower() if match else ""
