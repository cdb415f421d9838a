"""What a program writes to its standard error, kept in the task's folder: bounded, safe, without secrets."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import directories, files

LOGS = "logs"  # in the task's folder
_MOST = 256 * 1024  # bytes of one log, over all that is written to it in a task
_READ = 16 * 1024


class ErrorLog:
    """A pipe for a program's errors and the thread that empties it. `fd` goes to the program."""

    def __init__(self, folder: Path, name: str, redact: Callable[[str], str]) -> None:
        self.path = folder / LOGS / f"{name}.log"
        self._redact = redact
        self._source, self.fd = os.pipe()
        self._left = _MOST - _size(self.path)
        self._last = ""
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        partial = b""
        while part := os.read(self._source, _READ):
            *lines, partial = (partial + part).split(b"\n")
            self._keep(lines)
            if len(partial) > _READ:
                self._keep([partial])
                partial = b""
        self._keep([partial] if partial else [])
        os.close(self._source)

    def _keep(self, lines: list[bytes]) -> None:
        if not lines:
            return
        text = self._redact(safe(b"\n".join(lines).decode("utf-8", "replace")))
        self._last = next((line for line in reversed(text.split("\n")) if line.strip()), self._last)
        if self._left <= 0:
            return
        data = f"{text}\n".encode("utf-8", "replace")
        if len(data) > self._left:
            data = data[: self._left] + b"\n[the rest is not kept]\n"
        self._left -= len(data)
        try:
            directories.make_folder(self.path.parent)
            files.append(self.path, data, durable=False)
        except (files.StoreError, OSError):
            self._left = 0  # a disk that is full costs the log alone

    @property
    def last_line(self) -> str:
        """The last line that says something, on one line."""
        return one_line(self._last, 300)

    def started(self) -> None:
        """Close our copy of the writing end: the program has its own. May be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def close(self) -> None:
        """Wait until all is kept. Call it after the program and what it started have ended."""
        self.started()
        self._thread.join(5)


def _size(path: Path) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return 0
