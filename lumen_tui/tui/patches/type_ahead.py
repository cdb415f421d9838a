"""Keys are handed out one at a time: the next one once all that the one before it set off is done.

Textual gives every widget a queue of its own. What is typed right behind an enter would reach the form before the form
has closed, and what is typed right behind the key that opens a form would reach nobody. So each key waits until what
came before it is through: the widget that got it, everything around that widget, the screens that came and went,
what such a screen reads from the disk before it can take a key, and a change that decides what the next key is about.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    _Base = App[Any]
else:
    _Base = object

_PATIENCE = 3.0  # seconds after which a key no longer waits for the one before it: a slow disk makes nobody deaf
_PAINT = 0.02  # seconds in which what a key changed is painted: to look whether all is done takes part of them
_LOOK = 0.005  # seconds between two looks at whether what is read from the disk is there
_ROUNDS = 2  # through all queues: what a widget tells its screen stands behind the key, and what that brings behind it


class _Step:
    """A callback whose parameters Textual need not count each time, which takes as long as to go through a queue."""

    _param_count = 0

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def __call__(self) -> None:
        self._act()


class TypeAhead(_Base):
    """For an application: type-ahead reaches the screen that is in front once the keys before it were carried out."""

    _typed: deque[events.InputEvent]
    _settling: asyncio.TimerHandle | None = None  # runs out where what a key set off takes too long
    _passage: Callable[[], None] | None = None  # begins to look whether all is done that a key set off
    _turn = 0  # counts the keys that were handed out
    _rounds = 0  # that the key in hand need not wait for: it was carried out before it came into a queue
    _awaited = 0  # reads without which a screen cannot take a key
    _lets_go: Callable[[str], bool]
    _holds: frozenset[object] = frozenset()  # changes that keys wait for, however long they take

    async def on_event(self, event: events.Event) -> None:
        """As Textual has it, in turn. The mouse that only moves changes nothing, and waits for nothing."""
        if not isinstance(event, events.InputEvent) or event.is_forwarded or isinstance(event, events.MouseMove):
            await super().on_event(event)
        elif self._holds and isinstance(event, events.Key) and self._lets_go(event.key):
            self._waiting.clear()
            self._holds = frozenset()
        elif self._settling is not None or self._holds:
            self._waiting.append(event)
            self._pass_now()
        else:
            await self._hand_out(event)

    @property
    def _waiting(self) -> deque[events.InputEvent]:
        if not hasattr(self, "_typed"):
            self._typed = deque()
        return self._typed

    async def _hand_out(self, event: events.InputEvent) -> None:
        pumps = self._concerned()
        self._begin_turn()
        self._rounds = 0
        await super().on_event(event)
        self._passage = partial(self._pass_through, self._turn, pumps, self._standing(), self._rounds)
        if self._waiting:
            self._pass_now()
        else:
            asyncio.get_running_loop().call_later(_PAINT, self._pass_now)

    def carried_out(self) -> None:
        """Note of the key in hand that it was carried out at once: all that it set off stands in a queue already."""
        self._rounds = 1

    def _begin_turn(self) -> None:
        self._turn += 1
        self._settling = asyncio.get_running_loop().call_later(_PATIENCE, self._settled, self._turn)

    def _pass_now(self) -> None:
        passage, self._passage = self._passage, None
        if passage is not None:
            passage()

    def _concerned(self) -> list[MessagePump]:
        """Whose queues an event goes through, in that order: the focus, what is around it, all screens, the app."""
        around: list[MessagePump] = list(self.focused.ancestors_with_self) if self.focused is not None else []
        return [*(pump for pump in around if pump is not self), *reversed(self.screen_stack), self]

    def _standing(self) -> tuple[object, ...]:
        return (*self.screen_stack, self.focused)

    def _pass_through(self, turn: int, pumps: list[MessagePump], before: tuple[object, ...], rounds: int) -> None:
        """Go once through the queues, and again until that changes nothing more."""
        if turn != self._turn:
            return
        step = _Step(partial(self._pass_through, turn, pumps, before, rounds))
        while pumps:
            pump = pumps.pop(0)
            if pump.is_running and pump.post_message(events.Callback(callback=step)):
                return
        if not self.screen_stack:
            return
        standing = self._standing()
        still = standing == before and not self._awaited and self.screen.is_mounted
        rounds = rounds + 1 if still else 0
        if rounds == _ROUNDS:
            self._settled(turn)
            return
        pause = 0.0 if still or standing != before else _LOOK
        asyncio.get_running_loop().call_later(pause, self._pass_through, turn, self._concerned(), standing, rounds)

    def _settled(self, turn: int) -> None:
        """Give the next key its turn."""
        if turn != self._turn or self._settling is None:
            return
        self._settling.cancel()
        self._settling = None
        if self._waiting and not self._holds:
            self.call_next(self._next)

    async def _next(self) -> None:
        if self._waiting and self._settling is None and not self._holds and self.screen_stack:
            await self._hand_out(self._waiting.popleft())

    @property
    def reads(self) -> bool:
        """Whether a screen waits for something that is read."""
        return self._awaited > 0

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """While this lasts a screen cannot yet take a key."""
        self._awaited += 1
        try:
            yield
        finally:
            self._awaited -= 1

    def hold(self, lets_go: Callable[[str], bool]) -> Callable[[], None]:
        """Let keys wait until what this returns is called; what they are about is not there before.

        `lets_go` tells of a key whether it drops those that wait, and gives the keyboard back.
        """
        change = object()
        self._lets_go = lets_go
        self._holds |= {change}
        return partial(self._release, change)

    def _release(self, change: object) -> None:
        held, self._holds = bool(self._holds), self._holds - {change}
        if held and not self._holds and self._settling is None and self.screen_stack:
            self._begin_turn()
            self._pass_through(self._turn, self._concerned(), self._standing(), 0)
