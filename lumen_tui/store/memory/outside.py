"""A folder of another tool: only plain files within it are read, and what nobody takes is counted by its kind."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

_MOST_COUNTED = 100_000  # files; more are counted as "more"
_CHUNK = 1024 * 1024


class ForeignFolder:
    """A folder that is only read. Links that lead out of `within` are not followed."""

    def __init__(self, path: Path, within: Path | None = None) -> None:
        self.path = path
        self._within = os.path.realpath(within or path)
        self.outside: Counter[str] = Counter()  # links that lead out, by what was looked for

    def file(self, name: str) -> Path | None:
        """Return a plain file of the folder; None where there is none, or where it is elsewhere."""
        return self.checked(self.path / name)

    def checked(self, path: Path) -> Path | None:
        """Return the path where it is a plain file within the folder."""
        real = os.path.realpath(path)
        if real != self._within and not real.startswith(self._within.rstrip("/") + "/"):
            self.outside[path.name] += os.path.lexists(path)
            return None
        return Path(real) if os.path.isfile(real) else None

    def files(self, pattern: str) -> Iterator[tuple[Path, Path | None]]:
        """Yield the paths that fit, in order, each with the file that it is, or None where that is elsewhere."""
        for path in sorted(self.path.glob(pattern)):
            yield path, self.checked(path)

    def count_lines(self, name: str) -> int:
        """Count the lines of a file; 0 where there is none."""
        if (path := self.file(name)) is None:
            return 0
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))

    def others(self, taken: Set[str]) -> dict[str, int]:
        """Count the files whose first name below the folder is not among `taken`, by that name."""
        counts: Counter[str] = Counter()
        for number, name in enumerate(_below(self.path)):
            if number >= _MOST_COUNTED:
                counts["more files"] += 1
                break
            first = name.partition("/")[0]
            if first not in taken:
                counts[f"files of {first}/" if "/" in name else first] += 1
        return dict(counts)


def _below(folder: Path) -> Iterable[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(place, name), folder)
