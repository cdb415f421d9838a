"""CLAUDE.md: the constitution and what was learnt, in a fixed order, within a budget, with a report of what was cut."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from lumen_tui.model import evolvedfiles
from lumen_tui.model.evolution import TARGETS

BEGIN, END = "<!-- lumen: begin -->", "<!-- lumen: end -->"
CONSTITUTION = "constitution.md"
_BEGINS = re.compile(rf"^{BEGIN}[ \t\r]*$", re.M)  # marks count where they begin a line: a text may well speak of them
_ENDS = re.compile(rf"^{END}", re.M)
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
    """Put the parts together. The constitution is never cut; of the others whole lines are, the last ones first.

    No part is cut while it takes no more than its even share of the room: one long part crowds out no other.
    """
    made = f"{BEGIN}\n<!-- {_NOTE} -->\n"
    if principles := evolvedfiles.plain(constitution):
        made += f"\n# Constitution\n\n{principles}\n"
    found = [(title, evolvedfiles.plain(texts.get(name, ""))) for name, title in TARGETS.items()]
    parts = [(title, text) for title, text in found if text]
    sizes = [len(f"\n# {title}\n\n{text}\n".encode()) for title, text in parts]
    spare, cuts = 0, []
    for (title, text), share in zip(parts, _shares(sizes, budget - len(f"{made}{END}\n".encode())), strict=True):
        kept, lost = _fitting(title, text, share + spare)
        spare += share - len(kept.encode())
        made += kept
        if lost:
            cuts.append(Cut(title, lost.count("\n") + 1, len(lost.encode())))
    made += f"{END}\n"
    return Assembled(made, len(made.encode()), budget, tuple(cuts))


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """How many bytes each may take: what a small one leaves of its even share goes to the larger ones."""
    shares = [0] * len(sizes)
    room = max(0, room)
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, index in enumerate(by_size):
        shares[index] = min(sizes[index], room // (len(sizes) - done))
        room -= shares[index]
    return shares


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
    """`old` with our section in the place of its own earlier one, else behind all that is there.

    Ours is what stands between an end mark and the begin mark nearest above it: of a begin mark that lost its end
    nothing is taken away.
    """
    for end in _ENDS.finditer(old):
        if begins := list(_BEGINS.finditer(old, 0, end.start())):
            return old[: begins[-1].start()] + section.rstrip("\n") + old[end.end() :]
    gap = "" if not old else "\n" if old.endswith("\n") else "\n\n"
    return old + gap + section
