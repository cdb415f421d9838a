"""`chat`: talk with the main agent in turns, say one thing, or look at the conversation."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, print_outcome, read_text, say, talk
from lumen_tui.model import times
from lumen_tui.model.chat import ChatLine, Turn, call_words, end_words, segments
from lumen_tui.model.requests.chat import FreshChat, StopChat
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    chat = commands.add(
        "chat", run_chat, "Talk with the main agent in turns; what you say is an order.", 'chat --once "What is open?"'
    )
    only = chat.add_mutually_exclusive_group()
    only.add_argument("--once", metavar="TEXT", help="say this, print the answer and end (- for standard input)")
    only.add_argument("--show", action="store_true", help="print the conversation")
    only.add_argument("--stop", action="store_true", help="stop the answer that is under way, or take back what waits")
    chat.add_argument("--fresh", action="store_true", help="begin a new conversation")
    chat.json()
    chat.set_defaults(without_state=True)  # as for `run`, the folder is made


def run_chat(session: Session, args: Namespace) -> int:
    if args.stop or args.show:
        session.must_exist()
        return print_outcome(session.perform(StopChat()), as_json=args.json) if args.stop else _show(session, args.json)
    text = read_text("-") if args.once == "-" else args.once
    if text is None and args.json:
        raise ActionError("--json needs --once TEXT, --show or --stop")
    if text is None and not sys.stdin.isatty():
        raise ActionError("a chat needs a terminal; without one say one thing: lumen-tui chat --once TEXT")
    session.make_sure()
    if args.fresh:
        _begin_anew(session)
    from lumen_tui.cli import talking  # asyncio and the engine: not for a look at the help

    return talking.converse(session) if text is None else talking.once(session, text, as_json=args.json)


def _begin_anew(session: Session) -> None:
    try:
        talk(f"lumen-tui: {session.perform(FreshChat()).summary}")
    except ActionError as error:
        if not error.missing:  # it is new already
            raise


def _show(session: Session, as_json: bool) -> int:
    from lumen_tui.cli.talking import facts
    from lumen_tui.store.sessions import chats

    conversation = chats.read(session.layout)
    if as_json:
        document([facts(session, turn) for turn in conversation.current])
        return 0
    for turn in conversation.current:
        if conversation.cut is not None and turn.number == conversation.cut.turn:
            talk("(what is above is no longer sent; a digest stands for it)")
        _say_turn(turn)
    for message in conversation.waiting:
        _say_message(message)
        talk("  (waits for the agent)")
    if not conversation.current and not conversation.waiting:
        talk('nothing was said yet: lumen-tui chat --once "What is open?"')
    return 0


def _say_turn(turn: Turn) -> None:
    for message in turn.messages:
        _say_message(message)
    for part in segments(turn):
        say(part.rstrip("\n")) if isinstance(part, str) else talk(f"  {call_words(part)}")
    if words := end_words(turn) or ("" if turn.end else "is answering"):
        talk(f"  ({words})")


def _say_message(message: ChatLine) -> None:
    say(f"{times.stamp_of(message.at)} {one_line(message.by, 60)}> {message.text}")
