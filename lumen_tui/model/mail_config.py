"""[mail]: how mail comes in and goes out, and how it stands with the places from which it comes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model import times
from lumen_tui.model.notify_config import Patience, SecretReference
from lumen_tui.model.problem import Problem

ADDRESS = r"[^\s@<>,;:\"()\[\]\\]+@[A-Za-z0-9.-]+"
_HOST = r"[A-Za-z0-9.-]+|\[::1\]"
_PATIENCE = 600.0  # seconds for which a place that mail comes from may be out of reach before a person hears of it
Address = Annotated[str, Meta(pattern=rf"^(|{ADDRESS})$")]
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
