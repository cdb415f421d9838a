"""Commands of the operator's own, run from the room: their template, what they ask, and what they are told.

Nothing that a file, a model or a worker wrote becomes part of a command: it reaches the command in variables alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import safe

_ASK = lazy_re(r"\{ask:([^{}]{1,60})\}")
_LONGEST = 10_000  # characters of a variable


def questions(run: str) -> tuple[str, ...]:
    """Return what a template asks, each once: `deploy {ask:reason}` asks for the reason."""
    return tuple(dict.fromkeys(match.strip() for match in _ASK.findall(run)))


def script(run: str) -> str:
    """Return the template for a shell: each `{ask:...}` is a quoted variable, which holds what was answered."""
    places = {name: place for place, name in enumerate(questions(run), start=1)}
    return _ASK.sub(lambda match: f'"$LUMEN_ASK_{places[match[1].strip()]}"', run)


def variables(pane: str, selected: str, marked: Iterable[str], root: str, answers: Sequence[str]) -> dict[str, str]:
    """Return what a command is told: the state folder, the pane, the id under the cursor, those marked, the answers."""
    environment = {
        "LUMEN_STATE": root,
        "LUMEN_PANE": pane,
        "LUMEN_ID": selected,
        "LUMEN_IDS": " ".join(marked) or selected,
        **{f"LUMEN_ASK_{place}": answer for place, answer in enumerate(answers, start=1)},
    }
    return {name: safe(value)[:_LONGEST] for name, value in environment.items()}
