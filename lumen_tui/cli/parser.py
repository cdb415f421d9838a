"""The full parser: every command with its options, its help and an example."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import msgspec

from lumen_tui.actions.refusal import nearest
from lumen_tui.cli.session import Session, print_outcome
from lumen_tui.model import times
from lumen_tui.model.requests.base import Arg, Request, declared_fields

R = TypeVar("R", bound=Request)

PARTS = {  # modules of `cli.commands`, in the order of the help, and the commands that each declares
    "state": ("init", "status", "health", "events", "undo", "redo", "doctor"),
    "tasks": ("task",),
    "chat": ("chat",),
    "engine": ("pause", "resume", "stop", "beat", "budget", "kill", "unkill"),
    "attention": ("approve", "deny", "approvals", "question", "attention"),
    "notifications": ("notifications",),
    "mail": ("mail",),
    "roles": ("role",),
    "memory": ("signal", "inbox", "create"),
    "triage": ("triage",),
    "work": ("wu", "link"),
    "sessions": ("start", "session", "decide", "handoff", "checkpoint", "ready", "context", "recover"),
    "history": ("journal", "since", "packets", "capsule", "why"),
    "at": ("at",),
    "search": ("search",),
    "knowledge": ("archive-insert", "archive-list", "archive-search", "archive-withdraw", "recall", "profile", "index"),
    "nodes": (
        *("archive", "unarchive", "pin", "touch", "delete", "promote"),
        *("decay", "summarize", "rewrite", "cleanup", "signal-cleanup"),
    ),
    "facts": ("fact",),
    "blocks": ("blocks",),
    "relay": ("relay",),
    "schedules": ("schedule",),
    "changes": ("changes",),
    "replay": ("replay", "fork"),
    "evolve": ("evolve", "claude-md"),
    "constitution": ("constitution",),
    "prompts": ("prompt",),
    "skills": ("skills",),
    "tools": ("tool",),
    "operator": ("operator",),
    "access": ("access",),
    "servers": ("mcp", "acp", "serve"),
    "hooks": ("hook", "hooks"),
    "hosts": ("host", "hosts"),
    "exchange": ("import", "export"),
    "agentfile": ("af",),
    "completions": ("completions",),
    "service": ("service",),
    "backup": ("backup", "restore", "upgrade"),
    "traces": ("traces",),
}
COMMANDS = tuple(name for names in PARTS.values() for name in names)
TWO_WORDS = ("archive-insert", "archive-list", "archive-search", "archive-withdraw", "signal-cleanup")  # as written
_CHOSEN = "command"  # where argparse puts the name of the command that was given
ELSEWHERE = ("run", "help")  # commands that do not come through here


def in_words(command: str) -> str:
    """Return a command as it is written: `archive insert` for `archive-insert`."""
    return command.replace("-", " ") if command in TWO_WORDS else command


class UsageError(Exception):
    """Arguments that make no command, with the nearest right words."""

    def __init__(self, text: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.candidates = candidates


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. Each argument that is added makes one of these, so it asks for the width once."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


@functools.cache
def _columns() -> int:
    """Return what `shutil.get_terminal_size` would, without the archive formats that come with shutil."""
    if (columns := os.environ.get("COLUMNS", "")).isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (ValueError, OSError):  # closed, or no terminal
        return 80


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError` for wrong words instead of exiting."""

    alone = ""  # the command of a group that runs where only the noun is given

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", _HelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        raise self._wrong(message)

    def _wrong(self, message: str, candidates: tuple[str, ...] = ()) -> UsageError:
        return UsageError(f"{message}; see `{self.prog} --help`", candidates)

    def below(self) -> dict[str, Parser]:
        """Return the parsers of the commands of a group, by name."""
        groups = self._subparsers._group_actions if self._subparsers is not None else []
        return {name: parser for group in groups for name, parser in dict(group.choices or {}).items()}

    def options(self) -> dict[str, argparse.Action]:
        """Return the options of this command, by each of their names."""
        return dict(self._option_string_actions)

    def fields(
        self,
        kind: type[Request],
        *names: str,
        into: argparse._MutuallyExclusiveGroup | None = None,
        **settings: Any,
    ) -> None:
        """Add an argument for each field of a request that says how it is spelled, or for the named ones, in order.

        `into` is a group of this parser to which they belong. `settings` replace what the declaration says, as
        `add_argument` takes them.
        """
        declared = declared_fields(kind)
        for name in names or declared:
            field = declared[name]
            if field.hint == bool | None:
                self._add_yes_or_no(name, field.arg)
                continue
            declaration = _settings(name, field.hint, field.arg, field.default)
            (into or self).add_argument(*_spelling(name, field.arg), **{**declaration, **settings})

    def _add_yes_or_no(self, name: str, arg: Arg) -> None:
        """Add the two options of a field that may also be left as it is."""
        options = self.add_mutually_exclusive_group()
        for (option, text), value in (((*_spelling(name, arg), arg.help), True), (arg.opposite, False)):
            options.add_argument(option, dest=name, action="store_const", const=value, help=text)

    def dry_run(self) -> None:
        """Add `--dry-run`."""
        self.add_argument("--dry-run", action="store_true", help="show what it would do, write nothing")

    def json(self) -> None:
        """Add `--json`."""
        self.add_argument("--json", action="store_true", help="one JSON document")

    def author(self) -> None:
        """Add the option for an author other than the operator."""
        self.add_argument("--from", dest="by", default="", metavar="NAME", help="who says so [you]")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse unknown options here, where this command's own are known."""
        if self.alone and (not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))):
            args = [self.alone, *(args or ())]
        parsed, extra = super().parse_known_args(args, namespace)
        if extra:
            text = f"unrecognized arguments: {' '.join(extra)}"
            raise self._wrong(text, nearest(extra[0], self._option_string_actions))
        if (commands := self.below()) and getattr(parsed, _CHOSEN) is None:
            raise self._wrong(f"{self.prog.partition(' ')[2] or 'lumen-tui'} needs one of {', '.join(commands)}")
        return parsed, extra

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            words = [str(choice) for choice in action.choices if choice != ""]
            name = action.metavar or action.dest
            text = f"{name} {value!r} is unknown: one of {', '.join(words)}"
            raise UsageError(text, nearest(str(value), words))


