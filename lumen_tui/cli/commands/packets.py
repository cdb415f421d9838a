"""`packets`: what each loop of the main agent left, newest first."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import packets as words
from lumen_tui.model import times
from lumen_tui.model.loop import Packet
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_SHOWN = 20


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    text = "What each loop left, newest first; with one loop, its packet whole."
    command = commands.add("packets", run_packets, text, "packets 5")
    command.add_argument("count", nargs="?", type=int, default=_SHOWN, metavar="N", help=f"how many [{_SHOWN}]")
    command.add_argument("--loop", default="", metavar="LOOP", help="one packet whole")
    command.json()


def run_packets(session: Session, args: Namespace) -> int:
    from lumen_tui.store.memory.loop_records import recent_packets

    if args.loop:
        return _show_loop(session, args)
    if args.count < 1:
        raise ActionError("how many packets? A number from 1 up")
    packets = recent_packets(session.layout, args.count)[::-1]
    if args.json:
        document([_described(packet) for packet in packets])
    else:
        table([_row(packet, session.now) for packet in packets])
        if len(packets) > 1:
            talk(words.orientation_summary(packets))
    if not packets:
        talk("no loop has ended yet")
    return 0 if packets else 3


def _described(packet: Packet) -> dict[str, object]:
    import msgspec

    record: dict[str, object] = msgspec.to_builtins(packet)
    return record


def _row(packet: Packet, now: float) -> tuple[str, ...]:
    oriented = times.span(packet.orientation.seconds) if packet.orientation.first else "–"
    return (
        str(packet.loop),
        times.ago(now - times.epoch(packet.completed_at, now)),
        words.state(packet),
        f"oriented {oriented}",
        f"${packet.usage.usd:.2f}",
        words.outcome(packet),
    )


def _show_loop(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.loops.capsules import loop_named
    from lumen_tui.queries.loop_history import PacketIndex

    index = PacketIndex(session.layout)
    index.refresh()
    packet = index.of_loop(loop_named(args.loop))
    if packet is None:
        raise ActionError(f"there is no packet of loop {one_line(args.loop, 40)}: `packets` lists them", missing=True)
    if args.json:
        document(_described(packet))
        return 0
    for title, lines in words.sections(packet):
        say(f"{title}:")
        for line in lines:
            say(f"  {line}")
    return 0
