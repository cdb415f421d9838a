"""Memory blocks: short texts that the main agent always has before it, with a limit, a lock and a history.

Trust says whose word the weakest part of a text is: what was appended from the web does not become a person's word
because a person's sentence is above it.
"""

from __future__ import annotations

from msgspec import Struct, structs

LIMIT = 20_000  # characters of a block, where nothing else was said
MOST_LIMIT = 200_000
MOST_BLOCKS = 100
_MOST_DESCRIPTION = 1000  # characters
STANDARD = {
    "persona": "Who the agent is and how it works: what it keeps to in every loop.",
    "human": "Who it works for: names, wishes, ways of working, what was promised.",
}
TRUST = ("person", "agent", "imported", "worker", "untrusted")  # the best first
_LESS = frozenset(TRUST[2:])  # what is marked where an agent reads it


class BadEdit(ValueError):
    """An edit that cannot be made; the text says why and what to do instead."""


class Fields(Struct, frozen=True, omit_defaults=True):
    """What is said of a block beside its text."""

    description: str = ""
    limit: int = LIMIT
    read_only: bool = False  # agents may read it only
    locked: str = ""  # who locked it; until it is unlocked nobody writes
    label: str = ""  # how it is called elsewhere, where that is no name here


class Step(Struct, frozen=True, omit_defaults=True):
    """One line of blocks/history.jsonl: a text that a block had. Steps count from 1 in each block."""

    name: str
    step: int
    at: str
    by: str
    how: str  # new append insert replace patch rethink set lock unlock restore hand import undo removed
    text: str  # sha256 of the text, which is in blocks/texts/
    chars: int
    trust: str = "person"
    fields: Fields = Fields()
    source: str = ""  # the task, session or file behind it
    note: str = ""
    key: str = ""  # of the call that made it: the same call twice is one step
    schema: int = 1


class Block(Struct, frozen=True):
    """A block in its present state. `step` is 0 where it never had a text."""

    name: str
    text: str = ""
    fields: Fields = Fields()
    step: int = 0
    at: str = ""
    by: str = ""
    how: str = ""
    trust: str = "person"
    source: str = ""
    note: str = ""
    problem: str = ""  # why its file cannot be used; the text is that of the last step then
    by_hand: bool = False  # the file was changed by hand and the change is not recorded yet

    @property
    def chars(self) -> int:
        """How long it is, in what the limit counts."""
        return len(self.text)

    @property
    def over(self) -> int:
        """By how many characters it is over its limit."""
        return max(0, self.chars - self.fields.limit)

    @property
    def doubtful(self) -> bool:
        """Whether an agent must be told that this is not a person's word, nor its own."""
        return self.trust in _LESS

    @property
    def size(self) -> str:
        """`310 of 20,000`."""
        return f"{self.chars:,} of {self.fields.limit:,}"


def description(name: str, fields: Fields) -> str:
    """Return what a block is for."""
    return fields.description or STANDARD.get(name, "")


def weaker(first: str, second: str) -> str:
    """Return the lower of two trusts; one that is unknown is the lowest."""
    return max(first, second, key=_rank)


def _rank(trust: str) -> int:
    return TRUST.index(trust) if trust in TRUST else len(TRUST)


def check_text(name: str, text: str, fields: Fields) -> str:
    """Return the text, where the block may have it. BadEdit beyond the limit and for what is no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadEdit(f"the text for {name} is not valid Unicode (character {error.start}): write it again") from error
    if len(text) > fields.limit:
        raise BadEdit(
            f"{name} would have {len(text):,} characters, its limit is {fields.limit:,}: "
            f"shorten it by {len(text) - fields.limit:,}; nothing was changed"
        )
    return text


def check_fields(name: str, text: str, fields: Fields) -> Fields:
    """Return the fields, where a block with this text may have them."""
    if not 1 <= fields.limit <= MOST_LIMIT:
        raise BadEdit(f"a limit is 1 to {MOST_LIMIT:,} characters")
    if len(fields.description) > _MOST_DESCRIPTION or "\n" in fields.description:
        raise BadEdit(f"a description is one line of at most {_MOST_DESCRIPTION:,} characters")
    check_text(name, text, fields)
    return fields


def appended(text: str, more: str) -> str:
    """Return `text` with `more` on a line of its own."""
    if not more.strip():
        raise BadEdit("there is nothing to append: say it in a few words")
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{more}"


def inserted(name: str, text: str, more: str, line: int) -> str:
    """Return `text` with `more` after the line of that number: 0 at the top, -1 at the end. BadEdit beyond its end."""
    lines = text.splitlines()
    if line < 0 or line == len(lines):
        return appended(text, more)
    if line > len(lines):
        raise BadEdit(f"{name} has {len(lines)} lines: insert_line is 0 to {len(lines)}, or -1 for the end")
    if not more.strip():
        raise BadEdit("there is nothing to insert: say it in a few words")
    return "\n".join([*lines[:line], more.rstrip("\n"), *lines[line:]]) + ("\n" if text.endswith("\n") else "")


def replaced(name: str, text: str, old: str, new: str) -> str:
    """Return `text` with its only occurrence of `old` replaced by `new`; BadEdit where it is not the only one."""
    if not old:
        raise BadEdit("the old text is empty: give the words that are to be replaced")
    count = text.count(old)
    if not count:
        import difflib  # only where the text is not found

        near = difflib.get_close_matches(old, text.splitlines(), 1, 0.5)
        hint = f"; the nearest line is {near[0]!r}" if near else ""
        raise BadEdit(f"{name} does not say that{hint}: read the block again and give its exact words")
    if count > 1:
        raise BadEdit(f"{name} says that {count} times: give more of the words around the place that is meant")
    if old == new:
        raise BadEdit("old and new text are the same: nothing was changed")
    return text.replace(old, new, 1)


def as_block(step: Step | None, name: str, text: str = "") -> Block:
    """Return a block as its last step left it."""
    if step is None or step.how == "removed":
        number = step.step if step else 0
        return Block(name, fields=Fields(description=STANDARD.get(name, "")), step=number, how=step.how if step else "")
    return Block(name, text, step.fields, step.step, step.at, step.by, step.how, step.trust, step.source, step.note)


def difference(before: str, after: str, old: str, new: str) -> str:
    """Return a unified diff that `patch` takes; the end of a text without a newline is said as git says it."""
    import difflib  # only where two texts are shown side by side

    lines = []
    for line in difflib.unified_diff(patch_lines(before), patch_lines(after), old, new, n=2):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def shown_difference(before: str, after: str, old: str, new: str) -> str:
    """Return the same for people: whether the last line has a newline is left out."""
    return difference(before and before + "\n", after and after + "\n", old, new)


def patch_lines(text: str) -> list[str]:
    """Return the lines with their newlines; other characters that end lines for Python do not for a patch."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def with_fields(fields: Fields, **changed: object) -> Fields:
    """Return the fields with those that are not None changed."""
    return structs.replace(fields, **{name: value for name, value in changed.items() if value is not None})