def request_of(kind: type[R], args: argparse.Namespace, **more: object) -> R:
    """Return the request that the arguments of a command make, with `more` fields; what was not given is left out."""
    given = {name: value for name in kind.__struct_fields__ if (value := getattr(args, name, None)) is not None}
    return kind(**{**given, **more})


def _spelling(name: str, arg: Arg) -> tuple[str, ...]:
    """Return the options of a field, or nothing where it is a word of the command."""
    if arg.place:
        return ()
    own = () if any(option.startswith("--") for option in arg.names) else (f"--{name.replace('_', '-')}",)
    return (*arg.names, *own)


def _settings(name: str, hint: object, arg: Arg, default: object) -> dict[str, Any]:
    """Return what `add_argument` needs to know of a field."""
    text = f"{arg.help}{', with commas between them' if arg.commas else ''}{_default_words(default, arg)}"
    settings: dict[str, Any] = {"help": text.replace("%", "%%"), "dest": name}
    if hint is bool:
        return {**settings, "action": "store_false" if default else "store_true"}
    optional = default is not msgspec.NODEFAULT
    if optional:
        settings["default"] = default
    elif not arg.place:
        settings["required"] = True
    words = [option.removeprefix("--") for option in arg.names if option.startswith("--")]
    settings["metavar"] = arg.place or arg.metavar or (words[0] if words else name).upper().replace("_", "-")
    if arg.choices:
        settings["choices"] = arg.choices
    if arg.duration:
        settings["type"] = seconds_of
    elif arg.commas:
        return {**settings, "type": words_of}
    elif hint in (int, float, int | None, float | None):
        settings["type"] = float if hint in (float, float | None) else int
    if hint == str | Sequence[str] or (hint == Sequence[str] and arg.place):
        settings["nargs"] = "*" if optional else "+"
    elif hint == Sequence[str]:
        settings |= {"action": "append", "default": None}
    elif arg.place and optional:
        settings["nargs"] = "?"
    return settings


