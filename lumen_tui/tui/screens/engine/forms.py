"""What the operator is asked about the engine: what to pause and for how long, and what becomes of it on leaving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from textual.content import Content
from textual.widget import Widget

from lumen_tui.model import times
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit.fields import Choice, Line
from lumen_tui.tui.kit.menu import Menu, Option
from lumen_tui.tui.kit.screen import FormScreen, Invalid, row

PAUSE, RESUME = "engine.pause", "engine.resume"
_VERBS = ((PAUSE, "pause"), (RESUME, "let go on"))
_AFTER = (("task", "finish their task"), ("step", "rest after their step"), ("now", "rest at once"))
_LONGEST = 366 * times.DAY


class PauseForm(FormScreen[tuple[str, dict[str, Any]]]):
    """Answers with the verb and its arguments. `scopes` are targets as `engine.pause` takes them, with a name each."""

    SEND = "do it"

    def __init__(self, scopes: Sequence[tuple[str, str]]) -> None:
        super().__init__("Pause")
        self._scopes = [(target, one_line(name, 40)) for target, name in scopes]

    def rows(self) -> Iterable[Widget]:
        yield row("what", Choice(self._scopes, id="target"))
        yield row("do", Choice(_VERBS, id="verb"))
        yield row("workers", Choice(_AFTER, id="after"))
        yield row("for", Line(placeholder="such as 2h; empty: until somebody lets it go on", id="for"))
        yield row("reason", Line(placeholder="why, for everybody to see", id="reason"))

    def preview(self) -> Content:
        name = dict(self._scopes)[self._of("target")]
        if self._of("verb") == RESUME:
            return Content(f"{name} goes on.")
        rest = {"loop": "The main agent begins no new loop; workers go on.", "": "Nothing new starts."}
        return Content(rest.get(self._of("target"), "The others go on."))

    def _of(self, field: str) -> str:
        return self.query_one(f"#{field}", Choice).value

    def read(self) -> tuple[str, dict[str, Any]]:
        verb, target, after = self._of("verb"), self._of("target"), self._of("after")
        found: dict[str, Any] = {"target": target}
        if verb == RESUME:
            return verb, {name: value for name, value in found.items() if value}
        if _is_task(target) and after == "task":
            raise Invalid("One worker rests after its step, or at once; c in the workers ends its task.", "after")
        found |= {"seconds": self._seconds(), "reason": self.query_one("#reason", Line).text}
        found["after"] = after if not target or _is_task(target) else ""
        return verb, {name: value for name, value in found.items() if value}

    def _seconds(self) -> float:
        text = self.query_one("#for", Line).text.replace(" ", "")
        try:
            seconds = times.parse_duration(text) if text else 0.0
        except ValueError as error:
            raise Invalid(str(error), "for") from error
        if text and not 1 <= seconds <= _LONGEST:
            raise Invalid("A pause lasts from 1s up to a year.", "for")
        return seconds


def _is_task(target: str) -> bool:
    return bool(target) and target != "loop" and not target.startswith("role:")


_KEEP = Option("k", "keep it running", "keep", "the agent goes on; any room can attach again")
_STOP = Option("s", "stop the engine", "stop", "workers go on; the next engine takes them over")
_LEAVE = Option("k", "leave", "keep", "nothing stops")


class QuitAsk(Menu):
    """Answers `stop` or `keep`. Where the engine was started elsewhere there is nothing to stop."""

    def __init__(self, engine_started_here: bool) -> None:
        if engine_started_here:
            super().__init__("Leave the room", (_KEEP, _STOP), ("This room started the engine.",))
        else:
            super().__init__("Leave the room", (_LEAVE,), ("The engine was not started here and goes on.",))
