"""read_skill: the text of a skill by its name, then its files by their paths within it."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model.fences import conventions_of
from lumen_tui.model.skills import FILE, TOOL, Skill, as_rendered
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult, plural, size_text
from lumen_tui.tools.files.levels import closed
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.sandbox.admission import choose_tier
from lumen_tui.tools.sandbox.sandboxed_command import ASK
from lumen_tui.tools.sandbox.tiers import REFUSED
from lumen_tui.tools.skills import contents
from lumen_tui.tools.skills.finding import forbidden_anywhere, of_task
from lumen_tui.tools.skills.reading import SkillRefused, legible, text_of

_PART = 50_000  # characters that are handed on at once
_LISTED = 60  # files


class SkillArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=64, description="the skill, as the list of skills names it")]
    path: Annotated[
        str, Meta(max_length=500, description="a file of it, such as references/forms.md; empty: the skill itself")
    ] = ""
    offset: Annotated[int, Meta(ge=1, description="the line to begin with, counted from 1")] = 1


def read_skill(context: Context, arguments: SkillArguments) -> ToolResult:
    task_skills = of_task(context)
    skill = task_skills.named(arguments.name)
    if skill is None:
        names = ", ".join(skill.name for skill in task_skills.skills) or "none"
        raise ToolError(f"there is no skill {one_line(arguments.name, 70)!r} here, only: {names}")
    within = forbidden_of(context, skill)
    shown = os.path.join(os.path.dirname(skill.path), arguments.path or FILE)
    text = contents.text_within(skill, arguments.path, within) if arguments.path else _body(skill)
    if is_guidance := shown.lower().endswith(".md"):
        text = as_rendered(text)[0]
    part, more = _part(text, arguments.offset)
    if more:
        part += f"\n[it goes on: call read_skill with offset={more}]"
    output = conventions_of(part.strip("\n"), shown) if is_guidance else part
    if not arguments.path and arguments.offset == 1:
        output = f"{output}\n\n{_notes(context, skill, within)}"
    lines = plural(part.count("\n") + 1, "line")
    return ToolResult(output or "(empty)", data={"skill": skill.name}, summary=f"{skill.name}: {lines}")


def forbidden_of(context: Context, skill: Skill) -> contents.Closed:
    """Return what says why a file of the skill is not read."""
    if is_below(skill.folder, os.path.realpath(context.store.root)):
        return forbidden_anywhere(context)
    return lambda path: closed(context, path)


def _body(skill: Skill) -> str:
    """Return SKILL.md without its front matter, as it is now."""
    try:
        lines = legible(text_of(os.path.join(skill.folder, FILE))).split("\n")
    except SkillRefused as error:
        raise ToolError(f"the skill {skill.name} cannot be read any more: {error}") from error
    return "\n".join(lines[skill.body_line - 1 :])


def _part(text: str, offset: int) -> tuple[str, int]:
    """Return the text from a line on, and the line with which the next part begins; 0 where that was all."""
    lines = text.split("\n")
    if offset > len(lines):
        raise ToolError(f"it has {plural(len(lines), 'line')}: offset counts lines")
    taken = 0
    for number, line in enumerate(lines[offset - 1 :], start=offset):
        taken += len(line) + 1
        if taken > _PART and number > offset:
            return "\n".join(lines[offset - 1 : number - 1]), number
    return "\n".join(lines[offset - 1 :])[: 2 * _PART], 0


def _notes(context: Context, skill: Skill, within: contents.Closed) -> str:
    """Return what there is of a skill besides its text, and what it does not grant."""
    files, problems = contents.listing(skill, within)
    listed = ", ".join(f"{one_line(file.path, 200)} ({size_text(file.size)})" for file in files[:_LISTED])
    more = f" and {len(files) - _LISTED:,} more" if len(files) > _LISTED else ""
    lines = [f"Its folder is {skill.folder}."]
    if files:
        lines += [f"Its files, which read_skill returns by path: {listed}{more}.", _scripts(context)]
    if problems:
        lines.append(f"{plural(len(problems), 'entry', 'entries')} of its folder cannot be read.")
    if skill.compatibility:
        lines.append(f"It says of what it needs: {one_line(skill.compatibility, 500)}")
    lines.append("It grants nothing: your tools and limits are those of your role" + _not_granted(skill))
    return "\n".join(lines)


def _not_granted(skill: Skill) -> str:
    return f", whatever its allowed-tools say ({one_line(skill.allowed_tools, 200)})." if skill.allowed_tools else "."


def _scripts(context: Context) -> str:
    """Return whether, and how, its scripts can be run."""
    if context.rules.shell == "none":
        return "Its scripts cannot be run: you have no shell. Their text can be read."
    if choose_tier(context).tier in (ASK, REFUSED):
        return "Its scripts cannot be run: there is no sandbox here. Their text can be read."
    limits = " They can change nothing." if context.rules.shell == "read" else ""
    return f"Run its scripts with shell, in the sandbox, by their whole paths.{limits}"


READ_SKILL = Tool(
    TOOL,
    "Read a skill: how a certain kind of work is done here. Call it with the name from the list of skills in your "
    "message before you begin such work. You get the whole text and a list of the skill's files, which the same tool "
    "returns by `path`; a long text goes on with `offset`. A skill guides and grants nothing.",
    SkillArguments,
    read_skill,
    lambda a: f"read_skill {a.name}" + (f" {a.path}" if a.path else ""),
    effect=Effect.NONE,
)
