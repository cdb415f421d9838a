"""A mailbox over IMAP (RFC 9051): read and never changed, each answer bounded in time and in size.

The protocol is that of `imaplib`, whose transport is replaced as its documentation allows: so no server makes this
process wait, or hold, more than was asked for.
"""

from __future__ import annotations

import contextlib
import imaplib
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from lumen_tui.engine.mail.following import Unreachable
from lumen_tui.engine.mail.servers import MailServer, fault_of
from lumen_tui.model.mail_config import MailConfig
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MOST_ANSWER = 4 * 1024 * 1024  # bytes of an answer that holds no message
_PIECE = 64 * 1024
_SLOWEST = 50_000.0  # bytes a second of a message; a slower server counts as one that stalls
_UID = lazy_re(rb"\bUID (\d{1,10})\b")
_SIZE = lazy_re(rb"\bRFC822\.SIZE (\d{1,15})\b")
_IDLE = b"W1"  # imaplib's own tags begin with four letters
Part = bytes | tuple[bytes, bytes] | None  # of an answer: a line, or what stands before a literal and that


class TooMuch(Unreachable):
    """A server sends more than it was asked for."""


class BoundedTransport(imaplib.IMAP4):
    """imaplib over a connection of which every read ends: with `allow` each command gets its time and its bytes."""

    def __init__(self, server: MailServer) -> None:
        self._buffer = bytearray()
        self._secured = server.implicit
        self._ends, self._left = time.monotonic() + server.seconds, _MOST_ANSWER
        self.host, self.port = server.host, server.port  # the name that STARTTLS verifies
        self.sock = server.connect()
        super().__init__(server.host, server.port)

    def allow(self, seconds: float, size: int = _MOST_ANSWER) -> None:
        """Let what follows take so long, and bring so many bytes."""
        self._ends, self._left = time.monotonic() + seconds, size

    def open(self, host: str = "", port: int = 0, timeout: float | None = None) -> None:
        """Do nothing: it is connected."""

    def read(self, size: int) -> bytes:
        """Return so many bytes. Raise TooMuch, TimeoutError, imaplib.IMAP4.abort."""
        if size > self._left:
            raise TooMuch("it sends more than it was asked for")
        while len(self._buffer) < size:
            self._receive()
        return self._taken(size)

    def readline(self) -> bytes:
        """Return a line with its end. Raise as `read` does."""
        looked = 0
        while (end := self._buffer.find(b"\n", looked)) < 0:
            looked = len(self._buffer)
            if looked > self._left:
                raise TooMuch("it sends more than it was asked for")
            self._receive()
        return self._taken(end + 1)

    def send(self, data: Buffer) -> None:
        """Send a command. What a server said before TLS began, and nobody asked for, ends the connection."""
        secured = isinstance(self.sock, ssl.SSLSocket)
        if secured and not self._secured and self._buffer:
            raise Unreachable("it sent more before the connection was encrypted", lasting=True)
        self._secured = secured
        self.sock.settimeout(self._remaining())
        self.sock.sendall(data)

    def shutdown(self) -> None:
        """Close the connection."""
        self.sock.close()

    def hears(self, ends: float, wake: int) -> bool:
        """Return whether a line came until `ends` (monotonic); not where `wake` became readable before."""
        ready = select.poll()
        ready.register(self.sock, select.POLLIN)
        ready.register(wake, select.POLLIN)
        while b"\n" not in self._buffer:
            if time.monotonic() >= ends:
                return False
            pending = isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()
            readable = () if pending else ready.poll(max(0.0, ends - time.monotonic()) * 1000)
            if not pending and (not readable or any(fd == wake for fd, _ in readable)):
                return False
            self.sock.setblocking(False)
            with contextlib.suppress(ssl.SSLWantReadError, BlockingIOError):  # what came was none of the answer
                self._take_in(self.sock.recv(_PIECE))
        return True

    def _receive(self) -> None:
        self.sock.settimeout(self._remaining())
        self._take_in(self.sock.recv(_PIECE))

    def _take_in(self, data: bytes) -> None:
        if not data:
            raise self.abort("it ended the connection")
        self._buffer += data
        if len(self._buffer) > self._left + _PIECE:
            raise TooMuch("it sends more than it was asked for")

    def _remaining(self) -> float:
        remaining = self._ends - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return remaining

    def _taken(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise TooMuch("it sends more than it was asked for")
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


class CommandRefused(Unreachable):
    """A server answers NO to a command."""


class Mailbox:
    """One mailbox of one user, opened for reading alone. Every method raises Unreachable."""

    def __init__(self, config: MailConfig, server: MailServer, user: str, password: str) -> None:
        self._seconds = config.seconds
        self._host = server.host
        self._capabilities: set[str] = set()
        self.validity = self.next_uid = 0
        with self._named():
            self._imap = BoundedTransport(server)
        try:
            self._protect(server)
            self._log_in(user, password)
            self._select(config.imap_folder)
        except BaseException:
            self.close()
            raise

    @property
    def tells(self) -> bool:
        """Whether the server tells of new messages by itself (RFC 2177)."""
        return "IDLE" in self._capabilities

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Raise what goes wrong in the block as Unreachable."""
        try:
            yield
        except TooMuch as error:
            raise TooMuch(f"{self._host}: {error}") from error
        except (imaplib.IMAP4.error, OSError, ValueError) as error:
            raise fault_of(self._host, error) from error

    def _ask(self, command: Callable[[], tuple[str, Sequence[Part]]]) -> Sequence[Part]:
        """Return the parts of the answer to a command. Raise CommandRefused for a NO."""
        with self._named():
            outcome, answer = command()
        if outcome != "OK":
            raise CommandRefused(f"{self._host} refuses a command")
        return answer

    def _protect(self, server: MailServer) -> None:
        if not server.starts_tls:
            return
        if "STARTTLS" not in self._imap.capabilities:
            raise Unreachable(f"{self._host} offers no STARTTLS: nothing is sent in clear", lasting=True)
        with self._named():
            self._imap.starttls(server.context())

    def _log_in(self, user: str, password: str) -> None:
        quoted = '"' + user.replace("\\", "\\\\").replace('"', '\\"') + '"'
        self._imap.allow(self._seconds)
        try:
            self._imap.login(quoted, password)
        except imaplib.IMAP4.abort as error:
            raise Unreachable(f"{self._host} breaks off as the user logs in") from error
        except (imaplib.IMAP4.error, UnicodeEncodeError) as error:  # its words may hold the password
            raise Unreachable(f"{self._host} refuses user and password", lasting=True) from error
        except OSError as error:
            raise fault_of(self._host, error) from error
        self._imap.allow(self._seconds)
        words = b" ".join(part for part in self._ask(self._imap.capability) if isinstance(part, bytes))
        self._capabilities = set(words.decode("ascii", "replace").upper().split())

    def _select(self, folder: str) -> None:
        self._imap.allow(self._seconds)
        try:
            self._ask(lambda: self._imap.select(f'"{folder}"', readonly=True))
        except CommandRefused as error:
            raise Unreachable(f"{self._host} has no mailbox {folder}", lasting=True) from error
        self.validity, self.next_uid = self._number("UIDVALIDITY"), self._number("UIDNEXT")
        if not (self.validity and self.next_uid):
            raise Unreachable(f"{self._host} does not number its messages (UIDVALIDITY, UIDNEXT)", lasting=True)

    def _number(self, name: str) -> int:
        words = b" ".join(part for part in self._imap.response(name)[1] if isinstance(part, bytes)).split()
        return int(words[-1]) if words and words[-1].isdigit() and len(words[-1]) <= 10 else 0

    def uids(self, criteria: str) -> list[int]:
        """Return the messages that meet the criteria of a search, in order."""
        self._imap.allow(self._seconds)
        answer = self._read("SEARCH", f"UNDELETED {criteria}")
        words = b" ".join(part for part in answer if isinstance(part, bytes)).split()
        return sorted({int(word) for word in words if word.isdigit() and len(word) <= 10})

    def _read(self, command: str, *arguments: str) -> Sequence[Part]:
        try:
            return self._ask(lambda: self._imap.uid(command, *arguments))
        except CommandRefused as error:
            raise Unreachable(f"{self._host} refuses to show messages ({command})") from error

    def sizes(self, uids: Sequence[int]) -> dict[int, int]:
        """Return the bytes of messages by UID, as the server has them; those that are gone are missing."""
        self._imap.allow(self._seconds)
        read: dict[int, int] = {}
        for part in self._read("FETCH", ",".join(map(str, uids)), "(UID RFC822.SIZE)"):
            line = part[0] if isinstance(part, tuple) else part or b""
            uid, size = _UID.search(line), _SIZE.search(line)
            if uid and size:
                read[int(uid[1])] = int(size[1])
        return read

    def message(self, uid: int, most: int) -> bytes | None:
        """Return a message, of a longer one `most` bytes and one more; None where it is gone."""
        self._imap.allow(self._seconds + most / _SLOWEST, most + _PIECE)
        parts = self._read("FETCH", str(uid), f"(UID BODY.PEEK[]<0.{most + 1}>)")
        for part, after in zip(parts, [*parts[1:], None], strict=True):
            if not isinstance(part, tuple):
                continue
            known = _UID.search(part[0]) or _UID.search(after if isinstance(after, bytes) else b"")
            if known is None or int(known[1]) != uid:
                raise Unreachable(f"{self._host} sends another message than the one it was asked for")
            return part[1]
        return None

    def wait(self, seconds: float, wake: int) -> bool:
        """Return whether the server told of something new within this time, and before `wake` became readable."""
        news, ends = False, time.monotonic() + seconds
        with self._named():
            self._imap.allow(self._seconds)
            self._imap.send(_IDLE + b" IDLE\r\n")
            while not self._line().startswith(b"+"):
                pass
            while not news and self._imap.hears(ends, wake):
                self._imap.allow(self._seconds)
                news = b"EXISTS" in self._line().upper()
            self._imap.allow(self._seconds)
            self._imap.send(b"DONE\r\n")
            while not self._line().startswith(_IDLE + b" OK"):
                pass
        return news

    def _line(self) -> bytes:
        line = self._imap.readline()
        if line.upper().startswith((b"* BYE", _IDLE + b" NO", _IDLE + b" BAD")):
            raise Unreachable(f"{self._host}: {one_line(line.decode('utf-8', 'replace'), 100)}")
        return line

    def cut(self) -> None:
        """Break the connection off under whoever waits for it; from any thread."""
        with contextlib.suppress(OSError):
            self._imap.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Take leave, within a moment."""
        try:
            self._imap.allow(1.0)
            self._imap.logout()
        except (imaplib.IMAP4.error, OSError, ValueError, Unreachable):
            self._imap.shutdown()
