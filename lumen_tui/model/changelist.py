"""What a task that worked apart changed: per file and hunk, and how that is brought into files that moved on.

Content is bytes throughout: line ends, encodings and files without a last newline come out as they went in.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from difflib import SequenceMatcher

MOST_BYTES = 1024 * 1024  # of a text that is shown and taken by hunks; others are taken whole
MARK = b"<<<<<<< what is there now\n"  # begins what is between the marks of a clash
_CONTEXT = 3


class FileSide(Struct, frozen=True, omit_defaults=True):
    """A file before or after; where there is none the change has None."""

    sha256: str  # of its bytes, or of a link's target
    size: int
    mode: int = 0o644  # of a file
    link: bool = False

    def same(self, other: FileSide | None) -> bool:
        """Return whether both are the same file: for modes, only whether it can be run counts."""
        if other is None or (self.sha256, self.link) != (other.sha256, other.link):
            return False
        return self.link or bool(self.mode & 0o100) == bool(other.mode & 0o100)


class FileChange(Struct, frozen=True, omit_defaults=True):
    """One file that the task changed, made or removed."""

    path: str  # below the top, safe to show; the name itself where `raw` is empty
    before: FileSide | None = None
    after: FileSide | None = None
    raw: str = ""  # the name in base64, where it cannot be written as text
    text: bool = False  # it can be shown and taken by hunks
    hunks: int = 0
    added: int = 0  # lines
    removed: int = 0
    known: bool = True  # `before` is kept, so that the change can be brought into a file that moved on

    @property
    def kind(self) -> str:
        """What happened to it: added, removed, mode, or changed."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        same = (self.before.sha256, self.before.link) == (self.after.sha256, self.after.link)
        return "mode" if same else "changed"


class ChangeList(Struct, frozen=True, omit_defaults=True):
    """tasks/<id>/changes/list.json: what a task changed, and from what it began."""

    task_id: str
    top: str  # the operator's folder
    kind: str  # worktree | copy
    at: str
    commit: str = ""
    branch: str = ""
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = 1

    def find(self, path: str) -> FileChange | None:
        """Return the change of a file by its path."""
        return next((change for change in self.files if change.path == path), None)


class Decision(Struct, frozen=True, omit_defaults=True):
    """What was decided on one file: of its hunks by number, or of all of it."""

    accepted: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    whole: str = ""  # accepted | dropped | edited: where it was not decided by hunks

    def state(self, change: FileChange) -> str:
        """Return open, part, accepted, dropped or edited."""
        if self.whole:
            return self.whole
        decided = len(self.accepted) + len(self.dropped)
        if not decided:
            return "open"
        if decided < change.hunks:
            return "part"
        return "accepted" if self.accepted else "dropped"

    def open_hunks(self, change: FileChange) -> tuple[int, ...]:
        """Return the numbers, from 1, of the hunks that are not decided on."""
        if self.whole:
            return ()
        return tuple(n for n in range(1, change.hunks + 1) if n not in self.accepted and n not in self.dropped)


Decisions = dict[str, Decision]  # by path


def state_of(changes: ChangeList, decisions: Decisions) -> str:
    """Return the state of a whole list: empty, open, part, accepted or dropped."""
    states = {decisions.get(change.path, Decision()).state(change) for change in changes.files}
    if not states:
        return "empty"
    if states == {"open"}:
        return "open"
    if states & {"open", "part"}:
        return "part"
    return "dropped" if states == {"dropped"} else "accepted"


def is_open_file(change: FileChange, decisions: Decisions) -> bool:
    """Return whether something of a file is not decided on."""
    return decisions.get(change.path, Decision()).state(change) in ("open", "part")


def is_open(changes: ChangeList, decisions: Decisions) -> bool:
    """Return whether something of a list is not decided on."""
    return any(is_open_file(change, decisions) for change in changes.files)


class OpenList(Struct, frozen=True):
    """A change list of which something is not decided on; counts are of what is left."""

    task_id: str
    role: str
    objective: str
    files: int
    added: int  # lines
    removed: int
    since: float


class Hunk(Struct, frozen=True):
    """Lines [first, last) of the text before are replaced by `new`; numbers from 0."""

    first: int
    last: int
    new_first: int
    new: tuple[bytes, ...]


class Conflict(Exception):
    """A change does not fit what is there now; `hunks` are those that do not, by number from 1."""

    def __init__(self, hunks: Sequence[int]) -> None:
        self.hunks = tuple(hunks)
        super().__init__(f"hunk {', '.join(map(str, hunks))} does not fit")


def is_text(data: bytes) -> bool:
    """Return whether content can be shown and taken by lines."""
    return len(data) <= MOST_BYTES and b"\0" not in data


def _lines(data: bytes) -> list[bytes]:
    """Return the lines with their ends; only a line feed ends one."""
    *whole, unended = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, unended] if unended else lines


def _matched(old: list[bytes], new: list[bytes]) -> SequenceMatcher[bytes]:
    from difflib import SequenceMatcher  # most programs that know of changes compare none

    return SequenceMatcher(None, old, new)


def hunks_of(before: bytes, after: bytes) -> list[Hunk]:
    """Return the hunks between two texts; changes that are near each other are one."""
    old, new = _lines(before), _lines(after)
    hunks = []
    for group in _matched(old, new).get_grouped_opcodes(_CONTEXT):
        tight = [code for code in group if code[0] != "equal"]
        if tight:
            first, last, new_first, new_last = tight[0][1], tight[-1][2], tight[0][3], tight[-1][4]
            hunks.append(Hunk(first, last, new_first, tuple(new[new_first:new_last])))
    return hunks


