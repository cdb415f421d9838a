"""The files of one skill: listed, looked through, and read by a path that cannot leave the skill's folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from msgspec import Struct

from lumen_tui.model.skills import FILE, Skill, SkillProblem
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import ToolError
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.levels import read_regular
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.files.paths import special
from lumen_tui.tools.skills.reading import SkillRefused, concealed, legible

LARGEST = 1024 * 1024  # bytes of one file that are read
_HUGE = 20 * LARGEST
_MOST_ENTRIES = 2_000
_DEEPEST = 8
Closed = Callable[[str], str]


class SkillFile(Struct, frozen=True):
    """A file of a skill; `path` counts from the skill's folder."""

    path: str
    size: int


def listing(skill: Skill, closed: Closed) -> tuple[list[SkillFile], list[SkillProblem]]:
    """Return the files that can be read, sorted, and what is wrong with the others. No folder is entered by a link."""
    readable: list[SkillFile] = []
    problems: list[SkillProblem] = []
    for number, (path, status) in enumerate(_walk(skill.folder, problems)):
        if number >= _MOST_ENTRIES:
            problems.append(SkillProblem(skill.path, f"its folder holds more than {_MOST_ENTRIES:,} entries"))
            break
        below = os.path.relpath(path, skill.folder)
        if fault := _fault(skill, path, status, closed):
            problems.append(SkillProblem(os.path.join(os.path.dirname(skill.path), below), fault))
        elif below != FILE:
            readable.append(SkillFile(below, os.stat(path).st_size))
    return sorted(readable, key=lambda file: file.path), problems


def _walk(top: str, problems: list[SkillProblem]) -> Iterator[tuple[str, os.stat_result]]:
    pending = [(top, 1)]
    while pending:
        folder, depth = pending.pop()
        try:
            with opening.folder(folder) as fd, os.scandir(fd) as entries:
                rows = [(os.path.join(folder, entry.name), entry.stat(follow_symlinks=False)) for entry in entries]
        except OSError as error:
            problems.append(SkillProblem(folder, f"it cannot be listed: {error.strerror}"))
            continue
        for path, status in sorted(rows, key=lambda row: row[0]):
            if not stat.S_ISDIR(status.st_mode):
                yield path, status
            elif depth < _DEEPEST:
                pending.append((path, depth + 1))
            else:
                problems.append(SkillProblem(path, f"it is more than {_DEEPEST} folders deep and not looked into"))


def _fault(skill: Skill, path: str, status: os.stat_result, closed: Closed) -> str:
    """Return why one entry is not read, or empty."""
    real = os.path.realpath(path)
    if stat.S_ISLNK(status.st_mode):
        if not is_below(real, skill.folder):
            return "it is a link that leads out of the skill's folder"
        try:
            status = os.stat(path)
        except OSError:
            return "it is a link that leads nowhere or in a circle"
        if stat.S_ISDIR(status.st_mode):
            return "it is a link to a folder, which is not followed"
    if kind := special(status):
        return f"it is {kind}"
    if status.st_size > _HUGE:
        return f"it has {status.st_size:,} bytes: {_HUGE:,} at most"
    return closed(real)


def check(skill: Skill, closed: Closed) -> list[SkillProblem]:
    """Return what is wrong with the files of a skill that can be used; its SKILL.md is checked when it is read."""
    readable, problems = listing(skill, closed)
    for file in readable:
        shown = os.path.join(os.path.dirname(skill.path), file.path)
        data = read_regular(os.path.join(skill.folder, file.path), LARGEST) if file.size <= LARGEST else None
        if data is not None and b"\0" not in data:
            problems += concealed(data.decode("utf-8", "replace"), shown)
    return problems


def text_within(skill: Skill, path: str, closed: Closed) -> str:
    """Return the text of one file of a skill. ToolError where the path leads out of it or to no text."""
    shown = one_line(path, 200)
    if "\0" in path or os.path.isabs(path) or ".." in path.split("/"):
        raise ToolError(f"{shown!r} is no path within the skill: give one such as scripts/run.py")
    real = os.path.realpath(os.path.join(skill.folder, path))
    if not is_below(real, skill.folder):
        raise ToolError(f"{shown} is a link that leads out of the skill's folder, and is not read")
    if reason := closed(real):
        raise ToolError(reason)
    if os.path.isdir(real):
        raise ToolError(f"{shown} is a folder of the skill: read_skill without a path lists its files")
    data = read_regular(real, LARGEST + 1)
    if data is None:
        raise ToolError(f"the skill {skill.name} has no file {shown}: read_skill without a path lists its files")
    if len(data) > LARGEST or b"\0" in data:
        raise ToolError(f"{shown} is {'larger than 1 MiB' if len(data) > LARGEST else 'binary'} and not read here")
    try:
        return legible(data.decode("utf-8", "replace"))
    except SkillRefused as error:
        raise ToolError(f"{shown} is not read: {error}") from error
