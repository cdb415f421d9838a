"""The work sessions of agents: `start`, `session`, what one leaves to the next, and what the next is given."""

from __future__ import annotations

import os
from argparse import Namespace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui import hot
from lumen_tui.actions import context, places, ready
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.fast import warm
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_id, print_id_and_outcome, print_outcome, say, table, talk
from lumen_tui.model import ids, times
from lumen_tui.model.requests.sessions import (
    AnswerDecision,
    EndSession,
    GiveHandoff,
    NoteDecision,
    SaveCheckpoint,
    StartSession,
    TakeHandoff,
)
from lumen_tui.model.views import ContextBlock, PageEntry
from lumen_tui.model.work import WorkSession
from lumen_tui.storage import process
from lumen_tui.store.work import sessions as stored

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser

_MOST = 100


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_sessions(commands)
    _declare_resume(commands)
    _declare_context(commands)


def _declare_sessions(commands: CommandGroup) -> None:
    start = commands.add("start", run_start, "Begin a session on a work unit; prints its id.", "start --wu WU-042")
    start.fields(StartSession)
    start.add_argument("-q", "--quiet", action="store_true", help="only the id")
    group = commands.group("session", "Sessions of agents.", alone="list")
    listing = group.add("list", run_sessions, "The sessions that are open.", "session list --all")
    listing.add_argument("--all", action="store_true", help="the ended ones too")
    show = group.add("show", run_session, "One session: its files and decisions.", "session show")
    show.fields(EndSession)
    end = group.verb(
        "end",
        EndSession,
        "End a session.",
        "session end ses-7f2k",
        request=lambda _, args: EndSession(session=args.session or os.environ.get("LUMEN_SESSION", "")),
    )
    decide = commands.add(
        "decide",
        run_decide,
        "Note a decision, or a question that is still open; prints its id.",
        'decide "Retry or fail fast?" --answer "Retry twice" --wu WU-042',
    )
    decide.fields(NoteDecision, "question", nargs="?", default="")
    decide.fields(NoteDecision, "answer", "priority", "wu_id", "session", "key")
    decide.fields(AnswerDecision, "node_id", dest="resolve", required=False, default="")
    handoff = commands.verb(
        "handoff",
        GiveHandoff,
        "Leave a note for the next agent on a work unit; prints its id.",
        'handoff "tests are red, see the log" --wu WU-042',
        prints=print_id,
        request=lambda session, args: request_of(GiveHandoff, args, **belonging(session, args)),
    )
    for command in (start, listing, show, decide):
        command.json()
    for command in (start, listing, show, end, decide, handoff):
        command.author()


def belonging(session: Session, args: Namespace) -> dict[str, str]:
    """Return the session and the work unit that options or environment name, by the names of a request's fields."""
    session_id, wu_id = hot.belongs(str(session.root), args.session, args.wu_id or None, os.environ)
    return {"session": session_id, "wu_id": wu_id or ""}


def run_start(session: Session, args: Namespace) -> int:
    request = request_of(StartSession, args, folder=str(Path.cwd()), started_below=process.ancestors())
    done = session.perform(request, by=args.by)
    page = ready.page(session.store, by=args.by or session.operator, now=session.now, wu_id=args.wu_id)
    taken = [note for note in page.handoffs if note.extra.get("taken_session") == done.target]
    if args.json:
        document({"session": stored.read(session.layout, done.target), "handoffs": taken})
        return 0
    print_id(done, as_json=False)
    if not args.quiet:
        for note in taken:
            say(_handoff_text(note))
    return 0


def _handoff_text(note: PageEntry) -> str:
    return f"hand-off from {note.by}, {times.ago(note.age_seconds)}: {note.text}"


def run_sessions(session: Session, args: Namespace) -> int:
    sessions = list(stored.live(session.layout))
    if args.all:
        sessions += islice(stored.ended(session.layout), _MOST)
    if args.json:
        document(sessions)
        return 0
    table([_session_row(row, session.now) for row in sessions])
    if not sessions:
        talk("no sessions are open")
    return 0


def _session_row(row: WorkSession, now: float) -> tuple[str, ...]:
    age = times.ago(max(0.0, now - times.epoch(row.started_at, now)))
    state = f"ended by {row.ended_by}" if row.ended_at else "open"
    return row.session_id, row.active_wu, row.agent, row.agent_type, age, f"{len(row.files_touched)} files", state


def run_session(session: Session, args: Namespace) -> int:
    by = args.by or session.operator
    session_id = args.session or os.environ.get("LUMEN_SESSION", "")
    session_id = session_id and places.named(session.store, session_id).session_id
    shown = stored.read(session.layout, session_id) if session_id else stored.newest(session.layout, by)
    if shown is None:
        raise ActionError(f"{by} has no open session", missing=True)
    if args.json:
        document(shown)
        return 0
    table([_session_row(shown, session.now)])
    for name in shown.files_touched:
        say(f"  {name}")
    for decision in shown.decisions:
        say(f"  {decision.question}  — {decision.answer or 'pending'}")
    return 0


