"""`evolve`, `claude-md`: what was learnt from sessions, and a person's decisions about it."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.cli.commands import trials
from lumen_tui.cli.session import Session, document, print_outcome, say, table, talk
from lumen_tui.model import evolution, ids
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.evolution import Observation, ObservationStatus
from lumen_tui.model.requests.evolution import AcceptLearnings, EditLearnings, RejectLearnings, RestoreVersion
from lumen_tui.storage.layout import from_home
from lumen_tui.store.settings.config import load_config

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser
    from lumen_tui.engine.evolution.evolve import EvolutionOutcome
    from lumen_tui.engine.evolution.gate import CandidateGate
    from lumen_tui.engine.evolution.modeljudge import ModelJudge
    from lumen_tui.model.config import EvolutionConfig
    from lumen_tui.model.evolution import SessionReport
    from lumen_tui.model.evolvedfiles import SectionCut


_WATCH_SECONDS = 2.0
_LARGE = 4 * 1024 * 1024  # bytes from which progress is shown


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("evolve", "Learn from sessions, and try changes on recorded work.", alone="learn")
    _declare_learning(group)
    trials.declare(group)
    claude = commands.add(
        "claude-md", run_claude_md, "Bring CLAUDE.md up to date, and say what did not fit.", "claude-md"
    )
    claude.add_argument("--print", action="store_true", help="show it and write nothing")
    claude.json()


def _declare_learning(group: CommandGroup) -> None:
    """Add the command that learns, and reads and judges what was learnt."""
    text = "Learn from session files: the agent's own, or those named."
    evolve = group.add("learn", run, text, "evolve --session ~/.claude/projects/site/1f0c.jsonl")
    evolve.add_argument("--session", nargs="+", default=[], metavar="FILE", help="these session files")
    evolve.add_argument("--all", action="store_true", help="the agent's own and all of Claude Code's")
    evolve.add_argument("--watch", action="store_true", help="follow new ones until interrupted")
    evolve.dry_run()
    _declare_choices(evolve)
    evolve.fields(RejectLearnings, "reason", required=False, default="")
    evolve.fields(EditLearnings, "text", required=False, default="")
    evolve.json()


def _declare_choices(evolve: Parser) -> None:
    """Add the options that read or change what was learnt instead of learning."""
    choice = evolve.add_mutually_exclusive_group()
    choice.add_argument(
        "--list",
        nargs="?",
        const="all",
        metavar="STATUS",
        choices=("all", *ObservationStatus),
        help="what was learnt: all, accepted, proposed, rejected …",
    )
    choice.add_argument("--show", metavar="ID", help="one observation with its sources")
    evolve.fields(AcceptLearnings, into=choice, dest="accept", required=False)
    evolve.fields(RejectLearnings, "ids", into=choice, dest="reject", required=False)
    evolve.fields(EditLearnings, "ids", into=choice, dest="edit", required=False, nargs=None)
    trials.declare_try(evolve, choice)
    choice.add_argument("--rejections", action="store_true", help="what was rejected, by whom and why")
    choice.add_argument("--versions", action="store_true", help="every version of evolved/")
    choice.add_argument("--diff", nargs="+", type=int, metavar="N", help="a version against another [what is now]")
    evolve.fields(RestoreVersion, into=choice, dest="restore", required=False)


_NOTHING_NEW = "nothing learnt can be put back: `evolve --rejections` shows what was rejected"


def _config(session: Session) -> EvolutionConfig:
    return load_config(session.layout)[0].evolution


def run(session: Session, args: Namespace) -> int:
    judged = _review(session, args)
    if judged is not None:
        return judged
    _named(args)  # which must be there before the rest is loaded
    from lumen_tui.engine.evolution import evolve
    from lumen_tui.engine.evolution.pipeline import EvolutionPipeline

    config = _config(session)
    evolve.check_constitution(session.layout)
    progress = _progress if sys.stderr.isatty() else None
    judge = _judge(session, config)
    evolving = EvolutionPipeline(session.layout, config, dry_run=args.dry_run, progress=progress, judge=judge)
    tried: set[str] = set()
    before: set[str] = set()
    while True:
        linked = ""
        paths = [path for path in _paths(session, args, config) if args.dry_run or not evolving.is_unchanged(path)]
        with session.as_one_action() as word:
            done = evolve.evolve(session.layout, evolving, paths, now=session.now)
            if not args.dry_run:
                evolve.write(session.layout, done, config, now=session.now, by=session.operator)
                linked = _read_along(session, config, paths, judge)
        if not args.dry_run:
            if not word.actions and any(done.total(name) for name in ("merged", "rejected")):
                session.note("evolve", done.summary, _NOTHING_NEW)
            linked += evolve.link_facts(session.store, session.now, tried).summary
        opined = _judged(judge, args.dry_run)
        if not args.watch or _has_news(done, before):
            _report(done, evolving.judging, args, opined)
            evolving.judging.seen.clear()
            evolving.judging.turned_away.clear()
            if linked.strip():
                talk(linked.strip())
        if not args.watch:
            return 1 if any(report.problem for report in done.reports) else 0
        sys.stdout.flush()
        time.sleep(_WATCH_SECONDS)


def _judge(session: Session, config: EvolutionConfig) -> ModelJudge | None:
    """Return the model's judge where `[evolution] judge` asks for one."""
    if config.judge == "rules":
        return None
    from lumen_tui.engine.evolution.modeljudge import ModelJudge

    return ModelJudge(session.store, config, over=bool)


