"""The keys that the operator moved, as `[keys]` of the settings names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.key_names import key_names


def keymap(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the operator's [keys] as Textual takes them; names that are no command are left out (see `slip_in`)."""
    return {action: key_names(keys[action]) for action in keys if action in BY_ACTION}


def slip_in(keys: Iterable[str]) -> str:
    """Return what is wrong with the names in [keys], with the nearest that are right; empty where nothing is."""
    wrong = [name for name in keys if name not in BY_ACTION]
    if not wrong:
        return ""
    import difflib

    near = dict.fromkeys(name for one in wrong for name in difflib.get_close_matches(one, BY_ACTION, 2, 0.5))
    return f"[keys] has no command {', '.join(wrong)}" + (f"; near it: {', '.join(near)}" if near else "")
