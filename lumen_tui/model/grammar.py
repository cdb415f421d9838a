"""What `lumen-tui` takes, as data: commands with their options and values, what a line may go on with, what it may do.

`lumen-tui help --json` prints it; the line of the room is completed and judged by it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

PROGRAM = "lumen-tui"
COMMON = ("--state", "--operator", "--verbatim")  # options of every command

# Commands that change nothing. All others are taken to write, those as well that are not known here.
_READS = frozenset({
    "status", "health", "events", "doctor", "completions", "service show", "task list", "task show", "task log",
    "budget", "approvals list", "approvals rules", "approvals show",
    "question list", "question show", "attention list", "role list", "role show", "role stats",
    "triage", "wu list", "wu show", "wu lanes", "session list", "session show", "ready", "context", "since", "packets",
    "capsule", "why", "search", "archive list", "archive search", "profile", "fact list", "fact suggest", "blocks list",
    "blocks show", "blocks history", "relay list", "relay show", "relay held", "schedule list", "schedule show",
    "schedule history", "changes list", "changes show", "constitution show", "constitution diff", "prompt list",
    "prompt show", "prompt text", "prompt diff", "skills list", "skills check", "skills show", "tool list", "tool show",
    "operator show", "operator here", "evolve cases", "evolve candidates", "journal", "hooks status", "help", "at",
})  # fmt: skip
# Words with which a command that reads writes after all, and with which one that writes only looks.
_WRITES_WITH: Mapping[str, tuple[str, ...]] = {
    "triage": ("--promote", "--archive", "--keep", "--merge", "--edit", "--undo"),
    "doctor": ("--fix",),
    "completions": ("--install",),
    "budget": ("raise",),
    "ready": ("--take",),
    "since": ("--seen",),
    "evolve cases": ("--collect", "--task"),
}
_READS_WITH: Mapping[str, tuple[str, ...]] = {
    "inbox": ("--no-mark", "--count"),
    "chat": ("--show",),
    "evolve learn": ("--list", "--show", "--rejections", "--versions", "--diff"),
    "claude-md": ("--print",),
}
_LOOKS_ONLY = "--dry-run"

# What a line of the room cannot do, and what can.
_NOT_HERE: Mapping[str, str] = {
    "run": "`run` drives a task by itself; `task new` gives it to the engine",
    "hook": "`hook` is called by an agent's program",
    "init": "the state folder is there already",
}
_FOREVER = ("--follow", "--watch")
_EDITORS: Mapping[str, str] = {"changes edit": "edit", "role hire": "--edit", "role adjust": "--edit"}

# What cannot be undone, or ends what runs: a line asks before it does this.
_GRAVE = frozenset({
    "stop", "kill", "delete", "cleanup", "signal cleanup", "decay", "role fire", "relay drop", "changes drop",
    "changes push", "schedule remove", "archive withdraw", "tool accept", "constitution approve", "operator token",
    "access add", "import lumenflow", "import beads", "af import", "hooks install", "hooks uninstall", "approve",
    "service install", "service remove", "restore",
})  # fmt: skip


class GrammarOption(Struct, frozen=True):
    """An option, or a word with a place where it has no names. `value` is what it takes, such as ID; empty for a flag.

    `field` is the field of the request that it fills.
    """

    names: tuple[str, ...] = ()
    help: str = ""
    value: str = ""
    field: str = ""
    choices: tuple[str, ...] = ()


class GrammarCommand(Struct, frozen=True):
    """One command: its words, such as `task new`, and what may come behind them."""

    words: str
    help: str = ""
    options: tuple[GrammarOption, ...] = ()
    places: tuple[GrammarOption, ...] = ()
    alone: str = ""  # of a noun: the command below it that it means where none is named, such as `list`

    def option(self, name: str) -> GrammarOption | None:
        """Return the option with this name."""
        return next((option for option in self.options if name in option.names), None)


class Candidate(Struct, frozen=True):
    """What a line may go on with: a word, and what it means."""

    word: str
    help: str = ""


Values = Callable[[str, str], Sequence[Candidate]]  # (command, field) -> what there is


class Grammar(Struct, frozen=True):
    """All commands. A noun with commands below it stands among them without places or options."""

    commands: tuple[GrammarCommand, ...] = ()

    def find(self, words: Sequence[str]) -> tuple[GrammarCommand | None, Sequence[str]]:
        """Return the command that these words begin with, and the words behind it."""
        for count in (2, 1):
            name = " ".join(words[:count])
            command = next((each for each in self.commands if len(words) >= count and each.words == name), None)
            if command is not None:
                behind = words[count:]
                is_alone = bool(behind) and behind[0].startswith("-")
                return (self.meant(command) if is_alone else command), behind
        return None, words

    def meant(self, command: GrammarCommand) -> GrammarCommand:
        """Return what a command means where nothing is named below it: of a noun the one that it is alone."""
        words = f"{command.words} {command.alone}"
        return next((each for each in self.commands if command.alone and each.words == words), command)

    def below(self, noun: str) -> list[GrammarCommand]:
        """Return the commands of two words that begin with a noun."""
        return [each for each in self.commands if each.words.startswith(f"{noun} ")]

    @property
    def nouns(self) -> dict[str, str]:
        """The first words of all commands, each with its help."""
        nouns: dict[str, str] = {}
        for each in self.commands:
            noun, _, verb = each.words.partition(" ")
            nouns[noun] = nouns.get(noun, "") or ("" if verb else each.help)
        return nouns


class Line(Struct, frozen=True):
    """A line up to its end: the whole words, and what is typed of the last one, which begins at `start`."""

    words: tuple[str, ...]
    part: str
    start: int
    open: bool = False  # whether it ends within quotes


def split_line(text: str) -> Line:
    """Return a line that may still be typed in its words; those of `lumen-tui task list` are `task` and `list`."""
    start = len(text)
    while start and not (text[start - 1].isspace() and _closed(text[: start - 1])):
        start -= 1
    words = _words(text[:start]) or []
    last = _words(text[start:])
    part = text[start:] if last is None else last[0] if last else ""
    if words[:1] == [PROGRAM]:
        words = words[1:]
    return Line(tuple(words), part, start, open=last is None)


def _words(text: str) -> list[str] | None:
    """Return the words of a line as a shell takes them; None where a quote is open."""
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _closed(text: str) -> bool:
    return not text.endswith("\\") and _words(text) is not None


def whole_words(text: str) -> list[str]:
    """Return the words of a line that is to be carried out. ValueError where a quote is open."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"a quote or a backslash is left open: {error}") from error
    return words[1:] if words[:1] == [PROGRAM] else words


