"""Commands of the whole room: the engine, new work, undo, the screens over it, leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lumen_tui.actions.outcome import Done
from lumen_tui.engine.launch import start_engine
from lumen_tui.model import agent
from lumen_tui.model.ids import short
from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.requests.engine import PauseAgent, Redo, RequestBeat, ResumeAgent, StopEngine, Undo
from lumen_tui.model.requests.tasks import EditTask, NewTask
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.storage.files import StoreError
from lumen_tui.tui import words
from lumen_tui.tui.bridge import ActionRefusal, reason_first
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.keys import commands_in, owner_of, why_not_now
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.panes.base import BandView, PanedRoom
from lumen_tui.tui.room_command import WORKERS, RoomCommand
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.screen_commands import SCREENS

if TYPE_CHECKING:
    from lumen_tui.tui.kit.screen import Dialog


class EngineHandler(Handler):
    """Start, beat, pause, new task, undo and redo."""

    def __init__(self, room: PanedRoom, host: Host) -> None:
        super().__init__(room, host)
        self.draft: dict[str, Any] = {}  # of a new task: what was typed and not sent

    def _why(self) -> str:
        if self.snapshot.engine.life is not EngineLife.NONE:
            return ""
        return f"no engine is running; {self.key('engine')} starts one"

    why_beat = why_pause = _why

    def do_beat(self) -> None:
        self.submit(RequestBeat())

    def do_pause(self) -> None:
        """Ask what to pause; what is paused as a whole goes on at once."""
        from lumen_tui.tui.screens.engine import PauseForm

        beat = self.snapshot.engine.heartbeat
        if beat is not None and beat.phase == "paused":
            self.submit(ResumeAgent())
            return

        def filled(request: PauseAgent | ResumeAgent | None) -> None:
            if request:
                self.submit(request)

        rows = self.room.pane(WORKERS).rows
        form = PauseForm(_scopes(self.snapshot, rows.selected if rows is not None else None))
        self.host.push_screen(form, filled)

    def why_engine(self) -> str:
        return "" if self.snapshot.engine.life is EngineLife.NONE else "an engine drives this folder already"

    def do_engine(self) -> None:
        self.room.run_worker(self._start_engine(), group="engine", exclusive=True)

    async def _start_engine(self) -> None:
        host = self.host
        try:
            engine = await asyncio.to_thread(start_engine, Path(self.snapshot.root))
        except (StoreError, OSError) as error:
            self.room.say(reason_first("engine", str(error)), bad=True)
            return
        host.engine = engine
        self.room.say("An engine is starting.")

    def do_undo(self) -> None:
        def refused(refusal: ActionRefusal) -> None:
            self.room.run_worker(self._offer_older(refusal.reason), group="undo")

        self.host.submit(Undo(), None, refused)

    async def _offer_older(self, reason: str) -> None:
        """Open the journal: an action that cannot be taken back any more need not hold up those before it."""
        from lumen_tui.tui.screens.journal import JournalScreen

        host = self.host
        try:
            older = await asyncio.to_thread(host.port.undoable)
        except (StoreError, OSError):
            return  # why nothing was undone is said already
        if older and len(host.screen_stack) == 1:
            screen = JournalScreen(host.port, host.operator, host.clock(), self.refusal)
            screen.begin(older, f"{reason}; u here undoes this earlier one")
            host.push_screen(screen)

    def do_redo(self) -> None:
        self.submit(Redo())

    def do_new_task(self) -> None:
        from lumen_tui.tui.screens.task_form import TaskForm, here

        workers = [role for role in self.snapshot.roles if role.name != agent.ROLE]
        form = TaskForm(workers, {"folder": here(), **self.draft})

        def filled(request: NewTask | None) -> None:
            self.draft = form.draft if request is None else {}
            if request:
                show_new = partial(self._show_new, moves=self._rows().moves)
                self.host.submit(request, show_new, lambda _: self._not_made(request))

        self.host.push_screen(form, filled)

    def _not_made(self, request: NewTask) -> None:
        """Keep what was typed for the next form, unless something newer was."""
        self.draft = self.draft or request.given()

    def _show_new(self, done: Done, moves: int) -> None:
        """Put the cursor on the new task as soon as it is in the snapshot, unless it was moved since enter."""
        self._rows().awaited.expect(done.target, moves)

    def _rows(self) -> LineList[TaskView]:
        return self.room.pane(WORKERS).query_one(LineList)


def _scopes(snapshot: Snapshot, task: TaskView | None) -> list[tuple[str, str]]:
    """Return what can be paused: everything, the loop, the worker under the cursor, each role."""
    worker = [(task.id, f"worker {short(task.id)}")] if task is not None and task.status.alive else []
    roles = [(f"role:{role.name}", f"role {role.name}") for role in snapshot.roles if role.name != agent.ROLE]
    return [("", "everything"), ("loop", "the loop"), *worker, *roles]


class _Place(NamedTuple):
    """What help and palette list: the commands, why one cannot be carried out, what stands first, what one does."""

    commands: Sequence[RoomCommand]
    why_not: Callable[[RoomCommand], str]
    scope: str
    carry_out: Callable[[str | None], None]


def _why_not_in_band(room: PanedRoom, command: RoomCommand) -> str:
    """Return why a command does nothing while the band is in front; the empty string where it does."""
    band = room.band
    if command not in SCREENS[band.SCOPE]:
        return room.why_not(command)
    answers = {"undo", *(offered.action for offered in band.offered())}
    return band.why_not(command) or ("" if command.action in answers else "it does not answer the selected row")


def _chosen_in_band(band: BandView, elsewhere: Callable[[str | None], None], action: str | None) -> None:
    """Do what a key of the band does, or what one of the room does."""
    command = next((each for each in SCREENS[band.SCOPE] if each.action == action), None)
    if command is not None:
        band.carry_out(command)
    else:
        elsewhere(action)


class ScreensHandler(Handler):
    """Roles, log, help, palette, the editor, the clipboard."""

    def do_roles(self) -> None:
        from lumen_tui.tui.screens.roles import RolesScreen

        self.host.push_screen(RolesScreen(self.host.port, self.snapshot))

    def do_log(self) -> None:
        from lumen_tui.tui.screens.engine import LogScreen

        self.host.push_screen(LogScreen(self.host.port, self.room.snapshot.taken))

    def do_journal(self) -> None:
        from lumen_tui.tui.screens.journal import JournalScreen

        host = self.host
        host.push_screen(JournalScreen(host.port, host.operator, host.clock(), self.refusal))

    def why_command_log(self) -> str:
        return "" if self.sheet is None or self.sheet.SCOPE != "command_log" else "this is it"

    def do_command_log(self) -> None:
        from lumen_tui.tui.screens.command_log import CommandLogScreen

        host = self.host
        host.push_screen(CommandLogScreen(host.command_log, host.clock()))

    def do_help(self) -> None:
        from lumen_tui.tui.screens.help import HelpScreen

        place, keys = self._place(), dict(self.snapshot.config.keys)
        if not isinstance(self.host.screen, HelpScreen):
            help_screen = HelpScreen(place.commands, keys, place.why_not, place.scope)
            self.host.push_screen(help_screen, place.carry_out)

    def do_palette(self) -> None:
        from lumen_tui.tui.screens.command_line import CommandPalette

        place, keys = self._place(), self.snapshot.config.keys
        palette = CommandPalette(place.commands, place.why_not, keys, place.scope)
        self.host.push_screen(palette, place.carry_out)

    def _place(self) -> _Place:
        """Return what keys are about: the screen over the room, else the band or the current pane in it."""
        screen, band = self._dialog(), self.room.band
        if screen is not None:
            return _Place(commands_in(screen), partial(_why_not_on, screen), screen.SCOPE, partial(_carry_out, screen))
        if not band.in_front:
            return _Place(COMMANDS, self.room.why_not, self.room.current.scope, self._chosen)
        own = SCREENS[band.SCOPE]
        others = [command for command in COMMANDS if command.action not in {each.action for each in own}]
        why_not, carry_out = partial(_why_not_in_band, self.room), partial(_chosen_in_band, band, self._chosen)
        return _Place((*own, *others), why_not, band.SCOPE, carry_out)

    def _dialog(self) -> Dialog[Any] | None:
        """Return what is open over the room."""
        from lumen_tui.tui.kit.screen import Dialog

        return self.host.screen if isinstance(self.host.screen, Dialog) else None

    def _chosen(self, action: str | None) -> None:
        if action:
            self.room.action_do(action)

    def why_copy(self) -> str:
        return "" if self._text() else "there is nothing to copy here"

    def do_copy(self) -> None:
        self.host.copy_to_clipboard(self._text())
        rows, detail = self.room.current.rows, self.room.current.detail()
        marked = len(rows.marks.keys) if rows is not None else 0
        what = words.plural(marked, "marked row") if marked else detail.title if detail else "the text"
        self.room.say(f"{what} {'are' if marked > 1 else 'is'} in the clipboard")

    def _text(self) -> str:
        """Return the marked rows as lines, else the selected row in full."""
        rows, pane = self.room.current.rows, self.room.current
        if rows is not None and rows.marks.keys:
            model = rows.model
            found = (model.find(key, near=(model.cursor,)) for key in rows.marks.keys)
            return "\n".join(rows.view.words(model.row(index)) for index in found if index is not None)
        detail = pane.detail()
        if detail is None:
            return ""
        facts = "".join(f"{name}: {value}\n" for name, value in detail.facts if value)
        return f"{detail.title}\n{facts}\n{detail.body}\n"

    def why_edit(self) -> str:
        rows = self.room.pane(WORKERS).rows
        task = rows.selected if rows is not None else None
        if self.room.current.scope != WORKERS or task is None:
            return ""
        if task.status is Status.QUEUED:
            return ""
        return f"only a queued task is edited; {self.key('retry_task')} makes a new one of it"

    def do_edit(self) -> None:
        rows = self.room.current.rows
        if self.room.current.scope == WORKERS and rows is not None and rows.selected is not None:
            self._edit_task(rows.selected.id, rows.selected.spec.objective)
        else:
            self._edit_settings(Path(self.snapshot.root) / "lumen.toml")

    def _edit_task(self, task_id: str, objective: str) -> None:
        from lumen_tui.tui.kit import editor

        changed = self._tried(lambda: editor.edit(self.host, objective))
        if changed is not None and changed.strip():
            self.submit(EditTask(task_id=task_id, changes={"objective": changed.strip()}))

    def _edit_settings(self, path: Path) -> None:
        from lumen_tui.tui.kit import editor

        self._tried(lambda: editor.edit_file(self.host, path))

    def _tried(self, run: Callable[[], str | None]) -> str | None:
        from lumen_tui.tui.kit import editor

        try:
            return run()
        except (editor.NoEditor, OSError) as error:
            self.room.say(str(error), bad=True)
        return None


def _why_not_on(screen: Dialog[Any], command: RoomCommand) -> str:
    return screen.why_not(command) or why_not_now(screen, command)


def _carry_out(screen: Dialog[Any], action: str | None) -> None:
    from lumen_tui.tui.kit.screen import note

    command = next((command for command in commands_in(screen) if command.action == action), None)
    if command is None:
        return
    owner = owner_of(screen, command)
    if (why := _why_not_on(screen, command)) or owner is None:
        note(screen, f"{command.label}: {why}")
    else:
        screen.call_later(screen.app.run_action, command.call, owner)


class QuitHandler(Handler):
    """Leaving, and what becomes of an engine that was started here."""

    def do_redraw(self) -> None:
        self.host.painter.redraw()

    def do_how_to_leave(self) -> None:
        self.room.say(f"{self.key('quit')} leaves")

    def do_quit(self) -> None:
        how = self.snapshot.config.room.on_quit
        if not self.host.drives:
            how = "keep"
        if how != "ask":
            self._leave(how)
            return
        from lumen_tui.tui.screens.engine import QuitAsk

        self.host.push_screen(QuitAsk(engine_started_here=True), self._leave)

    def _leave(self, how: str | None) -> None:
        if how == "keep":
            self.host.exit(0)
        elif how == "stop":
            self.host.submit(StopEngine(reason="the room was left"), lambda _: self.host.exit(0))
