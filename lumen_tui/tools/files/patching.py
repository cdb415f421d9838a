"""Unified diffs: read strictly, applied exactly. A hunk that does not fit is an error, never a guess."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.blocks import patch_lines
from lumen_tui.model.patterns import lazy_re

_HUNK = lazy_re(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_EXTRA = ("rename ", "copy ", "GIT binary", "Binary files", "old mode", "new mode", "similarity ", "dissimilarity ")
_PASSED = ("diff ", "index ", "new file mode", "deleted file mode")
_NOTHING = "/dev/null"
_NO_NEWLINE = "\\ No newline at end of file"


class BadPatch(Exception):
    """The patch cannot be read or does not fit; the text names the line or the hunk."""


class PatchHunk(Struct, frozen=True):
    """One place: the text that is there and the text that is to be. Lines keep their newlines."""

    line: int  # of the old file, from 1; where it begins by the header
    old: tuple[str, ...]
    new: tuple[str, ...]


class FilePatch(Struct, frozen=True):
    """What happens to one file; an empty `source` makes it, an empty `target` removes it."""

    source: str
    target: str
    hunks: tuple[PatchHunk, ...]

    @property
    def path(self) -> str:
        """The file that is meant."""
        return self.target or self.source


def parse(text: str) -> list[FilePatch]:
    """Return the files of a patch. BadPatch names the line that cannot be read."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith(_EXTRA):
            raise BadPatch(f"line {at + 1}: renames, modes and binary files are not patched: {lines[at][:60]!r}")
        if not lines[at].strip() or lines[at].startswith(_PASSED):
            at += 1
            continue
        patch, at = _file(lines, at)
        patches.append(patch)
    if not patches:
        raise BadPatch("there is no file in it: begin with `--- a/path` and `+++ b/path`")
    if repeated := {patch.path for patch in patches if [other.path for other in patches].count(patch.path) > 1}:
        raise BadPatch(f"{sorted(repeated)[0]} is in it twice: put all its hunks under one header")
    return patches


def _file(lines: list[str], at: int) -> tuple[FilePatch, int]:
    source, target = _name(lines, at, "--- "), _name(lines, at + 1, "+++ ")
    if not source and not target:
        raise BadPatch(f"line {at + 1}: a file cannot be {_NOTHING} on both sides")
    if source and target and source != target:
        raise BadPatch(f"line {at + 2}: renames are not patched: {source} and {target}")
    hunks: list[PatchHunk] = []
    at += 2
    while at < len(lines) and lines[at].startswith("@@"):
        hunk, at = _hunk(lines, at)
        hunks.append(hunk)
    if not hunks:
        raise BadPatch(f"line {at + 1}: a hunk (@@ -1,3 +1,4 @@) is missing for {target or source}")
    return FilePatch(source, target, tuple(hunks)), at


def _name(lines: list[str], at: int, mark: str) -> str:
    """Return the path in a header line, without a/ or b/; empty for /dev/null."""
    if at >= len(lines) or not lines[at].startswith(mark):
        there = lines[at][:60] if at < len(lines) else "the end"
        raise BadPatch(f"line {at + 1}: `{mark.strip()} path` is missing, there is {there!r}")
    name = lines[at].removeprefix(mark).partition("\t")[0].strip()
    if name == _NOTHING:
        return ""
    for prefix in ("a/", "b/"):
        if name.startswith(prefix):
            return name[2:]
    if not name:
        raise BadPatch(f"line {at + 1}: the path is missing")
    return name


def _hunk(lines: list[str], at: int) -> tuple[PatchHunk, int]:
    header = _HUNK.match(lines[at])
    if header is None:
        raise BadPatch(f"line {at + 1}: not a hunk's header (@@ -1,3 +1,4 @@): {lines[at][:60]!r}")
    begin, first = at, int(header.group(1))
    old_count, new_count = (int(count) if count is not None else 1 for count in (header.group(2), header.group(4)))
    old: list[str] = []
    new: list[str] = []
    mark = " "
    at += 1
    while at < len(lines) and (len(old) < old_count or len(new) < new_count or lines[at] == _NO_NEWLINE):
        mark = _line(lines[at], at, mark, old, new)
        at += 1
    if (len(old), len(new)) != (old_count, new_count):
        raise BadPatch(
            f"line {begin + 1}: the header counts {old_count} old and {new_count} new lines, the hunk has "
            f"{len(old)} and {len(new)}"
        )
    return PatchHunk(first, tuple(old), tuple(new)), at


def _line(line: str, at: int, last: str, old: list[str], new: list[str]) -> str:
    """Take one line of a hunk in; returns its mark. `last` is the mark of the line before."""
    if line == _NO_NEWLINE:
        for side in (old if last in " -" else [], new if last in " +" else []):
            side[-1:] = [text.removesuffix("\n") for text in side[-1:]]
        return last
    mark, text = line[:1] or " ", line[1:] + "\n"
    if mark not in " -+":
        raise BadPatch(f"line {at + 1}: a line of a hunk begins with ' ', '-' or '+': {line[:60]!r}")
    if mark in " -":
        old.append(text)
    if mark in " +":
        new.append(text)
    return mark


def apply(patch: FilePatch, text: str) -> str:
    """Return the file after the patch. BadPatch where a hunk's text is not there, or is in more than one place.

    A hunk counts where its header says, else at the one place that has exactly its lines.
    """
    lines = patch_lines(text)
    result: list[str] = []
    applied = 0
    for number, hunk in enumerate(patch.hunks, start=1):
        at = _place(lines, hunk, applied, f"hunk {number} of {patch.path}")
        result += [*lines[applied:at], *hunk.new]
        applied = at + len(hunk.old)
    return "".join([*result, *lines[applied:]])


def _place(lines: list[str], hunk: PatchHunk, applied: int, name: str) -> int:
    """Return where the hunk goes, as an index into the lines."""
    size = len(hunk.old)
    if not size:
        return _insertion(lines, hunk, applied, name)
    at = hunk.line - 1
    if at >= applied and tuple(lines[at : at + size]) == hunk.old:
        return at
    places = [
        start for start in range(applied, len(lines) - size + 1) if tuple(lines[start : start + size]) == hunk.old
    ]
    if len(places) == 1:
        return places[0]
    if places:
        raise BadPatch(f"{name} fits in {len(places)} places: give more lines around it")
    raise BadPatch(f"{name} does not fit: the lines {hunk.line} to {hunk.line + size - 1} differ; read the file again")


def _insertion(lines: list[str], hunk: PatchHunk, applied: int, name: str) -> int:
    """Return where lines are put in that name no neighbour: behind the line of the header."""
    if not applied <= hunk.line <= len(lines):
        raise BadPatch(f"{name} does not fit: there is no line {hunk.line}")
    return hunk.line
