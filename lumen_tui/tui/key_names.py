"""What keys are called: by Textual, by a person who reads them, and in the settings."""

from __future__ import annotations

from collections.abc import Mapping

_PLAIN = {
    "slash": "/", "colon": ":", "question_mark": "?", "full_stop": ".", "asterisk": "*", "exclamation_mark": "!",
    "left_square_bracket": "[", "right_square_bracket": "]", "left_curly_bracket": "{", "right_curly_bracket": "}",
    "escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "comma": ",", "dollar_sign": "$",
    "minus": "-", "plus": "+", "equals_sign": "=", "number_sign": "#", "at": "@", "quotation_mark": '"',
    "underscore": "_", "ampersand": "&", "percent_sign": "%", "apostrophe": "'",
    "left_parenthesis": "(", "right_parenthesis": ")",
    "less_than_sign": "<", "greater_than_sign": ">",
    "semicolon": ";", "backslash": "\\",
    "tilde": "~", "vertical_line": "|", "delete": "del", "f1": "F1", "f2": "F2", "f3": "F3",
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


# What commands were called in settings of earlier versions.
_FORMER: Mapping[str, tuple[str, ...]] = {"answer_snooze": ("answer_hour", "needs_tomorrow")}
RENAMED: Mapping[str, str] = {former: action for action, names in _FORMER.items() for former in names}


def operators_key(action: str, keys: Mapping[str, str]) -> str:
    """Return the operator's own keys for a command as Textual names them, also under its former names; else empty."""
    own = next((keys[name] for name in (action, *_FORMER.get(action, ())) if name in keys), None)
    return "" if own is None else key_names(own)
