"""The full parser: every command with its options, its help and an example."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from lumen_tui.cli import (
    af,
    approvals,
    archive,
    attention,
    blocks,
    budget,
    capsule,
    context,
    doctor,
    engine,
    evolve,
    export,
    facts,
    fading,
    hooks,
    imports,
    knowledge,
    memory,
    nodes,
    packets,
    recall,
    relay,
    resume,
    roles,
    search,
    sessions,
    since,
    state,
    tasks,
    triage,
    why,
    work,
)
from lumen_tui.engine.actions.checks import nearest

COMMANDS = (
    "init", "status", "task", "role", "signal", "inbox", "create", "triage", "wu", "events", "undo", "redo", "import",
    "start", "session", "checkpoint", "ready", "decide", "handoff", "context", "recover", "link", "decay", "summarize",
    "cleanup", "signal-cleanup", "archive", "unarchive", "pin", "touch", "delete", "promote", "why", "export", "doctor",
    "hook", "hooks", "profile", "index", "approve", "deny", "approvals", "budget", "kill", "unkill", "pause", "resume",
    "stop", "beat", "fact", "evolve", "claude-md", "constitution", "relay", "blocks", "af", "capsule", "packets",
    "since", "search", "recall", "archive-insert", "archive-list", "archive-withdraw", "attention",
)  # fmt: skip
PARTS = (
    state, tasks, engine, approvals, roles, memory, triage, work, imports, sessions, resume, context, fading,
    nodes, why, export, doctor, hooks, budget, knowledge, facts, evolve, relay, capsule, packets, since, blocks,
    af, search, recall, archive, attention,
)  # fmt: skip
ELSEWHERE = ("run",)  # commands that do not come through here


class Usage(Exception):
    """Words that make no command."""

    def __init__(self, text: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.candidates = candidates


class Parser(argparse.ArgumentParser):
    """As argparse has it, but wrong words are raised, with the nearest right ones."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        candidates: tuple[str, ...] = ()
        if message.startswith("unrecognized arguments: "):
            word = message.removeprefix("unrecognized arguments: ").split()[0]
            candidates = nearest(word, self._option_string_actions)
        raise Usage(f"{message}; see `{self.prog} --help`", candidates)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here, where this command's own are known."""
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}")
        return found, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            words = [str(choice) for choice in action.choices if choice != ""]
            name = action.metavar or action.dest
            text = f"{name} {value!r} is unknown: one of {', '.join(words)}"
            raise Usage(text, nearest(str(value), words))


class Group:
    """Commands below one parser. `add` declares one: how it is called, what it does, an example."""

    def __init__(self, parser: Parser, what: str) -> None:
        self._parsers = parser.add_subparsers(metavar=what, dest=what.lower(), required=True, parser_class=Parser)

    def add(self, name: str, run: Callable[..., int | None], text: str, example: str) -> Parser:
        """A parser for `name`; its options are added by the caller."""
        parser: Parser = self._parsers.add_parser(
            name, help=text, description=text, epilog=f"example:\n  lumen-tui {example}"
        )
        parser.set_defaults(run=run, without_state=False)
        return parser

    def group(self, name: str, text: str) -> Group:
        """Commands of two words."""
        parser: Parser = self._parsers.add_parser(name, help=text, description=text)
        return Group(parser, "COMMAND")


def build_parser() -> Parser:
    """Everything the command line understands."""
    parser = Parser(
        prog="lumen-tui",
        description="Drive a Lumen state folder from the shell.",
        epilog="--state DIR names the state folder (else $LUMEN_STATE, else ./state in a checkout).\n"
        "exit codes: 0 done, 1 failed, 2 bad input, 3 nothing to do or not found",
    )
    commands = Group(parser, "COMMAND")
    for part in PARTS:
        part.declare(commands)
    return parser
