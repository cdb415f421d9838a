"""Markdown with `+++` TOML front matter: read with line numbers in the errors, written with tomli-w."""

from __future__ import annotations

import re
import tomllib
from typing import Any

FENCE = "+++"


class BadFile(ValueError):
    """A file that a person must mend. `line` counts from 1; 0 where no line is known."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.line = line


def parse_toml(text: str, first_line: int = 1) -> dict[str, Any]:
    """The table in `text`; BadFile with the line (counted from `first_line`) where it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found.group(1)) + first_line - 1 if found else first_line + text.count("\n")
        raise BadFile(_plain(re.sub(r" \(at .*\)$", "", str(error))), line) from error


_SAID = {
    "Invalid value": "what stands behind the = is no value: text goes in quotes, true and false are written small",
    "Invalid statement": "this is neither a [section] nor a name = value",
}


def _plain(said: str) -> str:
    """What the parser says, with what to do, also of a table that a pasted example brought in once more."""
    if said in _SAID:
        return _SAID[said]
    twice = re.fullmatch(r"Cannot declare \((.*)\) twice", said)
    name = ".".join(re.findall(r"'([^']*)'", twice[1])) if twice else ""
    return f"[{name}] stands here a second time: put its lines under the first one" if twice else said


def split(text: str) -> tuple[dict[str, Any], str]:
    """Front matter and body. BadFile where the fence is missing or the TOML is broken."""
    lines = text.split("\n")
    if lines[0].strip() != FENCE:
        raise BadFile(f"the file must begin with a {FENCE} line", 1)
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == FENCE:
            return parse_toml("\n".join(lines[1:number]), first_line=2), "\n".join(lines[number + 1 :]).strip("\n")
    raise BadFile(f"the front matter is not closed with a {FENCE} line", len(lines))


def join(fields: dict[str, Any], body: str) -> str:
    """The text of a file with this front matter and body."""
    import tomli_w

    return f"{FENCE}\n{tomli_w.dumps(fields)}{FENCE}\n\n{body.strip()}\n"


def line_of(text: str, key: str) -> int:
    """The line on which `key` is set (its last dotted part), 1 where it is not found."""
    leaf = re.escape(key.rpartition(".")[2])
    for number, line in enumerate(text.split("\n"), start=1):
        if re.match(rf"\s*\[*\s*(?:[\w.-]+\.)?{leaf}\s*[\]=]", line):
            return number
    return 1
