"""`journal`, `since`, `packets`, `capsule`, `why`: what happened, loop by loop, and what caused it."""

from __future__ import annotations

from argparse import Namespace
from itertools import islice
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.cli.session import Session, document, report_news, say, table, talk
from lumen_tui.model import capsule as capsules
from lumen_tui.model import digest as digests
from lumen_tui.model import lineage, times
from lumen_tui.model import packets as packet_words
from lumen_tui.model.capsule import LEAST, Capsule
from lumen_tui.model.digest import Digest
from lumen_tui.model.loop import Packet
from lumen_tui.model.records import AuditEntry
from lumen_tui.model.text import one_line
from lumen_tui.store.memory.nodes import Ambiguous

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_LOOKED_AT = 20_000  # newest actions
_NAMED = 8  # entries of a group on the screen; --json has more


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_journal(commands)
    _declare_since(commands)
    _declare_packets(commands)
    _declare_capsule(commands)
    _declare_why(commands)


def _declare_journal(commands: CommandGroup) -> None:
    command = commands.add("journal", run_journal, "Who did what, when and why, the newest last.", "journal --by ana")
    command.add_argument("--by", default="", metavar="NAME", help="of this operator or agent alone")
    command.add_argument("--of", default="", metavar="VERB", help="only verbs that begin so, such as triage")
    command.add_argument("--lines", type=int, default=30, metavar="N", help="how many at most [30]")
    command.json()


def run_journal(session: Session, args: Namespace) -> int:
    from lumen_tui.store.audit import journal

    if args.lines < 0:
        raise ActionError("--lines needs a number from 0 up")
    named = (
        entry
        for entry in journal.recent(session.layout, _LOOKED_AT)
        if args.by in ("", entry.by) and entry.verb.startswith(args.of)
    )
    entries = list(islice(named, args.lines))[::-1]
    if args.json:
        document(entries)
        return 0
    table([(entry.at[:19].replace("T", " "), entry.by, _deed(entry), entry.reason) for entry in entries])
    if not entries:
        talk("nothing of this kind was done" if args.by or args.of else "no actions yet")
    return 0


def _deed(entry: AuditEntry) -> str:
    return f"{entry.summary or entry.verb}{' (undone)' if entry.undone else ''}"


def _declare_since(commands: CommandGroup) -> None:
    text = "What happened since you last looked; `--operator NAME` for another person."
    command = commands.add("since", run_since, text, "since --at 12h")
    command.add_argument("--at", default="", metavar="TIME", help="since then instead: 12h, 3d or an ISO date")
    command.add_argument("--seen", action="store_true", help="note that you have looked now")
    command.json()


