"""CLAUDE.md: the constitution and what was learnt, in a fixed order, within a budget, with a report of what was cut."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from lumen_tui.model import evolvedfiles
from lumen_tui.model.evolution import TARGETS

BEGIN, END = "<!-- lumen: begin -->", "<!-- lumen: end -->"
CONSTITUTION = "constitution.md"
_NOTE = "Learnt from sessions; `lumen-tui evolve` and the evolution screen change it, not this file."


class Cut(Struct, frozen=True):
    """What did not fit."""

    part: str
    lines: int
    bytes: int


class Assembled(Struct, frozen=True):
    """The section between our marks, marks included, and what was left out of it."""

    text: str
    size: int  # bytes
    budget: int
    cuts: tuple[Cut, ...] = ()


def assemble(constitution: str, texts: Mapping[str, str], budget: int) -> Assembled:
    """Put the parts together. The constitution is never cut; of the others whole lines are, the last ones first."""
    sections = [("Constitution", evolvedfiles.plain(constitution))]
    sections += [(title, evolvedfiles.plain(texts.get(name, ""))) for name, title in TARGETS.items()]
    head = f"{BEGIN}\n<!-- {_NOTE} -->\n"
    room = budget - len((head + END + "\n").encode())
    body, cuts = "", []
    for title, text in sections:
        if not text:
            continue
        whole = f"\n# {title}\n\n{text}\n"
        kept, lost = (whole, "") if title == "Constitution" else _fitting(title, text, room)
        room -= len(kept.encode())
        body += kept
        if lost:
            cuts.append(Cut(title, lost.count("\n") + 1, len(lost.encode())))
    made = f"{head}{body}{END}\n"
    return Assembled(made, len(made.encode()), budget, tuple(cuts))


def _fitting(title: str, text: str, room: int) -> tuple[str, str]:
    """As many whole lines of a section as fit, and the rest."""
    lines = text.split("\n")
    used = len(f"\n# {title}\n\n".encode())
    kept = 0
    for line in lines:
        used += len(line.encode()) + 1
        if used > room:
            break
        kept += 1
    rest = "\n".join(lines[kept:])
    return (f"\n# {title}\n\n" + "\n".join(lines[:kept]) + "\n" if kept else ""), rest.strip()


def placed(old: str, section: str) -> str:
    """`old` with our section in the place of its own earlier one, else behind all that is there."""
    before, mark, rest = old.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if mark and closed:
        return before + section.rstrip("\n") + after
    gap = "" if not old else "\n" if old.endswith("\n") else "\n\n"
    return old + gap + section
