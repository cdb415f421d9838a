"""The `[[rules]]` of a file: checked, and named by line where one will not do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lumen_tui.model.toolrules import ToolRule, wrong
from lumen_tui.storage import frontmatter
from lumen_tui.storage.frontmatter import BadFile


def check(rules: Sequence[ToolRule], tools: Iterable[str], text: str) -> None:
    """BadFile for the first rule that will not do, so that whatever carries it cannot be used."""
    known = tuple(tools)
    for number, rule in enumerate(rules):
        field, why = wrong(rule, known)
        if why:
            raise BadFile(f"rules: {why}", line_of(text, number, field))


def line_of(text: str, number: int, field: str) -> int:
    """The line of a field of the rule with that number (from 0), or of its header where it has no such field."""
    headers = list(re.finditer(r"^[ \t]*\[\[[ \t]*rules[ \t]*\]\]", text, re.MULTILINE))
    if number >= len(headers):
        return frontmatter.line_of(text, "rules")
    begin = headers[number].end()
    end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
    found = re.search(rf"^[ \t]*{re.escape(field)}[ \t]*=", text[begin:end], re.MULTILINE) if field else None
    return text[: begin + found.start() if found else begin].count("\n") + 1


def place(error: Exception, text: str) -> int:
    """The line of what could not be read within a rule; 0 where the error is about something else."""
    found = re.search(r"at `\$\.rules\[(\d+)\](?:\.(\w+))?", str(error))
    if not found:
        return 0
    unknown = re.search(r"field `([^`]*)`", str(error))
    return line_of(text, int(found.group(1)), found.group(2) or (unknown.group(1) if unknown else ""))
