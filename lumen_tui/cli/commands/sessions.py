"""`start`, `session`, `decide`, `handoff`: the work sessions of agents, and what one leaves to the next."""

from __future__ import annotations

import os
from argparse import Namespace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions import places, ready
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.fast import light
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_id, print_outcome, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.requests.sessions import AnswerDecision, EndSession, GiveHandoff, NoteDecision, StartSession
from lumen_tui.model.views import PageEntry
from lumen_tui.model.work import WorkSession
from lumen_tui.storage import ancestry
from lumen_tui.store.work import sessions as stored

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_MOST = 100


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    start = commands.add("start", run_start, "Begin a session on a work unit; prints its id.", "start --wu WU-042")
    start.fields(StartSession)
    start.add_argument("-q", "--quiet", action="store_true", help="only the id")
    group = commands.group("session", "Sessions of agents.", alone="list")
    listing = group.add("list", run_list, "The sessions that are open.", "session list --all")
    listing.add_argument("--all", action="store_true", help="the ended ones too")
    show = group.add("show", run_show, "One session: its files and decisions.", "session show")
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
    session_id, wu_id = light.belongs(str(session.root), args.session, args.wu_id or None, os.environ)
    return {"session": session_id, "wu_id": wu_id or ""}


def run_start(session: Session, args: Namespace) -> int:
    request = request_of(StartSession, args, folder=str(Path.cwd()), started_below=ancestry.above())
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


def run_list(session: Session, args: Namespace) -> int:
    sessions = list(stored.live(session.layout))
    if args.all:
        sessions += islice(stored.ended(session.layout), _MOST)
    if args.json:
        document(sessions)
        return 0
    table([_row(row, session.now) for row in sessions])
    if not sessions:
        talk("no sessions are open")
    return 0


def _row(row: WorkSession, now: float) -> tuple[str, ...]:
    age = times.ago(max(0.0, now - times.epoch(row.started_at, now)))
    state = f"ended by {row.ended_by}" if row.ended_at else "open"
    return row.session_id, row.active_wu, row.agent, row.agent_type, age, f"{len(row.files_touched)} files", state


def run_show(session: Session, args: Namespace) -> int:
    by = args.by or session.operator
    session_id = args.session or os.environ.get("LUMEN_SESSION", "")
    session_id = session_id and places.named(session.store, session_id).session_id
    shown = stored.read(session.layout, session_id) if session_id else stored.newest(session.layout, by)
    if shown is None:
        raise ActionError(f"{by} has no open session", missing=True)
    if args.json:
        document(shown)
        return 0
    table([_row(shown, session.now)])
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