def _judged(judge: ModelJudge | None, dry_run: bool) -> str:
    """Return what the model judged since the last call, as a sentence, and reset its totals."""
    if judge is None:
        return ""
    from lumen_tui.engine.evolution.modeljudge import NOT_ASKED, JudgingTotals

    done = judge.done
    judge.done = JudgingTotals()
    return NOT_ASKED if dry_run else done.summary


def _read_along(session: Session, config: EvolutionConfig, paths: Iterable[Path], judge: ModelJudge | None) -> str:
    """Let a model read the same sessions, where `[evolution] extractor` asks for one; return its summary."""
    if config.extractor == "offline":
        return ""
    from lumen_tui.engine.evolution import evolve, modelread

    done = modelread.read(
        session.store,
        paths,
        session.now,
        is_own=lambda path: evolve.is_own(session.layout, path),
        over=bool,
        judge=judge,
    )
    return f"{done.summary}\n" if done.summary else ""


def _has_news(done: EvolutionOutcome, before: set[str]) -> bool:
    """Return whether a pass of --watch has news; an unreadable file is reported once, then dropped from the report."""
    done.reports = [
        report for report in done.reports if not report.problem or f"{report.file} {report.problem}" not in before
    ]
    before.update(f"{report.file} {report.problem}" for report in done.reports if report.problem)
    return bool(done.reports)


def _named(args: Namespace) -> list[Path]:
    paths = [from_home(name) for name in args.session]
    if missing := [path for path in paths if not path.is_file()]:
        raise ActionError(f"there is no session file {missing[0]}", missing=True)
    return paths


def _paths(session: Session, args: Namespace, config: EvolutionConfig) -> Iterable[Path]:
    from lumen_tui.store.sessions.transcripts import foreign_sessions, own_sessions

    if args.session:
        return _named(args)
    own = own_sessions(session.layout)
    return [*own, *foreign_sessions(config)] if args.all or args.watch else own


