"""What playbooks share: their report, their way to fail, and names and numbers as safe Markdown."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

from msgspec import Struct

from lumen_tui.model.text import one_line, safe
from lumen_tui.providers.base import JsonObject, Reply, Step, ToolCall, ask

_MAX_NAME = 300
_LONG_LINE = 391  # bytes; of longer lines the search hands on a part
MOST_OUTPUT = 199_000  # characters of a command's output, just below what the shell tool keeps


class PlaybookFailed(Exception):
    """The playbook could not answer; the text says why."""


class TooMuchOutput(PlaybookFailed):
    """A command wrote more than is read."""


class PlaybookReport(Struct, frozen=True):
    """What a playbook found, as Markdown."""

    title: str
    body: str
    notes: tuple[str, ...] = ()


Play = Generator[Step, Reply | None, PlaybookReport]


def call(tool: str, /, **arguments: Any) -> Generator[Step, Reply | None, Reply]:
    """Make a call that must succeed; PlaybookFailed with its reason otherwise."""
    reply = yield from ask(ToolCall(tool, arguments))
    if not reply.ok:
        raise PlaybookFailed(one_line(reply.text))
    return reply


def output_of(command: str, cwd: str = "") -> Generator[Step, Reply | None, str]:
    """Run a command that must succeed and return all that it wrote; PlaybookFailed where some of it was left out."""
    reply = yield from call("shell", command=command, **({"cwd": cwd} if cwd else {}))
    output = str(reply.data["output"])
    if len(output) >= MOST_OUTPUT:
        raise TooMuchOutput("there is more to read than this playbook can: ask for less at a time")
    return output


def text_of(path: str) -> Generator[Step, Reply | None, str]:
    """Return the whole text of a small file; PlaybookFailed where a part of it would be left out."""
    data = (yield from call("grep", path=path, pattern="^", limit=5000)).data
    if data["binary"] or data["files"] != 1:
        raise PlaybookFailed(f"{line(path)} is not one text file")
    rows = [str(hit["text"]) for hit in data["hits"]]
    if data["matches"] > len(rows) or any(len(row.encode()) >= _LONG_LINE for row in rows):
        raise PlaybookFailed(
            f"{line(path)} is too long for this playbook: more than 5,000 lines, or a line over 390 bytes"
        )
    return "\n".join(rows)


def line(text: str) -> str:
    """Return text from outside on one line, with nothing in it that Markdown would act on."""
    return re.sub(r"([\\`*_\[\]<>|#~!])", r"\\\1", one_line(text))


def code(text: str) -> str:
    """Return a name or a line from outside as a code span that it cannot break out of; fit for a table cell."""
    shown = safe(text).replace("\n", "␊").replace("\t", "␉")
    if len(shown) > _MAX_NAME:
        shown = shown[: _MAX_NAME // 2] + "…" + shown[-_MAX_NAME // 2 :]
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) or not shown else ""
    return f"{fence}{pad}{shown.replace('|', chr(92) + '|')}{pad}{fence}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a Markdown table; the columns in `right` are aligned to the right."""
    rule = ["---:" if index in right else "---" for index in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def size(count: int) -> str:
    """Return bytes in plain units: `1.5 MiB`."""
    value, unit = float(count), "B"
    for following in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, following
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def many(count: int, word: str) -> str:
    """Return a count with its noun: `1 file`, `1,204 files`."""
    return f"{count:,} {word if count == 1 else word + 's'}"


def walk_notes(data: JsonObject) -> list[str]:
    """Return what limits an answer that came from a walk through a tree."""
    notes = []
    if data.get("cut"):
        notes.append(f"Incomplete: {data['cut']}.")
    if count := data.get("unreadable", 0):
        examples = ", ".join(one_line(path, 120) for path in data.get("unreadable_examples", ())[:2])
        notes.append(f"{many(count, 'place')} could not be read" + (f", such as {examples}." if examples else "."))
    if data.get("left_out"):
        notes.append(
            "Left out as kernel file systems: " + ", ".join(one_line(p, 120) for p in data["left_out"][:5]) + "."
        )
    return notes


def skipped_notes(data: JsonObject) -> list[str]:
    """Return what limits an answer that came from searching text files."""
    notes = walk_notes(data)
    if data["binary"]:
        notes.append(f"{many(data['binary'], 'binary file')} left out.")
    if data["large"]:
        notes.append(f"{many(data['large'], 'very large file')} left out.")
    return notes
