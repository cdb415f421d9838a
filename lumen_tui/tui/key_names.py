"""What keys are called: by Textual, by a person who reads them, and in the settings."""

from __future__ import annotations

_PLAIN = {
    "slash": "/", "colon": ":", "question_mark": "?", "full_stop": ".", "asterisk": "*", "exclamation_mark": "!",
    "left_square_bracket": "[", "right_square_bracket": "]", "left_curly_bracket": "{", "right_curly_bracket": "}",
    "escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "comma": ",", "dollar_sign": "$", "minus": "-", "plus": "+",
    "delete": "del", "f1": "F1", "f2": "F2", "f3": "F3",
}  # fmt: skip
DIGITS = tuple("123456789")
_ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
_NAMED = {shown: key for key, shown in _PLAIN.items()}


def plain_key(key: str) -> str:
    """`question_mark` -> `?`."""
    return _PLAIN.get(key, key)


def together(*keys: str) -> str:
    """Return the shown keys of commands that belong together: `up`, `down` -> `↑↓`; `j`, `k` -> `j k`."""
    return "".join(_ARROWS[key] for key in keys) if all(key in _ARROWS for key in keys) else " ".join(keys)


def key_names(text: str) -> str:
    """Return what an operator writes in [keys], as Textual names it: `?` -> `question_mark`, `x, ctrl+y` stays."""
    return ",".join(_NAMED.get(key.strip(), key.strip()) for key in text.split(",") if key.strip()) or "comma"
