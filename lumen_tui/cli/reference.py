"""The reference of all commands, made of their declarations: Markdown, a manual page, data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from lumen_tui import __version__
from lumen_tui.cli.parser import PARTS, Parser, build_parser, in_words
from lumen_tui.model.grammar import Grammar, GrammarCommand, GrammarOption

TITLES = {  # of the parts
    "state": "The state folder",
    "tasks": "Tasks",
    "chat": "Talk with the main agent",
    "engine": "The engine and its budget",
    "attention": "What needs a person",
    "notifications": "What needed a person",
    "mail": "Mail",
    "roles": "Roles",
    "memory": "Signals and notes",
    "triage": "Triage",
    "work": "Work units",
    "sessions": "Work sessions of agents",
    "history": "What happened",
    "at": "What the room showed",
    "search": "Search",
    "knowledge": "What is kept for good",
    "nodes": "Memory nodes",
    "facts": "Facts",
    "blocks": "Memory blocks",
    "relay": "Relays",
    "schedules": "Schedules",
    "changes": "Changes of tasks that worked apart",
    "replay": "Replays",
    "evolve": "Learning from sessions",
    "constitution": "The constitution",
    "prompts": "Prompts",
    "skills": "Skills",
    "tools": "Tools that are not ours",
    "operator": "The operator",
    "access": "Programs that connect",
    "servers": "Servers for other programs",
    "hosts": "Hosts",
    "hooks": "Hooks of an agent's program",
    "exchange": "Other tools",
    "agentfile": "Agent files",
    "completions": "Completion of a shell",
    "service": "A service of systemd",
    "backup": "Backup",
    "traces": "Traces of OpenTelemetry",
}
_HEAD = """\
# Commands

Every command with its options, as `lumen-tui help COMMAND` prints them. This page is generated: `make docs` writes it
again. `lumen-tui help --man` prints the same as a manual page. Completion for bash, zsh or fish, and the manual page,
are put where the shell and `man` look for them by

    lumen-tui completions bash --install

A default is in [brackets]. `lumen-tui` alone opens the room, `lumen-tui run "OBJECTIVE"` runs one task to its end; see
`lumen-tui --help` and `lumen-tui run --help`. How LumenFlow spells its commands (`mem:signal` ...) is in
[memory layer](memory-layer.md).
"""


class DocumentedCommand(NamedTuple):
    """One command: its words, such as `task new`, and its parser."""

    words: str
    parser: Parser

    @property
    def example(self) -> str:
        return (self.parser.epilog or "").partition("\n")[2].strip()

    @property
    def usage(self) -> str:
        """The command with the words that it takes, `[OPTIONS]` for all options that may be left out."""
        required = [f"{_option(action)} {_value(action)}" for action in self.options if action.required]
        options = ["[OPTIONS]"] if any(not action.required for action in self.options) else []
        return " ".join([f"lumen-tui {self.words}", *required, *options, *map(_value, self.places)])

    @property
    def options(self) -> list[argparse.Action]:
        return [action for action in _visible(self.parser) if action.option_strings]

    @property
    def places(self) -> list[argparse.Action]:
        return [action for action in _visible(self.parser) if not action.option_strings]


def _visible(parser: Parser) -> Iterator[argparse.Action]:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    return (action for action in parser._actions if action.help != argparse.SUPPRESS and not isinstance(action, hidden))


def _option(action: argparse.Action) -> str:
    """Return the long spelling of an option."""
    return action.option_strings[-1]


def _value(action: argparse.Action) -> str:
    """Return how a value is written: `ID`, `[ID]`, `ID ...`; empty for a flag."""
    if action.nargs == 0:
        return ""
    name = action.metavar or action.dest.upper()
    forms = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}
    return forms.get(str(action.nargs), str(name))


def _spelling(action: argparse.Action) -> str:
    """Return every spelling of an option with its value, or the value of a word."""
    names = ", ".join(action.option_strings)
    return f"{names} {_value(action)}".strip()


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")


def parts() -> Iterator[tuple[str, list[tuple[DocumentedCommand, list[DocumentedCommand]]]]]:
    """Yield the title of each part, and its commands, each with those of two words below it."""
    nouns = build_parser().below()
    for part, names in PARTS.items():
        yield TITLES[part], [_with_below(DocumentedCommand(in_words(name), nouns[name])) for name in names]


def _with_below(command: DocumentedCommand) -> tuple[DocumentedCommand, list[DocumentedCommand]]:
    return command, [
        DocumentedCommand(f"{command.words} {name}", below) for name, below in command.parser.below().items()
    ]


def markdown() -> str:
    """Return docs/commands.md."""
    texts = [_HEAD, "## Every command\n", (build_parser().epilog or "").replace("\n", "  \n") + "\n"]
    for title, commands in parts():
        texts.append(f"## {title}\n")
        for command, below in commands:
            texts += [f"{command.parser.description}\n"] if below else []
            texts += map(_section, below or [command])
    return "\n".join(texts)


def _section(command: DocumentedCommand) -> str:
    lines = [f"### {command.words}\n", f"{command.parser.description}\n", f"    {command.usage}\n"]
    lines += [f"- `{_spelling(action)}`: {_help(action)}" for action in (*command.places, *command.options)]
    return "\n".join([*lines, *([""] if lines[3:] else []), f"Example: `{command.example}`\n"])


def man() -> str:
    """Return the manual page, section 1, in roff."""
    head = build_parser()
    lines = [f'.TH LUMEN-TUI 1 "" "lumen-tui {__version__}"', ".SH NAME", _roff(f"lumen-tui - {head.description}")]
    lines += [".SH SYNOPSIS", ".B lumen\\-tui", _roff("[COMMAND [OPTIONS]]"), ".SH DESCRIPTION"]
    lines += [_roff("Without a command it opens the room. A default is in [brackets].")]
    lines += [text for line in (head.epilog or "").splitlines() for text in (".PP", _roff(line))]
    for title, commands in parts():
        lines.append(f".SH {_roff(title.upper())}")
        for command, below in commands:
            for entry in below or [command]:
                lines += _roff_section(entry)
    return "\n".join(lines) + "\n"


def _roff_section(command: DocumentedCommand) -> Iterator[str]:
    yield from (f".SS {_roff(command.usage)}", _roff(str(command.parser.description)))
    for action in (*command.places, *command.options):
        yield from (".TP", f".B {_roff(_spelling(action))}", _roff(_help(action)))
    yield from (".PP", _roff(f"Example: {command.example}"))


def _roff(text: str) -> str:
    """Return a text in which nothing acts as a command of roff."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    plain = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in escaped)
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def grammar() -> Grammar:
    """Return all commands as data, each noun before the commands of two words below it."""
    commands: list[GrammarCommand] = []
    for _, listed in parts():
        for command, below in listed:
            commands += [_plain(entry) for entry in (command, *below)]
    return Grammar(tuple(commands))


def _plain(command: DocumentedCommand) -> GrammarCommand:
    text = str(command.parser.description).partition("\n")[0]
    options, places = (tuple(map(_plain_option, actions)) for actions in (command.options, command.places))
    return GrammarCommand(command.words, text, options, places, command.parser.alone)


def _plain_option(action: argparse.Action) -> GrammarOption:
    choices = tuple(str(choice) for choice in action.choices or () if choice != "")
    return GrammarOption(tuple(action.option_strings), _help(action), _value(action), action.dest, choices)


def grammar_text() -> str:
    """Return the grammar as one JSON document."""
    return msgspec.json.encode(grammar()).decode() + "\n"


FORMS: dict[str, Callable[[], str]] = {"--markdown": markdown, "--man": man, "--json": grammar_text}
