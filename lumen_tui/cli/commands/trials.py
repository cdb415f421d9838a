"""`evolve cases | candidates | run | promote | rollback`: changes that have to prove themselves on recorded work."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from typing import TYPE_CHECKING

from lumen_tui.actions import checks
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, print_outcome, say, stoppable, table, talk
from lumen_tui.model import ids, times
from lumen_tui.model.evals import SUITE, EvalCase, Split
from lumen_tui.model.requests.evolution import (
    MarkCases,
    PromoteCandidate,
    ProposeCandidate,
    RollBack,
    SplitTasks,
    TakeCandidate,
    WithdrawCandidate,
)

if TYPE_CHECKING:
    import argparse

    from lumen_tui.cli.parser import CommandGroup, Parser
    from lumen_tui.model.trials import TrialReport


def declare(group: CommandGroup) -> None:
    """Add the commands of this module below `evolve`."""
    text = "The cases by which a change has to prove itself: moments of tasks that are over, and what was right there."
    command = group.add("cases", run_cases, text, "evolve cases --collect")
    command.add_argument("--collect", action="store_true", help="take in those of all tasks that are over")
    command.add_argument("--task", nargs="+", default=[], metavar="TASK", help="take in those of these tasks")
    command.add_argument("--query", default="", metavar="WORDS", help="take in a search (with --answer)")
    command.add_argument("--answer", default="", metavar="ID", help="what it should show, such as mem-7f2k9c0w4h1zt")
    command.add_argument("--suite", default=SUITE, metavar="NAME", help="the suite [work]")
    command.add_argument("--split", choices=tuple(Split), help="those for proposers, for the gate, or for neither")
    command.json()
    text = "Say that no change may fail a case, or take cases out of their suite."
    group.verb("mark", MarkCases, text, "evolve mark cas-7f2k --must")
    text = "What is proposed, what its trials showed, and what is in force."
    command = group.add("candidates", run_candidates, text, "evolve candidates")
    command.add_argument("--ledger", action="store_true", help="every promotion and rollback instead")
    command.json()
    text = "Propose a change: of a shipped role, or by --kind of something else."
    example = 'evolve propose builder --rule required_before_exit --tool shell --why "claims without a test were false"'
    group.verb("propose", ProposeCandidate, text, example)
    group.verb("withdraw", WithdrawCandidate, "Withdraw a candidate.", "evolve withdraw can-7f2k")
    text = "Propose what follows from the cases for proposers, and try each; promotes nothing."
    command = group.add("run", run_all, text, "evolve run")
    command.add_argument("--suite", default=SUITE, metavar="NAME", help="the suite [work]")
    command.json()
    text = "Propose what memory and cases ask for: cases, candidates, merges, shorter blocks; changes none of it."
    group.add("sleep", run_sleep, text, "evolve sleep").json()
    text = "Bring a candidate into force that passed its trial."
    group.verb("promote", PromoteCandidate, text, "evolve promote can-7f2k")
    text = "Divide the real tasks of a role between what is in force and a candidate."
    group.verb("split", SplitTasks, text, "evolve split can-7f2k --tasks 100")
    text = "Take over a candidate whose effect nothing here can show."
    group.verb("take", TakeCandidate, text, "evolve take can-7f2k")
    text = "Bring the version before into force again, byte for byte."
    group.verb("rollback", RollBack, text, "evolve rollback")


def run_cases(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import suites

    session.must_exist()
    ids.check_name(args.suite, "suite")
    if args.query or args.answer:
        return _plant(session, args)
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


def _plant(session: Session, args: Namespace) -> int:
    from lumen_tui.actions import evals
    from lumen_tui.model.evals import fault, planted

    case = planted(args.query, args.answer, times.iso(session.now), session.operator)
    if reason := fault(case):
        raise ActionError(f"{reason}: --query takes words, --answer the id that they should show")
    with session.as_one_action():
        done = evals.keep(session.layout, args.suite, [case], by=session.operator, now=session.now)
    return print_outcome(done, as_json=args.json)


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


def run_candidates(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.trial_page import read_trial_page

    session.must_exist()
    page = read_trial_page(session.layout)
    if page.fault:
        raise ActionError(page.fault)
    if args.json:
        document(page.ledger if args.ledger else page)
        return 0
    if args.ledger:
        steps = [
            (times.dated(times.epoch(step.at), session.now), str(step.step), step.version[:12] or "root", step.by)
            for step in page.ledger
        ]
        table([(*step, line.reason) for step, line in zip(steps, page.ledger, strict=True)])
    else:
        table([(row.id, row.state, row.title, row.candidate.why) for row in page.tried])
        if page.live is not None:
            talk(f"A/B of {page.live.test.candidate}: {page.live.words}")
        if page.now is not None:
            talk(f"{page.now.candidate} is tried now: {page.now.words}")
        for row in page.tried:
            if row.trial is not None and row.trial.objections:
                talk(f"{row.id}: {'; '.join(row.trial.objections)}")
    if not (page.ledger if args.ledger else page.tried):
        talk(_NO_STEP if args.ledger else _NO_CANDIDATE)
    return 0


_NO_STEP = "nothing was promoted yet"
_NO_CANDIDATE = (
    "nothing is proposed: `evolve run` proposes what follows from the cases, `evolve propose` what you think"
)


def declare_try(learn: Parser, choice: argparse._MutuallyExclusiveGroup) -> None:
    """Add the option that tries a candidate, and how many cases that takes."""
    choice.add_argument("--try", dest="candidate", metavar="CANDIDATE", help="a change, against what is in force")
    learn.add_argument("--cases", type=int, metavar="N", help="of a trial, fixed beforehand [40]")


def run_try(session: Session, args: Namespace) -> int:
    """Try one candidate: exit code 0 where it may be promoted, 1 where not."""
    report = _tried(session, args.candidate, args.cases)
    if args.json:
        document(report)
    else:
        _print_report(report)
    return 0 if report.passed else 1


def _tried(session: Session, name: str, most: int | None = None) -> TrialReport:
    """Try a candidate. The first signal that ends programs stops it, and the next trial goes on from there."""
    from lumen_tui.engine.evolution import trial
    from lumen_tui.model.trials import LEAST_PAIRS, MOST_ASKED, MOST_PAIRS

    session.must_exist()
    most = MOST_PAIRS if most is None else most
    if not LEAST_PAIRS <= most <= MOST_ASKED:
        raise ActionError(f"--cases {most}: a trial has {LEAST_PAIRS} to {MOST_ASKED}")
    try:
        with stoppable() as stopped:
            return trial.tried(session.root, name, session.operator, _progress, stopped, most)
    finally:
        _progress("")


def _progress(words: str) -> None:
    """Show on a terminal how far it is; without words take that away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()


