"""A server that is a program of ours to run: in the sandbox, one JSON message a line, its errors in a log."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import selectors
import threading
from collections.abc import Mapping

import msgspec

from lumen_tui.tools.mcp.messages import MAX_MESSAGE, MAX_TOTAL, Message, ServerFailed, decoded
from lumen_tui.tools.sandbox.admission import Admission
from lumen_tui.tools.sandbox.task_network import TaskNetwork
from lumen_tui.tools.shell.error_log import ErrorLog
from lumen_tui.tools.shell.process import RunningCommand, Streams

_READ = 64 * 1024
_POLL = 0.1  # seconds between two looks at its limits
_WAITING = 1000  # messages that wait to be taken; a server that sends more waits
_MOST_NOISE = 1000  # lines that are no messages
_FAREWELL = 0.5  # seconds in which it may end by itself


class StdioTransport:
    """The program, and the thread that reads what it writes and ends it when it has to."""

    def __init__(
        self,
        admission: Admission,
        argv: list[str],
        cwd: str,
        env: dict[str, str],
        log: ErrorLog,
        network: TaskNetwork | None,
    ) -> None:
        self.version = ""
        self.noise = 0
        self._log = log
        source, self._input = os.pipe()
        try:
            self._running = RunningCommand(admission, argv, cwd, env, network, Streams(source, log.fd))
        except BaseException:
            os.close(self._input)
            raise
        finally:
            os.close(source)
            log.started()
        os.set_blocking(self._input, False)
        self._messages: queue.Queue[Message] = queue.Queue(_WAITING)
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._why = ""
        self._thread = threading.Thread(target=self._read_output, daemon=True)
        self._thread.start()

    @property
    def quarantined(self) -> list[str]:
        """What it made where programs would run it later. Complete after the end."""
        return self._running.quarantined

    def send(self, message: Message, seconds: float, headers: Mapping[str, str] | None = None) -> None:
        data = memoryview(msgspec.json.encode(message) + b"\n")
        waited = 0.0
        while data:
            if self._ended.is_set() or waited > seconds:
                raise ServerFailed(self._reason() if self._ended.is_set() else "it does not read what it is sent")
            if not select.select([], [self._input], [], _POLL)[1]:
                waited += _POLL
                continue
            try:
                data = data[os.write(self._input, data) :]
            except BlockingIOError:
                continue
            except OSError as error:
                self._ended.wait(_FAREWELL)
                raise ServerFailed(self._reason()) from error

    def receive(self, seconds: float) -> Message | None:
        try:
            return self._messages.get(timeout=seconds)
        except queue.Empty:
            if self._ended.is_set() and self._messages.empty():
                raise ServerFailed(self._reason()) from None
            return None

    def _reason(self) -> str:
        said = f" ({self._log.last_line})" if self._log.last_line else ""
        return f"{self._why or 'it ended'}{said}"

    def close(self, *, failed: bool = False) -> None:
        """End its input, wait a moment, then end it."""
        with contextlib.suppress(OSError):
            os.close(self._input)
        self._input = -1
        if not failed:
            self._ended.wait(_FAREWELL)
        self._stop.set()
        self._thread.join(10)
        self._log.close()

    def _read_output(self) -> None:
        buffer, total = bytearray(), 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._running.output, selectors.EVENT_READ)
            while not self._must_end():
                ended = self._running.ended  # asked first: what it wrote before is in the pipe
                if not selector.select(0 if ended else _POLL):
                    if ended:
                        break
                    continue
                part = os.read(self._running.output, _READ)
                if not part:
                    self._running.wait(_FAREWELL)
                    break
                buffer += part
                total += len(part)
                self._deliver_lines(buffer)
                self._why = self._why or _flood(len(buffer), total, self.noise)
        self._finish()

    def _deliver_lines(self, buffer: bytearray) -> None:
        """Hand on the whole lines in a buffer, and count those that are no messages."""
        if b"\n" not in buffer:
            return
        *lines, rest = bytes(buffer).split(b"\n")
        buffer[:] = rest
        for line in lines:
            try:
                message = decoded(line)
            except ServerFailed as error:
                self._why = str(error)
                return
            if message is None:
                self.noise += bool(line.strip())
            else:
                self._deliver(message)

    def _deliver(self, message: Message) -> None:
        while not self._must_end():
            try:
                self._messages.put(message, timeout=_POLL)
                return
            except queue.Full:
                continue

    def _must_end(self) -> bool:
        if not self._why and not self._stop.is_set():
            self._why = self._running.exceeded()
        return bool(self._why) or self._stop.is_set()

    def _finish(self) -> None:
        self._running.end()
        if not self._why and not self._stop.is_set():
            self._why = self._running.limit_of_exit() or self._how_it_ended()
        self._ended.set()

    def _how_it_ended(self) -> str:
        if not self._running.began_sandboxed():
            return f"its sandbox ({self._running.admission.tier}) could not be set up"
        code = self._running.exit_code
        return f"it ended, by signal {-code}" if code < 0 else f"it ended, exit code {code}"


def _flood(waiting: int, total: int, noise: int) -> str:
    if waiting > MAX_MESSAGE:
        return f"it sent a message of more than {MAX_MESSAGE:,} bytes"
    if total > MAX_TOTAL:
        return f"it sent more than {MAX_TOTAL:,} bytes"
    return f"it wrote {noise:,} lines that are no messages" if noise > _MOST_NOISE else ""