def run_decide(session: Session, args: Namespace) -> int:
    if args.resolve:
        answer = AnswerDecision(node_id=args.resolve, answer=args.answer, key=args.key)
        return print_outcome(session.perform(answer, by=args.by), as_json=args.json)
    request = request_of(NoteDecision, args, **belonging(session, args))
    return print_id(session.perform(request, by=args.by), as_json=args.json)


def _declare_resume(commands: CommandGroup) -> None:
    point = commands.add(
        "checkpoint",
        run_checkpoint,
        "Save a point in the work with what changed; prints its id.",
        'checkpoint "tests written" --progress 50% --next-steps "integration"',
    )
    point.add_argument("text", nargs="?", default="", metavar="NOTE", help="what was reached")
    point.fields(SaveCheckpoint)
    point.add_argument("-q", "--quiet", action="store_true", help="only the id")
    page = commands.add("ready", run_ready, "What a fresh agent needs to continue a work unit.", "ready --wu WU-042")
    page.fields(TakeHandoff, "wu_id")
    page.add_argument(
        "-t", "--type", default="", choices=ready.TYPES, metavar="TYPE", help="only open nodes of this kind, in order"
    )
    page.add_argument("--take", action="store_true", help="take what was handed over; nobody else gets it then")
    page.add_argument(
        "-f", "--format", default="human", choices=("human", "json"), metavar="human|json", help="[human]"
    )
    page.add_argument("-q", "--quiet", action="store_true", help="nothing beside the result")
    for command in (point, page):
        command.json()
        command.author()


def run_checkpoint(session: Session, args: Namespace) -> int:
    if args.text and args.note:
        raise ActionError("the note was given twice: once is enough")
    request = request_of(
        SaveCheckpoint, args, note=args.text or args.note, folder=str(Path.cwd()), **belonging(session, args)
    )
    done = session.perform(request, by=args.by)
    prints = print_id if args.quiet else print_id_and_outcome
    return prints(done, as_json=args.json)


def run_ready(session: Session, args: Namespace) -> int:
    by = ids.check_label(args.by or session.operator, "operator")
    page = warm.unit_page(session.store, by, args.wu_id, args.type, session.now)
    if args.take:
        _take(session, by, page.wu_id, args.quiet)
        page = ready.page(session.store, by=by, now=session.now, wu_id=page.wu_id, type=args.type)
    warm.show(page, args.type, as_json=args.json or args.format == "json")
    return 0


def _take(session: Session, by: str, wu_id: str, quiet: bool) -> None:
    """Take the hand-off, if there is one."""
    try:
        summary = session.perform(TakeHandoff(wu_id=wu_id), by=by).summary
    except ActionError as error:
        if not error.missing:
            raise
        summary = str(error)
    if not quiet:
        talk(summary)


def _declare_context(commands: CommandGroup) -> None:
    block = commands.add(
        "context", run_context, "What an agent should know of a work unit before it starts.", "context --wu WU-042"
    )
    _declare_block(block, context.CONTEXT_SIZE)
    block.add_argument("-l", "--lane", default="", help="project-wide nodes of this lane or of none")
    block.add_argument("--max-recent-summaries", type=int, default=5, metavar="N", help="at most so many [5]")
    block.add_argument("--max-project-nodes", type=int, default=10, metavar="N", help="at most so many [10]")
    after = commands.add("recover", run_recover, "What was going on before a break.", "recover --wu WU-042")
    _declare_block(after, context.RECOVERY_SIZE)


def _declare_block(parser: Parser, size: int) -> None:
    parser.fields(TakeHandoff, "wu_id")
    parser.add_argument("-m", "--max-size", type=int, default=size, metavar="N", help=f"characters at most [{size}]")
    parser.add_argument(
        "-f", "--format", default="human", choices=("human", "json"), metavar="human|json", help="[human]"
    )
    parser.json()
    parser.add_argument("-q", "--quiet", action="store_true", help="no word on what was cut")
    parser.author()


def run_context(session: Session, args: Namespace) -> int:
    block = context.context(
        session.store,
        by=args.by or session.operator,
        now=session.now,
        wu_id=args.wu_id,
        max_size=args.max_size,
        lane=args.lane,
        max_recent_summaries=args.max_recent_summaries,
        max_project_nodes=args.max_project_nodes,
    )
    return _show_block(block, args)


def run_recover(session: Session, args: Namespace) -> int:
    by = args.by or session.operator
    return _show_block(
        context.recover(session.store, by=by, now=session.now, wu_id=args.wu_id, max_size=args.max_size), args
    )


def _show_block(block: ContextBlock, args: Namespace) -> int:
    if args.json or args.format == "json":
        document(block)
        return 0
    say(block.text)
    if not args.quiet:
        for cut in block.cut:
            talk(f"cut: {cut.section}: {cut.left_out} ({cut.why})")
    return 0
