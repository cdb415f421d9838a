"""The ids of all signals and where their lines are, kept between commands: an old one is found without a scan.

About 22 bytes a signal. What is found is checked against the journal's own line.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from lumen_tui.model import jsontext
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.ids import Ambiguous
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.kept import KeptIndex
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import Offsets, OpenFile, split_lines
from lumen_tui.store.memory.nodes import MOST_CANDIDATES, Raw

_VERSION = 1  # of what is kept


class _SignalId(msgspec.Struct, gc=False):
    id: str


_decode = msgspec.json.Decoder(_SignalId).decode


class SignalIds:
    """The journal as it was when this was made."""

    def __init__(self, layout: Layout) -> None:
        self._journal = Follower(layout.signals)
        # not `signals-`: those are the columns of readers, of which only some stay
        self.kept = KeptIndex(layout.index / "ids-of-signals.columns", _VERSION, {"signals": self._journal})
        self._clear()
        self._restore()
        self._follow()

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _clear(self) -> None:
        self._names = bytearray(b"\n")  # each id with a newline after it
        self._offsets = Offsets()
        self._found: dict[str, int] = {}  # ids that were resolved, and where they are among the names

    def _restore(self) -> None:
        if content := self.kept.load():
            self._names = bytearray(content.columns["names"])
            self._offsets = Offsets.restored(content.columns)

    def _follow(self) -> None:
        generation = self._journal.generation
        for base, data in self._journal.pieces():
            if self._journal.generation != generation:
                generation = self._journal.generation
                self._clear()
            self._take(base, data)
        if self.kept.due():
            self.kept.save({}, {"names": self._names, **self._offsets.columns()})

    def _take(self, base: int, data: bytes) -> None:
        for offset, line in split_lines(data, base):
            try:
                name = _decode(line).id
            except UNDECODABLE:
                continue
            if name.isprintable():  # others cannot be asked for
                self._names += name.encode() + b"\n"
                self._offsets.append(offset)

    def _places(self, beginning: str) -> Iterator[int]:
        """Yield where in the names those are that begin so, the newest first."""
        wanted = b"\n" + beginning.encode(errors="surrogatepass")
        at = len(self._names)
        while (at := self._names.rfind(wanted, 0, at + len(wanted) - 1)) >= 0:
            yield at + 1

    def _name(self, place: int) -> str:
        return self._names[place : self._names.index(b"\n", place)].decode()

    def resolve(self, text: str) -> str:
        """Return the id that `text` is or begins; `sig-` may be left out.

        LookupError where there is none, Ambiguous where there are several.
        """
        for name in (text, f"sig-{text}"):
            if (place := next(self._places(f"{name}\n"), None)) is not None:
                self._found[name] = place
                return name
        matches: set[str] = set()
        for beginning in (text, f"sig-{text}"):
            matches.update(map(self._name, self._places(beginning)))
        if not matches:
            raise LookupError(text)
        if len(matches) > 1:
            raise Ambiguous(tuple(sorted(matches)[:MOST_CANDIDATES]))
        return matches.pop()

    def record(self, name: str) -> Raw | None:
        """Return the newest record of a signal; None where there is none."""
        for place in (self._found[name],) if name in self._found else self._places(f"{name}\n"):
            journal = OpenFile(self._journal.open_copy())
            record = jsontext.decode(journal.line(self._offsets[self._names.count(b"\n", 0, place) - 1]))
            if record and record.get("id") == name:
                return record
        return None
