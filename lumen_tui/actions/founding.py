"""A work unit that a verb writes about and that is not there yet: it is made, so that no record hangs in the air."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.actions import acting, checks, work
from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.work import lanes

TITLE = "Untitled"


def may_be_new(root: files.StrPath, name: str) -> str:
    """The id, unless it is nearly that of a unit there is: ActionError with that one then."""
    near = tuple(one for one in checks.unit_names(Layout(Path(root))) if is_slip(name, one))
    if near:
        hint = f"if it is another one, `wu new TITLE --id {name}` makes it"
        raise ActionError(f"there is no work unit {name}; {hint}", candidates=near[:3], missing=True)
    return name


def is_slip(name: str, known: str) -> bool:
    """Whether two ids differ by zeros in front or by two digits that changed places.

    Other digits make another unit: WU-100 and WU-101 are worked on side by side.
    """
    first, second = name.partition("-")[2], known.partition("-")[2]
    if not second.isdigit() or int(first) == int(second):
        return second.isdigit()
    differ = [at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]]
    if len(first) != len(second) or len(differ) != 2 or differ[1] != differ[0] + 1:
        return False
    left, right = differ
    return (first[left], first[right]) == (second[right], second[left])


def make(root: files.StrPath, name: str, *, by: str, now: float, client: str = "") -> str:
    """Make the work unit; returns what to say of it, nothing where it was known after all.

    One that has a stamp, or that somebody took back, is known: it comes back by nobody's mere mention. To make it is an
    entry of its own, so that undo takes back the verb that mentioned it first, and then the unit.
    """
    store = Store(Path(root))
    retired = store.layout.work / "retired" / f"{name}.md"
    if retired.exists() or lanes.stamp_path(store.layout, name).exists():
        return ""
    try:
        with acting.on_the_word_of(by, client or acting.word().client, now):
            work.new(store, by=by, now=now, title=TITLE, id=name)
    except ActionError:
        if store.layout.work_unit(name).exists():  # somebody else made it at this moment
            return ""
        raise
    return f"work unit {name} was not there: it is made; say in work/{name}.md what it is about"
