"""The full parser: every command with its options, its help and an example."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

import msgspec

from lumen_tui.actions.refusal import nearest
from lumen_tui.cli.session import Session, print_outcome
from lumen_tui.model import times
from lumen_tui.model.requests.base import Arg, Request

R = TypeVar("R", bound=Request)

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

    def fields(self, kind: type[Request], *names: str, **settings: Any) -> None:
        """Add an argument for each field of a request that says how it is spelled, or for the named ones.

        `settings` replace what the declaration says, as `add_argument` takes them.
        """
        for name, (hint, arg) in declared_fields(kind).items():
            if not names or name in names:
                said = _settings(name, hint, arg, _default(kind, name))
                self.add_argument(*_spelling(name, arg), **{**said, **settings})

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


def declared_fields(kind: type[Request]) -> dict[str, tuple[Any, Arg]]:
    """Return the fields of a request that say how they are spelled, in order, each with its type."""
    hints = get_type_hints(kind, include_extras=True)
    declared = {name: get_args(hints[name]) for name in kind.__struct_fields__}
    return {
        name: (parts[0], parts[1]) for name, parts in declared.items() if len(parts) > 1 and isinstance(parts[1], Arg)
    }


def request_of(kind: type[R], args: argparse.Namespace, **more: Any) -> R:
    """Return the request that the arguments of a command make, with `more` fields; what was not given is left out."""
    given = {name: value for name in kind.__struct_fields__ if (value := getattr(args, name, None)) is not None}
    return kind(**{**given, **more})


def _spelling(name: str, arg: Arg) -> tuple[str, ...]:
    """Return the options of a field, or nothing where it is a word of the command."""
    if arg.place:
        return ()
    own = () if any(option.startswith("--") for option in arg.names) else (f"--{name.replace('_', '-')}",)
    return (*arg.names, *own)


def _default(kind: type[Request], name: str) -> Any:
    """Return the default of a field, or NODEFAULT."""
    return next(field.default for field in msgspec.structs.fields(kind) if field.name == name)


def _settings(name: str, hint: Any, arg: Arg, default: Any) -> dict[str, Any]:
    """Return what `add_argument` needs to know of a field."""
    settings: dict[str, Any] = {"help": arg.help.replace("%", "%%"), "dest": name}
    if hint is bool:
        return {**settings, "action": "store_false" if default else "store_true"}
    optional = default is not msgspec.NODEFAULT
    if optional:
        settings["default"] = default
    elif not arg.place:
        settings["required"] = True
    words = [option.removeprefix("--") for option in arg.names if option.startswith("--")]
    settings["metavar"] = arg.place or arg.metavar or (words[0] if words else name).upper().replace("_", "-")
    if arg.duration:
        settings["type"] = seconds_of
    elif hint in (int, float):
        settings["type"] = hint
    if hint == str | Sequence[str]:
        settings["nargs"] = "*" if optional else "+"
    elif hint == Sequence[str]:
        settings |= {"action": "append", "default": None}
    elif arg.place and optional:
        settings["nargs"] = "?"
    return settings


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
        self._parsers = parser.add_subparsers(metavar=noun, dest=noun.lower(), required=True, parser_class=Parser)

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
    ) -> Parser:
        """Add a command that submits one request made of its arguments, and prints what came of it."""

        def run(session: Session, args: argparse.Namespace) -> int:
            asked = request(session, args) if request else request_of(kind, args)
            return prints(session.perform(asked, by=getattr(args, "by", "")), as_json=args.json)

        parser = self.add(name, run, text, example)
        parser.fields(kind)
        parser.add_argument("--json", action="store_true", help="one JSON document")
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
