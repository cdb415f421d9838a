"""Mail: the settings, what became of each message, and how a reply is read."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from lumen_tui.model.answers import TOKEN_BYTES
from lumen_tui.model.notify_config import Patience, SecretReference

RECEIVED, ANSWERED, REFUSED, AUTOMATIC, HELD = "received", "answered", "refused", "automatic", "held"
_ADDRESS = r"[^\s@<>,;:\"()\[\]\\]+@[A-Za-z0-9.-]+"
_TOKEN = re.compile(rf"lumen-[A-Za-z0-9_-]{{{TOKEN_BYTES * 4 // 3}}}(?![A-Za-z0-9_-])")
_FROM = re.compile(rf"(?:[^<>@]*<\s*)?({_ADDRESS})\s*>?\s*")
_LOCAL = r"127\.0\.0\.1|localhost|\[::1\]"
Address = Annotated[str, Meta(pattern=rf"^(|{_ADDRESS})$")]


class MailConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[mail]: how mail comes in and goes out"""

    address: Address = ""  # the agent's own
    operators: tuple[Address, ...] = ()  # who is told, and whose replies can answer
    tell: bool = False  # what needs you by mail
    smtp: Annotated[
        str, Meta(pattern=rf"^(|smtps://[A-Za-z0-9.-]+(:\d+)?|smtp://([A-Za-z0-9.-]+|{_LOCAL})(:\d+)?)$")
    ] = ""
    user: str = ""
    password: SecretReference = ""
    seconds: Patience = 20.0
    most_mb: Annotated[float, Meta(gt=0, le=100)] = 10.0  # of one message that comes in
    per_hour: Annotated[int, Meta(ge=1, le=10_000)] = 30  # messages that become signals; more are kept and listed


class MailLine(Struct, frozen=True, omit_defaults=True):
    """mail.jsonl: what became of one message that came in. Its texts are others' words."""

    id: str
    at: str
    outcome: str
    sender: str = ""
    subject: str = ""
    size: int = 0  # bytes
    attachments: tuple[str, ...] = ()  # names of files beside it
    signal: str = ""
    why: str = ""
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


def sender_of(header: str) -> str:
    """Return the one address of a From header in small letters; empty for several, or for anything ambiguous."""
    match = _FROM.fullmatch(header.strip())
    return match[1].lower() if match else ""
