"""`prompt list | show | text | diff`: what models are sent, where each line of it comes from, and what it costs."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import checks
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model.constitution import difference
from lumen_tui.model.prompts import SLOTS, Line
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.worker.preview import PromptPreview

_WIDEST = 34  # columns of a source


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("prompt", "What models are sent.", alone="list")
    group.add("list", run_list, "The prompts, their versions, and which are your own.", "prompt list").json()
    show = group.add("show", run_show, "What a task of a role would be sent now.", "prompt show builder --task 7f2k")
    show.add_argument("role", metavar="ROLE", help="the role, or main for the main agent")
    show.add_argument("--task", default="", metavar="ID", help="this task, or loop-000012 of the main agent")
    show.add_argument("--plain", action="store_true", help="the text alone, as it is sent")
    show.json()
    text = group.add("text", run_text, "The file of a prompt.", "prompt text worker > state/prompts/worker.md")
    diff = group.add("diff", run_diff, "How your own prompt differs from the shipped one.", "prompt diff worker")
    for command in (text, diff):
        command.json()
        command.add_argument("name", metavar="NAME", choices=tuple(SLOTS), help=", ".join(SLOTS))
    text.add_argument("--shipped", action="store_true", help="the one that ships, whichever is in force")


def run_list(session: Session, args: Namespace) -> int:
    from lumen_tui.store.settings.prompts import load_prompt

    loaded = {name: load_prompt(session.layout, name) for name in SLOTS}
    for _, problem in loaded.values():
        if problem:
            talk(f"{problem.where}: {problem.what}; {problem.hint}")
    if args.json:
        document([{"name": one.name, "version": one.version, "source": one.source, "digest": one.digest}
                  for one, _ in loaded.values()])  # fmt: skip
        return 0
    slots = {name: " ".join(f"{{{{{slot}}}}}" for slot in SLOTS[name]) for name in SLOTS}
    table([(one.name, str(one.version), one.source, one.digest, slots[one.name]) for one, _ in loaded.values()])
    return 0


def run_show(session: Session, args: Namespace) -> int:
    shown = _preview(session, args)
    for problem in shown.problems:
        talk(f"{problem.where}: {problem.what}; {problem.hint}")
    if args.json:
        document({"parts": shown.parts, "prompts": shown.request.templates, "tokens": shown.costs})
        return 0
    from lumen_tui.worker.preview import part_tokens

    for name, lines in shown.parts.items():
        say(f"== {name}, about {part_tokens(lines):,} tokens")
        _print(lines, plain=args.plain)
        say("")
    if not args.plain:
        total = sum(shown.costs.values())
        table([*((source, f"{tokens:,}") for source, tokens in shown.costs.items()), ("together", f"{total:,} tokens")])
        say(f"prompts: {', '.join(shown.request.templates)}")
    return 0


def _print(lines: tuple[Line, ...], *, plain: bool) -> None:
    for line in lines:
        say(line.text if plain else f"{one_line(line.source, _WIDEST):<{_WIDEST}} | {line.text}".rstrip())


def _preview(session: Session, args: Namespace) -> PromptPreview:
    session.must_exist()
    role = checks.role_name(session.layout, args.role)
    task = args.task if not args.task or args.task.startswith("loop-") else checks.task_id(session.store, args.task)
    from lumen_tui.tools.base import BadRules  # behind the checks: every tool is loaded, 50 ms
    from lumen_tui.worker.preview import preview
    from lumen_tui.worker.task import CannotBegin

    try:
        shown = preview(session.store, role, task, session.now, os.environ)
    except LookupError as error:
        raise ActionError(f"there is no task {error}", missing=True) from error
    except (CannotBegin, BadRules) as error:
        raise ActionError(str(error)) from error
    return shown


def run_text(session: Session, args: Namespace) -> int:
    return _say(args, _text(session, args.name, shipped=args.shipped).rstrip())


def run_diff(session: Session, args: Namespace) -> int:
    own, ours = _text(session, args.name, shipped=False), _text(session, args.name, shipped=True)
    return _say(args, difference(ours, own, "shipped", f"prompts/{args.name}.md") or "it is the shipped one")


def _say(args: Namespace, text: str) -> int:
    document({"name": args.name, "text": text}) if args.json else say(text)
    return 0


def _text(session: Session, name: str, *, shipped: bool) -> str:
    from lumen_tui.storage import files
    from lumen_tui.storage.shipped import shipped as shipped_path

    own = None if shipped else files.read(session.layout.prompt(name))
    return own.decode(errors="replace") if own is not None else (shipped_path("prompts") / f"{name}.md").read_text()
