"""Markdown with `+++` TOML front matter: read with line numbers in the errors, written with tomli-w."""

from __future__ import annotations

import re

FENCE = "+++"


class BadFile(ValueError):
    """A file that a person must fix. `line` counts from 1; 0 where no line is known."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def parse_toml(text: str, first_line: int = 1) -> dict[str, object]:
    """Parse a TOML table. Raise BadFile with the line, counted from `first_line`."""
    if _says_nothing(text):
        return {}
    import tomllib  # most commands read no such file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"at line (\d+)", str(error))
        line = int(position.group(1)) + first_line - 1 if position else first_line + text.count("\n")
        raise BadFile(_plain(re.sub(r" \(at .*\)$", "", str(error))), line) from error


def _says_nothing(text: str) -> bool:
    """Return whether there are comments alone, as in settings of which none was changed."""
    return all(not line or (line[0] == "#" and line.isprintable()) for line in text.split("\n"))


_ADVICE = {
    "Invalid value": "what follows the = is no value: text goes in quotes, true and false are written small",
    "Invalid statement": "this is neither a [section] nor a name = value",
}


def _plain(message: str) -> str:
    """Return the parser's message with what to do, also for a table that a pasted example repeats."""
    if message in _ADVICE:
        return _ADVICE[message]
    twice = re.fullmatch(r"Cannot declare \((.*)\) twice", message)
    name = ".".join(re.findall(r"'([^']*)'", twice[1])) if twice else ""
    return f"[{name}] is here a second time: put its lines under the first one" if twice else message


def split(text: str) -> tuple[dict[str, object], str]:
    """Return front matter and body. Raise BadFile where the fence is missing or the TOML is broken."""
    lines = text.split("\n")
    if lines[0].strip() != FENCE:
        raise BadFile(f"the file must begin with a {FENCE} line", 1)
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == FENCE:
            return parse_toml("\n".join(lines[1:number]), first_line=2), "\n".join(lines[number + 1 :]).strip("\n")
    raise BadFile(f"the front matter is not closed with a {FENCE} line", len(lines))


def join(fields: dict[str, object], body: str) -> str:
    """Return the text of a file with this front matter and body."""
    import tomli_w

    return f"{FENCE}\n{tomli_w.dumps(fields)}{FENCE}\n\n{body.strip()}\n"


def line_of(text: str, key: str) -> int:
    """Return the line on which `key` is set (by its last dotted part); 1 where it is not found."""
    leaf = re.escape(key.rpartition(".")[2])
    for number, line in enumerate(text.split("\n"), start=1):
        if re.match(rf"\s*\[*\s*(?:[\w.-]+\.)?{leaf}\s*[\]=]", line):
            return number
    return 1
