"""One line of the actions journal, as whoever follows or lists it reads it."""

import msgspec

from lumen_tui.model.decoding import lazy_decoder


class ActionLine(msgspec.Struct):
    """One line of the journal, whose changes, which may be long, are counted only."""

    id: str
    at: str = ""
    by: str = ""
    verb: str = ""
    target: str = ""
    summary: str = ""
    reason: str = ""
    undoes: str = ""
    redoes: str = ""
    client: str = ""
    group: str = ""
    final: str = ""
    stage: str = ""
    changes: tuple[msgspec.Raw, ...] = ()


_decoder = lazy_decoder(ActionLine)


def decode_action_line(line: bytes) -> ActionLine:
    """Return one line of the journal. Raise UNDECODABLE for anything else."""
    return _decoder.decode(line)
