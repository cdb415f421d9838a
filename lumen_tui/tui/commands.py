"""Every command of the room, declared once: its key, footer entry, palette entry, help and docs come from here."""

from __future__ import annotations

from dataclasses import dataclass

EVERYWHERE = "everywhere"
WORKERS, SIGNALS, DISCOVERIES, DECAY = "workers", "signals", "discoveries", "decay"
ROWS = "rows"  # any pane or screen with a list


@dataclass(frozen=True)
class RoomCommand:
    """One thing the operator can do. `action` is the method `action_<action>` that does it."""

    action: str
    keys: tuple[str, ...]  # Textual key names, the first one is shown
    label: str  # one word for the footer
    help: str  # one sentence
    scope: str = EVERYWHERE
    writes: bool = False  # refused in a read-only room, with the reason
    footer: bool = False

    @property
    def shown_key(self) -> str:
        """The key as a person reads it."""
        return _PLAIN.get(self.keys[0], self.keys[0]) if self.keys else ""


_PLAIN = {
    "slash": "/", "colon": ":", "question_mark": "?", "full_stop": ".", "asterisk": "*",
    "left_square_bracket": "[", "right_square_bracket": "]", "left_curly_bracket": "{", "right_curly_bracket": "}",
}  # fmt: skip
