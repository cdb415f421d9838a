"""The threads in which an engine's mouths send: the beat hands them what waits, and never waits for them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.mouths.senders import Origin, configured, origin_of, sender
from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.engine.telling import Mouth
from lumen_tui.model.config import Config
from lumen_tui.model.notify_config import NtfyConfig
from lumen_tui.model.notifying import FAILED, REFUSED, SENT, Message, messages
from lumen_tui.model.transitions import OpenItem
from lumen_tui.storage import files
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.secrets import SecretMissing

if TYPE_CHECKING:
    from lumen_tui.engine.mouths.following import AnswerFollower

_NEVER = float("inf")
_LATER = 30.0  # seconds until the next look where the disk took no receipt
_MOST_NOTES = 200  # that wait to become events
_FAREWELL = 3.0  # seconds that an engine which ends gives to what is to be sent, and again to what it ends


class _News(NamedTuple):
    items: tuple[OpenItem, ...]
    config: Config
    origin: Origin


class Mouths:
    """Every mouth that the settings turn on. For one thread; `hear` costs nothing where nothing changed."""

    def __init__(self, layout: Layout, clock: Clock, log: EventLog) -> None:
        self._layout = layout
        self._clock = clock
        self._log = log
        self._speakers: dict[str, Speaker] = {}
        self._heard: _News | None = None
        self._follower: AnswerFollower | None = None
        self._followed: tuple[NtfyConfig, str] | None = None
        self._notes: deque[str] = deque(maxlen=_MOST_NOTES)

    def hear(self, items: tuple[OpenItem, ...], config: Config, now: float) -> None:
        """Hand on what waits by the journal and is on the queue; wake a mouth whose next try is due.

        That a mouth fails, and that it works again, becomes an event.
        """
        news = _News(items, config, origin_of(self._layout.root, config))
        if self._heard is None or news != self._heard:
            self._heard = news
            self._hand_on(news)
        for speaker in self._speakers.values():
            if speaker.again <= now:
                speaker.wake()
        while self._notes:
            self._log.add("mouth", self._notes.popleft(), now)

    def _hand_on(self, news: _News) -> None:
        names = configured(news.config)
        for name in self._speakers.keys() - set(names):
            self._speakers.pop(name).end()
        for name in names:
            if name not in self._speakers:
                self._speakers[name] = Speaker(name, self._layout, self._clock, self._notes.append)
                self._speakers[name].start()
            self._speakers[name].take(news)
        self._follow(news.config, news.origin.operator)

    def _follow(self, settings: Config, operator: str) -> None:
        """Follow the answers of phones as the settings have it now."""
        told = settings.notify
        config = told.ntfy
        if self._followed == (config, operator):
            return
        self._followed = (config, operator)
        if self._follower is not None:
            self._follower.end()
            self._follower = None
        if config.topic and config.answers:
            from lumen_tui.engine.mouths.following import AnswerFollower  # only where answers come in

            store = Store(self._layout.root)
            self._follower = AnswerFollower(store, self._clock, config, operator, self._notes.append)
            self._follower.start()

    def close(self) -> None:
        """End every mouth. What is to be sent now gets a moment; what was not sent is in the receipts."""
        if self._follower is not None:
            self._follower.end()
            self._follower.join(_FAREWELL)
        for speaker in self._speakers.values():
            speaker.end(rest=True)
        for speaker in self._speakers.values():
            speaker.join(_FAREWELL)
            speaker.end()
        for speaker in self._speakers.values():
            speaker.join(_FAREWELL)


class Speaker(threading.Thread):
    """One mouth: decides what to tell, sends it, and records what came of it."""

    def __init__(self, name: str, layout: Layout, clock: Clock, note: Callable[[str], None]) -> None:
        super().__init__(name=f"mouth-{name}", daemon=True)
        self.again = _NEVER  # when there is something to do because of the time alone, in seconds since 1970
        self._mouth_name = name
        self._mouth = Mouth(layout, name, sends=True)
        self._clock = clock
        self._woken = threading.Condition()
        self._news: _News | None = None
        self._fresh = self._ending = False
        self._over = threading.Event()
        self._failing = ""
        self._note = note

    def take(self, news: _News) -> None:
        """Take what waits now, in place of what was handed on before."""
        with self._woken:
            self._news, self._fresh = news, True
            self._woken.notify()

    def wake(self) -> None:
        """Look again."""
        with self._woken:
            self._fresh = True
            self._woken.notify()

    def end(self, *, rest: bool = False) -> None:
        """Ask for the end, with `rest` after what is to be sent now; else a command that runs is ended."""
        if not rest:
            self._over.set()
        with self._woken:
            self._ending = True
            self._woken.notify()

    def run(self) -> None:
        while (news := self._next()) is not None:
            try:
                self._tell(news)
            except (files.StoreError, OSError):
                self.again = self._clock.now() + _LATER
        self._mouth.close()

    def _next(self) -> _News | None:
        """Wait for news or for the time of the next try; None at the end."""
        with self._woken:
            while not (self._ending or (self._news is not None and self._fresh)):
                left = self.again - self._clock.now()
                if left <= 0:
                    break
                self._woken.wait(None if self.again == _NEVER else min(left, threading.TIMEOUT_MAX))
            over = self._over.is_set() or (self._ending and not self._fresh)
            self._fresh = False
            return None if over else self._news

    def _tell(self, news: _News) -> None:
        """Send all that is due. What failed comes back with the next look, which is then."""
        self.again = _NEVER
        told = self._mouth.take(news.items, news.config.notify, self._clock.now())
        failed = False
        for message in messages(told, news.origin.agent):
            if self._over.is_set():
                return
            failed |= not self._deliver(message, news)
        now = self._clock.now()
        self.again = self._mouth.peek(news.items, news.config.notify, now) if failed else told.again

    def _deliver(self, message: Message, news: _News) -> bool:
        outcome, problem = SENT, ""
        try:
            sender(self._mouth_name, news.config, news.origin, self._over).send(message, self._clock.now())
        except NotSent as error:
            outcome, problem = REFUSED if error.final else FAILED, str(error)
        except SecretMissing as error:
            outcome, problem = FAILED, str(error)
        except Exception as error:  # noqa: BLE001 - whatever a server answers, the mouth outlives it; its words may be secret
            outcome, problem = FAILED, f"{type(error).__name__} as it was sent"
        self._report(problem)
        self._mouth.settle(message, news.items, outcome, self._clock.now(), problem=problem)
        return outcome == SENT

    def _report(self, problem: str) -> None:
        """Note the first failure of a row, and that it is over."""
        if problem and not self._failing:
            self._note(f"{self._mouth_name} cannot tell you: {problem}")
        elif self._failing and not problem:
            self._note(f"{self._mouth_name} tells you again")
        self._failing = problem
