"""`capsule`: what the next loop would wake with, or what an earlier one woke with."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model import capsule as shape
from lumen_tui.model.capsule import LEAST, Capsule
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    text = "What the next loop would wake with, within its token budget; what was cut is reported."
    command = commands.add("capsule", run_capsule, text, "capsule --budget 800")
    command.add_argument("--budget", type=int, default=0, metavar="N", help="tokens at most, at four bytes each")
    command.add_argument("--loop", default="", metavar="LOOP", help="the one that this loop woke with")
    command.json()


def run_capsule(session: Session, args: Namespace) -> int:
    if args.budget and args.budget < LEAST:
        raise ActionError(f"--budget needs at least {LEAST} tokens: the head and the report take that much")
    if args.loop and args.budget:
        raise ActionError("--budget is for the next loop: what an earlier one woke with is as it was")
    capsule = _stored(session, args.loop) if args.loop else _next(session, args.budget)
    if args.json:
        document(described(capsule))
        return 0
    say(shape.render(capsule).rstrip("\n"))
    for line in (
        f"about {capsule.tokens:,} of {capsule.budget:,} tokens",
        *(f"cut: {cut}" for cut in shape.report(capsule)),
    ):
        talk(line)
    return 0


def described(capsule: Capsule) -> dict[str, object]:
    """Return a capsule as JSON: the record, its text, and the report of what was cut."""
    import msgspec

    record: dict[str, object] = msgspec.to_builtins(capsule)
    return {**record, "text": shape.render(capsule), "report": shape.report(capsule)}


def _next(session: Session, budget: int) -> Capsule:
    from lumen_tui.engine.loops.capsules import build_capsule, next_loop
    from lumen_tui.store.settings.config import load_config

    config, _ = load_config(session.layout)
    return build_capsule(session.layout, next_loop(session.layout), config, session.now, budget=budget)


def _stored(session: Session, name: str) -> Capsule:
    from lumen_tui.engine.loops.capsules import loop_named
    from lumen_tui.queries import loop_history
    from lumen_tui.store.memory import loop_records

    loop = loop_named(name)
    capsule = loop_history.read_capsule(session.layout, loop)
    if capsule is None:
        loops = loop_records.capsule_loops(session.layout)
        hint = f": there are those of loops {loops[0]} to {loops[-1]}" if loops else ": none was written yet"
        raise ActionError(f"no capsule of loop {one_line(name, 40)} is kept{hint}", missing=True)
    return capsule
