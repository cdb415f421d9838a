"""Questions above the room: a few answers with a key each, a confirmation before what cannot be undone, a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model.text import fold, line_count, one_line, safe
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.kit.fields import Offers, TextField
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys import KeysLine, key_of, keys_of, pair_of, screen_bindings
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.screen import Dialog, DialogBody, FormScreen, Invalid, Keys, form_keys, row
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.words import number

Answer = TypeVar("Answer")


class Option(NamedTuple):
    """One answer: the command that gives it, what the caller gets, and what it means."""

    action: str  # empty for one that has the number of its place
    value: str
    label: str = ""  # empty for that of the command
    help: str = ""

    @property
    def shown_label(self) -> str:
        """What it means, on one line."""
        return one_line(self.label or BY_ACTION[self.action].label, 60)


class Options(Vertical, can_focus=True):
    """The answers below each other; the selected one is marked, and in sight."""

    SCOPE = "options"
    BINDINGS: ClassVar[list[BindingType]] = screen_bindings("options")  # before those of what it scrolls in
    index: reactive[int] = reactive(0, init=False)

    def __init__(self, options: Sequence[Option]) -> None:
        super().__init__(id="options")
        self.options = tuple(options)

    def compose(self) -> ComposeResult:
        yield from [Static(self._line(number)) for number in range(len(self.options))]

    def action_step(self, step: int) -> None:
        self.index = (self.index + step) % len(self.options)

    def watch_index(self, before: int, after: int) -> None:
        for place, line in enumerate(self.query_children(Static)):
            if place in (before, after):
                line.update(self._line(place))
        self.scroll_visible()

    def scroll_visible(self, *_args: Any, **_options: Any) -> None:
        """Whoever asks for it sees where the selected answer begins."""
        list(self.query_children(Static))[self.index].scroll_visible(animate=False, top=True)

    def _line(self, number: int) -> Content:
        option, here = self.options[number], number == self.index
        widest = max(len(each.shown_label) for each in self.options)
        key = key_of(self, option.action) if option.action else str(number + 1)
        content = Content.assemble(
            ("▌ " if here else "  ", "$room-accent"),
            (key, "bold $room-accent"),
            "  ",
            (option.shown_label.ljust(widest), "bold" if here else ""),
            (f"   {one_line(option.help, 100)}" if option.help else "", "$room-muted"),
        )
        return content.stylize(Style.from_meta({"option": number}))


class Menu(Dialog[str]):
    """Answers with the value of the chosen option. `lines` stand above the options."""

    SCOPE = "menu"

    def __init__(self, title: str, options: Sequence[Option], lines: Sequence[str] = ()) -> None:
        super().__init__(title)
        self._options = tuple(options)
        self._lines = tuple(lines)

    def body(self) -> ComposeResult:
        with DialogBody():
            if self._lines:
                yield Static(safe("\n".join(self._lines)), markup=False, classes="lines")
            yield Options(self._options)

    def keys(self) -> Keys:
        (move, _), (take, label) = pair_of(self, "option_previous", "option_next", ""), *self.offer("menu_take")
        return ((f"{move} {take}", label), *self.offer("back", back="cancel"))

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        if command.call.startswith("choose(") and not any(option.action == command.action for option in self._options):
            return "that key is not an answer here"
        return super().why_not(command)

    def on_key(self, event: events.Key) -> None:
        """Take the answer whose number was typed, where answers have no keys of their own."""
        for key, option in zip(keys_of(self, "menu_number"), self._options, strict=False):
            if event.key == key and not option.action:
                event.stop()
                self.dismiss(option.value)
                return

    def action_choose(self, action: str) -> None:
        for option in self._options:
            if option.action == action:
                self.dismiss(option.value)

    def on_click(self, event: events.Click) -> None:
        number = event.style.meta.get("option")
        if isinstance(number, int):
            self.dismiss(self._options[number].value)

    def action_take(self) -> None:
        self.dismiss(self._options[self.query_one(Options).index].value)


def consequences(lines: Iterable[str], most: int = 12) -> tuple[str, ...]:
    """At most `most` lines of a preview, and how many more there are."""
    everything = [one_line(line, 200) for line in lines]
    if len(everything) <= most:
        return tuple(everything)
    return (*everything[:most], f"… and {len(everything) - most} more")


Quoted = Sequence[tuple[str, str]]  # a heading and a text


class ConfirmName(FormScreen[bool]):
    """Answers True once `name` was typed exactly, False when left."""

    SEND = "confirm"

    def __init__(self, title: str, name: str, lines: Sequence[str] = ()) -> None:
        super().__init__(title)
        self._wanted = one_line(name, 200)
        self._lines = tuple(lines)

    def rows(self) -> Iterable[Widget]:
        if self._lines:
            yield Static(safe("\n".join(self._lines)), markup=False, classes="consequences")
        yield row("name", TextField(id="name"))

    def keys(self) -> Keys:
        return form_keys(self)

    def preview(self) -> Content:
        return Content.assemble("This cannot be undone. Type ", (self._wanted, "bold"), " to go on.")

    def read(self) -> bool:
        if self.query_one("#name", TextField).text != self._wanted:
            raise Invalid("The name does not match.", "name")
        return True

    def action_leave(self) -> None:
        self.dismiss(False)


class Quotes(VerticalScroll):
    """What a question is about. `read` holds once its end has been on the screen."""

    read = False

    def on_mount(self) -> None:
        self.watch(self, "scroll_y", self._look, init=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._look)

    def _look(self) -> None:
        laid_out = self.size.height > 0 and self.virtual_size.height > 0
        self.read = self.read or (laid_out and self.scroll_offset.y >= self.max_scroll_y)


class ConfirmKey(Dialog[bool]):
    """Shows what the key of `action` will do to what; answers True when that key is pressed, False when left.

    `quoted` are texts of somebody else under a heading of ours: all of each, behind a gutter mark, so that it cannot
    pass for the program's own. Emptiness in them is folded, and the key counts once their end was on the screen.
    """

    SCOPE = "confirm"
    DEFAULT_CSS = "ConfirmKey .whose { height: auto; width: 100%; color: $room-muted; }"

    def __init__(self, title: str, lines: Iterable[str], action: str, verb: str, quoted: Quoted = ()) -> None:
        super().__init__(title)
        self._lines = consequences(lines)
        self._action = action
        self._verb = verb
        self._quoted = tuple(quoted)

    def body(self) -> ComposeResult:
        with Quotes(classes="rows"):
            yield Static(safe("\n".join(self._lines)), markup=False, classes="lines")
            for heading, text in self._quoted:
                lines = line_count(text)
                whose = f"{one_line(heading)}  {number(lines)} lines" if lines > 1 else one_line(heading)
                yield Static(Content(whose), classes="whose")
                yield Static(Content(fold(text)), classes="agent words")
        yield StatusLine()

    def keys(self) -> Keys:
        scroll = (pair_of(self, "down", "up", "move"), *self.offer("bottom")) if self._quoted else ()
        return ((key_of(self, self._action), self._verb), *scroll, *self.offer("back", back="cancel"))

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        if command.call.startswith("confirm(") and command.action != self._action:
            return f"{key_of(self, self._action)} answers this question"
        return super().why_not(command)

    def action_confirm(self, action: str) -> None:
        if action != self._action:
            return
        if not self._quoted or self.query_one(Quotes).read:
            self.dismiss(True)
            return
        end, yes = key_of(self, "bottom"), key_of(self, action)
        self.query_one(StatusLine).say(f"There is more below: {end} goes to its end, then {yes} counts.", bad=True)

    def action_scroll(self, how: str) -> None:
        getattr(self.query_one(Quotes), how)(animate=False)

    def action_leave(self) -> None:
        self.dismiss(False)


Appearance = Callable[[], tuple[str, ...]]


class ReasonPrompt(FormScreen[str]):
    """Answers with the reason for what `title` says, verb first. `lines` say beforehand what the action will do.

    `look`, called in a thread, gives what is offered where nothing was `recent`.
    """

    hint = "reason (stored in the journal)"

    def __init__(
        self, title: str, recent: tuple[str, ...], lines: Sequence[str] = (), look: Appearance | None = None
    ) -> None:
        super().__init__(title)
        self.SEND = title.partition(" ")[0].lower()
        self._look = look
        self._recent = recent
        self._lines = tuple(lines)

    def keys(self) -> Keys:
        (arrows, label) = pair_of(self, "offer_previous", "offer_next", "an earlier one")
        return form_keys(self, *(((f"{key_of(self, 'offer_number')} {arrows}", label),) if self._recent else ()))

    def rows(self) -> Iterable[Widget]:
        if self._lines:
            yield Static(safe("\n".join(self._lines)), markup=False, classes="consequences")
        yield row("reason", Offers(self._recent, id="reason", placeholder=self.hint, numbered=True))

    def on_mount(self) -> None:
        super().on_mount()
        if self._look is not None:
            self.run_worker(self._offer(self._look))

    async def _offer(self, look: Appearance) -> None:
        """Offer what the journal holds; what is offered already keeps its digits."""
        recent = await looked(self, look)
        if recent and not self._recent:
            self._recent = recent
            self.query_one(Offers).offer(recent)
            self.query_one(KeysLine).show(self.keys())

    def read(self) -> str:
        reason = self.query_one("#reason", TextField).text
        if not reason:
            raise Invalid("Give a reason: one line that explains it later.", "reason")
        return reason
