"""Lookups that verbs share: ids and names from outside, with errors that suggest the nearest match."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.refusal import ambiguous, nearest, no_such
from lumen_tui.model import ids, lanes
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import nodes
from lumen_tui.store.tasks import task_files
from lumen_tui.store.work import views

_ALIKE = 80  # percent of likeness from which an id may be meant by another


def as_ids(selection: str | Iterable[str]) -> list[str]:
    """Return one id or several as a list without duplicates."""
    unique = list(dict.fromkeys([selection] if isinstance(selection, str) else selection))
    if not unique:
        raise ActionError("nothing is selected: name at least one id")
    return unique


def reason(text: str) -> str:
    """Return the reason stripped. ActionError where it is empty."""
    if not text.strip():
        raise ActionError("a reason is needed: say in a few words why")
    return text.strip()


def _resolve_all(path: Path, selection: str | Iterable[str], kind: str, noun: str) -> dict[str, int]:
    """Return full ids and the offsets of their newest lines (-1 where a prefix was given)."""
    texts = as_ids(selection)
    whole = nodes.find(path, texts)
    return {
        (text if text in whole else _resolve(path, text, kind, noun)): whole[text][0] if text in whole else -1
        for text in texts
    }


def _resolve(path: Path, text: str, kind: str, noun: str) -> str:
    try:
        return nodes.resolve(path, ids.check_file_name(text, f"{noun} id"), kind)
    except nodes.Ambiguous as error:
        raise ambiguous(text, error.candidates) from error
    except LookupError:
        raise ActionError(f"there is no {noun} {text!r}", candidates=_similar_ids(path, text), missing=True) from None


def _similar_ids(path: Path, text: str) -> tuple[str, ...]:
    """Return ids of a journal that differ from `text` in a letter or two."""
    from rapidfuzz import fuzz, process

    known = nodes.all_ids(path)
    return tuple([name for name, _, _ in process.extract(text, known, scorer=fuzz.ratio, limit=3, score_cutoff=_ALIKE)])


def node_ids(store: Store, selection: str | Iterable[str]) -> list[str]:
    """Return the full ids of memory nodes."""
    return list(_resolve_all(store.layout.memory, selection, "mem", "node"))


def signal_ids(store: Store, selection: str | Iterable[str]) -> dict[str, int]:
    """Return the full ids of signals, each with the offset of its line where that is known."""
    return _resolve_all(store.layout.signals, selection, "sig", "signal")


def task_id(store: Store, text: str) -> str:
    """Return the full id of a task, live or archived."""
    name = ids.check_name(text, "task id")
    if task_files.folder_of(store.layout, name):
        return name
    known = list(task_files.all_ids(store.layout))
    matches = [known_id for known_id in known if known_id.startswith((name, f"tsk-{name}"))]
    if len(matches) > 1:
        raise ambiguous(text, matches)
    if not matches:
        raise ActionError(f"there is no task {text!r}", candidates=nearest(name, known), missing=True)
    return matches[0]


def unit_names(layout: Layout) -> list[str]:
    """Return the ids of all work units."""
    return sorted(path.stem for path in layout.work.glob("WU-*.md"))


def known_unit(layout: Layout, text: str) -> str:
    """Return the id of an existing work unit, or an empty text for an empty one."""
    if not text:
        return ""
    name = ids.check_wu(text.upper())
    if not layout.work_unit(name).exists():
        near = nearest(name, unit_names(layout))
        raise ActionError(f"there is no work unit {name}", candidates=near, missing=True)
    return name


def role_name(layout: Layout, text: str) -> str:
    """Return the name of a role in force."""
    from lumen_tui.store.settings import roles  # most commands need no role

    if roles.is_in_force(layout, text):
        return text
    known = [role.name for role in roles.list_roles(layout)[0]]
    if not nearest(text, known):
        ids.check_name(text, "role")
    raise no_such(f"there is no role {text!r} in force", text, known)


def known_lanes(layout: Layout) -> list[str]:
    """Return the lanes of all work units, and those with a limit in the settings."""
    from lumen_tui.store.settings.config import load_config  # most commands need no lane

    return sorted({*views.known_lanes(layout.root), *load_config(layout)[0].lanes.limits})


def lane(layout: Layout, text: str) -> str:
    """Return a lane, new or known, in its known spelling. A new one that is nearly a known one is refused."""
    name = ids.check_label(text.strip(), "lane")
    known = known_lanes(layout)
    if same := [known_lane for known_lane in known if lanes.key(known_lane) == lanes.key(name)]:
        return name if name in same else same[0]
    near = tuple(known_lane for known_lane in known if lanes.is_slip(name, known_lane))
    if not near:
        return name
    hint = "use that; a lane that is really called so has its limit in lumen.toml, [lanes] limits"
    raise ActionError(f"lane {name!r} is new and nearly {near[0]!r}: {hint}", candidates=near[:3])
