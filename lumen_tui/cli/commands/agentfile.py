"""`af`: agent files of Letta, out and in."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions.agentfile import ImportAgentFile
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model.text import one_line, safe

if TYPE_CHECKING:
    from lumen_tui.actions.agentfile import Plan
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.model.agentmessages import AfMessage
    from lumen_tui.store.memory.agent_files import Clean

_NONE = "none"


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("af", "Agent files (.af, of Letta): memory blocks, archive and messages, out and in.")
    export = group.add(
        "export", run_export_agent, "Write an agent file; no key and no setting is in it.", "af export ann.af"
    )
    export.add_argument("file", metavar="FILE", help="where to; - prints it")
    export.add_argument(
        "--session", default="", metavar="ID", help="the transcript whose messages it gets, or none [the newest]"
    )
    export.add_argument("--force", action="store_true", help="replace a file that is there")
    taken = group.add(
        "import", run_import_agent, "Take an agent file in; undo takes it back.", "af import ann.af --dry-run"
    )
    taken.add_argument("file", metavar="FILE", help="the agent file")
    taken.add_argument("--agent", default="", metavar="NAME", help="which, where the file has several")
    taken.add_argument("--replace", action="store_true", help="let its blocks replace yours")
    taken.add_argument("--raise-limits", action="store_true", help="accept blocks that are over their own limit, too")
    taken.dry_run()
    for command in (export, taken):
        command.json()


def _cleaner() -> Clean:
    """Return a function that makes a text safe to show and masks keys in it."""
    from lumen_tui.tools.policy.fence import redactor

    redact = redactor(os.environ)
    return lambda text: redact(safe(text))


def run_import_agent(session: Session, args: Namespace) -> int:
    from lumen_tui.actions import agentfile as verbs
    from lumen_tui.model.agentfile import BadAgentFile, parse

    try:
        agent = parse(_read_agent_file(args.file), args.agent)
        plan = verbs.plan(
            session.store,
            agent,
            _cleaner(),
            by=session.operator,
            now=session.now,
            replace=args.replace,
            raise_limits=args.raise_limits,
            origin=one_line(Path(args.file).name, 80),
        )
    except BadAgentFile as error:
        raise ActionError(f"{args.file}: {error}", candidates=error.candidates) from error
    except ValueError as error:
        raise ActionError(f"{args.file}: {error}; nothing was imported") from error
    if args.dry_run or not plan.changes:
        _report_plan(plan, args, "", "")
        return 0
    done = session.perform(ImportAgentFile(plan=plan))
    _report_plan(plan, args, done.summary, done.action_id)
    return 0


def _read_agent_file(name: str) -> bytes:
    """Return the start of a file, one byte more than is allowed at most. Raise ActionError."""
    from lumen_tui.model.agentfile import MOST_BYTES

    path = Path(name).expanduser()
    try:
        if not path.is_file():
            shown_name = one_line(name, 120)
            reason = f"{shown_name} is no plain file" if path.exists() else f"there is no file {shown_name}"
            raise ActionError(reason, missing=not path.exists())
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ActionError(f"{name} cannot be read: {error.strerror}") from error


def _report_plan(plan: Plan, args: Namespace, summary: str, action_id: str) -> None:
    if args.json:
        document(_plan_facts(plan, args, action_id))
        return
    table(
        [("block", block.name, block.outcome, f"{len(block.text):,} characters", block.reason) for block in plan.blocks]
    )
    if plan.all_passages:
        say(f"passages: {plan.new_passages:,} new of {plan.all_passages:,}")
    if plan.session:
        say(
            f"messages: {plan.messages:,} in transcripts/{plan.session}.jsonl{'' if plan.new_session else ', as it is'}"
        )
    if plan.tools:
        say(f"tools, by name only: {', '.join(plan.tools)}")
    for line in plan.left_out:
        say(f"no place here: {line}")
    nothing = "" if plan.changes else "all of it is here already: nothing was changed"
    say(summary or nothing or "dry run: nothing was written")


def _plan_facts(plan: Plan, args: Namespace, action_id: str) -> dict[str, object]:
    return {
        "agent": plan.name,
        "shape": plan.shape,
        "dry_run": args.dry_run,
        "changed": bool(action_id),
        "action_id": action_id,
        "blocks": [
            {
                "name": block.name,
                "label": block.label,
                "chars": len(block.text),
                "outcome": block.outcome,
                "why": block.reason,
            }
            for block in plan.blocks
        ],
        "passages": {"all": plan.all_passages, "new": plan.new_passages},
        "messages": {"all": plan.messages, "session": plan.session, "new": plan.new_session},
        "tools": list(plan.tools),
        "left_out": list(plan.left_out),
    }


def run_export_agent(session: Session, args: Namespace) -> int:
    from lumen_tui.store.memory import agent_files
    from lumen_tui.store.settings.config import load_config

    if args.file != "-" and os.path.lexists(args.file) and not args.force:
        raise ActionError(f"{args.file} is there already: name another file, or use --force")
    name, messages = _transcript(session, args.session)
    agent = load_config(session.layout)[0].agent.name
    whole = agent_files.document(session.layout, agent, messages, _cleaner(), session.now)
    if args.file == "-":
        document(whole)
        return 0
    size = agent_files.write_document(args.file, whole)
    counts = {key: len(part) for key in ("blocks", "passages") if isinstance(part := whole[key], list)} | {
        "messages": len(messages)
    }
    if args.json:
        document({"file": args.file, "bytes": size, "session": name, **counts})
        return 0
    parts = [f"{count:,} {key if count != 1 else key[:-1]}" for key, count in counts.items()]
    say(f"{args.file}: {', '.join(parts)}, {size:,} bytes")
    talk("not in it: settings, keys, tools, roles, tasks and memory nodes, for which an agent file has no place")
    return 0


def _transcript(session: Session, session_id: str) -> tuple[str, list[AfMessage]]:
    """Return the chosen transcript and its messages; nothing for `none`. Raise ActionError."""
    from lumen_tui.store.memory import agent_files

    name = "" if session_id == _NONE else session_id or agent_files.newest_session(session.layout)
    if not name:
        return "", []
    try:
        return name, agent_files.messages(session.layout, name)
    except FileNotFoundError as error:
        raise ActionError(f"there is no transcript {name}", missing=True) from error
