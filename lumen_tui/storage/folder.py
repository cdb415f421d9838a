"""A state folder without its journals: enough for readers, and quick to load."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.storage.layout import Layout


class Folder:
    """The paths of one state folder. Creating the object reads and creates no file."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)

    @property
    def root(self) -> Path:
        """The state folder."""
        return self.layout.root
