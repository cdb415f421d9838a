"""What a worker on a host wrote since the last look, as changes for the spool.

The worker is the ordinary one and knows nothing of this. Its journals only grow, and its records are replaced whole, so
that a look at sizes and stamps tells what is new.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lumen_tui.hosts.spool import PIECE, Spool
from lumen_tui.hosts.tree_changes import TreeWatch
from lumen_tui.model import frames
from lumen_tui.model.frames import Frame
from lumen_tui.storage import files
from lumen_tui.tools.outputs import OUTPUTS

_AT_ONCE = 16  # frames, of at most PIECE bytes each, that are kept with one sync
_TAIL = 64  # bytes before the end of what was sent that must still be there
_MOST_RECORD = 16 * 1024 * 1024


_Stamp = tuple[int, int, int]


class _Sent:
    """What of one file is in the spool."""

    def __init__(self) -> None:
        self.size = 0
        self.tail = b""
        self.stamp: _Stamp = (0, 0, 0)

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
        self._tree = TreeWatch(folder, attempt)
        self._sent: dict[str, _Sent] = {}
        for frame in spool.frames():
            self._known(frame.name).take(frame)

    def gather(self) -> int:
        """Put what is new into the spool and return how many frames that were. StoreError, OSError.

        What ends the attempt is looked at first and kept last: all that came before it is in front of it.
        """
        records = {name: self._read_record(name) for name in reversed(frames.RECORDS)}
        before = self._spool.last
        batch: list[Frame] = []
        for change in self._changes(records):
            batch.append(change)
            if len(batch) >= _AT_ONCE:
                self._keep(batch)
                batch = []
        self._keep(batch)
        for name, (stamp, _) in records.items():
            self._known(name).stamp = stamp
        return self._spool.last - before

    def _changes(self, records: Mapping[str, tuple[_Stamp, bytes | None]]) -> Iterator[Frame]:
        for name in (*frames.JOURNALS, frames.TRANSCRIPT, *self._outputs()):
            yield from self._added(name)
        for name in frames.RECORDS:
            if (data := records[name][1]) is not None:
                yield from self._whole(name, data)

    def _keep(self, batch: Sequence[Frame]) -> None:
        """Put changes into the spool, with one sync for all of them."""
        self._spool.add(batch)
        for change in batch:
            self._known(change.name).take(change)

    def _known(self, name: str) -> _Sent:
        return self._sent.setdefault(name, _Sent())

    def _path(self, name: str) -> Path:
        return self._transcript if name == frames.TRANSCRIPT else self._folder / name

    def _outputs(self) -> list[str]:
        """Return the names of results in files of their own, behind what was changed in the folder of the task.

        That is looked through here: once what ends the attempt was looked at, and before anything of it is kept.
        """
        self._tree.follow()
        try:
            names = sorted(os.listdir(self._folder / OUTPUTS))
        except OSError:
            names = []
        outputs = [name for entry in names if frames.is_output(name := f"{OUTPUTS}/{entry}")]
        return [frames.tree_journal(self._attempt), *outputs]

    def _read_record(self, name: str) -> tuple[_Stamp, bytes | None]:
        """Return the stamp of a record, and what it holds if it was changed since it was sent; else None."""
        stamp = _stamp(self._path(name))
        if stamp in (self._known(name).stamp, (0, 0, 0)):
            return stamp, None
        return stamp, files.read(self._path(name), _MOST_RECORD)

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


def _stamp(path: Path) -> _Stamp:
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
