"""The answers of phones: a topic that is followed by streaming, so that nothing listens here."""

from __future__ import annotations

import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.engine.answering import Answers
from lumen_tui.engine.mouths.http import exchange, shut
from lumen_tui.engine.mouths.ntfy import VIA, answers_fault
from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.model import times
from lumen_tui.model.answers import LONGEST, Refusal, code_and_words
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.notify_config import NtfyConfig
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.secrets import SecretMissing, resolve

if TYPE_CHECKING:
    from http.client import HTTPResponse

_SILENT = 150.0  # seconds without a line after which a stream counts as dead: ntfy sends one each 45 s
_MOST_WORDS = 4096  # characters of a message; ntfy makes a file of more
_MOST_LINE = 64 * 1024
_MOST_PASSED_OVER = 4 * 1024 * 1024  # bytes of longer lines, in a row
_LONGEST_PAUSE = 60.0  # seconds between two connections
_MOST_REFUSED = 60  # messages within an hour that are written down though they answer nothing
_ID = lazy_re(r"[A-Za-z0-9]{1,64}")  # of a message: it goes into an address


def _lines(stream: HTTPResponse) -> Iterator[bytes]:
    """Yield whole lines without those that are too long. NotSent where there is nothing else.

    Whoever may write to the topic can make one too long, by its title, and it comes again with each connection.
    """
    passed_over = 0
    while line := stream.readline(_MOST_LINE):
        is_whole = line.endswith(b"\n")
        if is_whole and not passed_over:
            yield line
        passed_over = 0 if is_whole else passed_over + len(line)
        if passed_over > _MOST_PASSED_OVER:
            raise NotSent("a line of the stream has no end")


class NtfyEvent(msgspec.Struct):
    """One line of the stream."""

    id: str = ""
    event: str = ""
    message: str = ""


class AnswerFollower(threading.Thread):
    """Follows one topic until `end`, from the last message on that was dealt with."""

    def __init__(
        self, store: Store, clock: Clock, config: NtfyConfig, operator: str, note: Callable[[str], None]
    ) -> None:
        super().__init__(name="answers-ntfy", daemon=True)
        self._answers = Answers(store, VIA, operator)
        self._clock = clock
        self._config = config
        self._note = note
        self._over = threading.Event()
        self._sock: socket.socket | None = None
        self._refusals: deque[float] = deque(maxlen=_MOST_REFUSED)
        self._since = ""

    def end(self) -> None:
        """Ask for the end and break off the stream."""
        self._over.set()
        if self._sock is not None:
            shut(self._sock)

    def run(self) -> None:
        pause, problem = 1.0, ""
        while not self._over.is_set():
            try:
                if fault := answers_fault(self._config):
                    raise NotSent(fault)
                for event in self._events():
                    pause = 1.0
                    if problem:
                        self._note("ntfy: answers come in again")
                    problem = ""
                    self._take(event)
            except (NotSent, SecretMissing, files.StoreError, OSError) as error:
                problem = self._troubled(str(error), problem)
            except Exception as error:  # noqa: BLE001 - whatever comes in, others are answered; its words may be secret
                problem = self._troubled(f"{type(error).__name__} as one was read", problem)
            self._over.wait(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)
        self._answers.close()

    def _troubled(self, problem: str, before: str) -> str:
        """Note the first trouble of a row; return what it is."""
        if not before and not self._over.is_set():
            self._note(f"ntfy: no answers come in: {problem}")
        return problem

    def _events(self) -> Iterator[NtfyEvent]:
        config = self._config
        server = resolve("notify.ntfy.server", config.server, os.environ).rstrip("/")
        topic = resolve("notify.ntfy.answers", config.answers, os.environ)
        token = resolve("notify.ntfy.token", config.token, os.environ)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"{server}/{topic}/json?since={self._mark()}"
        with exchange("GET", url, None, headers, config.seconds, silence=_SILENT, opening=self._opened) as answer:
            for line in _lines(answer):
                if self._over.is_set():
                    return
                try:
                    yield msgspec.json.decode(line, type=NtfyEvent)
                except UNDECODABLE:
                    continue

    def _opened(self, sock: socket.socket) -> None:
        self._sock = sock
        if self._over.is_set():
            shut(sock)

    def _mark(self) -> str:
        """Return since when messages are wanted: after the last one, or for as long as a token counts."""
        known = self._since or self._answers.last_heard()
        return known if _ID.fullmatch(known) else f"{self._clock.now() - LONGEST:.0f}"

    def _take(self, event: NtfyEvent) -> None:
        """Redeem what a message holds, once; whatever else it says is nothing to us."""
        if event.event != "message" or not _ID.fullmatch(event.id):
            return
        token, words = code_and_words(event.message[:_MOST_WORDS])
        token = token[:200]
        if not self._answers.heard(event.id) and (not self._flooded() or self._answers.waits_for(token)):
            try:
                done = self._answers.redeem(token, event.id, self._clock.now(), f"answer: {words}" if words else "")
                self._note(f"ntfy: {done.summary}")
            except Refusal as error:
                self._refused(error)
        self._since = event.id

    def _refused(self, error: Refusal) -> None:
        self._refusals.append(self._clock.now())
        self._note(one_line(f"ntfy: an answer was refused: {error}"))
        if self._flooded():
            self._note("ntfy: too many answers are refused: more of this hour are not written down; change the topic")

    def _flooded(self) -> bool:
        return len(self._refusals) == _MOST_REFUSED and self._clock.now() - self._refusals[0] < times.HOUR
