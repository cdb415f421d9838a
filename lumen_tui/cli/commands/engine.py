"""`pause`, `resume`, `stop`, `beat`: commands to the engine."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.cli.commands.tasks import seconds_of
from lumen_tui.cli.session import Session, say, talk
from lumen_tui.model.requests.engine import PauseAgent, RequestBeat, ResumeAgent, StopEngine

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser

_SCOPES = "all (as without it), loop, role NAME, or worker ID"


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    pause = commands.add("pause", run_pause, "Start nothing new, or let workers rest.", "pause worker 7f2 --for 2h")
    _scope(pause)
    pause.add_argument("--for", dest="seconds", type=seconds_of, default=None, help="such as 2h [until resume]")
    pause.add_argument("--reason", default="", help="why, for everybody to see")
    pause.add_argument("--after", default="", help="workers rest after their: task [all], step [one worker], or now")
    resume = commands.add("resume", run_resume, "Go on after a pause; without a scope after every one.", "resume loop")
    _scope(resume)
    stop = commands.add("stop", run_stop, "End the engine.", "stop --after task")
    stop.add_argument(
        "--after", default="", help="step: workers go on [step]; task: when they are done; now: with them"
    )
    stop.add_argument("--reason", default="", help="why, for the record")
    commands.add("beat", run_beat, "Make the engine look at everything now.", "beat")


def _scope(command: Parser) -> None:
    command.add_argument("scope", nargs="*", metavar="SCOPE", help=_SCOPES)


def target_of(words: list[str]) -> str:
    """Return the scope as the verbs take it. Raise ValueError where the words make none."""
    if not words or words == ["all"]:
        return ""
    if words == ["loop"]:
        return "loop"
    if len(words) == 2 and words[0] in ("worker", "role"):
        return words[1] if words[0] == "worker" else f"role:{words[1]}"
    raise ValueError(f"{' '.join(words)!r} is no scope: {_SCOPES}")


def run_pause(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.outcome import ActionError

    if args.seconds is not None and not args.seconds >= 1:
        raise ActionError("a pause lasts 1 second at least; without --for it lasts until `resume`")
    done = session.perform(
        PauseAgent(target=_target(args), seconds=args.seconds or 0.0, after=args.after, reason=args.reason)
    )
    say(done.summary)
    return 0


def _target(args: Namespace) -> str:
    from lumen_tui.actions.outcome import ActionError

    try:
        return target_of(args.scope)
    except ValueError as error:
        raise ActionError(str(error)) from error


def run_resume(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.outcome import ActionError
    from lumen_tui.store.tasks.pauses import is_killed

    target = _target(args)
    try:
        say(session.perform(ResumeAgent(target=target)).summary)
    except ActionError as error:
        if not is_killed(session.layout):
            raise
        talk(f"lumen-tui: {error}")
        return 1  # the words were right; what they ask for is not to be had
    return 0


def run_stop(session: Session, args: Namespace) -> int:
    say(session.perform(StopEngine(after=args.after, reason=args.reason)).summary)
    return 0


def run_beat(session: Session, args: Namespace) -> int:
    say(session.perform(RequestBeat()).summary)
    return 0
