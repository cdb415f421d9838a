"""The texts of the files below evolved/, and the section of CLAUDE.md that is made from them.

In a file of evolved/ what was learnt is between two marks, and what a person wrote around them stays. The section
holds the constitution and what was learnt, in a fixed order, within a budget, with a report of what was cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from lumen_tui.model.evolution import TARGETS, Observation, ObservationStatus
from lumen_tui.model.patterns import lazy_re

BEGIN, END = "<!-- learnt: begin -->", "<!-- learnt: end -->"
_ENTRY = lazy_re(r"^- (?P<text>.*?) <!-- (?P<id>evo-[0-9a-z]+) -->$", re.M)
_LOCKED = lazy_re(r"<!-- locked -->.*?<!-- /locked -->", re.S)
_COMMENT = lazy_re(r"[ \t]*<!--.*?-->", re.S)
_INTRO = "What you write outside of the two marks stays as it is."


def parts(text: str) -> tuple[str, str, str]:
    """Return what is before the learnt part, that part without its marks, and what is behind it.

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
    """Return the file with these observations in the given order; what is around them in `old` is kept."""
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


def uncommented(text: str) -> str:
    """Return the text without comments: marks and ids, which are for programs."""
    return _COMMENT.sub("", text)


def in_force(observations: Iterable[Observation], target: str) -> list[Observation]:
    """Return what is in a file, in the order in which it was learnt."""
    return [
        observation
        for observation in observations
        if observation.target == target and observation.status is ObservationStatus.ACCEPTED
    ]


SECTION_BEGIN, SECTION_END = "<!-- lumen: begin -->", "<!-- lumen: end -->"
_BEGINS = lazy_re(
    rf"^{SECTION_BEGIN}[ \t\r]*$", re.M
)  # marks count where they begin a line: a text may well speak of them
_ENDS = lazy_re(rf"^{SECTION_END}", re.M)
ENTRY_ID = lazy_re(r"<!-- (evo-[0-9a-z]+) -->")
Worth = tuple[bool, float, float]  # nothing speaks against it; its confidence; when it was seen last, in seconds
_NOTE = "Learnt from sessions; `lumen-tui evolve` and the evolution screen change it, not this file."


class SectionCut(Struct, frozen=True):
    """What did not fit."""

    part: str
    lines: int
    bytes: int
    own: int = 0  # of these lines, those that a person wrote: they go last


class Assembled(Struct, frozen=True):
    """The section between our marks, marks included, and what was left out of it."""

    text: str
    size: int  # bytes
    budget: int
    cuts: tuple[SectionCut, ...] = ()


def _all_alike(_: str) -> Worth:
    return (True, 0.0, 0.0)


def assemble(
    constitution: str, texts: Mapping[str, str], budget: int, worth: Callable[[str], Worth] = _all_alike
) -> Assembled:
    """Put the parts together. The constitution is never cut; of the others whole lines are.

    What was learnt goes first, by its `worth` (asked with the id of an observation), then a person's own last lines.
    No part is cut while it takes no more than its even share of the room: one long part crowds out no other.
    """
    assembled = f"{SECTION_BEGIN}\n<!-- {_NOTE} -->\n"
    if principles := plain(constitution):
        assembled += f"\n# Constitution\n\n{principles}\n"
    parts = [(title, text) for name, title in TARGETS.items() if plain(text := texts.get(name, ""))]
    sizes = [_size(title, plain(text)) for title, text in parts]
    spare, cuts = 0, []
    for (title, text), share in zip(
        parts, _shares(sizes, budget - len(f"{assembled}{SECTION_END}\n".encode())), strict=True
    ):
        text, learnt = _without_the_least(text, _size(title, plain(text)) - share - spare, worth)
        section, own = _fitting(title, plain(text), share + spare)
        spare += share - len(section.encode())
        assembled += section
        if lost := [*learnt, *own]:
            cuts.append(SectionCut(title, len(lost), len("\n".join(lost).encode()), len(own)))
    assembled += f"{SECTION_END}\n"
    return Assembled(assembled, len(assembled.encode()), budget, tuple(cuts))


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """Return how many bytes each may take: what a small one leaves of its even share goes to the larger ones."""
    shares = [0] * len(sizes)
    room = max(0, room)
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    for taken, index in enumerate(by_size):
        shares[index] = min(sizes[index], room // (len(sizes) - taken))
        room -= shares[index]
    return shares


def _size(title: str, text: str) -> int:
    """Return the bytes of a section; none without a text."""
    return len(f"\n# {title}\n\n{text}\n".encode()) if text else 0


def _without_the_least(text: str, over: int, worth: Callable[[str], Worth]) -> tuple[str, list[str]]:
    """Return the text without those learnt lines that are worth least, `over` bytes of them, and these lines."""
    if over <= 0:
        return text, []
    lines = text.split("\n")
    learnt = {number: match[1] for number, line in enumerate(lines) if (match := ENTRY_ID.search(line))}
    gone: dict[int, str] = {}
    for number in sorted(learnt, key=lambda number: worth(learnt[number])):
        if over <= 0:
            break
        gone[number] = plain(lines[number])
        over -= len(gone[number].encode()) + 1
    remaining = [line for number, line in enumerate(lines) if number not in gone]
    return "\n".join(remaining), [gone[number] for number in sorted(gone)]


def _fitting(title: str, text: str, room: int) -> tuple[str, list[str]]:
    """Return as many whole lines of a section as fit, and the rest."""
    lines = text.split("\n") if text else []
    used = len(f"\n# {title}\n\n".encode())
    count = 0
    for line in lines:
        used += len(line.encode()) + 1
        if used > room:
            break
        count += 1
    remainder = "\n".join(lines[count:]).strip()
    section = f"\n# {title}\n\n" + "\n".join(lines[:count]) + "\n" if count else ""
    return section, remainder.split("\n") if remainder else []


def placed(old: str, section: str) -> str:
    """`old` with our section in the place of its own earlier one, else behind all that is there.

    Ours is what is between an end mark and the begin mark nearest above it: of a begin mark that lost its end
    nothing is taken away.
    """
    for end in _ENDS.finditer(old):
        if begins := list(_BEGINS.finditer(old, 0, end.start())):
            return old[: begins[-1].start()] + section.rstrip("\n") + old[end.end() :]
    gap = "" if not old else "\n" if old.endswith("\n") else "\n\n"
    return old + gap + section
