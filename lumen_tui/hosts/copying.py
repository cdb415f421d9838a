"""Frames of a host become the files of the task here: each once, in order, whatever is killed between.

A journal here is the beginning of the one there, byte for byte. So the place of a frame says whether it has been
written, and one that comes a second time changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from lumen_tui.hosts.tree_changes import BadTree, TreeReturn
from lumen_tui.model import frames
from lumen_tui.model.frames import Frame, Home
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files
from lumen_tui.store.tasks import homes
from lumen_tui.tools.outputs import OUTPUTS

_MOST_BYTES = 1024**3  # of one file
_LATE = "late.{attempt}.jsonl"


class BadFrame(Exception):
    """A host sent what no task writes; the text says what. Nothing of it was taken."""


class Copier:
    """Takes in the frames of one attempt at one task from one host."""

    def __init__(self, folder: Path, transcript: Path, attempt: int, host: str) -> None:
        self._folder, self._transcript = folder, transcript
        self._tree = TreeReturn(folder, attempt, host)
        self._attempt, self._host = attempt, host
        self.seq = homes.last_seq(folder, attempt)

    def take(self, batch: Iterable[Frame]) -> int:
        """Take in frames, and return how many were new. BadFrame at the first that is none; StoreError.

        One that was taken before is passed over; frames of another attempt are kept as evidence and change nothing.
        """
        new = 0
        for frame in batch:
            if frame.attempt != self._attempt:
                self._keep_late(frame)
            elif frame.seq > self.seq:
                self._check(frame)
                self._write(frame)
                self.seq, new = frame.seq, new + 1
        if new:
            homes.write(self._folder, Home(self._attempt, self.seq, self._host))
        return new

    def _check(self, frame: Frame) -> None:
        if not frames.may_be_sent(frame.name):
            raise BadFrame(f"host {self._host} sent a file that no worker writes: {one_line(frame.name, 80)!r}")
        if frame.end > _MOST_BYTES:
            raise BadFrame(f"host {self._host} sent {frame.name} beyond {_MOST_BYTES // 1024**2} MiB")
        if frame.seq != self.seq + 1:
            raise BadFrame(f"host {self._host} sent frame {frame.seq} behind frame {self.seq}")

    def _write(self, frame: Frame) -> None:
        if frame.name in frames.ENDS:
            self._put_in()  # nothing ends before all that it changed is here, whatever was killed
        path = self._transcript if frame.name == frames.TRANSCRIPT else self._folder / frame.name
        if frames.is_output(frame.name):
            directories.make_folder(self._folder / OUTPUTS)
        if frame.whole:
            files.replace(path, frame.data)
            return
        if trouble := append_at(path, frame.offset, frame.data):
            raise BadFrame(f"host {self._host} sent {frame.name} from byte {frame.offset}: {trouble}")
        if frames.is_tree(frame.name):
            self._put_in()

    def _put_in(self) -> None:
        """Put what the host told of the task's folder into it."""
        try:
            self._tree.take()
        except BadTree as error:
            raise BadFrame(str(error)) from error

    def _keep_late(self, frame: Frame) -> None:
        """Keep what a host wrote under an attempt that is over here: evidence, and no part of the task."""
        data = frame.data if frames.may_be_sent(frame.name) else b""
        name = one_line(frame.name, 80)
        record = msgspec.structs.replace(frame, name=name, data=data)
        path = self._folder / _LATE.format(attempt=max(0, frame.attempt))
        files.append(path, msgspec.json.encode(record) + b"\n")


def append_at(path: Path, offset: int, data: bytes) -> str:
    """Add the bytes to a journal as they stand in another one from `offset`, as far as they are not here. StoreError.

    Return why they are no part of the same journal; the empty string where they are in it now.
    """
    with files.locked_log(path) as fd:
        there = os.fstat(fd).st_size - offset
        if there < 0:
            return f"{-there} before are missing"
        if os.pread(fd, min(there, len(data)), offset) != data[:there]:
            return "there are other bytes already"
        files.write_all(fd, data[there:])
    return ""
