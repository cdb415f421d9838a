"""The full parser: every command with its options, its help and an example."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from lumen_tui.actions.checks import nearest

PARTS = {  # modules of `cli.commands`, in the order of the help, and the commands that each declares
    "state": ("init", "status", "events", "undo", "redo"),
    "tasks": ("task",),
    "engine": ("pause", "resume", "stop", "beat"),
    "approvals": ("approve", "deny", "approvals"),
    "roles": ("role",),
    "memory": ("signal", "inbox", "create"),
    "triage": ("triage",),
    "work": ("wu", "link"),
    "imports": ("import",),
    "sessions": ("start", "session", "decide", "handoff"),
    "resume": ("checkpoint", "ready"),
    "context": ("context", "recover"),
    "decay": ("decay", "summarize", "cleanup", "signal-cleanup"),
    "nodes": ("archive", "unarchive", "pin", "touch", "delete", "promote"),
    "why": ("why",),
    "export": ("export",),
    "doctor": ("doctor",),
    "hooks": ("hook", "hooks"),
    "budget": ("budget", "kill", "unkill"),
    "knowledge": ("profile", "index"),
    "facts": ("fact",),
    "evolve": ("evolve", "claude-md"),
    "constitution": ("constitution",),
    "relay": ("relay",),
    "capsule": ("capsule",),
    "packets": ("packets",),
    "since": ("since",),
    "blocks": ("blocks",),
    "af": ("af",),
    "search": ("search",),
    "recall": ("recall",),
    "archive": ("archive-insert", "archive-list", "archive-search", "archive-withdraw"),
    "attention": ("attention",),
}
COMMANDS = tuple(name for names in PARTS.values() for name in names)
ELSEWHERE = ("run",)  # commands that do not come through here


class UsageError(Exception):
    """Arguments that make no command, with the nearest right words."""

    def __init__(self, text: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.candidates = candidates


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `Usage` for wrong words instead of exiting."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        candidates: tuple[str, ...] = ()
        if message.startswith("unrecognized arguments: "):
            word = message.removeprefix("unrecognized arguments: ").split()[0]
            candidates = nearest(word, self._option_string_actions)
        if message.endswith("required: COMMAND") and self._subparsers is not None:
            names = [name for action in self._subparsers._group_actions for name in action.choices or ()]
            message = f"{self.prog.partition(' ')[2] or 'lumen-tui'} needs one of {', '.join(names)}"
        raise UsageError(f"{message}; see `{self.prog} --help`", candidates)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here, where this command's own are known."""
        parsed, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}")
        return parsed, extra

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            words = [str(choice) for choice in action.choices if choice != ""]
            name = action.metavar or action.dest
            text = f"{name} {value!r} is unknown: one of {', '.join(words)}"
            raise UsageError(text, nearest(str(value), words))


class CommandGroup:
    """The commands below one parser. `add` declares one: its name, what it does, an example."""

    def __init__(self, parser: Parser, noun: str) -> None:
        self._parsers = parser.add_subparsers(metavar=noun, dest=noun.lower(), required=True, parser_class=Parser)

    def add(self, name: str, run: Callable[..., int | None], text: str, example: str) -> Parser:
        """Return a parser for the command `name`, to which the caller adds options."""
        parser: Parser = self._parsers.add_parser(
            name, help=text, description=text, epilog=f"example:\n  lumen-tui {example}"
        )
        parser.set_defaults(run=run, without_state=False)
        return parser

    def group(self, name: str, text: str) -> CommandGroup:
        """Return a group for commands of two words that begin with `name`."""
        parser: Parser = self._parsers.add_parser(name, help=text, description=text)
        return CommandGroup(parser, "COMMAND")


def build_parser(verb: str = "") -> Parser:
    """Return the parser of all commands, or of the module with this verb only: the others cost time to load."""
    parser = Parser(
        prog="lumen-tui",
        description="Drive a Lumen state folder from the shell.",
        epilog="--state DIR names the state folder (else $LUMEN_STATE, else ./state in a checkout).\n"
        "--verbatim writes what you give as it is: else secrets in it are masked, and the command says so.\n"
        "exit codes: 0 done, 1 failed, 2 bad input, 3 nothing to do or not found",
    )
    commands = CommandGroup(parser, "COMMAND")
    for part, names in PARTS.items():
        if verb in names or verb not in COMMANDS:
            importlib.import_module(f"lumen_tui.cli.commands.{part}").declare(commands)
    return parser
