"""Agent Skills by the open standard (agentskills.io/specification): what SKILL.md may say, and what hides in a text.

A skill is a folder that somebody wrote. Its name and description are in prompts, its text is read on demand. It says
how something is done, and grants nothing: `allowed-tools` is shown and has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import one_line

FILE = "SKILL.md"
TOOL = "read_skill"  # every role has it where there are skills for the task
ALL = "*"  # in a role's `skills`
PLACES = (".agents/skills", ".claude/skills", "skills")  # in a folder, the first one counts where names are the same
MOST_NAME, MOST_DESCRIPTION, MOST_COMPATIBILITY = 64, 1024, 500  # characters, by the standard
_FIELDS = frozenset(("name", "description", "license", "compatibility", "metadata", "allowed-tools"))
_NAME = lazy_re(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# Orders of writing, tags and selectors of variants that carry letters which nobody sees. Flags of regions are made so.
_CONCEALING = lazy_re("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
# What a terminal obeys in place of showing it: escapes, C1 controls, and going back over what stands in the line.
_CONTROL = lazy_re(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]|\r(?=.)")
_FAR = 200
_GAP = lazy_re(rf"[ \t]{{{_FAR},}}(?=\S)")  # behind it nobody looks
_FLAG = lazy_re("\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f")
_INVISIBLE = lazy_re("[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u3164\ufeff\uffa0]")
_JOINED = lazy_re("(?<=[\u2600-\u27bf\ufe0f\U0001f300-\U0001faff])\u200d")
_LONG_RUN = 8  # invisible characters in one line that are no accident of typing
# In the order in which a reader of Markdown meets them: code is seen, comments and unused link names are not.
_PARTS = lazy_re(
    r"(?P<fence>^ {0,3}(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}(?P=mark)[`~]*[ \t]*$|\Z))"
    r"|(?P<code>`[^`\n]+`)"
    r"|(?P<comment><!--.*?(?:-->|\Z)|^ {0,3}\[[^\]\n]+\]:[ \t]*<?#>?[ \t]+[(\"'].*?$)",
    re.DOTALL | re.MULTILINE,
)


class Skill(Struct, frozen=True):
    """One skill that can be used. Texts are as they were written: make them safe before they are shown."""

    name: str
    description: str
    folder: str  # its real path
    path: str  # of its SKILL.md as it was found, to be shown
    place: str  # where it was looked for: the folder worked in, a folder above it, the state folder
    body_line: int = 1  # of SKILL.md: where the front matter has ended
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""  # told, and without effect
    metadata: tuple[tuple[str, str], ...] = ()


class SkillProblem(Struct, frozen=True):
    """Something that is wrong with a skill, and whether the skill is not used because of it."""

    path: str
    what: str
    line: int = 0  # from 1; 0: the whole file or folder
    refused: bool = False

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class Skills(Struct, frozen=True):
    """What was found: the skills that can be used, nearest place first, and what is wrong with these and others."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[SkillProblem, ...] = ()

    def named(self, name: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.name == name), None)

    def only(self, names: tuple[str, ...]) -> Skills:
        """Return those that a role names; all where it names `*`."""
        if ALL in names:
            return self
        return Skills(tuple(skill for skill in self.skills if skill.name in names), self.problems)


def read_in(events: Iterable[TaskEvent]) -> tuple[str, ...]:
    """Return the names of the skills whose text a task read, each once, in the order of its events."""
    named = [event.data.get("skill") for event in events]
    return tuple(dict.fromkeys(one_line(name, MOST_NAME) for name in named if isinstance(name, str)))


Fault = tuple[str, str, bool]  # the field, what is wrong with it, and whether the skill cannot be used


def faults(fields: Mapping[str, object], folder: str) -> Iterator[Fault]:
    """Yield what is wrong with the front matter of the skill in a folder of that name."""
    yield from _name_faults(fields.get("name"), folder)
    description = fields.get("description")
    if not isinstance(description, str) or not description.strip():
        yield "description", "description is missing: say what the skill does and when to use it", True
    elif len(description) > MOST_DESCRIPTION:
        yield (
            "description",
            f"description has {len(description):,} characters: {MOST_DESCRIPTION:,} count, the rest is not shown",
            False,
        )
    compatibility = fields.get("compatibility", "")
    if not isinstance(compatibility, str) or len(compatibility) > MOST_COMPATIBILITY:
        yield "compatibility", f"compatibility is no text of at most {MOST_COMPATIBILITY} characters", False
    if not isinstance(fields.get("metadata", {}), dict):
        yield "metadata", "metadata is no table of texts", False
    for name in fields:
        if name not in _FIELDS:
            yield name, f"{name} is no field of the standard and has no effect", False


def _name_faults(name: object, folder: str) -> Iterator[Fault]:
    if not isinstance(name, str) or not name:
        yield "name", "name is missing: give it that of its folder", True
    elif reason := name_fault(name):
        yield "name", reason, True
    elif name != folder:
        yield "name", f"name {name!r} is not that of its folder, {folder!r}", False


def name_fault(name: str) -> str:
    """Return why a skill cannot have this name, or empty."""
    if len(name) <= MOST_NAME and _NAME.fullmatch(name):
        return ""
    return f"name {name[:80]!r} is not usable: 1 to {MOST_NAME} of a-z, 0-9 and single hyphens between them"


def hidden_text(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line, what is hidden in it, and whether it conceals words: then nobody can have read what it says."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.isascii() and line.isprintable() and len(line) < _FAR:
            continue
        seen = _FLAG.sub("", line.removeprefix("\ufeff") if number == 1 else line)
        invisible = len(_INVISIBLE.findall(_JOINED.sub("", seen)))
        if concealing := _CONCEALING.search(seen) or _CONTROL.search(seen):
            yield number, f"text is concealed with U+{ord(concealing[0]):04X}", True
        elif invisible >= _LONG_RUN:
            yield number, f"{invisible} invisible characters conceal something", True
        elif invisible:
            yield number, f"{invisible} invisible character{'' if invisible == 1 else 's'}", False
        elif gap := _GAP.search(seen):
            yield number, f"text stands behind {len(gap[0]):,} blanks", False


def as_rendered(markdown: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return Markdown without what a reader of the rendered text does not see, and line and length of each such part.

    Every line keeps its number. Comments inside of code are seen, and stay.
    """
    left_out: list[tuple[int, int]] = []

    def replaced(match: re.Match[str]) -> str:
        if match["comment"] is None:
            return match[0]
        left_out.append((markdown.count("\n", 0, match.start()) + 1, len(match[0])))
        return "\n" * match[0].count("\n")

    return _PARTS.sub(replaced, markdown), tuple(left_out)
