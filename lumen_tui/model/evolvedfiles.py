"""The text of a file below evolved/: what a person wrote stays, what was learnt stands between two marks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lumen_tui.model.evolution import TARGETS, Observation, Status

BEGIN, END = "<!-- learnt: begin -->", "<!-- learnt: end -->"
_ENTRY = re.compile(r"^- (?P<text>.*?) <!-- (?P<id>evo-[0-9a-z]+) -->$", re.M)
_LOCKED = re.compile(r"<!-- locked -->.*?<!-- /locked -->", re.S)
_COMMENT = re.compile(r"[ \t]*<!--.*?-->", re.S)
_INTRO = "What you write outside of the two marks stays as it is."


def parts(text: str) -> tuple[str, str, str]:
    """Return what stands before the learnt part, that part without its marks, and what stands behind it.

    Where the end mark is gone the learnt part ends with its last entry: the rest may be a person's.
    """
    before, mark, remainder = text.partition(BEGIN)
    if not mark:
        return text, "", ""
    inside, closed, after = remainder.partition(END)
    if closed:
        return before, inside, after
    last = max((match.end() for match in _ENTRY.finditer(remainder)), default=0)
    return before, remainder[:last], remainder[last:]


def render(target: str, old: str, accepted: Iterable[Observation]) -> str:
    """Return the file with these observations in the given order; what stands around them in `old` is kept."""
    before, _, after = parts(old)
    if not old.strip():
        before = f"# {TARGETS[target]}\n\n{_INTRO}\n\n"
    elif not before.endswith("\n") and before:
        before += "\n"
    lines = "".join(f"- {observation.text} <!-- {observation.id} -->\n" for observation in accepted)
    return f"{before}{BEGIN}\n{lines}{END}{after or chr(10)}"


def entries(text: str) -> dict[str, str]:
    """Return the text of every learnt entry in the file, by its id."""
    return {match["id"]: match["text"] for match in _ENTRY.finditer(parts(text)[1])}


def locked(text: str) -> list[str]:
    """Return what no change may touch: everything outside of the marks, and locked blocks within."""
    before, inside, after = parts(text)
    return [part for part in (before.strip(), after.strip(), *_LOCKED.findall(inside)) if part]


def plain(text: str) -> str:
    """Return the text as an agent reads it: without marks, ids and the heading, which CLAUDE.md gives."""
    shown = _COMMENT.sub("", text.replace(_INTRO, ""))
    lines = shown.strip().splitlines()
    if lines and lines[0].startswith("# "):
        lines = lines[1:]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()


def in_force(observations: Iterable[Observation], target: str) -> list[Observation]:
    """Return what stands in a file, in the order in which it was learnt."""
    return [
        observation
        for observation in observations
        if observation.target == target and observation.status is Status.ACCEPTED
    ]
