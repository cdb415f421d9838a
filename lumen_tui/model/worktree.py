"""What git says of a working tree, as a checkpoint keeps it."""

from __future__ import annotations

from lumen_tui.model.plain import Plain


class Changes(Plain):
    """`why` says why nothing is known; it is empty where `stat` and `files` are what git said."""

    root: str = ""
    branch: str = ""
    head: str = ""  # the commit on which the working tree stands
    base: str = ""  # what it was compared with
    stat: str = ""
    files: tuple[str, ...] = ()
    more_files: int = 0
    why: str = ""

    @property
    def count(self) -> int:
        """How many files."""
        return len(self.files) + self.more_files
