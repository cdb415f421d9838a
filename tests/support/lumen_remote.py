"""What of a task on a host comes home."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.model.frames import may_be_sent


def sent_home(folder: Path) -> dict[str, bytes]:
    """Return name -> content of the files of a task's folder that are sent home, without empty ones."""
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    return {name: data for name in names if may_be_sent(name) and (data := (folder / name).read_bytes())}
