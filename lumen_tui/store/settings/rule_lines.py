"""The `[[rules]]` of a file: checked, with the line of an invalid one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lumen_tui.model.roles import ToolRule, wrong
from lumen_tui.storage import frontmatter
from lumen_tui.storage.frontmatter import BadFile


def check(rules: Sequence[ToolRule], tools: Iterable[str], text: str) -> None:
    """Raise BadFile for the first invalid rule, so that whatever carries it cannot be used."""
    known = tuple(tools)
    for number, rule in enumerate(rules):
        field, reason = wrong(rule, known)
        if reason:
            raise BadFile(f"rules: {reason}", line_of(text, number, field))


def line_of(text: str, number: int, field: str) -> int:
    """Return the line of a field of the rule with that number (from 0), or of its header where it has no such field."""
    headers = list(re.finditer(r"^[ \t]*\[\[[ \t]*rules[ \t]*\]\]", text, re.MULTILINE))
    if number >= len(headers):
        return frontmatter.line_of(text, "rules")
    begin = headers[number].end()
    end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
    match = re.search(rf"^[ \t]*{re.escape(field)}[ \t]*=", text[begin:end], re.MULTILINE) if field else None
    return text[: begin + match.start() if match else begin].count("\n") + 1


def place(error: Exception, text: str) -> int:
    """Return the line of what could not be read within a rule; 0 where the error is about something else."""
    match = re.search(r"at `\$\.rules\[(\d+)\](?:\.(\w+))?", str(error))
    if not match:
        return 0
    unknown = re.search(r"field `([^`]*)`", str(error))
    return line_of(text, int(match.group(1)), match.group(2) or (unknown.group(1) if unknown else ""))
