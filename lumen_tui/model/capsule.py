"""What the agent wakes with: the briefing of its loop within a budget, and the capsule of what came before in it.

A capsule is made from its recent packets and what is open, within a budget of tokens, which are estimated: four bytes
of UTF-8 are taken for one, rounded up. What there is no room for is cut in a fixed order, `CUTS`. A briefing has
sections, each within its share of characters. Either reports what it had no room for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from lumen_tui.model import times
from lumen_tui.model.text import one_line, safe

LEAST = 200  # tokens of the smallest budget: the head and the report of what was cut need room
_BYTES = 4  # of a token
_ENTRY = 240  # characters of an entry
_REPORT = 72  # bytes of one line of the report, at most
TITLES = {
    "left_out": "Abandoned and decided against",
    "asked": "Waits for a person",
    "constraints": "Constraints",
    "threads": "Active threads",
    "projects": "Projects",
    "decided": "Decided",
    "loops": "Recent loops",
    "claims": "Claims that are not fresh",
}
UNACCEPTED = ("asked", "claims")  # parts in words that no person has accepted: a model gets them behind a fence
# (part, how many entries it keeps), in the order in which parts are cut. What was left out goes last of all.
CUTS = (
    ("loops", 3), ("decided", 5), ("projects", 8), ("claims", 5), ("asked", 5), ("threads", 8), ("loops", 1),
    ("constraints", 6), ("left_out", 10), ("decided", 0), ("projects", 0), ("claims", 0), ("loops", 0), ("asked", 0),
    ("threads", 0), ("constraints", 0), ("left_out", 0),
)  # fmt: skip


class CapsulePart(Struct, frozen=True):
    """One section, the most important entry first."""

    name: str
    entries: tuple[str, ...]


class CapsuleCut(Struct, frozen=True):
    """How many entries of a part were left out, of how many."""

    part: str
    left: int
    of: int


class Capsule(Struct, frozen=True):
    """loops/capsules/<loop>.json. Two clocks: when it was written, and when its stalest claim was last confirmed."""

    loop: int  # that wakes with it
    written_at: str
    budget: int  # tokens
    tokens: int = 0  # of its text, estimated
    parts: tuple[CapsulePart, ...] = ()
    cut: tuple[CapsuleCut, ...] = ()  # in the order in which they were cut
    first_loop: int = 0  # of the packets that it is made from
    last_loop: int = 0
    claims: int = 0  # that the agent goes by now
    stalest_id: str = ""
    stalest: str = ""  # its claim
    confirmed_at: str = ""  # when that was last confirmed from outside; empty for never
    marked: int = 0  # entries that carry the mark of a stale or drifted claim
    schema: int = 1


class Claims(Struct, frozen=True):
    """What is known of the facts behind a capsule. `marks`: the words beside what is not fresh, by what names it."""

    count: int = 0
    stalest_id: str = ""
    stalest: str = ""
    confirmed: float = 0.0  # seconds since 1970, 0 for never
    marks: Mapping[str, str] = {}  # an id or a claim in lower case -> its mark
    listed: Sequence[str] = ()  # claims that are relied on and not fresh, with their marks


def tokens_of(text: str) -> int:
    """Return how many tokens a text is taken for."""
    return tokens_in(len(text.encode()))


def tokens_in(size: int) -> int:
    """Return the same for a number of bytes."""
    return -(-size // _BYTES)


def assemble_capsule(
    loop: int, parts: Sequence[CapsulePart], claims: Claims, *, budget: int, now: float, loops: tuple[int, int] = (0, 0)
) -> Capsule:
    """Return a capsule of at most `budget` tokens; one below LEAST is taken as LEAST."""
    marked = [CapsulePart(part.name, tuple(_marked(entry, claims.marks) for entry in part.entries)) for part in parts]
    listed = CapsulePart("claims", tuple(one_line(entry, 2 * _ENTRY) for entry in claims.listed))
    whole = [part for part in (*marked, listed) if part.entries]
    capsule = Capsule(
        loop=loop,
        written_at=times.iso(now),
        budget=max(LEAST, budget),
        first_loop=loops[0],
        last_loop=loops[1],
        claims=claims.count,
        stalest_id=claims.stalest_id,
        stalest=one_line(claims.stalest, 100),
        confirmed_at=times.iso(claims.confirmed) if claims.confirmed else "",
    )
    return _filled(capsule, whole)


def _marked(entry: str, marks: Mapping[str, str]) -> str:
    """Return an entry on one line, with the mark of a claim that it names."""
    text = one_line(entry, _ENTRY)
    plain = " ".join(text.split()).casefold()
    mark = next((words for name, words in marks.items() if name in plain), "")
    return f"{text} {mark}" if mark and mark not in text else text


def _filled(capsule: Capsule, parts: list[CapsulePart]) -> Capsule:
    entries = {part.name: list(part.entries) for part in parts}
    cut = _shortened(entries, capsule.budget * _BYTES - _size(_head(capsule)))
    fitting = tuple(CapsulePart(part.name, tuple(entries[part.name])) for part in parts if entries[part.name])
    marked = sum(entry.endswith("]") and " [" in entry for part in fitting for entry in part.entries)
    counts = {part.name: len(part.entries) for part in parts}
    report = tuple(CapsuleCut(name, counts[name] - len(entries[name]), counts[name]) for name in cut)
    filled = structs.replace(capsule, parts=fitting, cut=report, marked=marked)
    return structs.replace(filled, tokens=tokens_of(render(filled)))


def _shortened(remaining: dict[str, list[str]], room: int) -> list[str]:
    """Cut `remaining` in place until it fits into `room` bytes; return the parts that were cut, in order."""
    sizes = {name: [_size(f"- {entry}\n") for entry in entries] for name, entries in remaining.items()}
    used = sum(map(sum, sizes.values())) + sum(_heading(name) for name, entries in remaining.items() if entries)
    cut: dict[str, None] = {}
    for name, keep in CUTS:
        while used > room and len(remaining.get(name, ())) > keep:
            if not cut:
                room -= _REPORT
            if name not in cut:
                room -= _REPORT
            cut[name] = None
            remaining[name].pop()
            used -= sizes[name].pop() + (0 if remaining[name] else _heading(name))
    return list(cut)


def _heading(name: str) -> int:
    return _size(f"\n## {TITLES[name]}\n\n")


def _size(text: str) -> int:
    return len(text.encode())


def _head(capsule: Capsule) -> str:
    lines = [f"# Capsule for loop {capsule.loop}", "", f"- written {times.stamp_of(capsule.written_at)}"]
    if capsule.last_loop:
        first, last = capsule.first_loop, capsule.last_loop
        loops = f"packet of loop {last}" if first == last else f"packets of loops {first} to {last}"
        lines.append(f"- made from the {loops}")
    if not capsule.claims:
        lines.append("- no claim about the live system is noted")
    elif capsule.confirmed_at:
        lines.append(
            f"- its stalest claim was last confirmed {times.stamp_of(capsule.confirmed_at)}: {capsule.stalest}"
        )
    else:
        lines.append(f"- its stalest claim was never confirmed: {capsule.stalest}")
    return "\n".join(lines) + "\n"


def report(capsule: Capsule) -> tuple[str, ...]:
    """Return what was cut, in the order in which it was cut."""
    return tuple(f"{TITLES.get(cut.part, cut.part)}: {cut.left} of {cut.of} left out" for cut in capsule.cut)


def render(capsule: Capsule) -> str:
    """Return the capsule as text, at most as many tokens as its budget."""
    blocks = [_head(capsule)]
    for part in capsule.parts:
        lines = "".join(f"- {entry}\n" for entry in part.entries)
        blocks.append(f"\n## {TITLES.get(part.name, part.name)}\n\n{lines}")
    if capsule.cut:
        blocks.append("\n## Left out of this capsule\n\n" + "".join(f"- {line}\n" for line in report(capsule)))
    return "".join(blocks)


_LEAST_ENTRY = 60  # characters of an entry below which it is rather left out than cut


class Section(Struct, frozen=True):
    """A heading and its entries, the most important first. `most` is its share in characters."""

    title: str
    entries: tuple[str, ...]
    most: int
    kind: str = "entries"  # what the entries are, for the report
    more: str = ""  # where the rest can be read


class Briefing(Struct, frozen=True):
    """The text, what was cut, and for each section how many of its entries are in it."""

    text: str
    cut: tuple[str, ...]
    taken: dict[str, int]


def assemble_briefing(sections: Sequence[Section]) -> Briefing:
    """Return the sections that have entries, in their order; each within its share."""
    parts, cut, taken = [], [], {}
    for section in sections:
        lines, count, shortened = _fill(section)
        taken[section.title] = count
        missing = len(section.entries) - count
        if missing:
            where = f": {section.more}" if section.more else ""
            cut.append(f"{section.title}: {missing} of {len(section.entries)} {section.kind} left out{where}")
        if shortened:
            where = f": {section.more}" if section.more and not missing else ""
            cut.append(f"{section.title}: the last entry was cut{where}")
        if lines:
            parts.append(f"## {section.title}\n\n" + "\n".join(lines))
    if cut:
        parts.append("## Left out of this briefing\n\n" + "\n".join(f"- {line}" for line in cut))
    return Briefing("\n\n".join(parts), tuple(cut), taken)


def _fill(section: Section) -> tuple[list[str], int, bool]:
    """Return the entries that fit, how many they are, and whether the last of them was cut."""
    lines: list[str] = []
    room = section.most
    for entry in section.entries:
        text = safe(entry)
        if len(text) + 1 <= room:
            lines.append(text)
            room -= len(text) + 1
        elif not lines and room >= _LEAST_ENTRY:
            return [text[: room - 10] + " … (cut)"], 1, True
        else:
            break
    return lines, len(lines), False


def bounded(text: str, most: int, whole: str = "") -> str:
    """Return `text` cut to `most` characters; the cut names how much is missing and where the whole text is."""
    if len(text) <= most:
        return text
    where = f"; the whole: {whole}" if whole else ""
    return f"{text[:most].rstrip()} … ({len(text) - most:,} more characters{where})"
