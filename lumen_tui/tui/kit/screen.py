"""What every screen over the room shares: a frame with a title, a line of keys, escape to leave, words as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Static

from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.host import Host, host_of
from lumen_tui.tui.kit.keys import TINY, KeysLine, Scoped, command_of, key_of, operators_keys
from lumen_tui.tui.kit.keys import Keys as Keys
from lumen_tui.tui.kit.parts import StatusLine, status_text
from lumen_tui.tui.kit.repeats import about, carry_out
from lumen_tui.tui.moved_keys import moved_to
from lumen_tui.tui.patches.one_frame import OneFrame, Sheet
from lumen_tui.tui.room_command import RoomCommand

if TYPE_CHECKING:
    from lumen_tui.tui.kit.text_area import Prose

Result = TypeVar("Result")

_WIDE = 100  # columns from which two halves stand side by side
_HIGH = 30  # lines from which a long form has room between its rows
_ROOMY = (80, 12)  # a window smaller than this in one way has no room for every key of a form
_SLIM = 45  # columns below which a name stands above its field


class Dialog(Scoped, OneFrame, ModalScreen[Result]):
    """A framed box over the room. Subclasses give `body` and `keys`; the heading may hold any text."""

    SCOPE: ClassVar[str] = "dialogs"  # of its commands, which those of its base classes join
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 - Textual declares the type
    VERTICAL_BREAKPOINTS = [(0, "-low"), (_HIGH, "-high")]  # noqa: RUF012

    _refusal = ""  # why nothing can be written from here

    def __init__(self, heading: str) -> None:
        super().__init__()
        self.heading = heading

    def compose(self) -> ComposeResult:
        _know_size(self, update=False)
        with Vertical(classes="box") as box:
            box.border_title = Content(one_line(self.heading, 100) or " ")
            yield from self.body()
            yield from self.foot()
        self.call_later(_tick_by_the_room, self)

    def foot(self) -> ComposeResult:
        """Compose the last line of the box."""
        yield KeysLine(self.keys())

    def on_resize(self) -> None:
        _know_size(self, update=True)
        self.remove_class("-full")
        self.call_after_refresh(_scroll_rows, self)

    def body(self) -> ComposeResult:
        """Compose the widgets between the title and the line of keys."""
        yield from ()

    def keys(self) -> Keys:
        """Return what the line at the bottom says."""
        return self.offer("back")

    def offer(self, *actions: str, **labels: str) -> Keys:
        """Return the keys of those commands that work now, as the operator has them; `labels` are other words."""
        return tuple(
            (key_of(self, action), labels.get(action, command.label))
            for action in actions
            if not self.why_not(command := command_of(type(self), action))
        )

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        return self._refusal if command.writes else ""

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_room(self, action: str) -> None:
        """Carry out a command of the room, above whatever is open or instead of it, or say why it cannot be done."""
        if (host := host_of(self.app)) is None:
            return
        room, above = host.front(), _open_above(host) if action in _INSTEAD else []
        reason = room.why_not(BY_ACTION[action])
        if any(not isinstance(screen, DetailScreen) or screen.HOLDS for screen in above):
            reason = f"decide here first; {key_of(self, 'back')} goes back"
        if reason:
            note(self, f"{BY_ACTION[action].label}: {reason}")
            return
        for screen in above:
            screen.dismiss(None)
        room.action_do(action)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot. Most dialogs have no use for one."""

    def tick(self, now: float) -> None:
        """Bring ages up to date, with those of the room. Most dialogs show none."""


def retitle(dialog: Dialog[Result], heading: str, aside: str = "") -> None:
    """Give a dialog a new title; `aside` is at the bottom right of its frame."""
    dialog.heading = heading
    box = dialog.query_one(".box")
    box.border_title = Content(one_line(heading, 100) or " ")
    box.border_subtitle = Content(one_line(aside, 60)) if aside else None


def _tick_by_the_room(dialog: Dialog[Result]) -> None:
    """Show ages as the room counts them: the snapshot that a dialog was opened with may be a minute old."""
    host = host_of(dialog.app)
    if host is not None and dialog.there:
        dialog.tick(host.clock())


