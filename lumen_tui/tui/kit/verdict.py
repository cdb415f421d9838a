"""What a verdict still needs, such as a reason: a digit right behind its key gives it, and no other screen opens."""

from __future__ import annotations

from collections.abc import Sequence

from textual.screen import Screen
from textual.timer import Timer

from lumen_tui.model.text import one_line
from lumen_tui.tui.host import Host, VerdictQuestion, say_on
from lumen_tui.tui.kit.keys import key_of, keys_of

_UNASKED = 5.0  # seconds after which the usual answer is taken
_ASKED = 30.0  # seconds after which a question without a usual answer is dropped


def shown_answers(choices: Sequence[str], usual: int | None) -> str:
    """Return the answers with their digits; the usual one stands between brackets."""
    numbered = (f"{number} {one_line(choice, 30)}" for number, choice in enumerate(choices, 1))
    return "  ".join(f"[{text}]" if place == usual else text for place, text in enumerate(numbered))


class VerdictKeys:
    """The one question of this kind that is open in a room. It reads keys before any binding does."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: VerdictQuestion | None = None
        self._screen: Screen[object] | None = None
        self._timer: Timer | None = None

    def ask(self, verdict: VerdictQuestion) -> None:
        """Ask on the screen in front; what was asked before is answered as usual."""
        self.settle()
        self._open, self._screen = verdict, self._host.screen
        patience = _ASKED if verdict.usual is None else _UNASKED
        self._say(self._sentence(verdict), patience)
        self._timer = self._screen.set_timer(patience, self.settle)

    def settle(self) -> None:
        """Take the usual answer of what is open, or drop it."""
        if (verdict := self._close()) is None:
            return
        if verdict.usual is not None:
            verdict.take(verdict.usual)
        else:
            verdict.drop()

    def takes(self, key: str) -> bool:
        """Return whether a key answers what is open."""
        verdict, screen = self._open, self._screen
        if verdict is None or screen is None:
            return False
        if self._host.screen is not screen:
            self.settle()
            return False
        digits = keys_of(screen, "menu_number")
        if key in digits:
            self._digit(verdict, list(digits).index(key))
        elif key in keys_of(screen, "verdict_write") and verdict.write is not None:
            self._close()
            verdict.drop()
            verdict.write()
        elif key in keys_of(screen, "undo") or (verdict.usual is None and key in keys_of(screen, "back")):
            self._close()
            verdict.drop()
        else:
            self.settle()
            return verdict.usual is not None and key in keys_of(screen, "menu_take")
        return True

    def _digit(self, verdict: VerdictQuestion, place: int) -> None:
        """Take an answer. A digit that stands for none changes nothing: it must not end as the number of a pane."""
        if place < len(verdict.choices):
            self._close()
            verdict.take(place)

    def _close(self) -> VerdictQuestion | None:
        verdict, self._open = self._open, None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if verdict is not None:
            self._say("", 0.0)
        return verdict

    def _sentence(self, verdict: VerdictQuestion) -> str:
        other = f"  {key_of(self._host.screen, 'verdict_write')} another" if verdict.write else ""
        return f"{verdict.words}  {shown_answers(verdict.choices, verdict.usual)}{other}"

    def _say(self, text: str, seconds: float) -> None:
        if self._screen is not None:
            say_on(self._host, self._screen, text, seconds)
