"""What loops leave on disk: a capsule for each that woke, and their packets, which may be any number."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lumen_tui.model.capsule import Capsule
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import Packet
from lumen_tui.storage import backwards, directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean_line


def capsule_path(layout: Layout, loop: int) -> Path:
    """Return the path of the capsule that a loop woke with."""
    return layout.capsules / f"{int(loop)}.json"


def write_capsule(layout: Layout, capsule: Capsule, keep: int) -> None:
    """Write a capsule durably, and only then remove those beyond the newest `keep`."""
    directories.make_folder(layout.capsules)
    files.replace(
        capsule_path(layout, capsule.loop), msgspec.json.format(clean_line(msgspec.json.encode(capsule)), indent=1)
    )
    for loop in capsule_loops(layout)[: -max(1, keep)]:
        if loop < capsule.loop:
            directories.remove(capsule_path(layout, loop))


def capsule_loops(layout: Layout) -> list[int]:
    """Return the loops whose capsule is kept, the oldest first."""
    try:
        names = os.listdir(layout.capsules)
    except OSError:
        return []
    return sorted(int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdecimal())


def recent_packets(layout: Layout, count: int) -> tuple[Packet, ...]:
    """Return the newest packets, oldest first, safe to show. Damaged lines are skipped."""
    try:
        fd = files.open_plain(layout.packets)
    except (FileNotFoundError, files.Refused):  # the last is a problem of its own: misplaced.py
        return ()
    packets: list[Packet] = []
    try:
        for _, line in backwards.lines(fd):
            if len(packets) >= count:
                break
            if packet := packet_in(line):
                packets.append(packet)
    finally:
        os.close(fd)
    return tuple(reversed(packets))


def packet_in(line: bytes) -> Packet | None:
    """Return the packet of a line, safe to show; None where it cannot be read."""
    try:
        return decode_safe(line, Packet)
    except UNDECODABLE:
        return None
