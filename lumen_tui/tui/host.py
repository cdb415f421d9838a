"""What screens, widgets and handlers may ask of the application and of the room, neither of which they import."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import AwaitMount
from textual.worker import Worker

from lumen_tui.actions.outcome import Done
from lumen_tui.engine.port import Port
from lumen_tui.model.digest import Digest
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui.bridge import ActionRefusal
from lumen_tui.tui.command_log import CommandLog
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance

T = TypeVar("T")


class RoomView(Protocol):
    """The room: its newest snapshot, its commands by name, and its footer."""

    snapshot: Snapshot

    @property
    def refusal(self) -> str:
        """Why nothing can be written from here; the empty string where it can."""

    @property
    def there(self) -> bool:
        """Whether it is open."""

    @property
    def app(self) -> App[Any]:
        """The application, as Textual has it."""

    @property
    def size(self) -> Size:
        """Its cells."""

    @property
    def is_mounted(self) -> bool:
        """Whether its widgets are there."""

    def say(self, text: str, bad: bool = False, seconds: float = 0.0) -> None:
        """Show a sentence in the footer for so many seconds, or for the usual ones."""

    def action_do(self, action: str) -> None:
        """Carry out a command by name, or say why it cannot be done now."""

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""

    def run_worker(self, work: Coroutine[None, None, T], *, group: str = ..., exclusive: bool = ...) -> Worker[T]:
        """Run a coroutine that ends with the room."""


class VisitDigest(Protocol):
    """What happened since the operator looked last."""

    @property
    def ready(self) -> bool:
        """Whether there is a state folder to read."""

    def digest(self) -> Digest:
        """Read it. Touches the disk: call it from a thread."""


def nothing() -> None:
    """Do nothing."""


class VerdictQuestion(NamedTuple):
    """A question of a few answers. Any key that answers nothing takes the `usual` one, or drops the question."""

    words: str  # `archive as`
    choices: Sequence[str]  # at 1, 2, 3 ...
    take: Callable[[int], None]  # gets the place of an answer
    usual: int | None = None  # the place of the answer that needs no digit
    write: Callable[[], None] | None = None  # asks for another answer than these
    drop: Callable[[], None] = nothing


class VerdictAsker(Protocol):
    """Asks one such question at a time."""

    def ask(self, verdict: VerdictQuestion) -> None:
        """Ask on the screen in front; what was asked before is answered as usual."""


class Repainter(Protocol):
    """What draws on the terminal."""

    def redraw(self) -> None:
        """Draw all of it again."""


class ScreenOpener(Protocol):
    """Any application: it opens screens."""

    def push_screen(self, screen: Screen[T], callback: Callable[[T | None], None] | None = None) -> AwaitMount:
        """Open a screen above the others; `callback` gets its result."""


class TerminalLender(Protocol):
    """Any application: it can lend its terminal."""

    def suspend(self) -> AbstractContextManager[None]:
        """Lend the terminal to another program. Raises SuspendNotSupported."""


class ThemeChooser(Protocol):
    """Any application: it draws in the colours of a theme."""

    def choose_theme(self, name: str) -> None:
        """Take another theme from now on; one that there is not changes nothing."""


class Host(ScreenOpener, TerminalLender, ThemeChooser, Protocol):
    """The application that the room runs in."""

    clock: Callable[[], float]  # seconds since 1970
    verdicts: VerdictAsker  # where a verdict asks for what it still needs
    engine: subprocess.Popen[bytes] | None  # the one that was started here
    front: Callable[[], RoomView]  # the room in front: the main screen, or the past over it
    open_past: Callable[[], None]  # the room as it was after what happened last

    @property
    def painter(self) -> Repainter:
        """What draws on the terminal."""

    command_log: CommandLog

    @property
    def port(self) -> Port:
        """What reads and writes the state. Every call may touch the disk."""

    @property
    def operator(self) -> str:
        """Who acts."""

    @property
    def room(self) -> RoomView:
        """The main screen."""

    @property
    def presence(self) -> VisitDigest:
        """What happened while nobody looked."""

    @property
    def look(self) -> Appearance:
        """Inks and shapes to draw with."""

    @property
    def lean(self) -> bool:
        """Whether only ASCII is drawn."""

    @property
    def read_only(self) -> bool:
        """Whether the operator asked to change nothing."""

    @property
    def drives(self) -> bool:
        """Whether the engine that was started here is the one that drives."""

    @property
    def screen(self) -> Screen[Any]:
        """The topmost screen."""

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]:
        """What is open, the topmost last."""

    def submit(
        self,
        request: Request,
        then: Callable[[Done], None] | None = None,
        otherwise: Callable[[ActionRefusal], None] | None = None,
    ) -> None:
        """Carry out one action in the background and say in the footer how it ended; `otherwise` gets why not."""

    def open_lineage(self, name: str) -> None:
        """Open what caused the thing with this id, and what came of it."""

    def tick_screens(self, now: float) -> None:
        """Bring the ages in what is open over the room up to date."""

    def await_snapshot(self) -> None:
        """Give the first snapshot a moment, so that the room is laid out and painted once."""

    def run_worker(self, work: Coroutine[None, None, T], *, group: str = ...) -> Worker[T]:
        """Run a coroutine that ends with the application."""

    def copy_to_clipboard(self, text: str) -> None:
        """Put text into the terminal's clipboard."""

    def end_by(self, number: int) -> None:
        """Leave as this signal asks for it."""

    def exit(self, result: int | None = None) -> None:
        """Leave the room with this exit code."""


def host_of(app: App[Any]) -> Host | None:
    """Return the room's application; None in another one, such as that of a screen alone."""
    host: Host | None = getattr(app, "host", None)
    return host


def appearance_of(app: App[Any]) -> Appearance:
    """Return the room's inks and shapes; the plain ones in another application."""
    host = host_of(app)
    return host.look if host is not None else NO_APPEARANCE


def say_on(host: Host, screen: Screen[Any], text: str, seconds: float = 0.0) -> None:
    """Show a sentence at the bottom of a screen, in the footer for so many seconds; some have no place for it."""
    if screen is host.screen_stack[0]:
        host.room.say(text, seconds=seconds)
    elif callable(say := getattr(screen, "say", None)):
        say(text)


def show_why(app: App[Any], name: str) -> None:
    """Open what caused the thing with this id, and what came of it; nothing in an application without a state."""
    if (host := host_of(app)) is not None:
        host.open_lineage(name)
