"""A question with a few answers, each with a key of its own; and what is built from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widgets import Static

from lumen_tui.model.text import one_line, safe
from lumen_tui.tui.kit.screen import Asked, Dialog, Keys

Answer = TypeVar("Answer")


class Option(NamedTuple):
    """One answer: the key that gives it, what it means, and what the caller gets."""

    key: str
    label: str
    value: str
    help: str = ""


class Options(Vertical, can_focus=True):
    """The answers below each other; the selected one is marked, and in sight."""

    BINDINGS: ClassVar[list[BindingType]] = [  # before those of what it scrolls in
        Binding("down,j", "screen.step(1)", show=False),
        Binding("up,k", "screen.step(-1)", show=False),
    ]
    index: reactive[int] = reactive(0, init=False)

    def __init__(self, options: Sequence[Option]) -> None:
        super().__init__(id="options")
        self.options = tuple(options)

    def compose(self) -> ComposeResult:
        yield from [Static(self._line(number)) for number in range(len(self.options))]

    def watch_index(self, before: int, after: int) -> None:
        for number, line in enumerate(self.query_children(Static)):
            if number in (before, after):
                line.update(self._line(number))
        self.scroll_visible()

    def scroll_visible(self, *_args: Any, **_options: Any) -> None:
        """Whoever asks for it sees where the selected answer begins."""
        list(self.query_children(Static))[self.index].scroll_visible(animate=False, top=True)

    def _line(self, number: int) -> Content:
        option, here = self.options[number], number == self.index
        widest = max(len(one_line(each.label, 60)) for each in self.options)
        content = Content.assemble(
            ("▌ " if here else "  ", "$room-accent"),
            (option.key, "bold $room-accent"),
            "  ",
            (one_line(option.label, 60).ljust(widest), "bold" if here else ""),
            (f"   {one_line(option.help, 100)}" if option.help else "", "$room-muted"),
        )
        return content.stylize(Style.from_meta({"option": number}))


class Menu(Dialog[str]):
    """Answers with the value of the chosen option. `lines` stand above the options."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", show=False),
    ]

    def __init__(self, title: str, options: Sequence[Option], lines: Sequence[str] = ()) -> None:
        super().__init__(title)
        self._options = tuple(options)
        self._lines = tuple(lines)

    def body(self) -> ComposeResult:
        with Asked():
            if self._lines:
                yield Static(safe("\n".join(self._lines)), markup=False, classes="lines")
            yield Options(self._options)

    def keys(self) -> Keys:
        return (("↑↓ enter", "choose"), ("esc", "cancel"))

    def on_key(self, event: events.Key) -> None:
        for option in self._options:
            if event.character == option.key:
                event.stop()
                self.dismiss(option.value)
                return

    def on_click(self, event: events.Click) -> None:
        number = event.style.meta.get("option")
        if isinstance(number, int):
            self.dismiss(self._options[number].value)

    def action_step(self, step: int) -> None:
        shown = self.query_one(Options)
        shown.index = (shown.index + step) % len(self._options)

    def action_take(self) -> None:
        self.dismiss(self._options[self.query_one(Options).index].value)


def consequences(lines: Iterable[str], most: int = 12) -> tuple[str, ...]:
    """At most `most` lines of a preview, and how many more there are."""
    everything = [one_line(line, 200) for line in lines]
    if len(everything) <= most:
        return tuple(everything)
    return (*everything[:most], f"… and {len(everything) - most} more")
