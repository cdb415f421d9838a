"""A screen that comes or goes is painted once, a sheet paints only the top line of what it covers, and both are freed.

Textual paints a new screen with its first layout, again because it is shown, and again for each widget that has learnt
its size: three whole screens of bytes, and the first of them with empty lists. It is the same on the way back. It draws
the whole screen below a modal one, too, and paints all of both again whenever something in it changes. And from a
widget that changed to its paint there are two queues and a timer, which take as long as the paint.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from textual import events
from textual._styles_cache import StylesCache
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.color import Color
from textual.geometry import Region, Size
from textual.screen import ModalScreen, Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets._toast import ToastRack

from lumen_tui.tui.patches.type_ahead import TypeAhead

if TYPE_CHECKING:
    from typing import Self

    _Screen = Screen[Any]
    _Modal = ModalScreen[Any]
    _App = App[Any]
else:
    _Screen = _Modal = _App = object

_GONE = 0.5  # seconds: by then a screen that was left is taken apart, and the keys behind it are answered


@lru_cache(1024)
def _colours(base_background: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base_background + background), Style(background=base_background)


def _get_inner_outer(self: StylesCache, base_background: Color, background: Color) -> tuple[Style, Style]:
    return _colours(base_background, background)


def forget_closed_screens() -> None:
    """Remember the colours of widgets by their values.

    Textual keeps them in a cache of a class, under each widget's own cache: the last thousand of those stay, each with
    every line that it ever drew, some 60 KiB for each screen that was opened.
    """
    StylesCache.get_inner_outer = _get_inner_outer  # type: ignore[assignment, method-assign]


def collect_soon() -> None:
    """Free a screen that is left now, a moment later: some 20 ms.

    A screen and its widgets refer to each other: only the garbage collector frees them, and by itself it comes late,
    for 30 to 60 ms of a key that comes just then.
    """
    asyncio.get_running_loop().call_later(_GONE, gc.collect)


_AT_MOST = 0.2  # seconds
_LAYOUTS = 0.06  # seconds of two layouts, which Textual does sixty times a second at most
_PASSES = 6  # of the event loop: a message and what it brings about need one each


class OneFrame(_Screen):
    """For a screen: its paint waits until its widgets took in their messages."""

    unpainted = False  # whether something has another size and is not painted yet

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        event.refresh_styles = False  # each widget took its styles when it was mounted, a moment ago
        _after(_PASSES, _held(self.app).close)

    def _extend_compose(self, widgets: list[Widget]) -> None:
        """Leave out tooltips, and the corner for notifications, which each screen would have from the start."""

    def _clear_tooltip(self) -> None:
        """There is none; Textual looks for it with each key."""

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
        collect_soon()
        return gone

    def paint_now(self, widget: Widget) -> None:
        """Paint a widget that changed, and all that is due with it, as the screen's own timer would a moment later."""
        if widget._repaint_required and self.is_current and not self.app._batch_count:
            widget._repaint_required = False
            self._dirty_widgets.add(widget)
            self.paint_due()

    def paint_due(self) -> None:
        """Paint what is due, as the screen's own timer would a moment later; that of a new screen, a sixtieth later."""
        self._on_timer_update()
        self._update_timer.reset()  # what the change sets off is painted in one more frame, a sixtieth later

    def _compositor_refresh(self) -> None:
        if self.app._batch_count or self.unpainted:
            return  # Textual draws all the same while the paint is held back, and throws it away
        if self.app.screen is not self:
            _pass_on(self)
            return
        whole = self.size.region in self._compositor._dirty_regions
        super()._compositor_refresh()
        if whole:
            self._exchange_repaint_regions()  # after a layout Textual would send the same again


class LateToasts(_App):
    """For an application: a screen gets the corner in which notifications are shown with the first of them."""

    def _refresh_notifications(self) -> None:
        if self._notifications and self.screen_stack and not self.screen.query_children(ToastRack):
            self.screen.mount(ToastRack(id="textual-toastrack"), before=0)
        super()._refresh_notifications()


def paint_once(screen: OneFrame) -> None:
    """Paint in one frame what has another size now and what its widgets make of that, which takes two layouts.

    While `App.batch_update` holds a paint back, Textual lays out nothing.
    """

    def paint() -> None:
        screen.unpainted = False
        if screen.there:
            screen._compositor_refresh()

    if screen.app.screen is screen and not screen.unpainted:
        screen.unpainted = True
        asyncio.get_running_loop().call_later(_LAYOUTS, paint)


def _pass_on(screen: OneFrame) -> None:
    """What changed behind another screen is painted there, which passes it on where it is not in front itself.

    Textual has it painted in front at once: one between the two has kept a picture of what was behind it before.
    """
    dirty, stack = screen._compositor._dirty_regions, screen.app.screen_stack
    if dirty and screen in screen.app._background_screens:
        stack[stack.index(screen) + 1].refresh(*dirty)
    dirty.clear()
    screen._dirty_widgets.clear()


def _held(app: App[Any]) -> ExitStack:
    """Holds every paint back until it is closed."""
    held = ExitStack()
    held.callback(_wake, app)
    held.enter_context(app.batch_update())
    return held


def _wake(app: App[Any]) -> None:
    """Paint what was held back. A screen that waits for something to be read gets one frame with it, a moment later."""
    screen = app.screen if app.screen_stack else None
    for behind in app.screen_stack[:-1]:
        behind.check_idle()  # what changed there meanwhile is still to be passed on
    reads = isinstance(app, TypeAhead) and app.reads
    if isinstance(screen, OneFrame) and screen.is_mounted and not app._batch_count and not reads:
        screen.paint_due()
    elif screen is not None:
        screen.check_idle()  # one that has had nothing to do for a while is not asked again


def _after(passes: int, do: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(*(_after, passes - 1, do) if passes else (do,))


class Sheet(_Modal):
    """For a dialog that stands below the room's header."""

    DEFAULT_CLASSES = "sheet"
    covers = True  # whether nothing of the room is seen but its top line

    def render(self) -> RenderableType:
        if not self.covers:
            return super().render()
        header = self.app.screen_stack[0].query("#header")
        return TopLine(header.first()) if header else super().render()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As Textual has it; it names the regions in which the room changed, and most of them are covered."""
        if not self.covers:
            return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        seen = [region for region in regions if region.y == 0]
        if regions and not seen:
            return self
        top = Region(0, 0, self.size.width, 1)
        return super().refresh(
            *(region.intersection(top) for region in seen), repaint=repaint, layout=layout, recompose=recompose
        )


class TopLine:
    """The first line of a widget of another screen, as it stands there now."""

    def __init__(self, line: Widget) -> None:
        self._line = line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for strip in self._line.render_lines(Region(0, 0, options.max_width, 1)):
            yield from strip
            yield Segment.line()
