"""`evolve cases`, `evolve mark`: the cases by which a change has to prove itself."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from typing import TYPE_CHECKING

from lumen_tui.actions import checks
from lumen_tui.cli.session import Session, document, print_outcome, table, talk
from lumen_tui.model import ids, times
from lumen_tui.model.evals import SUITE, EvalCase, Split
from lumen_tui.model.requests.evolution import MarkCases

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(group: CommandGroup) -> None:
    """Add the commands of this module below `evolve`."""
    text = "The cases by which a change has to prove itself: moments of tasks that are over, and what was right there."
    command = group.add("cases", run_cases, text, "evolve cases --collect")
    command.add_argument("--collect", action="store_true", help="take in those of all tasks that are over")
    command.add_argument("--task", nargs="+", default=[], metavar="TASK", help="take in those of these tasks")
    command.add_argument("--suite", default=SUITE, metavar="NAME", help="the suite [work]")
    command.add_argument("--split", choices=tuple(Split), help="those for proposers, for the gate, or for neither")
    command.json()
    text = "Say that no change may fail a case, or take cases out of their suite."
    group.verb("mark", MarkCases, text, "evolve mark cas-7f2k --must")


def run_cases(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import suites

    session.must_exist()
    ids.check_name(args.suite, "suite")
    if args.collect or args.task:
        return _collect(session, args)
    known = list(suites.cases(session.layout, args.suite).values())
    listed = [case for case in known if args.split in (None, case.split)]
    if args.json:
        document([fields_of(case) for case in listed])
        return 0
    table([_row(case) for case in listed])
    if listed:
        talk(summary_of(listed))
    else:
        talk(f"{args.suite} has no such cases: `evolve cases --collect` makes them of tasks that are over")
    return 0


def _collect(session: Session, args: Namespace) -> int:
    from lumen_tui.actions import evals
    from lumen_tui.engine.evolution import casemaking
    from lumen_tui.store.tasks import task_files

    tasks = [checks.task_id(session.store, name) for name in args.task] or task_files.all_ids(session.layout)
    collected = list(casemaking.collect(session.store, tasks, times.iso(session.now)))
    with session.as_one_action():
        done = evals.keep(session.layout, args.suite, collected, by=session.operator, now=session.now)
    return print_outcome(done, as_json=args.json)


def fields_of(case: EvalCase) -> dict[str, object]:
    """Return a case as JSON fields, with what follows from them."""
    return {
        "id": case.id,
        "split": str(case.split),
        "unit": case.unit,
        "task": case.task,
        "attempt": case.attempt,
        "step": case.step,
        "expect": str(case.expect),
        "role": case.role,
        "trust": str(case.trust),
        "counts": case.counts,
        "must": case.must,
        "dropped": case.dropped,
        "words": case.words,
    }


def _row(case: EvalCase) -> tuple[str, ...]:
    state = "dropped" if case.dropped else "must" if case.must else "" if case.counts else str(case.trust)
    return case.id, str(case.split), str(case.expect), case.role, state, case.words


def summary_of(cases: list[EvalCase]) -> str:
    """Return how many cases there are of each split, and how many of them decide nothing."""
    splits = Counter(case.split for case in cases if case.counts)
    idle = sum(not case.counts for case in cases)
    text = ", ".join(f"{splits[split]} {split}" for split in Split)
    return f"{text}; {idle} decide nothing (dropped, or of a worker's own tasks)" if idle else text
