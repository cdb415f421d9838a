"""What every handler has: the room, its snapshot, the rows that a command is about, and the prompt for a reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.host import Host
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.reasons import Reasons
from lumen_tui.tui.kit.repeats import about
from lumen_tui.tui.panes.base import PanedRoom, subject_of

if TYPE_CHECKING:
    from lumen_tui.tui.kit.screen import DetailScreen

NO_LIST = "this pane has no list"
NO_ROWS = "this list is empty"


class Handler:
    """`do_<action>` carries a command out; `why_<action>` gives the reason where it cannot be done now."""

    scope = ""

    def __init__(self, room: PanedRoom, host: Host) -> None:
        self.room = room
        self.host = host
        self.reasons = Reasons(host)

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        return self.room.snapshot

    @property
    def layout(self) -> Layout:
        """The paths of the state folder."""
        return Layout(Path(self.snapshot.root))

    @property
    def refusal(self) -> str:
        """Why nothing can be written from this room; the empty string where it can."""
        return self.room.refusal

    @property
    def rows(self) -> LineList[Any]:
        """The list of this handler's pane."""
        rows = self.room.pane(self.scope).rows
        if rows is None:
            raise LookupError(f"pane {self.scope} has no list")
        return rows

    @property
    def selected(self) -> Any:
        """The row under the cursor, or None."""
        return self.rows.selected

    def key(self, action: str) -> str:
        """Return the key that carries a command out, as the operator has it."""
        return shown_key(BY_ACTION[action], self.snapshot.config.keys)

    def submit(self, request: Request) -> None:
        """Carry out one action; the marks it used are dropped once it is done."""

        def done(_: object) -> None:
            if self.scope:
                self.rows.unmark()

        self.host.submit(request, done)

    @property
    def sheet(self) -> DetailScreen[Any] | None:
        """The screen over the room that is in front; None where that is the room, or a question."""
        if self.host.screen is self.host.screen_stack[0]:
            return None
        from lumen_tui.tui.kit.screen import DetailScreen

        return self.host.screen if isinstance(self.host.screen, DetailScreen) else None

    def again(self, request: Request) -> None:
        """Carry out what was done last on the selected or marked rows in front, with the same arguments."""
        names = self.rows.targets() if self.scope else [subject_of(self.room)]
        for each in about(request, names):
            self.submit(each)

    def why_open(self) -> str:
        """Return why a pane without a list has nothing to open; asked of such panes alone."""
        return NO_LIST

    def open(self) -> None:
        """Show the selected row in full; panes without rows have nothing to open."""

    def show_task(self, task_id: str, model: str = "") -> None:
        """Open a task in full; `model` is the one or the tier that its role gives it."""
        from lumen_tui.tui.screens.task_detail import TaskDetailScreen

        host, standing = self.host, self.snapshot.standing
        host.push_screen(TaskDetailScreen(host.port, task_id, model=model, refusal=self.refusal, standing=standing))


def show_node(room: PanedRoom, host: Host, node_id: str) -> None:
    """Open a node in full, with the chain it is in."""
    room.run_worker(_show_node(room, host, node_id))


async def _show_node(room: PanedRoom, host: Host, node_id: str) -> None:
    from lumen_tui.tui.kit.jobs import looked
    from lumen_tui.tui.screens.memory import NodeDetail

    port = host.port
    try:
        node = await looked(room, port.node, node_id)
        chain = await looked(room, port.provenance, node_id)
    except (ActionError, StoreError) as error:
        room.say(str(error), bad=True)
        return

    def chosen(action: str | None) -> None:
        if action:
            room.action_do(action)

    host.push_screen(NodeDetail(node, host.clock(), chain), chosen)