def _print_report(report: TrialReport) -> None:
    from lumen_tui.model.budget import dollars
    from lumen_tui.model.trials import TOKENS

    say(f"{report.candidate}: {'passed' if report.passed else 'not passed'}: {report.words}")
    for pair in report.differing:
        became = "flaky" if pair.flaky else "fixed" if pair.fixed else "broken"
        say(f"  {became:<6} {pair.case}  {pair.words}")
    for reason in report.objections:
        say(f"  because {reason}")
    if report.unit == TOKENS and report.measured:
        champion, challenger = report.costs
        say(f"  {champion:,.0f} tokens as it is, {challenger:,.0f} with it; {dollars(report.usd)} in all")
    if report.passed:
        talk(f"`lumen-tui evolve promote {report.candidate}` brings it into force")


def run_sleep(session: Session, args: Namespace) -> int:
    """Do one pass of sleep-time work. The first signal that ends programs stops it; what it found is kept."""
    from lumen_tui.engine.evolution import sleeping
    from lumen_tui.model.evolved_edits import title

    session.must_exist()
    with session.as_one_action(), stoppable() as stopped:
        proposed, said = sleeping.sleep(session.store, session.now, stopped)
    if args.json:
        document(proposed)
    for candidate in [] if args.json else proposed:
        say(f"{candidate.id}: {title(candidate.edit)} ({candidate.why})")
    for words in filter(None, (said, "" if proposed else "there is nothing new to propose")):
        talk(words)
    return 0 if proposed else 3


def run_all(session: Session, args: Namespace) -> int:
    from lumen_tui.actions import promotion
    from lumen_tui.engine.evolution import proposing

    session.must_exist()
    proposed = proposing.propose(session.store, args.suite, session.now, bool)
    if proposed:
        with session.as_one_action():
            try:
                promotion.keep(session.layout, proposed, by="evolution", now=session.now)
            except ActionError as error:
                if not error.missing:
                    raise
    reports = [_tried(session, candidate.id) for candidate in proposed]
    if args.json:
        document(reports)
        return 0 if reports else 3
    for report in reports:
        _print_report(report)
    if not reports:
        talk("nothing follows from the cases for proposers: `evolve cases --collect` makes more of them")
    return 0 if reports else 3
