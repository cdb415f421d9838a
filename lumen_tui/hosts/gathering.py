"""What a worker on a host wrote since the last look, as changes for the spool.

The worker is the ordinary one and knows nothing of this. Its journals only grow, and its records are replaced whole, so
that a look at sizes and stamps tells what is new.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.hosts.spool import PIECE, Spool
from lumen_tui.model import frames
from lumen_tui.model.frames import Frame
from lumen_tui.storage import files
from lumen_tui.tools.outputs import OUTPUTS

_TAIL = 64  # bytes before the end of what was sent that must still be there
_MOST_RECORD = 16 * 1024 * 1024


class _Sent:
    """What of one file is in the spool."""

    def __init__(self) -> None:
        self.size = 0
        self.tail = b""
        self.stamp: tuple[int, int, int] = (0, 0, 0)

    def take(self, frame: Frame) -> None:
        before = b"" if frame.whole else self.tail
        self.size, self.tail = frame.end, (before + frame.data)[-_TAIL:]


class Gatherer:
    """Follows the files of one attempt."""

    def __init__(self, folder: Path, transcript: Path, attempt: int, spool: Spool) -> None:
        """Go on from what `spool` holds."""
        self._folder, self._transcript = folder, transcript
        self._attempt = attempt
        self._spool = spool
        self._sent: dict[str, _Sent] = {}
        for frame in spool.frames():
            self._known(frame.name).take(frame)

    def gather(self) -> int:
        """Put what is new into the spool and return how many frames that were. StoreError, OSError.

        What ends the attempt is looked at first and kept last: all that came before it is in front of it.
        """
        records = {name: self._read_record(name) for name in reversed(frames.RECORDS)}
        before = self._spool.last
        for name in (*frames.JOURNALS, frames.TRANSCRIPT, *self._outputs()):
            for change in self._added(name):
                self._keep(change)
        for name in frames.RECORDS:
            if (data := records[name]) is not None:
                for change in self._whole(name, data):
                    self._keep(change)
        return self._spool.last - before

    def _keep(self, change: Frame) -> None:
        self._spool.add([change])
        self._known(change.name).take(change)

    def _known(self, name: str) -> _Sent:
        return self._sent.setdefault(name, _Sent())

    def _path(self, name: str) -> Path:
        return self._transcript if name == frames.TRANSCRIPT else self._folder / name

    def _outputs(self) -> list[str]:
        try:
            names = sorted(os.listdir(self._folder / OUTPUTS))
        except OSError:
            return []
        return [name for entry in names if frames.is_output(name := f"{OUTPUTS}/{entry}")]

    def _read_record(self, name: str) -> bytes | None:
        """Return a record that was changed since it was sent; None where there is nothing new."""
        stamp = _stamp(self._path(name))
        known = self._known(name)
        if stamp in (known.stamp, (0, 0, 0)):
            return None
        known.stamp = stamp
        return files.read(self._path(name), _MOST_RECORD)

    def _whole(self, name: str, data: bytes) -> Iterator[Frame]:
        """Yield a record in pieces: the first takes the place of what was there."""
        yield Frame(0, self._attempt, name, data[:PIECE], whole=True)
        for offset in range(PIECE, len(data), PIECE):
            yield Frame(0, self._attempt, name, data[offset : offset + PIECE], offset)

    def _added(self, name: str) -> Iterator[Frame]:
        """Yield what was added to a journal; all of it where another one is in its place."""
        known = self._known(name)
        try:
            fd = files.open_plain(self._path(name))
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            size = os.fstat(fd).st_size
            tail = os.pread(fd, len(known.tail), known.size - len(known.tail))
            offset, whole = (known.size, False) if size >= known.size and tail == known.tail else (0, True)
            while data := _whole_lines(os.pread(fd, PIECE, offset), name):
                yield Frame(0, self._attempt, name, data, 0 if whole else offset, whole=whole)
                offset, whole = offset + len(data), False
        finally:
            os.close(fd)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns


def _whole_lines(data: bytes, name: str) -> bytes:
    """Return the lines of a journal that are finished, and any bytes of another file or of a line that is too long."""
    if name == frames.LOG or frames.is_output(name):
        return data
    end = data.rfind(b"\n") + 1
    return data[:end] if end or len(data) < PIECE else data
