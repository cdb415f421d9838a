"""`fact`: claims about the live system, with the probes that confirm them."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import facts as verbs
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, print_id, print_outcome, table, talk
from lumen_tui.model import freshness, times
from lumen_tui.model.facts import KINDS, SPANS, absolute, probe_words
from lumen_tui.model.freshness import FactState
from lumen_tui.model.requests.facts import AddFact, AddProbe, CheckFacts, ConfirmFacts, RetireFacts
from lumen_tui.store.memory.facts import states

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("fact", "What the agent believes of the live system, and when that was last confirmed.")
    add = _declare_add(group)
    listing = group.add("list", run_list, "The facts, the stalest first.", "fact list --stale")
    listing.add_argument("--stale", action="store_true", help="only what is not fresh")
    listing.add_argument("--all", action="store_true", help="superseded and retired ones too")
    check = group.add(
        "check", run_check, "Make the probes of facts now; all facts without an id.", "fact check mem-7f2"
    )
    check.add_argument("ids", nargs="*", metavar="ID")
    confirm = group.add("confirm", run_confirm, "Say that facts hold: a person's word.", "fact confirm mem-7f2")
    confirm.add_argument("ids", nargs="+", metavar="ID")
    confirm.add_argument("-n", "--note", default="", help="how you know")
    retire = group.add("retire", run_retire, "Put facts away; undo brings them back.", "fact retire mem-7f2 -r moved")
    retire.add_argument("ids", nargs="+", metavar="ID")
    retire.add_argument("-r", "--reason", default="", help="why")
    probe = group.add(
        "probe", run_probe, "Give a fact another probe.", 'fact probe mem-7f2 "file /etc/nginx/nginx.conf"'
    )
    probe.add_argument("id", metavar="ID")
    probe.add_argument("probe", metavar="PROBE")
    suggest = group.add(
        "suggest", run_suggest, "The probes that a text suggests.", 'fact suggest "nginx is on port 80"'
    )
    suggest.add_argument("text")
    for command in (add, listing, check, confirm, retire, probe, suggest):
        command.add_argument("--json", action="store_true", help="one JSON document")


def _declare_add(group: CommandGroup) -> Parser:
    add = group.add("add", run_add, "Note a fact.", 'fact add "The API runs on port 8080" --probe "port 8080"')
    add.add_argument("claim")
    add.add_argument(
        "-c",
        "--class",
        dest="span_class",
        default="steady",
        choices=tuple(SPANS),
        help="how long a confirmation holds: quick 3, steady 30, lasting 180 days [steady]",
    )
    add.add_argument(
        "-p",
        "--probe",
        action="append",
        default=[],
        metavar="PROBE",
        help=f"KIND TARGET [AT] [~ REGEX] [= EXPECTED], of {', '.join(KINDS)}; repeatable",
    )
    add.add_argument("-s", "--source", default="", help="where it comes from")
    add.add_argument("--from", dest="source_id", default="", metavar="ID", help="the node in which it was found")
    add.add_argument("--wu", default="", help="the work unit that it belongs to")
    add.add_argument("--key", default="", help="the same key makes the same fact, however often it is asked for")
    add.add_argument("--no-suggest", action="store_true", help="without --probe: take no probe from the claim itself")
    return add


def run_add(session: Session, args: Namespace) -> int:
    probes = [_absolute_probe(text) for text in args.probe]
    if not probes and not args.no_suggest:
        probes = [probe_words(probe) for probe in verbs.suggested(session.store, args.claim)]
    done = session.perform(
        AddFact(
            claim=args.claim,
            span_class=args.span_class,
            source=args.source,
            probes=probes,
            wu_id=args.wu,
            source_id=args.source_id,
            key=args.key,
        ),
        by=session.judge,
    )
    new = bool(args.probe and done.action_id)  # a probe that was suggested held a moment ago
    doubts = verbs.doubtful(session.store, done.target, now=session.now) if new else ()
    if args.json:
        document({"id": done.target, "action_id": done.action_id, "probes": probes})
        return 0
    print_id(done)
    if not done.action_id:
        return 0
    for text in probes:
        talk(f"probe: {text}")
    for probe, reading in doubts:
        verdict = "it does not hold now" if reading.outcome == "drifted" else "it told nothing"
        talk(f"{verdict}: {probe_words(probe)}: {reading.evidence}")
    if not probes:
        talk("without a probe only a person confirms it: `fact probe ID PROBE` adds one")
    return 0


def _absolute_probe(probe: str) -> str:
    """Return a probe with an absolute path. Raise ActionError."""
    try:
        return absolute(probe, os.getcwd())
    except ValueError as error:
        raise ActionError(str(error)) from error


def run_list(session: Session, args: Namespace) -> int:
    listed = [state for state in states(session.layout) if _wanted(state, session.now, args)]
    listed.sort(key=lambda state: (not state.drifted, state.confirmed))
    if args.json:
        document([described(state, session.now) for state in listed])
    else:
        table([_row(state, session.now) for state in listed])
    if not listed:
        talk("nothing to list")
    return 0 if listed else 3


def _wanted(state: FactState, now: float, args: Namespace) -> bool:
    listed = args.all or state.current or (state.fact.status == "superseded" and not state.settled)
    return listed and not (args.stale and state.phase(now) is freshness.Phase.FRESH)


def described(state: FactState, now: float) -> dict[str, object]:
    """Return one fact as JSON: both clocks, the phase, the evidence."""
    fact = state.fact
    return {
        "id": fact.id,
        "claim": fact.claim,
        "class": fact.span_class,
        "phase": state.phase(now).value,
        "status": fact.status,
        "written_at": _iso(fact.written),
        "last_confirmed_at": _iso(state.confirmed),
        "confirmed_by": state.confirmed_by,
        "probed_at": _iso(state.probed),
        "drifted_at": _iso(state.drifted),
        "seen": state.value,
        "evidence": state.evidence,
        "failing": state.failing,
        "used_by": state.used_by,
        "source": fact.source,
        "by": fact.by,
        "probes": [probe_words(probe) for probe in fact.probes],
        "supersedes": fact.supersedes,
        "superseded_by": fact.superseded_by,
        "was": fact.was,
    }


def _iso(seconds: float) -> str:
    return times.iso(seconds) if seconds else ""


def _row(state: FactState, now: float) -> tuple[str, ...]:
    fact = state.fact
    phase = state.phase(now)
    last = state.failing or state.evidence
    return (
        freshness.FILLS[phase],
        fact.id,
        fact.title[:80],
        f"{state.confirmed_words(now)} {state.confirmed_by}".rstrip(),
        f"written {times.age(now - fact.written)}",
        last,
    )


def run_check(session: Session, args: Namespace) -> int:
    ids = args.ids or [fact_id.fact.id for fact_id in states(session.layout) if fact_id.current and fact_id.fact.probes]
    if not ids:
        raise ActionError("no fact has a probe: `fact probe ID PROBE` adds one", missing=True)
    done = session.perform(CheckFacts(fact_ids=ids))
    known = {state.fact.id: state for state in states(session.layout)}
    shown = [known[fact_id] for fact_id in dict.fromkeys(verbs.known(session.store, ids)[1])]
    if args.json:
        document([described(state, session.now) for state in shown])
    else:
        table([_row(state, session.now) for state in shown])
        talk(done.summary)
    return 1 if any(state.drifted for state in shown) else 0


def run_confirm(session: Session, args: Namespace) -> int:
    done = session.perform(ConfirmFacts(fact_ids=args.ids, note=args.note), by=session.judge)
    return print_outcome(done, as_json=args.json)


def run_retire(session: Session, args: Namespace) -> int:
    return print_outcome(session.perform(RetireFacts(fact_ids=args.ids, reason=args.reason)), as_json=args.json)


def run_probe(session: Session, args: Namespace) -> int:
    return print_outcome(
        session.perform(AddProbe(fact_id=args.id, probe=_absolute_probe(args.probe))), as_json=args.json
    )


def run_suggest(session: Session, args: Namespace) -> int:
    from lumen_tui.tools.probes.suggest import suggest

    holding = {probe_words(probe) for probe in verbs.suggested(session.store, args.text)}
    suggestions = [{"probe": words, "holds": words in holding} for words in map(probe_words, suggest(args.text))]
    if args.json:
        document(suggestions)
    else:
        table(
            [
                ("holds" if suggestion["holds"] else "does not hold now", str(suggestion["probe"]))
                for suggestion in suggestions
            ]
        )
    return 0 if suggestions else 3
