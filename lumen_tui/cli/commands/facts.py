"""`fact`: claims about the live system, with the probes that confirm them."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import probing
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_id, table, talk
from lumen_tui.model import freshness, times
from lumen_tui.model.facts import Probe, Reading, absolute, probe_words
from lumen_tui.model.freshness import FactState
from lumen_tui.model.requests.facts import AddFact, AddProbe, CheckFacts, ConfirmFacts, RetireFacts
from lumen_tui.store.memory.facts import states

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group(
        "fact", "What the agent believes of the live system, and when that was last confirmed.", alone="list"
    )
    add = group.add("add", run_add, "Note a fact.", 'fact add "The API runs on port 8080" --probe "port 8080"')
    add.fields(AddFact)
    add.add_argument("--no-suggest", action="store_true", help="without --probe: take no probe from the claim itself")
    listing = group.add("list", run_list, "The facts, the stalest first.", "fact list --stale")
    listing.add_argument("--stale", action="store_true", help="only what is not fresh")
    listing.add_argument("--all", action="store_true", help="superseded and retired ones too")
    check = group.add(
        "check", run_check, "Run the probes of facts now; of all facts without an id.", "fact check mem-7f2"
    )
    check.fields(CheckFacts, nargs="*")
    group.verb("confirm", ConfirmFacts, "Say as a person that facts hold.", "fact confirm mem-7f2", judged=True)
    group.verb("retire", RetireFacts, "Archive facts; undo brings them back.", "fact retire mem-7f2 -r moved")
    group.verb(
        "probe",
        AddProbe,
        "Give a fact another probe.",
        'fact probe mem-7f2 "file /etc/nginx/nginx.conf"',
        request=lambda _, args: request_of(AddProbe, args, probe=_absolute_probe(args.probe)),
    )
    suggest = group.add(
        "suggest", run_suggest, "The probes that a text suggests.", 'fact suggest "nginx is on port 80"'
    )
    suggest.add_argument("text", metavar="TEXT", help="a claim, or what it is about")
    for command in (add, listing, check, suggest):
        command.json()


def run_add(session: Session, args: Namespace) -> int:
    probes = [_absolute_probe(text) for text in args.probes or ()]
    if not probes and not args.no_suggest:
        probes = [probe_words(probe) for probe in probing.suggested(session.store, args.claim)]
    done = session.perform(request_of(AddFact, args, probes=probes), by=session.judge)
    new = bool(args.probes and done.action_id)  # a probe that was suggested held a moment ago
    doubts = _doubtful(session, done.target) if new else ()
    if args.json:
        document({"id": done.target, "action_id": done.action_id, "probes": probes})
        return 0
    print_id(done, as_json=False)
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


def _doubtful(session: Session, fact_id: str) -> list[tuple[Probe, Reading]]:
    from lumen_tui.actions import fact_readings  # with all that follows from what a probe saw

    return fact_readings.doubtful(session.store, fact_id, now=session.now)


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
    ids = args.fact_ids or [
        fact_id.fact.id for fact_id in states(session.layout) if fact_id.current and fact_id.fact.probes
    ]
    if not ids:
        raise ActionError("no fact has a probe: `fact probe ID PROBE` adds one", missing=True)
    from lumen_tui.actions import facts as verbs

    done = session.perform(CheckFacts(fact_ids=ids))
    known = {state.fact.id: state for state in states(session.layout)}
    shown = [known[fact_id] for fact_id in dict.fromkeys(verbs.known(session.store, ids)[1])]
    if args.json:
        document([described(state, session.now) for state in shown])
    else:
        table([_row(state, session.now) for state in shown])
        talk(done.summary)
    return 1 if any(state.drifted for state in shown) else 0


def run_suggest(session: Session, args: Namespace) -> int:
    from lumen_tui.tools.probes.batch import suggest

    holding = {probe_words(probe) for probe in probing.suggested(session.store, args.text)}
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
