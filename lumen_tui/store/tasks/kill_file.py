"""The kill switch, kill.json: while it exists every worker is ended and nothing starts. It may be put there by hand."""

from __future__ import annotations

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout


class Kill(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who threw the switch, and why."""

    at: str = ""
    by: str = ""
    reason: str = ""
    schema: int = 1

    @property
    def words(self) -> str:
        """The sentence for people: `killed by ann: it ran wild`."""
        who = f" by {one_line(self.by, 60)}" if self.by else ""
        return f"killed{who}" + (f": {one_line(self.reason, 200)}" if self.reason else "")


def is_thrown(layout: Layout) -> bool:
    """Return whether the file exists, whatever it holds."""
    try:
        layout.kill.lstat()
    except OSError:
        return False
    return True


def read_kill(layout: Layout) -> Kill | None:
    """Return who killed the agent; None where nobody did. A file that cannot be read kills as well."""
    if not is_thrown(layout):
        return None
    try:
        return msgspec.json.decode(files.read(layout.kill) or b"{}", type=Kill)
    except (*UNDECODABLE, files.StoreError, OSError):
        return Kill(reason="kill.json is there but cannot be read")


def throw(layout: Layout, kill: Kill) -> None:
    """Throw the switch, durably."""
    files.replace(layout.kill, msgspec.json.encode(kill))


def lift(layout: Layout) -> None:
    """Remove the switch."""
    directories.remove(layout.kill)
