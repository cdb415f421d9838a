"""`pause`, `resume`, `stop`, `beat`: commands to the engine."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, print_outcome, talk
from lumen_tui.model.requests.engine import PauseAgent, RequestBeat, ResumeAgent, StopEngine

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_SCOPES = "all (as without it), loop, role NAME, or worker ID"


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    pause = commands.verb(
        "pause", PauseAgent, "Start nothing new, or let workers rest.", "pause worker 7f2 --for 2h", request=_pause
    )
    pause.set_defaults(seconds=None)  # a time of 0 that is written is wrong; none written is none
    pause.add_argument("scope", nargs="*", metavar="SCOPE", help=_SCOPES)
    resume = commands.add("resume", run_resume, "Go on after a pause; without a scope after every one.", "resume loop")
    resume.add_argument("scope", nargs="*", metavar="SCOPE", help=_SCOPES)
    resume.json()
    commands.verb("stop", StopEngine, "End the engine.", "stop --after task")
    commands.verb("beat", RequestBeat, "Make the engine look at everything now.", "beat")


def target_of(words: list[str]) -> str:
    """Return the scope as the verbs take it. Raise ValueError where the words make none."""
    if not words or words == ["all"]:
        return ""
    if words == ["loop"]:
        return "loop"
    if len(words) == 2 and words[0] in ("worker", "role"):
        return words[1] if words[0] == "worker" else f"role:{words[1]}"
    raise ValueError(f"{' '.join(words)!r} is no scope: {_SCOPES}")


def _pause(_: Session, args: Namespace) -> PauseAgent:
    from lumen_tui.actions.outcome import ActionError

    if args.seconds is not None and not args.seconds >= 1:
        raise ActionError("a pause lasts 1 second at least; without --for it lasts until `resume`")
    return request_of(PauseAgent, args, target=_target(args))


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
        return print_outcome(session.perform(ResumeAgent(target=target)), as_json=args.json)
    except ActionError as error:
        if not is_killed(session.layout):
            raise
        talk(f"lumen-tui: {error}")
        return 1  # the words were right; what they ask for is not to be had