def candidates(grammar: Grammar, line: Line, values: Values) -> list[Candidate]:
    """Return what may stand in the place of the last word, those first that the command needs."""
    if line.open:
        return []
    command, behind = grammar.find(line.words)
    if command is not None and not behind and line.part.startswith("-"):
        command = grammar.meant(command)
    if command is None:
        return [] if line.words else _fitting(line.part, [Candidate(*noun) for noun in grammar.nouns.items()])
    below = grammar.below(command.words) if not behind else []
    verbs = [Candidate(each.words.partition(" ")[2], each.help) for each in below]
    return _fitting(line.part, [*verbs, *_next_words(command, behind, line.part, values)])


def _fitting(part: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    return [each for each in candidates if each.word.startswith(part)]


def _next_words(command: GrammarCommand, behind: Sequence[str], part: str, values: Values) -> Sequence[Candidate]:
    before = command.option(behind[-1]) if behind else None
    if before is not None and before.value:
        return _offered(command, before, values)
    options = [
        Candidate(option.names[-1], option.help)
        for option in command.options
        if not set(option.names) & set(behind) or "..." in option.value
    ]
    if part.startswith("-"):
        return [*options, *(Candidate(name) for option in command.options for name in option.names[:-1])]
    place = _place(command, behind)
    return [*(_offered(command, place, values) if place is not None else ()), *options]


def _place(command: GrammarCommand, behind: Sequence[str]) -> GrammarOption | None:
    """Return which of the words with a place comes next."""
    count, takes = 0, False
    for word in behind:
        option = command.option(word.partition("=")[0])
        count += option is None and not takes
        takes = option is not None and bool(option.value) and "=" not in word
    if count < len(command.places):
        return command.places[count]
    return command.places[-1] if command.places and "..." in command.places[-1].value else None


def _offered(command: GrammarCommand, option: GrammarOption, values: Values) -> Sequence[Candidate]:
    if option.choices:
        return [Candidate(choice, option.help) for choice in option.choices]
    return values(command.words, option.field)


def completed(text: str, line: Line, word: str) -> str:
    """Return the line with `word` in the place of its last one, quoted where it must be, and a blank behind it."""
    return f"{text[: line.start]}{shlex.quote(word)} "


def common_start(candidates: Sequence[Candidate]) -> str:
    """Return what all candidates begin with."""
    if not candidates:
        return ""
    first, last = min(each.word for each in candidates), max(each.word for each in candidates)
    same = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None)
    return first[: min(len(first), len(last))] if same is None else first[:same]


def writes(grammar: Grammar, words: Sequence[str]) -> bool:
    """Return whether a line may change something; one that is not known may."""
    command, behind = grammar.find(words)
    if command is None:
        return words[:1] != ["help"]
    given = _given(command, behind)
    if _LOOKS_ONLY in given or given & set(_READS_WITH.get(command.words, ())):
        return False
    if not behind:
        command = grammar.meant(command)
    return command.words not in _READS or bool(given & set(_WRITES_WITH.get(command.words, ())))


def _given(command: GrammarCommand, behind: Sequence[str]) -> set[str]:
    """Return the words behind a command, options by every name that they have."""
    given: set[str] = set()
    for word in behind:
        option = command.option(word.partition("=")[0])
        given |= set(option.names) if option is not None else {word}
    return given


def is_grave(grammar: Grammar, words: Sequence[str]) -> bool:
    """Return whether a line is asked about before it is carried out."""
    command, _ = grammar.find(words)
    return command is not None and command.words in _GRAVE and writes(grammar, words)


def why_not_here(grammar: Grammar, words: Sequence[str], refusal: str) -> str:
    """Return why a room does not carry out a line; `refusal` is why nothing can be written from it."""
    command, behind = grammar.find(words)
    noun = words[0] if words else ""
    if common := next((word for word in words if word.partition("=")[0] in COMMON), ""):
        return f"{common.partition('=')[0]} is of the shell: a room has one state folder and one operator"
    if noun in _NOT_HERE:
        return _NOT_HERE[noun]
    if noun.startswith("-"):
        return f"{noun} is of the shell: a line begins with a command"
    given = _given(command, behind) if command is not None else set()
    if forever := next((name for name in _FOREVER if name in given), ""):
        return f"{forever} goes on for ever: from a shell, or leave it out"
    if command is not None and _EDITORS.get(command.words) in {*given, command.words.partition(" ")[2]}:
        return "an editor needs the terminal: there is a key for it in the room"
    if noun == "chat" and not given & {"--once", "--show", "--stop"}:
        return "a conversation has a screen of its own: `chat --once TEXT` says one thing"
    return refusal if refusal and writes(grammar, words) else ""
