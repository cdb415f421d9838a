"""The work units of many signals at once, without making the rest of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from lumen_tui.model.decoding import UNDECODABLE


class _Slim(msgspec.Struct, gc=False):
    wu_id: str = ""


_slim = msgspec.json.Decoder(_Slim)


def units(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[str, int]]:
    """(work unit, offset) of each line that can be read."""
    for offset, line in lines:
        try:
            yield _slim.decode(line).wu_id, offset
        except UNDECODABLE:
            continue
