"""The store of one state folder: its layout and its journals, ready for use."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Folder


class Store(Folder):
    """The journals of a state folder. Creating the object reads and creates no file."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.signals = Journal(self.layout.signals)
        self.receipts = Journal(self.layout.receipts)
        self.nodes = Journal(self.layout.memory)
        self.touches = Journal(self.layout.touches)
        self.relationships = Journal(self.layout.relationships)
        self.actions = Journal(self.layout.actions)
        self.personnel = Journal(self.layout.personnel)
        self.commands = Journal(self.layout.commands)
        self.command_receipts = Journal(self.layout.command_receipts)
        self.events = Journal(self.layout.events)
        self.packets = Journal(self.layout.packets)
