"""What forms are typed into. Nothing blinks, and no text is ever read as markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input, Static

from lumen_tui.model.text import one_line, safe
from lumen_tui.tui.kit.keys import keys_of, screen_bindings

_MOST_OFFERS = 9  # as many as there are digits to choose them by


class TextField(Input):
    """One line of text."""

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(
            one_line(value), placeholder=placeholder, id=id, compact=True, select_on_focus=False, highlighter=None
        )
        self.cursor_blink = False

    def render_line(self, y: int) -> Strip:
        """As Textual has it; what does not fit is marked on the side where it is, but not under the cursor."""
        strip, width = super().render_line(y), self.scrollable_content_region.width
        if y or width < 2:
            return strip
        hidden = self.scroll_offset.x if self.value else 0
        cursor = cell_len(self.value[: self.cursor_position]) - hidden if self.has_focus else -1
        if cell_len(self.value or self.placeholder) - hidden > width and cursor != width - 1:
            strip = _marked(strip, width - 1)
        return _marked(strip, 0) if hidden and cursor else strip

    @property
    def text(self) -> str:
        """What was typed, safe and without the blanks around it."""
        return safe(self.value).strip()


def _marked(strip: Strip, cell: int) -> Strip:
    """Return the strip with the mark of what is left out in one cell, in that cell's style."""
    style = next(iter(strip.crop(cell, cell + 1)), Segment(" ")).style
    mark = Strip([Segment("…", style)])
    return Strip.join([strip.crop(0, cell), mark, strip.crop(cell + 1)])


class Choice(Widget, can_focus=True):
    """One of a few words, all of them in sight: left and right choose, and so does a click."""

    SCOPE: ClassVar[str] = "choice"
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings("choice")
    index: reactive[int] = reactive(0)

    class Changed(Message):
        """Another word was chosen."""

    def __init__(self, options: Sequence[tuple[str, str]], value: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.options = tuple(options)
        values = [option for option, _ in self.options]
        self.set_reactive(Choice.index, values.index(value) if value in values else 0)

    @property
    def value(self) -> str:
        """The chosen value; empty where there is nothing to choose from."""
        return self.options[self.index][0] if self.options else ""

    def choose(self, value: str) -> None:
        """Select `value` where it is offered."""
        for number, (option, _) in enumerate(self.options):
            if option == value:
                self.index = number

    def action_step(self, step: int) -> None:
        if self.options:
            self.index = (self.index + step) % len(self.options)

    def watch_index(self) -> None:
        self.post_message(self.Changed())

    def on_click(self, event: events.Click) -> None:
        number = event.style.meta.get("option")
        if isinstance(number, int):
            self.index = number

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        return max(1, len(self._lines(width)))

    def _lines(self, width: int) -> list[Content]:
        """Return the words in lines of at most `width` cells; a word is never broken."""
        lines: list[Content] = []
        for number in range(len(self.options)):
            word = self._word(number)
            if lines and lines[-1].cell_length + word.cell_length < width:
                lines[-1] += word
            else:
                lines.append(word)
        return lines

    def _word(self, number: int) -> Content:
        chosen = number == self.index
        label = one_line(self.options[number][1], 60)
        text = f"‹{label}› " if chosen else f" {label}  "
        return _clickable(text, number, _chosen(self.has_focus) if chosen else "$room-muted")


class Toggles(Choice):
    """Any of a few words: left and right move, space turns one on or off."""

    SCOPE = "toggles"
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings("toggles")

    def __init__(self, options: Sequence[tuple[str, str]], on: Sequence[str] = (), *, id: str | None = None) -> None:
        super().__init__(options, id=id)
        self._on = set(on)

    @property
    def values(self) -> tuple[str, ...]:
        """Those that are on, in the order in which they are offered."""
        return tuple(option for option, _ in self.options if option in self._on)

    def action_turn(self) -> None:
        self._on ^= {self.value}
        self.refresh()
        self.post_message(self.Changed())

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        if "option" in event.style.meta:
            self.action_turn()

    def _word(self, number: int) -> Content:
        option, label = self.options[number]
        here = self.has_focus and number == self.index
        mark = "✓" if option in self._on else "·"
        text = one_line(label, 60)
        style = _chosen(True) if here else "$room-text" if option in self._on else "$room-muted"
        return _clickable(f"‹{mark} {text}› " if here else f" {mark} {text}  ", number, style)


def _chosen(focus: bool) -> str:
    return "bold $room-accent" if focus else "bold $room-text"


def _clickable(text: str, number: int, style: str) -> Content:
    return Content.assemble((text, style)).stylize(Style.from_meta({"option": number}))


class OfferLine(TextField):
    """A line with earlier answers: up and down put them in, and a digit does where nothing was typed yet."""

    SCOPE = "offers"
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings("offers")

    def __init__(self, offers: Sequence[str], value: str, placeholder: str, *, digits: bool, id: str) -> None:
        super().__init__(value, placeholder=placeholder, id=id)
        self.offers = [one_line(offer) for offer in offers]
        self._digits = digits

    def action_offer(self, step: int) -> None:
        if not self.offers:
            return
        known = self.value in self.offers
        here = self.offers.index(self.value) if known else (-1 if step > 0 else 0)
        self._take((here + step) % len(self.offers))

    def on_key(self, event: events.Key) -> None:
        """Take the answer whose number was typed, where nothing else was."""
        numbers = list(keys_of(self, "offer_number"))[: len(self.offers)]
        if self._digits and not self.value and event.key in numbers:
            event.stop()
            event.prevent_default()
            self._take(numbers.index(event.key))

    def _take(self, number: int) -> None:
        self.value = self.offers[number]
        self.cursor_position = len(self.value)


class Offers(Vertical):
    """A line to type in and what may be taken instead, below it: numbered, or side by side."""

    def __init__(
        self, offers: Sequence[str], *, id: str, value: str = "", placeholder: str = "", numbered: bool = False
    ) -> None:
        super().__init__()
        self._numbered = numbered
        self._offers = tuple(offers)[:_MOST_OFFERS]
        self.line = OfferLine(self._offers, value, placeholder, digits=numbered, id=id)

    def compose(self) -> ComposeResult:
        yield self.line
        listing = Static(self._listing(), classes="offers")
        listing.display = bool(self._offers)
        yield listing

    def on_input_changed(self) -> None:
        if self._offers:
            self.query_one(".offers", Static).update(self._listing())

    def offer(self, offers: Sequence[str]) -> None:
        """Offer these from now on."""
        self._offers = tuple(offers)[:_MOST_OFFERS]
        self.line.offers = [one_line(offer) for offer in self._offers]
        listing = self.query_one(".offers", Static)
        listing.display = bool(self._offers)
        listing.update(self._listing())

    def _listing(self) -> Content:
        between = "\n" if self._numbered else "  "
        return Content(between).join([self._offer(number) for number in range(len(self._offers))])

    def _offer(self, number: int) -> Content:
        text = self.line.offers[number]
        taken = text == self.line.value
        lead = f"{number + 1} " if self._numbered else ""
        edges = ("‹", "›") if taken else (" ", " ")
        return Content.assemble(
            (lead, "$room-accent"), (f"{edges[0]}{text}{edges[1]}", "bold $room-text" if taken else "$room-muted")
        )