def _default_words(default: object, arg: Arg) -> str:
    """Return the default in brackets, where it says something and the help does not say it in other words."""
    if isinstance(default, bool) or not isinstance(default, (str, int, float)) or not default or "[" in arg.help:
        return ""
    return f" [{default:g}]" if isinstance(default, float) else f" [{default}]"


def words_of(text: str) -> list[str]:
    """Return words that were written as one, with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def seconds_of(text: str) -> float:
    """Return seconds from a plain number or a duration. Raise ArgumentTypeError."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return times.parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


class CommandGroup:
    """The commands below one parser. `add` declares one: its name, what it does, an example."""

    def __init__(self, parser: Parser, noun: str) -> None:
        self._parsers = parser.add_subparsers(metavar=noun, dest=_CHOSEN, parser_class=Parser)

    def add(self, name: str, run: Callable[..., int | None], text: str, example: str) -> Parser:
        """Return a parser for the command `name`, to which the caller adds options."""
        parser: Parser = self._parsers.add_parser(
            name, help=text, description=text, epilog=f"example:\n  lumen-tui {example}"
        )
        parser.set_defaults(run=run, without_state=False)
        return parser

    def verb(
        self,
        name: str,
        kind: type[Request],
        text: str,
        example: str,
        *,
        prints: Callable[..., int] = print_outcome,
        request: Callable[[Session, argparse.Namespace], Request] | None = None,
        judged: bool = False,
    ) -> Parser:
        """Add a command that submits one request made of its arguments, and prints what came of it.

        What is `judged` an agent's own program does in its own name, not in the operator's.
        """

        def run(session: Session, args: argparse.Namespace) -> int:
            asked = request(session, args) if request else request_of(kind, args)
            by = session.judge if judged else getattr(args, "by", "")
            return prints(session.perform(asked, by=by), as_json=args.json)

        parser = self.add(name, run, text, example)
        parser.fields(kind)
        parser.json()
        return parser

    def group(self, name: str, text: str, *, alone: str = "") -> CommandGroup:
        """Return a group for commands of two words that begin with `name`; `alone` is the one that `name` runs."""
        hint = f"\n`{name}` alone is `{name} {alone}`." if alone else ""
        parser: Parser = self._parsers.add_parser(name, help=text, description=text + hint)
        parser.alone = alone
        return CommandGroup(parser, "COMMAND")


def build_parser(verb: str = "") -> Parser:
    """Return the parser of all commands, or of the module with this verb only: the others cost time to load."""
    parser = Parser(
        prog="lumen-tui",
        description="Drive a Lumen state folder from the shell.",
        epilog="--state DIR names the state folder (else $LUMEN_STATE, else ./state in a checkout).\n"
        "--verbatim writes what you give as it is: else secrets in it are masked, and the command says so.\n"
        "exit codes: 0 done, 1 failed, 2 bad input, 3 nothing to do or not found\n"
        "`lumen-tui help --man` prints all of it as a manual page, --markdown as a document, --json as data;\n"
        "`lumen-tui completions SHELL` prints a completion for bash, zsh or fish.",
    )
    commands = CommandGroup(parser, "COMMAND")
    for part, names in PARTS.items():
        if verb in names or verb not in COMMANDS:
            importlib.import_module(f"lumen_tui.cli.commands.{part}").declare(commands)
    return parser