def _know_size(dialog: Dialog[Result], *, update: bool) -> None:
    """Set the classes of its size before Textual sets those that it knows, with the first layout: it styles once.

    `update` is for a size that comes later.
    """
    width, height = dialog.app.size
    wide, high = width >= _WIDE, height >= _HIGH
    few, tiny = width < _ROOMY[0] or height < _ROOMY[1], height < _ROOMY[1]
    sizes = {"-wide": wide, "-narrow": not wide, "-high": high, "-low": not high}
    dialog.update_classes(sizes | {"-few": few, "-slim": width < _SLIM, TINY: tiny}, update=update, animate=False)


def _scroll_rows(dialog: Dialog[Result]) -> None:
    """Let `.rows` scroll and the keys stay where the box, once laid out, has no room for both."""
    if dialog.query_one(".box").max_scroll_y > 0:
        dialog.add_class("-full")


class DetailScreen(Sheet, Dialog[Result]):
    """A sheet over the whole room but its top line. `n` and `N` leave it for what needs a person."""

    SCOPE = "sheets"
    HOLDS = False  # whether something would be lost, or left undecided, where it is left in passing
    REPEATS: ClassVar[frozenset[str]] = frozenset()  # the verbs that can be repeated on what is selected or open here
    verbs: object = None  # what its keys do, a method each, where that is no matter of how it looks

    @property
    def subject(self) -> str:
        """The id of what is selected or open here; empty where it has none that other operators would know."""
        return ""

    def subjects(self) -> Sequence[str]:
        """Return the ids of what a command of the room is about here: the marked rows, or `subject`."""
        return (self.subject,) if self.subject else ()

    def again(self, request: Request) -> None:
        """Carry out what was done last on what is selected or open here, with the same arguments."""
        if (host := host_of(self.app)) is not None:
            for each in about(request, self.subjects()):
                carry_out(host, self, each)

    def action_verb(self, name: str) -> None:
        """Carry out one of `verbs`."""
        getattr(self.verbs, name)()

    def say(self, text: str, bad: bool = False) -> None:
        """Show a sentence at the bottom; an empty one takes it away. Nobody reads it on a screen that was left."""
        if self.there:
            self.query_one(StatusLine).say(text, bad)

    def on_key(self, event: events.Key) -> None:
        """Tell where a command went whose key moved with this version."""
        scopes = [scope for base in type(self).__mro__ if (scope := vars(base).get("SCOPE"))]
        if words := moved_to(event.key, scopes, operators_keys(self)):
            note(self, words)

    def action_undo(self) -> None:
        """Undo the operator's last action, wherever it was; sheets with actions of their own answer themselves."""
        if (host := host_of(self.app)) is None:
            return
        if host.front().refusal:
            note(self, f"undo: {host.front().refusal}")
        else:
            host.submit(Undo(), lambda done: note(self, done.summary), lambda refusal: note(self, refusal))


# Commands of the room for which everything that is open is left.
_INSTEAD = frozenset({"next_need", "previous_need", "needs", *(f"pane_{number}" for number in range(1, 7))})


def _open_above(host: Host) -> list[Dialog[Any]]:
    """Return what is open above the room, the topmost first."""
    return [*takewhile(lambda screen: isinstance(screen, Dialog), reversed(host.screen_stack))]


def note(screen: Dialog[Result], text: str) -> None:
    """Show a word in the corner that goes by itself, in place of the one before."""
    screen.app.clear_notifications()
    screen.notify(text, markup=False, timeout=3)


class DialogBody(VerticalScroll, can_focus=False):
    """What a dialog asks. Where it has to scroll, the place where one types or chooses stays in sight."""

    def __init__(self) -> None:
        super().__init__(classes="rows")

    def on_resize(self) -> None:
        if isinstance(self.screen, Dialog):
            # The screen's own size came before anything was laid out in it.
            self.screen.call_after_refresh(_scroll_rows, self.screen)
        self.call_after_refresh(self._into_sight)

    def _into_sight(self) -> None:
        field = self.screen.focused
        if field is None or self not in field.ancestors:
            return
        for line in field.ancestors:
            if isinstance(line, Widget) and line.has_class("row"):
                line.scroll_visible(animate=False)  # its name as well, where there is room
        field.scroll_visible(animate=False)