def run_since(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.digest import digest_for, note_visit, read_visit

    now = session.now
    looked = None if args.at else read_visit(session.layout, session.operator)
    since = _since(args.at, now) if args.at else 0.0
    if since > now:
        raise ActionError(f"--at {args.at!r} is still to come: write 12h, 3d or a date that has passed")
    digest = digest_for(session.layout, session.operator, now, seen=looked, since=since)
    if args.json:
        document(digest_facts(digest, left=not args.at))
    else:
        _print_digest(digest, left=not args.at)
    if args.seen:
        note_visit(session.layout, session.operator, now)
    return 0


def _since(text: str, now: float) -> float:
    try:
        return times.moment(text, now)
    except (ValueError, OverflowError):
        raise ActionError(f"--at {text!r} is no time: write 12h, 3d or a date such as 2026-03-01T08:00") from None


def digest_facts(digest: Digest, *, left: bool) -> dict[str, object]:
    """Return the digest as JSON, with dates instead of seconds."""
    groups = [
        {
            "name": group.name,
            "title": group.title,
            "count": group.count,
            "at_least": group.at_least,
            "entries": [
                {"at": times.iso(entry.at), "text": entry.text, "kind": entry.kind, "target": entry.target}
                for entry in group.entries
            ],
        }
        for group in digest.groups
    ]
    return {
        "operator": digest.operator,
        "since": times.iso(digest.since),
        "until": times.iso(digest.until),
        "looked_before": not digest.first,
        "line": digests.line(digest, since_left=left),
        "usd": digest.usd,
        "groups": groups,
    }


def _print_digest(digest: Digest, *, left: bool) -> None:
    if digest.first:
        talk(f"{digest.operator} has not looked before; this is the last 24 hours")
    cost = f", ${digest.usd:.2f} spent on tasks" if digest.usd else ""
    line = digests.line(digest, since_left=left)
    say((line or f"nothing happened since {times.ago(digest.until - digest.since)}") + cost)
    for group in digest.groups:
        say(f"\n{group.title}: {group.count:,}{'+' if group.at_least else ''}")
        for entry in group.entries[:_NAMED]:
            about = f"  [{entry.target}]" if entry.target else ""
            say(f"  {times.age(digest.until - entry.at):>6}  {entry.text}{about}")
        if group.count > _NAMED:
            say(f"          and {group.count - _NAMED:,} more")


_PACKETS = 20


def _declare_packets(commands: CommandGroup) -> None:
    text = "What each loop left, newest first; with one loop, its packet whole."
    command = commands.add("packets", run_packets, text, "packets 5")
    command.add_argument("count", nargs="?", type=int, default=_PACKETS, metavar="N", help=f"how many [{_PACKETS}]")
    command.add_argument("--loop", default="", metavar="LOOP", help="one packet whole")
    command.json()


def run_packets(session: Session, args: Namespace) -> int:
    from lumen_tui.store.memory.loop_records import recent_packets

    if args.loop:
        return _show_packet(session, args)
    if args.count < 1:
        raise ActionError("how many packets? A number from 1 up")
    packets = recent_packets(session.layout, args.count)[::-1]
    if args.json:
        document([packet_facts(packet) for packet in packets])
    else:
        table([_packet_row(packet, session.now) for packet in packets])
        if len(packets) > 1:
            talk(packet_words.orientation_summary(packets))
    if not packets:
        talk("no loop has ended yet")
    return 0 if packets else 3


def packet_facts(packet: Packet) -> dict[str, object]:
    import msgspec

    record: dict[str, object] = msgspec.to_builtins(packet)
    return record


def _packet_row(packet: Packet, now: float) -> tuple[str, ...]:
    oriented = times.span(packet.orientation.seconds) if packet.orientation.first else "–"
    return (
        str(packet.loop),
        times.ago(now - times.epoch(packet.completed_at, now)),
        packet_words.state(packet),
        f"oriented {oriented}",
        f"${packet.usage.usd:.2f}",
        packet_words.outcome(packet),
    )


def _show_packet(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.loops.capsules import loop_named
    from lumen_tui.queries.loop_history import PacketIndex

    index = PacketIndex(session.layout)
    index.refresh()
    packet = index.of_loop(loop_named(args.loop))
    if packet is None:
        raise ActionError(f"there is no packet of loop {one_line(args.loop, 40)}: `packets` lists them", missing=True)
    if args.json:
        document(packet_facts(packet))
        return 0
    for title, lines in packet_words.sections(packet):
        say(f"{title}:")
        for line in lines:
            say(f"  {line}")
    return 0


def _declare_capsule(commands: CommandGroup) -> None:
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
    capsule = _stored_capsule(session, args.loop) if args.loop else _next_capsule(session, args.budget)
    if args.json:
        document(capsule_facts(capsule))
        return 0
    say(capsules.render(capsule).rstrip("\n"))
    for line in (
        f"about {capsule.tokens:,} of {capsule.budget:,} tokens",
        *(f"cut: {cut}" for cut in capsules.report(capsule)),
    ):
        talk(line)
    return 0


def capsule_facts(capsule: Capsule) -> dict[str, object]:
    """Return a capsule as JSON: the record, its text, and the report of what was cut."""
    import msgspec

    record: dict[str, object] = msgspec.to_builtins(capsule)
    return {**record, "text": capsules.render(capsule), "report": capsules.report(capsule)}


def _next_capsule(session: Session, budget: int) -> Capsule:
    from lumen_tui.engine.loops.capsules import build_capsule, next_loop
    from lumen_tui.store.settings.config import load_config

    config, _ = load_config(session.layout)
    return build_capsule(session.layout, next_loop(session.layout), config, session.now, budget=budget)


def _stored_capsule(session: Session, name: str) -> Capsule:
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


_WHAT = (
    "a task, loop, signal, node, note of the archive, text of a relay, approval, packet, work unit, role or what was "
    "learnt (evo-…); a unique beginning will do"
)


def _declare_why(commands: CommandGroup) -> None:
    command = commands.add(
        "why", run_why, "What caused something and what came of it, with tokens and cost.", "why mem-7f2"
    )
    command.add_argument("id", metavar="ID", help=_WHAT)
    command.json()


def run_why(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.lineage.trace import trace

    try:
        tree = trace(session.layout, args.id, session.now, report_news)
    except Ambiguous as error:
        raise ambiguous(args.id, error.candidates) from error
    except LookupError:
        raise ActionError(f"there is nothing with the id {args.id!r}", missing=True) from None
    if not tree.node.kind:
        raise ActionError(f"there is nothing with the id {args.id!r}", missing=True)
    if args.json:
        document(tree)
        return 0
    for line in lineage.lines(tree):
        say(line)
    return 0