def merge(current: bytes, before: bytes, after: bytes, chosen: Collection[int]) -> bytes:
    """Return `current` with the chosen hunks (from 1) of before -> after. Raise Conflict where one does not fit.

    A hunk fits where its lines and the line on each side are as they were; one that is there already changes nothing.
    """
    hunks = hunks_of(before, after)
    if current == before and len(set(chosen)) == len(hunks):
        return after
    places = _Places(_lines(before), _lines(current))
    fitting, failed = [], []
    for number, hunk in enumerate(hunks, start=1):
        if number in chosen:
            span = places.of(hunk)
            if span is None:
                failed.append(number)
            else:
                fitting.append((span, hunk))
    if failed:
        raise Conflict(failed)
    lines = places.current
    for (first, last), hunk in sorted(fitting, key=lambda placed: placed[0], reverse=True):
        lines = [*lines[:first], *hunk.new, *lines[last:]]
    return b"".join(lines)


class _Places:
    """Where lines of a text are in a later version of it."""

    def __init__(self, before: list[bytes], current: list[bytes]) -> None:
        self.current = current
        self._length = len(before)
        self._codes = _matched(before, current).get_opcodes()

    def of(self, hunk: Hunk) -> tuple[int, int] | None:
        """Return the range of a hunk's old lines in the current text; None where they are not there as they were."""
        for tag, first, last, new_first, new_last in self._codes:
            if tag == "equal" and self._holds(hunk, first, last, new_first, new_last):
                return hunk.first - first + new_first, hunk.last - first + new_first
            there = tuple(self.current[new_first:new_last])
            if tag != "equal" and (first, last) == (hunk.first, hunk.last) and there == hunk.new:
                return new_first, new_last  # the same change was made here
        if not self._length and not self.current:
            return 0, 0
        return None

    def around(self, hunk: Hunk) -> tuple[int, int]:
        """Return the range of the current text that has taken the place of a hunk's old lines."""
        start, end = -1 if hunk.first else 0, 0
        for tag, first, last, new_first, new_last in self._codes:
            if tag == "equal" and first <= hunk.first <= last and start < 0:
                start = new_first + hunk.first - first
            elif first <= hunk.first < last and start < 0:
                start = new_first
            if tag == "equal" and first <= hunk.last <= last:
                end = new_first + hunk.last - first
            elif first < hunk.last <= last or first == last == hunk.last:
                end = new_last
        return max(start, 0), max(start, end)

    def _holds(self, hunk: Hunk, first: int, last: int, new_first: int, new_last: int) -> bool:
        at_start, at_end = hunk.first == 0, hunk.last == self._length
        before = (first == 0 and new_first == 0) if at_start else first < hunk.first
        after = (last == self._length and new_last == len(self.current)) if at_end else last > hunk.last
        return before and after and first <= hunk.first and hunk.last <= last


def marked(current: bytes, before: bytes, after: bytes, chosen: Collection[int]) -> bytes:
    """Return `current` with what fits brought in; what does not is in its place, between the marks that git uses."""
    hunks, old = hunks_of(before, after), _lines(before)
    places = _Places(old, _lines(current))
    text, done = b"", 0
    for number in sorted(chosen):
        hunk = hunks[number - 1]
        span = places.of(hunk)
        first, last = span or places.around(hunk)
        first, last = max(first, done), max(last, done)  # behind the one before, where both clash with the same lines
        text += b"".join(places.current[done:first])
        done = last
        if span:
            text += b"".join(hunk.new)
        else:
            sides = places.current[first:last], old[hunk.first : hunk.last], hunk.new
            text = _closed([text]) + _sides(hunk.first + 1, *sides)
    return text + b"".join(places.current[done:])


def _sides(line: int, now: Sequence[bytes], then: Sequence[bytes], new: Sequence[bytes]) -> bytes:
    head = MARK + _closed(now) + b"||||||| when the task began, line %d\n" % line
    return head + _closed(then) + b"=======\n" + _closed(new) + b">>>>>>> the task\n"


def _closed(lines: Sequence[bytes]) -> bytes:
    joined = b"".join(lines)
    return joined if not joined or joined.endswith(b"\n") else joined + b"\n"


def unified(before: bytes, after: bytes, *, context: int = _CONTEXT) -> list[tuple[int, str]]:
    """Return the lines of a unified diff, each with the number of its hunk; not yet safe to show."""
    old = _lines(before)
    shown: list[tuple[int, str]] = []
    for number, hunk in enumerate(hunks_of(before, after), start=1):
        start, end = max(0, hunk.first - context), min(len(old), hunk.last + context)
        count = hunk.first - start + len(hunk.new) + end - hunk.last
        head = f"@@ -{start + 1},{end - start} +{hunk.new_first - (hunk.first - start) + 1},{count} @@ hunk {number}"
        rows = [(" ", line) for line in old[start : hunk.first]]
        rows += [("-", line) for line in old[hunk.first : hunk.last]]
        rows += [("+", line) for line in hunk.new]
        rows += [(" ", line) for line in old[hunk.last : end]]
        shown.append((number, head))
        shown += [(number, sign + _shown(line)) for sign, line in rows]
    return shown


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text.removesuffix("\n") if text.endswith("\n") else f"{text} (no newline at the end)"
