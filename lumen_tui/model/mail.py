"""Mail: the settings, what became of each message, and how a reply is read."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from lumen_tui.model import times
from lumen_tui.model.answers import TOKEN_BYTES
from lumen_tui.model.notify_config import Patience, SecretReference
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.problem import Problem

RECEIVED, ANSWERED, REFUSED, AUTOMATIC, HELD = "received", "answered", "refused", "automatic", "held"
QUEUED, SENDING, SENT, FAILED, UNSENT = "queued", "sending", "sent", "failed", "not sent"  # of what the agent sends
LEAVING = (QUEUED, SENDING, SENT, FAILED, UNSENT)
_ADDRESS = r"[^\s@<>,;:\"()\[\]\\]+@[A-Za-z0-9.-]+"
_MESSAGE_ID = lazy_re(r"<[!-;=?-~]{1,250}>")
_MOST_REFERENCES = 20  # of a thread: its first message and the newest
_TOKEN = lazy_re(rf"lumen-[A-Za-z0-9_-]{{{TOKEN_BYTES * 4 // 3}}}(?![A-Za-z0-9_-])")
_FROM = lazy_re(rf"(?:[^<>@]*<\s*)?({_ADDRESS})\s*>?\s*")
_HOST = r"[A-Za-z0-9.-]+|\[::1\]"
_PATIENCE = 600.0  # seconds for which a place that mail comes from may be out of reach before a person hears of it
Address = Annotated[str, Meta(pattern=rf"^(|{_ADDRESS})$")]
_OneLine = Annotated[str, Meta(pattern=r"^[ -~]*$")]


class MailConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[mail]: how mail comes in and goes out"""

    address: Address = ""  # the agent's own
    operators: tuple[Address, ...] = ()  # who is told, and whose replies can answer
    tell: bool = False  # what needs you by mail
    smtp: Annotated[str, Meta(pattern=rf"^(|smtps?://({_HOST})(:\d+)?)$")] = ""
    user: _OneLine = ""
    password: SecretReference = ""
    ca: str = ""  # a PEM file of authorities that are trusted besides the machine's
    seconds: Patience = 20.0
    maildir: str = ""  # whose new/ is taken in
    imap: Annotated[str, Meta(pattern=rf"^(|imaps?://({_HOST})(:\d+)?)$")] = ""
    imap_user: _OneLine = ""  # empty: user and password
    imap_password: SecretReference = ""
    imap_folder: Annotated[str, Meta(pattern=r'^[^"\\\x00-\x1f\x7f-\uffff]+$')] = "INBOX"
    every_minutes: Annotated[float, Meta(ge=0.5, le=1440)] = 5.0  # between two looks at IMAP
    most_mb: Annotated[float, Meta(gt=0, le=100)] = 10.0  # of one message that comes in
    day_mb: Annotated[float, Meta(gt=0, le=100_000)] = 200.0  # of all that come in within a day (UTC)
    per_hour: Annotated[int, Meta(ge=1, le=10_000)] = 30  # messages that become signals; more are kept and listed
    out_per_day: Annotated[int, Meta(ge=0, le=10_000)] = 20  # messages that the agent sends

    @property
    def sends(self) -> bool:
        """Whether the agent can send mail."""
        return bool(self.smtp and self.address and self.out_per_day)


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


class MailSource(Struct, frozen=True, omit_defaults=True):
    """mail/imap.json, mail/maildir.json: how far mail was taken in from a place, and why it is not taken now."""

    place: str  # what the rest is about; of another one it says nothing
    looked_at: str = ""  # when it could last be looked at
    problem: str = ""
    since: str = ""  # of the problem
    lasting: bool = False  # the problem needs a person: trying again does not help by itself
    validity: int = 0  # UIDVALIDITY and UID (RFC 9051, 2.3.1.1) of the last message that was taken
    uid: int = 0
    schema: int = 1

    def told(self, name: str, now: float) -> Problem | None:
        """Return what a person should know of it at `now`, in seconds since 1970."""
        if not self.problem or not (self.lasting or now - times.epoch(self.since) >= _PATIENCE):
            return None
        return Problem(
            "lumen.toml", f"mail.{name}: {self.problem}", "no mail comes in that way; `lumen-tui mail` tells more"
        )


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
    return len(text) <= 254 and re.fullmatch(_ADDRESS, text) is not None and text.isascii()


def sender_of(header: str) -> str:
    """Return the one address of a From header in small letters; empty for several, or for anything ambiguous."""
    match = _FROM.fullmatch(header.strip())
    return match[1].lower() if match else ""
