"""The places from which mail comes, as the settings have them, what the agent sends, and what a kill left of either."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.mail.following import Intake, PlaceFollower
from lumen_tui.engine.mail.outbox import MailOutbox
from lumen_tui.model.config import Config
from lumen_tui.model.patterns import lazy_re
from lumen_tui.storage import files
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.origin import operator_name
from lumen_tui.storage.store import Store
from lumen_tui.store import mail_sources

_FAREWELL = 3.0  # seconds for which an engine that ends waits for a thread
_MOST_NOTES = 200  # that wait to become events
_SPOOLED = lazy_re(r"(eml-[0-9a-z]{13})\.eml")
_AT_WORK = 60.0  # seconds for which the command that took a message may be at it


class MailPlaces:
    """All places that the settings name. For one thread; `poll` costs nothing where nothing changed."""

    def __init__(self, store: Store, clock: Clock, log: EventLog) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._notes: deque[str] = deque(maxlen=_MOST_NOTES)
        self._outbox = MailOutbox(store.layout, clock, self._notes.append)
        self._followers: dict[str, PlaceFollower] = {}
        self._settings: object = None

    def poll(self, config: Config, now: float, *, sends: bool) -> None:
        """Follow the places as the settings have them now; what was noted becomes events.

        Without `sends` nothing of the agent's goes out: it waits.
        """
        operator = config.notify.operator or operator_name(os.environ)
        settings = (config.mail, config.agent.name, operator)
        if settings != self._settings:
            self._settings = settings
            self._follow(Intake(self._store, self._clock, config, operator, self._notes.append))
        if sends:
            self._outbox.poll(config, now)
        while self._notes:
            self._log.add("mail", self._notes.popleft(), now)

    def beat(self, config: Config, now: float) -> None:
        """Deal with what a kill left; let folders be looked at whose changes the system may not tell of."""
        sweep_mail(self._store, config, now)
        if follower := self._followers.get(mail_sources.MAILDIR):
            follower.wake()

    def close(self) -> None:
        """End every follower. What it was at is done again by the next engine."""
        for follower in self._followers.values():
            follower.end()
        for follower in self._followers.values():
            follower.join(_FAREWELL)
        self._outbox.close(_FAREWELL)

    def _follow(self, intake: Intake) -> None:
        before, self._followers = self._followers, {}
        for follower in before.values():
            follower.end()
        config = intake.config.mail
        if config.imap:
            from lumen_tui.engine.mail.imap import ImapFollower  # only where mail comes from there, as the next

            self._followers[mail_sources.IMAP] = ImapFollower(intake, before.get(mail_sources.IMAP))
        if config.maildir:
            from lumen_tui.engine.mail.maildir import MaildirFollower

            self._followers[mail_sources.MAILDIR] = MaildirFollower(intake, before.get(mail_sources.MAILDIR))
        for follower in self._followers.values():
            follower.start()


def sweep_mail(store: Store, config: Config, now: float) -> None:
    """Deal with what was left, in a thread. Two at once do each message once, as `deal_with` takes turns."""
    if left := list(_left(store.layout, now)):
        threading.Thread(target=_deal_with, args=(store, left, config, now), name="mail", daemon=True).start()


def _left(layout: Layout, now: float) -> Iterator[str]:
    """Yield the ids of messages that nobody is at any more."""
    try:
        names = sorted(os.listdir(layout.mail_new))
    except OSError:
        return
    for match in filter(None, map(_SPOOLED.fullmatch, names)):
        with contextlib.suppress(OSError):
            if now - os.stat(layout.mail_new / match[0]).st_mtime > _AT_WORK:
                yield match[1]


def _deal_with(store: Store, names: Sequence[str], config: Config, now: float) -> None:
    from lumen_tui.engine.mail.receiving import deal_with  # the parser of mail: only where some was left

    operator = config.notify.operator or operator_name(os.environ)
    for name in names:
        with contextlib.suppress(files.StoreError, OSError):  # the next beat tries again
            deal_with(store, name, config, operator, now)
