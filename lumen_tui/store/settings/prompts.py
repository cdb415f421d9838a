"""The prompts in force: those that ship with the program, and over them a person's own in the state folder.

One of a person's own that cannot be used is named, and the shipped one takes its place: no task runs without a prompt.
"""

from __future__ import annotations

from lumen_tui.model.problem import Problem
from lumen_tui.model.prompts import SLOTS, BadPrompt, Template, check
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped

_MOST = 256 * 1024  # bytes of one prompt


def parse_prompt(name: str, text: str, source: str) -> Template:
    """Return the prompt in a file's text. BadPrompt or BadFile where a person must change it."""
    fields, body = frontmatter.split(text)
    version = fields.pop("version", 1)
    if fields:
        raise BadPrompt(f"{next(iter(fields))!r} is no setting of a prompt: version is the only one")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadPrompt("version is a whole number from 1 up")
    return check(Template(name, body, version, source))


def shipped_prompt(name: str) -> Template:
    """Return the prompt of that name that ships."""
    return parse_prompt(name, (shipped("prompts") / f"{name}.md").read_text(encoding="utf-8"), "shipped")


def load_prompt(layout: Layout, name: str) -> tuple[Template, Problem | None]:
    """Return the prompt in force under one of the names in SLOTS, and what is wrong with a person's own one."""
    try:
        data = files.read(layout.prompt(name), _MOST)
        if data is None:
            return shipped_prompt(name), None
        return parse_prompt(name, data.decode(), "own"), None
    except (BadPrompt, BadFile, UnicodeDecodeError, files.StoreError, OSError) as error:
        hint = "the prompt that ships is used until the file is mended or gone"
        return shipped_prompt(name), Problem(where=f"prompts/{name}.md", what=str(error), hint=hint)


def problems(layout: Layout) -> list[Problem]:
    """Return what is wrong with a person's own prompts."""
    return [problem for name in SLOTS if (problem := load_prompt(layout, name)[1])]
