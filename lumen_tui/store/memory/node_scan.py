"""Every memory node in its current state, read in one pass: for summaries, exports and checks, not for lists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, decoded
from lumen_tui.storage import files
from lumen_tui.storage.journal import whole_lines
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory.nodes import Raw


def newest_nodes(layout: Layout, mention: str = "") -> Iterator[Raw]:
    """Yield the newest record of each node, oldest node first; only where its line contains `mention`."""
    newest: dict[str, bytes] = {}
    for identifier, line in _lines(layout):
        newest[identifier] = line
    mention_bytes = mention.encode()
    for line in newest.values():
        if mention_bytes in line:
            yield decoded(line)


_record = msgspec.json.Decoder(dict[str, Any]).decode


def _lines(layout: Layout) -> Iterator[tuple[str, bytes]]:
    """Yield (id, line) of each record; a line that cannot be decoded hides no earlier line of its node."""
    try:
        fd = files.open_plain(layout.memory)
    except FileNotFoundError:
        return
    try:
        for line in whole_lines(fd):
            try:
                identifier = _record(line).get("id")
            except UNDECODABLE:
                continue
            if isinstance(identifier, str):
                yield identifier, line
    finally:
        os.close(fd)
