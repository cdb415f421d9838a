"""`role list | show | hire | fire | adjust | rehire | stats`."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lumen_tui.actions import checks
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.editing import edited
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_id_and_outcome, print_outcome, read_text, say, table, talk
from lumen_tui.model import agent, analytics, times
from lumen_tui.model.budget import dollars
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.roles import AdjustRole, FireRole, HireRole, RehireRole
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.roles import ALL_TOOLS, Role
from lumen_tui.model.tasks import TIERS
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings import roles
from lumen_tui.store.settings.roles import parse_hire
from lumen_tui.store.tasks import role_stats

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser
    from lumen_tui.model.analytics import Stats


_BLANK = Role("", purpose="What it is for, in one sentence", prompt="What it is to do, and what it leaves to others.")
_LIMITS: dict[str, tuple[type, str]] = {
    "timeout_seconds": (float, "how long one task may take"),
    "stall_seconds": (float, "silence after which a task counts as stalled"),
    "max_steps": (int, "tool calls of one task"),
    "subtasks": (int, "sub-tasks that one task may order"),
    "max_output_bytes": (int, "of one tool call"),
    "at_once": (int, "tasks of the role at the same time; 0: the engine's limit"),
    "cpu_seconds": (int, "of one command; 0: as [sandbox] says"),
    "memory_mb": (int, "of one command; 0: as [sandbox] says"),
    "processes": (int, "of one command; 0: as [sandbox] says"),
}


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("role", "Who can be given a task.", alone="list")
    listing = group.add("list", run_list, "Active roles.", "role list")
    show = group.add("show", run_show, "The file of a role.", "role show researcher > mine.md")
    hire = group.add("hire", run_hire, "Hire a new role.", "role hire archivist --like researcher --tier sonnet")
    hire.fields(HireRole)
    source = hire.add_mutually_exclusive_group(required=True)
    source.add_argument("--file", default="", help="the whole role file (- for standard input)")
    source.add_argument("--like", default="", metavar="ROLE", help="a copy of this role")
    source.add_argument("--blank", action="store_true", help="with --edit: from a blank one")
    hire.add_argument("--for", default="", dest="stays", metavar="TIME", help="fire it again after so long, such as 7d")
    adjust = group.add("adjust", run_adjust, "Change an active role.", "role adjust researcher --tier opus")
    adjust.fields(AdjustRole)
    adjust.add_argument("--file", default="", help="the whole role file (- for standard input)")
    fire = group.add(
        "fire", run_fire, "Retire a role; `rehire` brings it back.", 'role fire builder --reason "too dear"'
    )
    fire.fields(FireRole, "name")
    fire.fields(FireRole, "reason", required=False, default="")
    text = "Queue the example task of a role; prints its id."
    tried = group.add("try", run_try, text, "role try researcher --folder ~/project")
    tried.fields(RehireRole)
    tried.fields(NewTask, "folder", "steps", "timeout_seconds", default=None)
    group.verb("rehire", RehireRole, "Bring a retired role back.", "role rehire builder")
    stats = group.add("stats", run_stats, "How roles and models did so far.", "role stats builder")
    for command in (hire, adjust):
        _declare_changes(command)
    for command in (hire, adjust, fire):
        command.dry_run()
    show.fields(RehireRole)
    stats.fields(RehireRole, nargs="?", default="", help="one role, in full")
    for command in (listing, show, tried, hire, adjust, fire, stats):
        command.json()


def _declare_changes(parser: Parser) -> None:
    """Add the options that set parts of a role."""
    parser.add_argument("--purpose", help="one sentence")
    parser.add_argument("--tier", choices=TIERS, metavar="TIER", help=", ".join(TIERS))
    parser.add_argument("--tools", help=f"with commas between them: {', '.join(ALL_TOOLS)}")
    parser.add_argument("--shell", choices=("none", "read", "any"), help="which commands its shell runs")
    parser.add_argument("--write", choices=("yes", "no"), help="whether it may change files")
    parser.add_argument("--network", choices=("yes", "no"), help="whether its commands may reach the network")
    parser.add_argument("--skills", help="of those where it works, these, with commas between them; *: all")
    parser.add_argument("--hosts", help="where its web_fetch may go, with commas between them")
    parser.add_argument("--command-hosts", help="where its commands may go, through a proxy: example.org,*.example.net")
    parser.add_argument("--mcp", help="the MCP servers it has, or single tools such as git__git_log")
    for name, (kind, words) in _LIMITS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=words)
    parser.add_argument("--prompt", metavar="FILE", help="what it is to do, from a file (- for standard input)")
    parser.add_argument("--edit", action="store_true", help="open the whole file in $EDITOR first")


def run_list(session: Session, args: Namespace) -> int:
    listed, retired, problems = roles.list_roles(session.layout)
    for problem in problems:
        talk(f"{problem.where}: {problem.what}")
    if args.json:
        document({"roles": listed, "retired": retired})
        return 0
    table([(role.name, role.tier, role.source, role.purpose) for role in listed])
    if retired:
        talk(f"retired: {', '.join(retired)}")
    return 0


def _role(session: Session, name: str) -> Role:
    return roles.load_role(session.layout, checks.role_name(session.layout, name))


def run_show(session: Session, args: Namespace) -> int:
    role = _role(session, args.name)
    if args.json:
        document(role)
        return 0
    say(roles.render_role(role).rstrip())
    if role.example is not None:
        talk(f"`lumen-tui role try {role.name}` queues its example: {one_line(role.example.objective, 200)}")
    return 0


def run_try(session: Session, args: Namespace) -> int:
    role = _role(session, args.name)
    if role.name == agent.ROLE:
        raise ActionError(f"role {role.name} is the agent itself and is given no tasks: `lumen-tui chat` talks to it")
    if role.example is None:
        raise ActionError(
            f"role {role.name} has no example: give one under [example] with `role adjust {role.name} --edit`"
        )
    example = role.example
    request = NewTask(
        objective=example.objective,
        role=role.name,
        context=example.context,
        constraints=example.constraints,
        accept=example.accept,
        folder=os.path.abspath(os.path.expanduser(args.folder or os.curdir)),
        steps=args.steps or 0,
        timeout_seconds=args.timeout_seconds or 0.0,
    )
    talk(example.objective)
    return print_id_and_outcome(session.perform(request), as_json=args.json)


def _text(session: Session, name: str, like: str, args: Namespace) -> str:
    """Return the role file: the given one, or that of `like` with the given changes. Raise ActionError."""
    texts = ("purpose", "tier", "shell")
    changes: dict[str, object] = {name: value for name in texts if (value := getattr(args, name))}
    changes |= {name: value == "yes" for name in ("write", "network") if (value := getattr(args, name))}
    for listed in ("tools", "hosts", "command_hosts", "mcp", "skills"):
        if (value := getattr(args, listed)) is not None:
            changes[listed] = tuple(part.strip() for part in value.split(",") if part.strip())
    limits = {limit: value for limit in _LIMITS if (value := getattr(args, limit)) is not None}
    if stays := getattr(args, "stays", ""):
        changes["until"] = times.iso(session.now + _span(stays))
    if args.prompt:
        changes["prompt"] = read_text(args.prompt)
    if args.file:
        if changes or limits:
            raise ActionError("--file is the whole role: leave the other options out")
        return read_text(args.file)
    if not (changes or limits or args.edit) and like == name:
        raise ActionError("nothing to change: give --edit, --file, --tier, --tools, --purpose, --prompt or a limit")
    role = _role(session, like) if like else replace(_BLANK, name=name)
    return roles.render_role(replace(role, **changes, limits=replace(role.limits, **limits)))


def _span(text: str) -> float:
    try:
        seconds = times.parse_duration(text)
    except ValueError as error:
        raise ActionError(f"--for: {error}") from error
    if seconds < 60:
        raise ActionError("--for: give a minute or more, such as 7d")
    return seconds


def run_hire(session: Session, args: Namespace) -> int:
    if args.dry_run:
        return _preview(session, args, _text(session, args.name, args.like, args), like=args.like)
    if args.blank and not args.edit:
        raise ActionError("--blank needs --edit: a blank role can do nothing")
    text = _text(session, args.name, args.like, args)
    return _put(session, text, args, lambda final: request_of(HireRole, args, text=final))


def run_adjust(session: Session, args: Namespace) -> int:
    text = _text(session, args.name, args.name, args)
    if args.dry_run:
        return _preview(session, args, text, before=_role(session, args.name))
    return _put(session, text, args, lambda final: request_of(AdjustRole, args, text=final))


def _put(session: Session, text: str, args: Namespace, request: Callable[[str], Request]) -> int:
    """Hire or adjust a role by this text, after --edit as it came back from the editor; return the exit code."""
    if not args.edit:
        return print_outcome(session.perform(request(text)), as_json=args.json)
    with edited(text.encode(), f"{args.name}.md") as written:
        after = written.decode(errors="replace")
        return print_outcome(session.perform(request(after)), as_json=args.json)


def run_fire(session: Session, args: Namespace) -> int:
    meant = _consequences_of_firing(session, checks.role_name(session.layout, args.name))
    if args.dry_run and args.json:
        document({"dry_run": True, "consequences": meant})
        return 0
    for line in meant:
        say(line) if args.dry_run else talk(line)
    return 0 if args.dry_run else print_outcome(session.perform(request_of(FireRole, args)), as_json=args.json)


def run_stats(session: Session, args: Namespace) -> int:
    name = _known(session, args.name) if args.name else ""
    _show_stats(session, name, as_json=args.json)
    return 0


def _known(session: Session, name: str) -> str:
    """Return the name of a role in force, or of one that worked here before. Raise ActionError."""
    return name if _has_worked(session, name) else checks.role_name(session.layout, name)


_STATS_HEAD = ("", "tasks", "done", "95 %", "median", "p95", "tokens", "cost", "retries", "last", "weeks")


def _has_worked(session: Session, name: str) -> bool:
    """Return whether a role of this name ended a task here."""
    return role_stats.book(session.layout, session.now).role(name) is not None


def _show_stats(session: Session, name: str, *, as_json: bool) -> None:
    """Print the figures of one role, or of all roles and models."""
    book = role_stats.book(session.layout, session.now)
    now = session.now
    if as_json:
        document(book.role(name) or analytics.Stats(name) if name else book)
        return
    if name:
        table(_stats_facts(book.role(name) or analytics.Stats(name), now))
        return
    if not book.roles:
        say("no task has ended yet")
        return
    rows = [_stats_row(stats, now) for stats in (*book.roles, *book.models)]
    rows.insert(len(book.roles), ("",) * len(_STATS_HEAD))
    table([_STATS_HEAD, *rows])
    for stats in book.retirements:
        say(stats.text)


def _stats_row(stats: Stats, now: float) -> tuple[str, ...]:
    return (
        safe(stats.name),
        f"{stats.tasks:,}",
        _rate(stats),
        _interval(stats),
        times.span(stats.median),
        times.span(stats.p95),
        f"{stats.tokens:,}",
        f"${stats.usd:.2f}",
        str(stats.retries),
        times.age(now - stats.last_used),
        analytics.spark(stats.weeks),
    )


def _rate(stats: Stats) -> str:
    return "–" if stats.rate is None else f"{analytics.percent(stats.rate)} %"


def _interval(stats: Stats) -> str:
    return f"{analytics.percent(stats.low)}–{analytics.percent(stats.high)}" if stats.rate is not None else "–"


def _stats_facts(stats: Stats, now: float) -> list[tuple[str, str]]:
    if not stats.tasks:
        return [("tasks", "none yet")]
    return [
        ("tasks", f"{stats.tasks:,}: {stats.done:,} done, {stats.failed:,} failed, {stats.cancelled:,} cancelled"),
        ("success", f"{_rate(stats)} (95 % CI {_interval(stats)} %)"),
        *([("checks", proofs)] if (proofs := analytics.proofs(stats)) else []),
        ("duration", f"median {times.span(stats.median)}, p95 {times.span(stats.p95)}"),
        ("cost", f"{dollars(stats.usd)}; a task: median {dollars(stats.usd_median)}, p95 {dollars(stats.usd_p95)}"),
        ("tokens", f"{stats.tokens:,}"),
        ("retries", str(stats.retries)),
        ("last used", f"{times.age(now - stats.last_used)} ({times.iso(stats.last_used)})"),
        ("by week", f"{analytics.spark(stats.weeks)}  the last {analytics.WEEKS} weeks, share done"),
        ("latest", f"{analytics.recent(stats.latest)}  the newest at the end"),
    ]


def _preview(session: Session, args: Namespace, text: str, *, like: str = "", before: Role | None = None) -> int:
    """Print what hiring or adjusting a role would mean; return the exit code."""
    from lumen_tui.actions import role_preview

    try:
        role = parse_hire(args.name, text)
    except BadFile as error:
        raise ActionError(f"role {args.name}, line {error.line}: {error}") from error
    figures = role_stats.book(session.layout, session.now)
    around = role_preview.preview_context(
        session.snapshot(), figures.role(args.name) or figures.role(like), session.now
    )
    lines = role_preview.changed(before, role, around) if before else role_preview.consequences(role, around)
    if args.json:
        document({"dry_run": True, "consequences": [list(line) for line in lines]})
    else:
        table([(label, safe(words)) for label, words in lines])
    return 0


def _consequences_of_firing(session: Session, name: str) -> tuple[str, ...]:
    """Return what firing a role means, in lines."""
    from lumen_tui.actions import role_preview
    from lumen_tui.storage.clock import SystemClock
    from lumen_tui.store.settings.config import load_config
    from lumen_tui.store.tasks.task_index import TaskIndex, TaskList

    index = TaskIndex(session.layout)
    stall = {role.name: role.limits.stall_seconds for role in roles.list_roles(session.layout)[0]}
    index.refresh(session.now, stall, running=SystemClock().running())
    open_tasks = role_preview.unended(TaskList(index.live(), index.archive))
    figures = role_stats.book(session.layout, session.now).role(name)
    return role_preview.firing(name, open_tasks, load_config(session.layout)[0], figures)
