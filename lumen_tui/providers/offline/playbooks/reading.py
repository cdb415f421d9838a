"""read: the first or last lines of a file."""

from __future__ import annotations

import re
import shlex

from lumen_tui.providers.offline.grammar import DEFAULT_TOP, Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.report import (
    Play,
    PlaybookFailed,
    PlaybookReport,
    call,
    code,
    line,
    many,
    output_of,
    table,
)
from lumen_tui.providers.offline.vocabulary import words

_MOST = 200


def _fields(ask: Asked) -> Fields | None:
    first, last = ask.has("first", "head", "beginning", "top"), ask.has("last", "tail", "end", "latest", "bottom")
    if first == last or len(ask.paths) != 1 or not (ask.has("line", "lines", "head", "tail")):
        return None
    if re.search(r"-\d", ask.raw) and not ask.has("head", "tail"):
        return None
    return {"view": "first" if first else "last"}


def read(plan: PlaybookPlan) -> Play:
    """Report lines from the beginning or the end of a text file."""
    data = (yield from call("grep", path=plan.path, pattern="^", limit=1)).data
    if data["files"] != 1 or data["binary"]:
        raise PlaybookFailed(f"{line(plan.path)} is not one text file")
    number = min(plan.number, _MOST, data["lines"])
    program = "head" if plan.view == "first" else "tail"
    output = yield from output_of(f"{program} -n {number} -- {shlex.quote(plan.path)}")
    start = 1 if plan.view == "first" else data["lines"] - number + 1
    rows = [[f"{start + offset:,}", code(text)] for offset, text in enumerate(output.splitlines()[:number])]
    head = f"The {plan.view} {many(number, 'line')} of {data['lines']:,}."
    body = f"{head}\n\n{table(('line', 'text'), rows, right=(0,))}" if rows else "The file is empty."
    return PlaybookReport(line(plan.path), body)


READ = PlaybookKind(
    "read",
    "the first or last lines of a file",
    (words("line lines head tail"),),
    words("line lines head tail first last latest beginning end top bottom read -n print file"),
    read,
    _fields,
    words("number"),
    which="which file",
    default=lambda ask: 1 if ask.has("line") else DEFAULT_TOP,
)