class Invalid(ValueError):
    """What a form cannot accept; `field` is the id of the widget to correct."""

    def __init__(self, what: str, field: str) -> None:
        super().__init__(what)
        self.field = field


class FormScreen(Dialog[Result]):
    """Labelled rows, a button and a line for what is wrong. Nothing typed is ever thrown away by an error."""

    SCOPE = "form"
    SEND = "send"

    def body(self) -> ComposeResult:
        with DialogBody():
            yield from self.rows()
            yield Static(classes="preview within")
        yield Static(classes="preview")
        yield Static(classes="complaint")

    def foot(self) -> ComposeResult:
        with Horizontal(classes="bar"):
            yield Button(Content(self.SEND), compact=True, classes="send")
            yield KeysLine(self.keys())
        first, *_, last = self.keys()
        yield KeysLine(((first[0], self.SEND), last)).add_class("few")

    def keys(self) -> Keys:
        return form_keys(self, *self.offer("form_next"))

    def rows(self) -> Iterable[Widget]:
        """Return the rows of the form, made with `row`."""
        return ()

    def read(self) -> Result:
        """Return what the form says; Invalid where it cannot be used."""
        raise NotImplementedError

    def preview(self) -> Content:
        """Return one line on what will happen; empty where there is nothing to say."""
        return Content()

    def on_mount(self) -> None:
        self.refresh_preview()

    def refresh_preview(self) -> None:
        """Say again what the form as it stands would do, and whether a complaint still holds."""
        words = self.preview()
        for line in self.query(".preview").results(Static):
            line.update(words)
            line.set_class(not words, "-empty")
        if self.has_class("-wrong"):
            self.check()

    def check(self) -> Result | None:
        """Return the form's result, or None with the complaint on the screen."""
        try:
            result = self.read()
        except Invalid as wrong:
            self.complain(str(wrong), wrong.field)
            return None
        self.complain("", "")
        return result

    def complain(self, what: str, field: str) -> None:
        """Show what is wrong and mark the row that it is about; an empty text takes both away."""
        self.set_class(bool(what), "-wrong")
        self.call_after_refresh(_scroll_rows, self)
        self.query_one(".complaint", Static).update(status_text(what, bad=True))
        for line in self.query(".row"):
            line.set_class(bool(field) and bool(line.query(f"#{field}")), "-wrong")

    def action_send(self) -> None:
        result = self.check()
        if result is not None:
            self.dismiss(result)
        elif wrong := self.query(".row.-wrong Input, .row.-wrong TextArea"):
            wrong.first().focus()

    def on_input_submitted(self) -> None:
        self.action_send()

    def on_prose_sent(self, _event: Prose.Sent) -> None:
        self.action_send()

    def on_button_pressed(self) -> None:
        self.action_send()

    def on_input_changed(self) -> None:
        self.refresh_preview()

    def on_text_area_changed(self) -> None:
        self.refresh_preview()

    def on_choice_changed(self, _event: Message) -> None:
        self.refresh_preview()


def form_keys(form: FormScreen[Result], *keys: tuple[str, str]) -> Keys:
    """Return the keys that send a form and leave it, with others between them."""
    send = (key_of(form, "form_send"), f"or {key_of(form, 'form_send_now')}")
    return (send, *keys, *form.offer("back", back="cancel"))


def row(label: str, *widgets: Widget, note: str = "") -> Horizontal:
    """Return one line of a form: what it is, where it is typed, and what may be said about it."""
    field: list[Widget] = list(widgets)
    if note:
        field.append(Static(Content(note), classes="note"))
    return Horizontal(Static(Content(label), classes="label"), Vertical(*field, classes="field"), classes="row")