def _progress(report: SessionReport, size: int) -> None:
    if size >= _LARGE:
        share = min(100, 100 * report.bytes // size)
        print(f"\r{share:3} %  {report.lines:,} lines  ", end="", file=sys.stderr, flush=True)
        if share == 100:
            print(file=sys.stderr)


def _report(done: EvolutionOutcome, judging: CandidateGate, args: Namespace, judged: str) -> None:
    from lumen_tui.store.evolution import evolved

    if args.json:
        facts = {observation.id: evolved.json_fields(observation) for observation in judging.seen}
        document(
            {
                "summary": done.summary,
                "reports": done.reports,
                "observations": list(facts.values()),
                "rejections": judging.turned_away,
                "version": done.written.version if done.written else None,
                "judge": judged,
            }
        )
        return
    for observation in {observation.id: observation for observation in judging.seen}.values():
        where = f"{observation.sources[0].session[:8]}:{observation.sources[0].line}"
        say(f"{observation.status:<9} {observation.kind:<10} {observation.text}  [{where}, {observation.trust}]")
    for report in done.reports:
        if report.problem:
            talk(f"{report.file}: {report.problem}")
        for reason, skipped in report.skipped.items():
            lines = "1 line" if skipped.count == 1 else f"{skipped.count} lines"
            talk(f"{report.file}: {lines} passed over, {reason} (first: line {skipped.first})")
        if report.unsure:
            talk(f"{report.file}: of unknown version {report.unsure}: nothing in it counts as a person's own words")
    dry = f" (dry run: nothing was written{'; ' * bool(judged)}{judged})"
    say(f"{done.summary}{dry if args.dry_run else ''}")
    if judged and not args.dry_run:
        talk(judged)
    _report_refusals(done)


def _report_refusals(done: EvolutionOutcome) -> None:
    if done.written is None:
        return
    for target, reasons in done.written.refused.items():
        talk(f"{target} was left as it is: {'; '.join(reasons)}")
    for deferred in done.written.put_off:
        talk(f"{deferred.id} waits: {'; '.join(deferred.reasons)}")


def run_claude_md(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import writing

    config = _config(session)
    if args.print:
        assembled = writing.claude_md_section(session.layout, config, session.now)
        changed = False
    else:
        assembled, changed = writing.write_claude_md(session.layout, config, session.now)
    place = writing.claude_md_path(session.layout, config)
    if args.json:
        document(
            {
                "file": str(place),
                "written": changed,
                "size": assembled.size,
                "budget": assembled.budget,
                "cuts": assembled.cuts,
            }
        )
        return 0
    if args.print:
        say(assembled.text.rstrip())
    else:
        say(f"{place}: {assembled.size:,} of {assembled.budget:,} bytes, {'written' if changed else 'up to date'}")
    for cut in assembled.cuts:
        talk(f"left out of {cut.part}: {_cut(cut)}")
    return 0


def _cut(cut: SectionCut) -> str:
    lines = "1 line" if cut.lines == 1 else f"{cut.lines} lines"
    learnt = "what is doubted, least sure and oldest of what was learnt"
    whose = learnt if not cut.own else f"all that was learnt, and the last {cut.own} written by hand"
    return f"{lines}, {cut.bytes:,} bytes: {whose}; [evolution] claude_md_kb makes more room"


def _review(session: Session, args: Namespace) -> int | None:
    """Carry out an option that lists or decides and return its exit code; None where sessions are to be read."""
    done = _change(session, args)
    if done is not None:
        return print_outcome(done, as_json=args.json)
    if args.candidate:
        return trials.run_try(session, args)
    if args.list:
        return _list(session, args)
    if args.show:
        return _show(session, args)
    if args.rejections:
        return _rejections(session, args)
    if args.versions:
        return _versions(session, args)
    return _version_diff(session, args) if args.diff else None


def _change(session: Session, args: Namespace) -> Done | None:
    if args.accept:
        return session.perform(AcceptLearnings(ids=args.accept))
    if args.reject:
        return session.perform(RejectLearnings(ids=args.reject, reason=args.reason))
    if args.edit:
        return session.perform(EditLearnings(ids=args.edit, text=args.text))
    if args.restore is not None:
        return session.perform(RestoreVersion(version=args.restore))
    return None


def _list(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import evolved

    listed = [
        observation
        for observation in evolved.observations(session.layout).values()
        if args.list in ("all", observation.status)
    ]
    if args.json:
        document([evolved.json_fields(observation) for observation in listed])
        return 0
    table(
        [
            (
                observation.id,
                observation.status,
                observation.kind,
                observation.trust,
                f"{observation.count}×",
                observation.text,
            )
            for observation in listed
        ]
    )
    if not listed:
        talk("nothing was learnt yet" if args.list == "all" else f"nothing is {args.list}")
    return 0


def _observation(session: Session, name: str) -> Observation:
    from lumen_tui.store.evolution import evolved

    matches = [
        observation
        for observation in evolved.observations(session.layout).values()
        if observation.id.startswith((name, f"evo-{name}"))
    ]
    if not matches:
        ids.check_name(name, "observation id")
    if len(matches) != 1:
        text = f"several observations begin with {name!r}" if matches else f"there is no observation {name!r}"
        raise ActionError(text, candidates=tuple(observation.id for observation in matches[:5]), missing=not matches)
    return safe_record(matches[0])


def _show(session: Session, args: Namespace) -> int:
    observation = _observation(session, args.show)
    if args.json:
        document(observation)
        return 0
    say(observation.text)
    rows = [
        ("id", observation.id),
        ("status", observation.status),
        *evolution.why_rows(observation),
        ("kind", observation.kind),
        ("judged by", observation.by or "rules"),
        ("file", f"evolved/{observation.target}"),
        ("trust", observation.trust),
        ("confidence", f"{observation.confidence:.2f}"),
        ("seen", f"{observation.count}×"),
        ("quote", f"“{observation.quote}”"),
    ]
    rows += [("source", f"session {source.session}, line {source.line} {source.at}") for source in observation.sources]
    if observation.contradicts:
        rows.append(("contradicts", observation.contradicts))
    table(rows)
    return 0


def _rejections(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import evolved

    rejected = evolved.rejections(session.layout)
    if args.json:
        document([{**evolved.json_fields(rejection), "by": rejection.whose} for rejection in rejected])
        return 0
    table(
        [
            (
                rejection.at[:10],
                f"{rejection.session[:8]}:{rejection.line}",
                rejection.whose,
                rejection.id or "-",
                "; ".join(rejection.reasons),
                rejection.text,
            )
            for rejection in rejected
        ]
    )
    if not rejected:
        talk("nothing was rejected")
    elif any(rejection.id for rejection in rejected):
        talk("`evolve --accept ID` accepts what a model rejected")
    return 0


def _versions(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import versions

    listed = versions.listed(session.layout)
    if args.json:
        document(listed)
        return 0
    rows = [
        (
            str(version.version),
            version.at[:19].replace("T", " "),
            version.by,
            f"{version.metrics.entries} entries",
            version.why,
        )
        for version in listed
    ]
    table(rows)
    if not listed:
        talk("there is no version yet")
    return 0


def _version_diff(session: Session, args: Namespace) -> int:
    from lumen_tui.queries import pages

    if len(args.diff) > 2:
        raise ActionError("--diff takes one or two versions")
    try:
        text = pages.diff_between(session.layout, *args.diff)
    except LookupError as error:
        raise ActionError(
            f"there is no version {error.args[0]}: `evolve --versions` lists them", missing=True
        ) from error
    if args.json:
        document({"diff": text})
    elif text:
        say(text)
    else:
        talk("they are the same")
    return 0
