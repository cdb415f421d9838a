"""What the evolution screen's keys do. Each is a job of its own, because some ask something first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lumen_tui.engine.port import Port
from lumen_tui.tui.kit import editor, jobs
from lumen_tui.tui.kit.confirm import ConfirmKey
from lumen_tui.tui.kit.reason_prompt import ReasonPrompt
from lumen_tui.tui.screens.evolution.view import EvolutionRow

if TYPE_CHECKING:
    from lumen_tui.tui.screens.evolution.screen import EvolutionScreen

_NAMED = 5  # observations that a question names
_RULES = "The rules turned this away: nobody takes it over here. What you write into evolved/ yourself stays."
_NOT_ONE = "Go to an observation first: h goes back to them."


class EvolutionVerbs:
    """Accept, reject, edit, go back, undo; about the marked rows or the selected one."""

    def __init__(self, screen: EvolutionScreen, port: Port) -> None:
        self._screen, self._port = screen, port
        self._reasons: tuple[str, ...] = ()

    async def accept(self) -> None:
        row = self._screen.rows.selected
        if row is not None and row.standing is not None:
            await self._approve(row)
        elif chosen := self._chosen():
            await self._submit("evolution.accept", ids=chosen)

    def _chosen(self) -> list[str]:
        """The marked observations, or the selected one; a sentence where there is none."""
        found = [key for key in self._screen.rows.targets() if key.startswith("evo-")]
        if not found:
            row = self._screen.rows.selected
            self._screen.say(_RULES if row is not None and row.rejection else _NOT_ONE, bad=True)
        return found

    async def _approve(self, row: EvolutionRow) -> None:
        diff = row.standing.diff if row.standing else ""
        lines = ("From then on the agent reads it as it stands now, and learning goes on.",)
        if await self._screen.app.push_screen_wait(
            ConfirmKey("Approve the constitution", lines, "y", "approve", [("what changed", diff)])
        ):
            await self._submit("constitution.approve")

    async def reject(self) -> None:
        chosen = self._chosen()
        if not chosen:
            return
        texts = [one.text for one in self._screen.page.observations if one.id in chosen]
        reason = await self._screen.app.push_screen_wait(ReasonPrompt("Reject", self._reasons, texts[:_NAMED]))
        if reason is not None:
            self._reasons = tuple(dict.fromkeys((reason, *self._reasons)))
            await self._submit("evolution.reject", ids=chosen, reason=reason)

    async def edit(self) -> None:
        row = self._screen.rows.selected
        if row is None or row.observation is None:
            self._screen.say(_NOT_ONE, bad=True)
            return
        try:
            text = editor.edit(self._screen.app, row.observation.text + "\n")
        except editor.NoEditor as error:
            self._screen.say(str(error), bad=True)
            return
        if text is None:
            self._screen.say("Nothing was changed.")
        else:
            await self._submit("evolution.edit", ids=row.key, text=text)

    async def restore(self) -> None:
        row = self._screen.rows.selected
        if row is None or row.version is None:
            self._screen.say("Go to a version first: h lists them.", bad=True)
            return
        await self._submit("evolution.restore", version=row.version.version)

    async def undo(self) -> None:
        await self._submit("undo")

    async def _submit(self, verb: str, **arguments: Any) -> None:
        if await jobs.submit(self._screen, self._port, verb, **arguments):
            self._screen.load()
