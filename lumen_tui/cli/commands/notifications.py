"""`notifications`: what happened on the list of what needs a person, who answered it, and which mouths told it."""

from __future__ import annotations

import threading
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli import following
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model import times
from lumen_tui.model.notifying import Message, ToldTransition, told_words
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import Transition, TransitionKind, words_of
from lumen_tui.queries.transitions import with_told
from lumen_tui.storage.journal import Follower
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    shown = commands.add(
        "notifications",
        run_notifications,
        "What needed you, when, who answered it, and which mouths told it.",
        "notifications --lines 50",
    )
    shown.add_argument("--lines", type=int, default=20, metavar="N", help="how many, the newest last [20]")
    shown.add_argument("--follow", action="store_true", help="go on with what comes, until ctrl+c")
    shown.add_argument("--test", action="store_true", help="send a message by every mouth of the settings, now")
    shown.json()


def run_notifications(session: Session, args: Namespace) -> int:
    if args.lines < 0:
        raise ActionError("--lines needs a number from 0 up")
    if args.test:
        return _send_test(session, as_json=args.json)
    follower = Follower(session.layout.transitions)
    transitions = with_told(session.layout, following.recent(follower, Transition, args.lines))
    return following.listed(transitions, follower, ToldTransition, _text_line, args, nothing="nothing needed you yet")


def _text_line(transition: ToldTransition) -> None:
    at = times.exact(transition.moment).removesuffix(" UTC")
    need, how = one_line(transition.need), one_line(words_of(transition))
    told = f"  [{told_words(transition.told)}]" if transition.told else ""
    say(f"{at}  {need:<12} {how:<24} {one_line(transition.text)}{told}".rstrip())


def _send_test(session: Session, *, as_json: bool) -> int:
    """Send by each mouth with the environment of this command; no receipt is written."""
    from lumen_tui.engine.mouths.senders import configured, origin_of, problem_of

    config = load_config(session.layout)[0]
    names = configured(config)
    if not names:
        raise ActionError("no mouth is set up in lumen.toml: [notify.ntfy], [notify.webhook], [notify.command], [mail]")
    message = _test_message(config.agent.name, session.now)
    origin = origin_of(session.root, config)
    problems = {name: problem_of(name, config, origin, threading.Event(), message, session.now) for name in names}
    if as_json:
        document([{"mouth": name, "problem": problem} for name, problem in problems.items()])
    for name, problem in problems.items() if not as_json else ():
        talk(f"{name}: {problem or 'sent'}")
    return 1 if any(problems.values()) else 0


def _test_message(agent: str, now: float) -> Message:
    test = Transition(f"ntf-test-{now:.0f}", times.iso(now), TransitionKind.APPEARED, "test", "test", "test", "a test")
    title = f"{one_line(agent, 24)}: a test"
    return Message(title, "This is how what needs you is told.", test.id, (test,))
