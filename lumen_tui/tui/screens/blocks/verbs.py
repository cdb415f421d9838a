"""What the keys of the blocks screen do. Each is a job of its own, because it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lumen_tui.engine.port import Port
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit import editor, jobs
from lumen_tui.tui.screens.blocks.view import BlockRow

if TYPE_CHECKING:
    from lumen_tui.tui.screens.blocks.screen import BlocksScreen


class BlocksVerbs:
    """Edit, lock, back to a step, undo, about the selected row; and a new block."""

    def __init__(self, screen: BlocksScreen, port: Port) -> None:
        self._screen, self._port = screen, port
        self._unsaved: dict[str, str] = {}  # texts that were refused: the next `e` goes on with them

    async def edit(self, row: BlockRow) -> None:
        name = row.block.name
        if locked := row.block.fields.locked:
            self._screen.say(f"{name} is locked by {one_line(locked, 60)}: l unlocks it, then e edits it.", bad=True)
            return
        before = self._unsaved.get(name, row.block.text)
        try:
            text = editor.edit(self._screen.app, before + "\n")
        except editor.NoEditor as error:
            self._screen.say(str(error), bad=True)
            return
        text = before if text is None else text.removesuffix("\n")
        if text == row.block.text:
            self._unsaved.pop(name, None)
            self._screen.say("Nothing was changed.")
            return
        self._unsaved[name] = text
        if await self._submit("block.rethink", name=name, text=text, base=row.block.step):
            del self._unsaved[name]

    async def lock(self, row: BlockRow) -> None:
        verb = "block.unlock" if row.block.fields.locked else "block.lock"
        await self._submit(verb, name=row.block.name)

    async def restore(self, row: BlockRow) -> None:
        if row.past is None:
            self._screen.say("Go to a step first: h shows the history of the block.", bad=True)
            return
        await self._submit("block.restore", name=row.block.name, step=row.past.step)

    async def new(self) -> None:
        from lumen_tui.tui.screens.blocks.form import BlockForm

        form = BlockForm(lambda: {block.name for block in self._screen.page.blocks})
        if arguments := await self._screen.app.push_screen_wait(form):
            await self._submit("block.new", **arguments)

    async def undo(self) -> None:
        await self._submit("undo")

    async def _submit(self, verb: str, **arguments: Any) -> bool:
        done = await jobs.submit(self._screen, self._port, verb, **arguments)
        self._screen.load()
        return done is not None
