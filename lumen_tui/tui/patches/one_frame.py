"""A screen that comes or goes is painted once.

Textual paints a new one with its first layout, again because it is shown, and again for each widget that has learnt
its size: three whole screens of bytes, and the first of them with empty lists. It is the same on the way back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.geometry import Size
from textual.screen import Screen

from lumen_tui.tui.patches import release_screens

if TYPE_CHECKING:
    _Base = Screen[Any]
else:
    _Base = object

_AT_MOST = 0.2  # seconds
_PASSES = 6  # of the event loop: a message and what it brings about need one each


class OneFrame(_Base):
    """For a screen: its paint waits until its widgets took in what they were told."""

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        event.refresh_styles = False  # each widget took its styles when it was mounted, a moment ago
        _after(_PASSES, _held(self.app).close)

    def _screen_resized(self, size: Size) -> None:
        """Of two sizes on their way each would bring the other one about again, for ever: only the newest counts."""
        super()._screen_resized(self.app.size)

    @property
    def there(self) -> bool:
        """Whether it is open. Textual ends the workers of a screen that was left, or of a room, after its widgets."""
        return self.app.is_running and self in self.app.screen_stack

    def dismiss(self, result: Any = None) -> AwaitComplete:
        with _held(self.app) as held:
            gone = super().dismiss(result)
            paint = held.pop_all().close
        # Twice: once it is gone, Textual asks the application again to lay out what is left.
        self.app.call_next(self.app.call_next, paint)
        asyncio.get_running_loop().call_later(_AT_MOST, paint)  # where the application has much to do before
        release_screens.collect_soon()
        return gone

    def _compositor_refresh(self) -> None:
        if self.app._batch_count:
            return  # Textual draws all the same while the paint is held back, and throws it away
        if self.app.screen is not self:
            self._pass_on()
            return
        whole = self.size.region in self._compositor._dirty_regions
        super()._compositor_refresh()
        if whole:
            self._exchange_repaint_regions()  # after a layout Textual would send the same again

    def _pass_on(self) -> None:
        """What changed behind another screen is painted there; Textual has all of it painted, each time."""
        dirty = self._compositor._dirty_regions
        if dirty and self in self.app._background_screens:
            self.app.screen.refresh(*dirty)
        dirty.clear()
        self._dirty_widgets.clear()


def _held(app: App[Any]) -> ExitStack:
    """Holds every paint back until it is closed."""
    held = ExitStack()
    held.callback(_wake, app)
    held.enter_context(app.batch_update())
    return held


def _wake(app: App[Any]) -> None:
    """A screen paints when it has nothing else to do; one that has had nothing for a while is not asked again."""
    if app.screen_stack:
        app.screen.check_idle()


def _after(passes: int, do: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(*(_after, passes - 1, do) if passes else (do,))
