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
from lumen_tui.cli.session import Session, document, print_id, print_outcome, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.requests.sessions import AnswerDecision, EndSession, GiveHandoff, NoteDecision, StartSession
from lumen_tui.model.views import Entry
from lumen_tui.model.work import TIERS, WorkSession
from lumen_tui.storage import ancestry
from lumen_tui.store.work import sessions as stored

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser

_MOST = 100


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    start = commands.add("start", run_start, "Begin a session on a work unit; prints its id.", "start --wu WU-042")
    start.add_argument("--wu", required=True, help="the work unit")
    start.add_argument("-a", "--agent-type", default="unknown", help="such as claude-code")
    start.add_argument(
        "-c", "--context-tier", default="full", choices=TIERS, metavar="TIER", help=f"{', '.join(TIERS)} [full]"
    )
    start.add_argument("-q", "--quiet", action="store_true", help="only the id")
    start.add_argument("--json", action="store_true", help="one JSON document")
    add_author(start)
    add_key(start, "session")
    session = commands.add("session", run_session, "Sessions: list, show or end them.", "session end ses-7f2k")
    session.add_argument("what", nargs="?", default="list", choices=("list", "show", "end"), metavar="list|show|end")
    session.add_argument("id", nargs="?", default="", help="which one [the one you started last]")
    session.add_argument("--all", action="store_true", help="list: the ended ones too")
    session.add_argument("--json", action="store_true", help="one JSON document")
    add_author(session)
    _declare_notes(commands)


def _declare_notes(commands: CommandGroup) -> None:
    decide = commands.add(
        "decide",
        run_decide,
        "Note a decision, or a question that is still open; prints its id.",
        'decide "Retry or fail fast?" --answer "Retry twice" --wu WU-042',
    )
    decide.add_argument("question", nargs="?", default="")
    decide.add_argument("--answer", default="", help="without one it is pending")
    decide.add_argument("--resolve", default="", metavar="ID", help="answer this pending decision")
    decide.add_argument("-p", "--priority", default="", help="P0 to P3")
    add_place(decide)
    add_key(decide, "decision")
    handoff = commands.add(
        "handoff",
        run_handoff,
        "Leave a note for the next agent on a work unit; prints its id.",
        'handoff "tests are red, see the log" --wu WU-042',
    )
    handoff.add_argument("note")
    handoff.add_argument("--to", default="", help="the agent that alone may take it [whoever goes on]")
    add_place(handoff)
    add_key(handoff, "hand-off")


def add_author(parser: Parser) -> None:
    """Add the option for an author other than the operator."""
    parser.add_argument("--from", dest="by", default="", help="who says so [you]")


def add_place(parser: Parser) -> None:
    """Add the options for work unit and session, which may be left out inside one's own session."""
    parser.add_argument("--wu", default="", help="the work unit [of your open session]")
    parser.add_argument(
        "-s", "--session", default="", metavar="ID", help="the session [$LUMEN_SESSION, else the one you started last]"
    )
    add_author(parser)


def add_key(parser: Parser, noun: str) -> None:
    """Add the option that makes a repeated command harmless."""
    parser.add_argument("--key", default="", help=f"the same key makes the same {noun}, however often it is asked for")


def belonging(session: Session, args: Namespace) -> tuple[str, str]:
    """Return the session and the work unit that options or environment name."""
    session_id, wu_id = light.belongs(str(session.root), args.session, args.wu or None, os.environ)
    return session_id, wu_id or ""


def run_start(session: Session, args: Namespace) -> int:
    done = session.perform(
        StartSession(
            wu_id=args.wu,
            agent_type=args.agent_type,
            context_tier=args.context_tier,
            folder=str(Path.cwd()),
            started_below=ancestry.above(),
            key=args.key,
        ),
        by=args.by,
    )
    page = ready.page(session.store, by=args.by or session.operator, now=session.now, wu_id=args.wu)
    taken = [note for note in page.handoffs if note.extra.get("taken_session") == done.target]
    if args.json:
        document({"session": stored.read(session.layout, done.target), "handoffs": taken})
        return 0
    print_id(done)
    if not args.quiet:
        for note in taken:
            say(_handoff_text(note))
    return 0


def _handoff_text(note: Entry) -> str:
    return f"hand-off from {note.by}, {times.ago(note.age_seconds)}: {note.text}"


def run_session(session: Session, args: Namespace) -> int:
    by = args.by or session.operator
    if args.what == "end":
        session_id = args.id or os.environ.get("LUMEN_SESSION", "")
        return print_outcome(session.perform(EndSession(session=session_id), by=by), as_json=args.json)
    if args.what == "show":
        return _show(session, args, by)
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


def _show(session: Session, args: Namespace, by: str) -> int:
    session_id = args.id or os.environ.get("LUMEN_SESSION", "")
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
        done = session.perform(AnswerDecision(node_id=args.resolve, answer=args.answer, key=args.key), by=args.by)
        say(done.summary)
        return 0
    session_id, wu_id = belonging(session, args)
    done = session.perform(
        NoteDecision(
            question=args.question,
            answer=args.answer,
            wu_id=wu_id,
            session=session_id,
            priority=args.priority,
            key=args.key,
        ),
        by=args.by,
    )
    return print_id(done)


def run_handoff(session: Session, args: Namespace) -> int:
    session_id, wu_id = belonging(session, args)
    request = GiveHandoff(note=args.note, wu_id=wu_id, to=args.to, session=session_id, key=args.key)
    done = session.perform(request, by=args.by)
    return print_id(done)
