"""Prompts as files with slots: how one is parsed and filled, with the source of every line. Pure.

A template is Markdown. A line that is nothing but `{{name}}` is replaced by the lines of that slot; a section in which
all slots are empty, and nothing else is said, is left out with its heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from lumen_tui.model.capsule import tokens_of
from lumen_tui.model.digests import sha256
from lumen_tui.model.patterns import lazy_re

_TOLD = ("objective", "giver", "context", "constraints", "conventions", "skills")
SLOTS: Mapping[str, tuple[str, ...]] = {
    "authority": (),
    "worker": ("role", "authority", "constitution", "rules"),
    "main": ("role", "authority", "constitution", "rules"),
    "task": (*_TOLD, "accept", "unit", "memory", "earlier", "limits", "surroundings"),
    "chat": ("role", "authority", "constitution", "rules"),
    "turn": ("orders", "state", "skills", "limits", "surroundings", "earlier"),
    "loop": ("objective", "briefing", "limits", "surroundings", "earlier", "roles", "skills", "memory", "moment"),
    "summary": ("objective", "accept", "length"),
}  # the prompts that there are, and what each has a place for
# What a prompt of a person's own may leave out.
OPTIONAL = ("giver", "conventions", "skills", "accept", "unit", "memory", "earlier", "surroundings", "roles", "moment")
_SLOT = lazy_re(r"\{\{([a-z_]+)\}\}")
_HEADING = lazy_re(r"^#{1,6} ")


class BadPrompt(ValueError):
    """A prompt that cannot be used; the text says what to change."""


class Line(Struct, frozen=True):
    """One line of a prompt, and the file or the part of the program that it comes from."""

    text: str
    source: str


class Template(Struct, frozen=True):
    """prompts/<name>.md: `version` is its author's number, `digest` the beginning of the hash of its text."""

    name: str
    body: str
    version: int = 1
    source: str = "shipped"  # shipped | own: in the state folder

    @property
    def digest(self) -> str:
        return sha256(self.body.encode("utf-8", "replace"))[:8]

    @property
    def label(self) -> str:
        """The prompt and its version in a word, as the transcript names it: `worker 1 (shipped, 3f2a91c0)`."""
        return f"{self.name} {self.version} ({self.source}, {self.digest})"

    @property
    def place(self) -> str:
        """Where its lines come from."""
        return f"prompts/{self.name}.md" + (" (your own)" if self.source == "own" else "")


class Request(Struct, frozen=True):
    """What a model is sent before it has said anything: tools, system prompt, first message, and the versions."""

    system: tuple[Line, ...]
    first: tuple[Line, ...]
    templates: tuple[str, ...] = ()  # labels
    standing: int = 0  # characters at the beginning of the first message that are the same in the next one of the role


def check(template: Template) -> Template:
    """Return the template where each slot that must be there is, and no other. Raises BadPrompt."""
    known = SLOTS[template.name]
    slots = _SLOT.findall(template.body)
    if strange := [slot for slot in slots if slot not in known]:
        listed = ", ".join(known) or "none"
        raise BadPrompt(f"{{{{{strange[0]}}}}} is no slot of the prompt {template.name}: of {listed}")
    if missing := [slot for slot in known if slot not in slots and slot not in OPTIONAL]:
        raise BadPrompt(f"{{{{{missing[0]}}}}} is missing: without it the prompt {template.name} leaves out too much")
    if not template.body.strip():
        raise BadPrompt(f"the prompt {template.name} is empty")
    return template


def lines_of(text: str, source: str) -> tuple[Line, ...]:
    """Return the lines of a text from one source; none of an empty one."""
    return tuple(Line(line, source) for line in text.strip("\n").split("\n")) if text.strip() else ()


def text_of(lines: Iterable[Line]) -> str:
    """Return the text that these lines make."""
    return "\n".join(line.text for line in lines)


def fill(template: Template, values: Mapping[str, Sequence[Line]]) -> tuple[Line, ...]:
    """Return the lines of a template whose slots have these values; a slot without one is empty."""
    filled: list[Line] = []
    for section in _sections(template.body.strip("\n").split("\n")):
        if not _is_void(section, values):
            for line in _filled(section, values, template.place):
                if line.text or line.source != template.place or (filled and filled[-1].text):
                    filled.append(line)
    while filled and not filled[-1].text:
        filled.pop()
    return tuple(filled)


def _sections(lines: Sequence[str]) -> Iterator[list[str]]:
    section: list[str] = []
    for line in lines:
        if _HEADING.match(line) and section:
            yield section
            section = []
        section.append(line)
    yield section


def _is_void(section: Sequence[str], values: Mapping[str, Sequence[Line]]) -> bool:
    """Return whether a section holds slots alone, and all of them are empty."""
    slots = [slot for line in section for slot in _SLOT.findall(line)]
    words = [
        line for line in section if line.strip() and not _HEADING.match(line) and not _SLOT.fullmatch(line.strip())
    ]
    return bool(slots) and not words and not any(values.get(slot) for slot in slots)


def _filled(section: Sequence[str], values: Mapping[str, Sequence[Line]], place: str) -> Iterator[Line]:
    for line in section:
        whole = _SLOT.fullmatch(line.strip())
        if whole:
            yield from values.get(whole[1], ())
        else:
            yield Line(_SLOT.sub(lambda match: text_of(values.get(match[1], ())), line), place)


def costs(lines: Iterable[Line]) -> dict[str, int]:
    """Return how many tokens each source is taken for, in the order in which they come first."""
    texts: dict[str, list[str]] = {}
    for line in lines:
        texts.setdefault(line.source, []).append(line.text)
    return {source: tokens_of("\n".join(parts)) for source, parts in texts.items()}
