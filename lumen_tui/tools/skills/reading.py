"""Reads SKILL.md: YAML between two lines of `---`, then Markdown. What is wrong is named with its line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.skills import FILE, MOST_DESCRIPTION, Skill, SkillProblem, as_rendered, faults, hidden_text
from lumen_tui.storage.safe_yaml import BadDocument, table
from lumen_tui.tools.files.levels import read_regular

LARGEST = 256 * 1024  # bytes of a SKILL.md
_FENCE = "---"
# A value that other programs take as it is and YAML does not: unquoted, with `: ` or ` #` in it.
_UNQUOTED = lazy_re(r"(?m)^(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s\"'|>{\[&*!%@`#].*(?:: | #).*?)[ \t]*$")


class SkillRefused(ValueError):
    """A SKILL.md that cannot be used; the text says why, `line` where."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


def read_skill(folder: str, path: str, place: str) -> tuple[Skill | None, tuple[SkillProblem, ...]]:
    """Return the skill in the real folder `folder`, None where it cannot be used, and what is wrong with it.

    `path` is that of its SKILL.md as it was found: the name of the folder there is compared with that of the skill.
    """
    problems: list[SkillProblem] = []
    try:
        text = text_of(os.path.join(folder, FILE))
        fields, front, body_line = _front_matter(text, path, problems)
    except SkillRefused as refused:
        return None, (*problems, SkillProblem(path, str(refused), refused.line, refused=True))
    fields = {name: _rendered(value) for name, value in fields.items()}
    for field, fault, is_refused in faults(fields, os.path.basename(os.path.dirname(path))):
        problems.append(SkillProblem(path, fault, _line_of(front, field), is_refused))
    problems += concealed(text, path)
    if not any(problem.refused for problem in problems):
        problems += _escaped(fields, front, path)
    problems.sort(key=lambda problem: problem.line)
    if any(problem.refused for problem in problems):
        return None, tuple(problems)
    return _skill(fields, folder, path, place, body_line), tuple(problems)


def _skill(fields: Mapping[str, object], folder: str, path: str, place: str, body_line: int) -> Skill:
    metadata = fields.get("metadata")
    return Skill(
        name=str(fields["name"]),
        description=" ".join(str(fields["description"]).split())[:MOST_DESCRIPTION],
        folder=folder,
        path=path,
        place=place,
        body_line=body_line,
        license=_text(fields.get("license")),
        compatibility=_text(fields.get("compatibility")),
        allowed_tools=_text(fields.get("allowed-tools")),
        metadata=tuple((str(key), _text(value)) for key, value in metadata.items())
        if isinstance(metadata, dict)
        else (),
    )


def _text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    return "" if value is None else str(value)


def text_of(path: str) -> str:
    """Return the text of the SKILL.md at a real path. Raise SkillRefused."""
    data = read_regular(path, LARGEST + 1)
    if data is None:
        raise SkillRefused(f"{FILE} is no file that can be read")
    if len(data) > LARGEST:
        raise SkillRefused(f"{FILE} is larger than {LARGEST // 1024} KiB: move parts into files of their own")
    try:
        return data.decode().replace("\r\n", "\n").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise SkillRefused("the file is not UTF-8", data[: error.start].count(b"\n") + 1) from error


def _front_matter(text: str, path: str, problems: list[SkillProblem]) -> tuple[dict[str, object], str, int]:
    """Return the fields, their text, and the line with which the body begins. Raise SkillRefused."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        raise SkillRefused(f"the file must begin with a line of {_FENCE}, and name and description below it", 1)
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE), 0)
    if not end:
        raise SkillRefused(f"the front matter is not closed with a line of {_FENCE}", len(lines))
    front = "\n".join(lines[1:end])
    try:
        return table(front), front, end + 2
    except BadDocument as error:
        quoted = _UNQUOTED.sub(lambda match: f"{match['key']}: {json.dumps(match['value'])}", front)
        try:
            fields = table(quoted) if quoted != front else {}
        except BadDocument:
            fields = {}
        if not fields:
            raise SkillRefused(f"the front matter is no YAML: {error}", error.line + 1) from error
        problems.append(SkillProblem(path, "a value with `: ` or ` #` in it has to be quoted in YAML", error.line + 1))
        return fields, front, end + 2


def _line_of(front: str, field: str) -> int:
    """Return the line of SKILL.md on which a field is set; 1 where it is not."""
    match = re.search(rf"(?m)^[\"']?{re.escape(field)}[\"']?[ \t]*:", front)
    return front.count("\n", 0, match.start()) + 2 if match else 1


def _rendered(value: object) -> object:
    """Return the value of a field as its reader sees it."""
    return as_rendered(value)[0] if isinstance(value, str) else value


def _escaped(fields: Mapping[str, object], front: str, path: str) -> Iterator[SkillProblem]:
    """Yield what a value hides that is spelled with escapes of YAML, such as `\\u202e`, in the file."""
    for name, value in fields.items():
        text = " ".join([name, *_within(value)]).replace("\n", " ")
        hidden = (finding for _, finding, refused in hidden_text(text) if refused)
        for finding in hidden:
            yield SkillProblem(path, finding, _line_of(front, name), refused=True)


def _within(value: object) -> Iterator[str]:
    """Yield the texts in a value of YAML."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _within(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _within(inner)
    else:
        yield str(value)


def legible(text: str) -> str:
    """Return a text of a skill. Raise SkillRefused where it conceals something from those who look at it."""
    for line, finding, refused in hidden_text(text):
        if refused:
            raise SkillRefused(f"line {line}: {finding}", line)
    return text


def concealed(text: str, path: str) -> Iterator[SkillProblem]:
    """Yield what is hidden in a text of a skill; comments in Markdown only, as code has them for its readers."""
    for line, finding, refused in hidden_text(text):
        yield SkillProblem(path, finding, line, refused)
    if path.lower().endswith(".md"):
        for line, length in as_rendered(text)[1]:
            yield SkillProblem(path, f"{length:,} characters that are not seen when it is rendered are left out", line)
