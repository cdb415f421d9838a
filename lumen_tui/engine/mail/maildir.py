"""A Maildir (cr.yp.to/proto/maildir.html): what is put into its new/ is taken in, and then moved to cur/.

The system tells of new files, so an engine that waits is not woken to look; where it cannot, each beat looks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from lumen_tui.engine.mail.following import Intake, PlaceFollower, Unreachable
from lumen_tui.model import ids
from lumen_tui.storage import directories
from lumen_tui.storage.watch import Notices
from lumen_tui.store.mail_sources import MAILDIR

_SEEN = ":2,S"  # flags in a name of cur/
_LONG = 24 * 3600.0  # seconds; a beat wakes it before
_PARTS = ("new", "cur", "tmp")


class NoMessage(Unreachable):
    """Something in new/ is no file, or cannot be read."""


class MaildirFollower(PlaceFollower):
    """Follows the new/ of one Maildir."""

    def __init__(self, intake: Intake, before: PlaceFollower | None) -> None:
        place = intake.rules.maildir
        super().__init__(MAILDIR, place, intake, before)
        self._root = Path(place).expanduser()

    def follow(self) -> None:
        check(self._root)
        with contextlib.ExitStack() as stack:
            watched: tuple[int, ...] = ()
            with contextlib.suppress(OSError):  # the system has no notices left: the beats do
                notices = Notices([self._root / "new"])
                stack.callback(notices.close)
                watched = (notices.fileno(),)
            while not self.over:
                if watched:
                    notices.names()
                check(self._root)
                self._take_all()
                self.looked()
                self.rest(_LONG, *watched)

    def _take_all(self) -> None:
        """Take in all that is there. Raise NoMessage after the rest where something among it is none."""
        odd: NoMessage | None = None
        for name in sorted(os.listdir(self._root / "new")):
            if self.over:
                return
            try:
                if not name.startswith("."):
                    self._take(name)
            except NoMessage as error:
                odd = odd or error
        if odd is not None:
            raise odd

    def _take(self, name: str) -> None:
        """Take one message in, then move it: a kill in between takes it again, and it is known then."""
        path, most = self._root / "new" / name, self.intake.most
        with contextlib.suppress(FileNotFoundError):  # somebody else took it
            raw = _read(path, most + 1)
            if len(raw) > most:
                self.intake.too_large(f"eml-{ids.short_hash(f'{self._root}/{name}')}", os.stat(path).st_size)
            else:
                self.intake.take(raw)
            _move(path, self._root / "cur", name)


def check(root: Path) -> None:
    """Raise Unreachable where a folder is no Maildir, or one into which nothing can be moved."""
    for part in _PARTS[:2]:
        if not (root / part).is_dir():
            raise Unreachable(f"{root} is no Maildir: it has no {part}/", lasting=True)
        if not os.access(root / part, os.R_OK | os.W_OK | os.X_OK):
            raise Unreachable(f"{root / part} cannot be read and changed", lasting=True)


def _read(path: Path, most: int) -> bytes:
    """Return so many bytes of a plain file at most. Raise NoMessage, OSError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EACCES, errno.ENXIO):
            raise NoMessage(f"{path} cannot be read: {error.strerror}", lasting=True) from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NoMessage(f"{path} is no file: move it away", lasting=True)
        with open(fd, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(fd)


def _move(path: Path, folder: Path, name: str) -> None:
    """Move a message to the others, under a name that none of them has, durably."""
    plain = name.partition(":")[0]
    target = folder / f"{plain}{_SEEN}"
    number = 0
    while target.exists():
        number += 1
        target = folder / f"{plain}.{number}{_SEEN}"
    directories.move(path, target)
