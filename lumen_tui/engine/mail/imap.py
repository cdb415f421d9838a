"""A mailbox over IMAP is followed: from the last message on that was taken in, each once, whatever is killed.

The position is UIDVALIDITY and UID. It is written down after a message is durable here; so after a kill one message
comes twice at most, and is known then by its content. A mailbox that was not seen before begins with what comes now.
"""

from __future__ import annotations

import os
from contextlib import closing
from datetime import UTC, datetime

from msgspec.structs import replace

from lumen_tui.engine.mail.following import FIRST_PAUSE, Intake, PlaceFollower
from lumen_tui.engine.mail.mailbox import Mailbox, TooMuch
from lumen_tui.engine.mail.servers import server_at
from lumen_tui.model import ids, times
from lumen_tui.model.config import Config
from lumen_tui.store.mail_sources import IMAP
from lumen_tui.store.settings.secrets import resolve

_AT_ONCE = 50  # messages whose sizes are asked for together
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def place_of(config: Config) -> str:
    """Return what the position belongs to: server, user and mailbox."""
    mail = config.mail
    return f"{mail.imap}/{mail.imap_folder} of {mail.imap_user or mail.user}"


def opened(config: Config) -> Mailbox:
    """Return the mailbox of the settings. Raise Unreachable, SecretMissing."""
    mail = config.mail
    user, reference, setting = mail.imap_user, mail.imap_password, "mail.imap_password"
    if not user:
        user, reference, setting = mail.user, mail.password, "mail.password"
    return Mailbox(mail, server_at(mail.imap, mail), user, resolve(setting, reference, os.environ))


class ImapFollower(PlaceFollower):
    """Follows one mailbox: by IDLE where the server has it, else by a look every few minutes."""

    def __init__(self, intake: Intake, before: PlaceFollower | None) -> None:
        super().__init__(IMAP, place_of(intake.config), intake, before)
        self._every = intake.rules.every_minutes * 60
        self._mailbox: Mailbox | None = None

    def end(self) -> None:
        super().end()
        if self._mailbox is not None:
            self._mailbox.cut()

    def follow(self) -> None:
        with closing(opened(self.intake.config)) as mailbox:
            self._mailbox = mailbox
            self._take_all(mailbox, self._begin(mailbox))
            self.looked()
            in_vain = 0
            while not self.over and mailbox.tells:
                news = mailbox.wait(self._every, self.waking)
                taken = self._take_all(mailbox, mailbox.uids(f"UID {self.state.uid + 1}:*"))
                self.looked()
                in_vain = in_vain + 1 if news and not taken else 0
                self.rest(min(self._every, FIRST_PAUSE * in_vain))  # a server that cries wolf
        self._mailbox = None
        self.rest(self._every)

    def _begin(self, mailbox: Mailbox) -> list[int]:
        """Return the messages to look at first, and write down where that is, so that nothing is left out."""
        known = self.state
        if known.validity == mailbox.validity:
            return mailbox.uids(f"UID {known.uid + 1}:*")
        if not (known.validity and known.looked_at):
            self.keep(replace(known, validity=mailbox.validity, uid=mailbox.next_uid - 1))
            return []
        self.intake.note(
            "imap: the mailbox was numbered anew: it is looked through from the day before it was last seen"
        )
        since = _day_before(known.looked_at)
        uids = mailbox.uids(f"SINCE {since}")
        first = uids[0] if uids else mailbox.next_uid
        self.keep(replace(known, validity=mailbox.validity, uid=first - 1))
        return uids

    def _take_all(self, mailbox: Mailbox, uids: list[int]) -> int:
        """Take the messages in that were not taken yet, and return how many."""
        new = [uid for uid in uids if uid > self.state.uid]  # `n:*` names the last one in any case
        for begin in range(0, len(new), _AT_ONCE):
            several = new[begin : begin + _AT_ONCE]
            sizes = mailbox.sizes(several)
            for uid in several:
                if self.over:
                    return len(new)
                if uid in sizes:
                    self._take(mailbox, uid, sizes[uid])
                self.keep(replace(self.state, uid=uid))
        return len(new)

    def _take(self, mailbox: Mailbox, uid: int, size: int) -> None:
        most = self.intake.most
        name = f"eml-{ids.short_hash(f'{self.state.place} {self.state.validity} {uid}')}"
        if size > most:
            self.intake.too_large(name, size)
            return
        try:
            raw = mailbox.message(uid, most)
        except TooMuch:
            self.intake.too_large(name, most + 1)  # it says otherwise; it is not asked for this one again
            self.keep(replace(self.state, uid=uid))
            raise
        if raw is not None and len(raw) > most:
            self.intake.too_large(name, len(raw))
        elif raw is not None:
            self.intake.take(raw)


def _day_before(at: str) -> str:
    """Return the day before a time, as IMAP writes it in any locale: `22-Nov-2026`."""
    day = datetime.fromtimestamp(max(0.0, times.epoch(at) - times.DAY), UTC)
    return f"{day.day}-{_MONTHS[day.month - 1]}-{day.year}"
