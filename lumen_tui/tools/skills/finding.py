"""Finds the skills of a task: those of the folder that it works in, of the folders above it up to the top of its
repository, then those of the state folder. The nearest one of a name counts; in one folder `.agents/skills` comes
before `.claude/skills`, and that before `skills`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from msgspec import Struct

from lumen_tui.model.roles import Role
from lumen_tui.model.skills import FILE, PLACES, Skill, SkillProblem, Skills
from lumen_tui.storage.files import StoreError
from lumen_tui.store.evolution import evolved_skills
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.tools.base import Context
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.levels import closed, levels, own_files
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.files.paths import forbidden
from lumen_tui.tools.sandbox.policy import task_folder
from lumen_tui.tools.skills.reading import read_skill

_MOST_FOLDERS = 200  # of one place that are looked into
_MOST_SKILLS = 100
_MOST_PROBLEMS = 200
_UNSEEN = ("node_modules", "__pycache__")


class SkillPlace(Struct, frozen=True):
    """A folder that may hold skills; nothing that it links to outside of `top` is followed."""

    folder: str
    top: str
    name: str  # in words
    closed: Callable[[str], str]  # why a real path below it is not read, or empty


def places(context: Context) -> Iterator[SkillPlace]:
    """Yield where skills are looked for, the first one to count first."""
    root = os.path.realpath(context.store.root)
    folder = task_folder(context)
    if folder and (not is_below(folder, root) or is_below(folder, own_files(context))):
        around = levels(folder, own_files(context))
        for level in reversed(around):
            name = "the folder worked in" if level == folder else "a folder above it"
            for below in PLACES:
                yield SkillPlace(os.path.join(level, below), around[0], name, lambda path: closed(context, path))
    free = forbidden_anywhere(context)
    for below in (*PLACES, os.path.relpath(context.store.layout.evolved_skills, context.store.root)):
        yield SkillPlace(os.path.join(root, below), root, "the state folder", free)


def forbidden_anywhere(context: Context) -> Callable[[str], str]:
    """Return what refuses secrets and the engine's own files, whichever folders the task is kept to."""
    from msgspec.structs import replace

    unbound = replace(context, rules=replace(context.rules, roots=()))
    return lambda path: forbidden(unbound, path)


def find(context: Context) -> Skills:
    """Look for the skills of a task; `of_task` does so once."""
    with suppress(DamagedChampion, StoreError, OSError):  # then those of evolution that are there are shown as they are
        evolved_skills.settle(context.store.layout)
    skills: dict[str, Skill] = {}
    problems: list[SkillProblem] = []
    seen: set[str] = set()
    for place in places(context):
        for path in _folders(place, problems):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                _take(place, path, real, skills, problems)
    its_own = [skill for skill in skills.values() if _is_for(skill, context.role)]
    return Skills(tuple(its_own)[:_MOST_SKILLS], tuple(problems[:_MOST_PROBLEMS]))


def _is_for(skill: Skill, role: Role) -> bool:
    """Return whether a role may have a skill: those of evolution have proved themselves on one role's tasks alone."""
    said = dict(skill.metadata)
    own = said.get("owner") == evolved_skills.EVOLUTION
    return not own or (said.get("role") == role.name and role.source == "shipped")


def of_task(context: Context) -> Skills:
    """Return the skills of a task that its role may have, found once: what a task writes is no skill for itself."""
    if context.memo.skills is None:
        context.memo.skills = find(context).only(context.role.skills)
    return context.memo.skills


def _take(place: SkillPlace, path: str, real: str, skills: dict[str, Skill], problems: list[SkillProblem]) -> None:
    """Add the skill in one folder, or what is wrong with it."""
    file = os.path.join(path, FILE)
    if reason := _outside(place, path) or _outside(place, file) or _linked(real):
        problems.append(SkillProblem(file, reason, refused=True))
        return
    skill, faults = read_skill(real, file, place.name)
    problems += faults
    if skill is None:
        return
    if first := skills.get(skill.name):
        reason = f"the skill {skill.name!r} of {first.path} comes before it"
        problems.append(SkillProblem(file, reason, refused=True))
        return
    skills[skill.name] = skill


def _outside(place: SkillPlace, path: str) -> str:
    """Return why what is at a path is not read, or empty."""
    real = os.path.realpath(path)
    if not is_below(real, place.top):
        return f"it is a link that leads out of {place.top}"
    return place.closed(real)


def _linked(folder: str) -> str:
    """Return why the SKILL.md of a real folder is not its own, or empty."""
    real = os.path.realpath(os.path.join(folder, FILE))
    return "" if is_below(real, folder) else f"{FILE} is a link that leads out of the skill's folder"


def _folders(place: SkillPlace, problems: list[SkillProblem]) -> Iterator[str]:
    """Yield the folders of a place in which there is something by the name of SKILL.md, sorted."""
    real = os.path.realpath(place.folder)
    if not os.path.lexists(place.folder):
        return
    if reason := _outside(place, place.folder):
        problems.append(SkillProblem(place.folder, reason, refused=True))
        return
    try:
        with opening.folder(real) as fd:
            names = sorted(name for name in os.listdir(fd) if not name.startswith(".") and name not in _UNSEEN)
    except OSError as error:
        if not isinstance(error, NotADirectoryError):
            problems.append(SkillProblem(place.folder, f"it cannot be listed: {error.strerror}", refused=True))
        return
    if len(names) > _MOST_FOLDERS:
        unseen = len(names) - _MOST_FOLDERS
        problems.append(
            SkillProblem(place.folder, f"{unseen:,} entries beyond the first {_MOST_FOLDERS} are not looked at")
        )
    for name in names[:_MOST_FOLDERS]:
        path = os.path.join(place.folder, name)
        if os.path.lexists(os.path.join(path, FILE)):
            yield path
        elif os.path.islink(path) and not os.path.exists(path):
            problems.append(SkillProblem(path, "it is a link that leads nowhere", refused=True))
