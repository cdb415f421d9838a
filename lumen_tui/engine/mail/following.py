"""A place from which mail comes is followed in a thread of its own, so that none holds up a beat.

What goes wrong with it is tried again, ever further apart, and written down beside it, where `lumen-tui mail` and the
list of what needs a person read it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.mail import MailLine
from lumen_tui.model.mail_config import MailConfig, MailSource
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.store import Store
from lumen_tui.store import mail_sources
from lumen_tui.store.settings.secrets import SecretMissing

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 900.0  # seconds before something is tried again


class Unreachable(Exception):
    """Mail cannot be taken or sent now. One safe line; `lasting`: only a person can change that."""

    def __init__(self, problem: str, *, lasting: bool = False) -> None:
        super().__init__(problem)
        self.lasting = lasting


class Intake(NamedTuple):
    """What takes messages in needs to know."""

    store: Store
    clock: Clock
    config: Config
    operator: str  # in whose name a reply is an answer
    note: Callable[[str], None]  # for what becomes an event

    def take(self, raw: bytes) -> MailLine | None:
        """Keep a message and deal with it; None where that was done before. Raise Unreachable, files.StoreError."""
        from lumen_tui.engine.mail import receiving

        now = self.clock.now()
        if why := receiving.full_today(self.store, self.config, now):
            raise Unreachable(why)
        line = receiving.deal_with(self.store, receiving.spool(self.store, raw), self.config, self.operator, now)
        if line is not None:
            self.note(one_line(f"from {line.sender or 'an unclear sender'}: {line.words}", 200))
        return line

    @property
    def rules(self) -> MailConfig:
        """The settings of mail."""
        return self.config.mail

    @property
    def most(self) -> int:
        """The bytes of the largest message that is taken."""
        return round(self.rules.most_mb * 1_000_000)

    def too_large(self, name: str, size: int) -> None:
        """Write down, once for each name, that a message is too large. Raise files.StoreError."""
        from lumen_tui.engine.mail import receiving

        line = receiving.too_large(self.store, size, self.rules.most_mb, self.clock.now(), name)
        self.note(line.words)


class PlaceFollower(threading.Thread):
    """Follows one place until `end`; after another follower of it has ended."""

    def __init__(self, name: str, place: str, intake: Intake, before: PlaceFollower | None) -> None:
        super().__init__(name=f"mail-{name}", daemon=True)
        self.intake = intake
        self._place_name = name
        self._file = mail_sources.source_files(intake.store.layout)[name]
        self._place = place
        self._before = before
        self._over = threading.Event()
        self._hearing, self._waking = socket.socketpair()
        self._hearing.setblocking(False)
        self._waking.setblocking(False)
        self._pause = FIRST_PAUSE
        self.state = MailSource(place)

    @abstractmethod
    def follow(self) -> None:
        """Take in what is there and what comes, until the end or for one look. Raise Unreachable, OSError."""

    def wake(self) -> None:
        """Let it look now."""
        with contextlib.suppress(OSError):  # it is woken already, or over
            self._waking.send(b".")

    def end(self) -> None:
        """Ask for the end."""
        self._over.set()
        self.wake()

    @property
    def over(self) -> bool:
        """Whether the end was asked for."""
        return self._over.is_set()

    @property
    def waking(self) -> int:
        """The descriptor that is readable once it was woken."""
        return self._hearing.fileno()

    def run(self) -> None:
        if self._before is not None:
            self._before.join()
            self._before = None
        before = mail_sources.read_source(self._file)
        if before is not None and before.place == self._place:
            self.state = before
        while not self.over:
            try:
                self.follow()
            except Exception as error:  # noqa: BLE001 - whatever a server answers, its follower outlives it and says so
                self._failed(error)
        self._hearing.close()
        self._waking.close()

    def looked(self) -> None:
        """Write down that the place could be looked at."""
        if self.state.problem:
            self.intake.note(f"{self._place_name}: mail comes in again")
        self._pause = FIRST_PAUSE
        at = times.iso(self.intake.clock.now())
        self.keep(replace(self.state, looked_at=at, problem="", since="", lasting=False))

    def keep(self, state: MailSource) -> None:
        """Write down how it stands, durably."""
        mail_sources.write_source(self._file, state)
        self.state = state

    def rest(self, seconds: float, *others: int) -> None:
        """Return after this time, or once it was woken or one of the descriptors is readable."""
        ready = select.poll()
        for fd in (self.waking, *others):
            ready.register(fd, select.POLLIN)
        if not self.over:
            ready.poll(seconds * 1000)
        with contextlib.suppress(BlockingIOError):
            self._hearing.recv(4096)

    def _failed(self, error: Exception) -> None:
        """Write down what is wrong, and wait: twice as long after each failure in a row."""
        if self.over:
            return
        expected = isinstance(error, (Unreachable, SecretMissing, files.StoreError, OSError)) and str(error)
        problem = one_line(str(error) if expected else f"{type(error).__name__}: {error}", 200)
        lasting = isinstance(error, SecretMissing) or (isinstance(error, Unreachable) and error.lasting)
        if problem != self.state.problem:
            self.intake.note(f"{self._place_name}: no mail comes in: {problem}")
        since = self.state.since or times.iso(self.intake.clock.now())
        with contextlib.suppress(files.StoreError, OSError):  # a full disk tells of itself
            self.keep(replace(self.state, problem=problem, since=since, lasting=lasting))
        self.rest(self._pause)
        self._pause = min(LONGEST_PAUSE, 2 * self._pause)
