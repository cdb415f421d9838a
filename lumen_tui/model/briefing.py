"""The briefing of a loop: sections within their shares of a budget, and a report of what there was no room for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from lumen_tui.model.text import safe

_LEAST = 60  # characters of an entry below which it is rather left out than cut


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


def assemble(sections: Sequence[Section]) -> Briefing:
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
        elif not lines and room >= _LEAST:
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
