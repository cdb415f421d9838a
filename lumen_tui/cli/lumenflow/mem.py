"""The `mem:` spellings: the table of LumenFlow's documented commands, each carried out by our own commands."""

from __future__ import annotations

import contextlib
import io
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.actions import checks, refusal
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands import knowledge
from lumen_tui.cli.lumenflow.spelling import Spelling, ours, parser, run_own, text
from lumen_tui.cli.session import Session, document, say
from lumen_tui.model.requests.discoveries import ArchiveDiscoveries, PromoteDiscoveries
from lumen_tui.model.text import one_line
from lumen_tui.model.work import TIERS
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import nodes

_D, _B, _PREVIEW = "-d/--base-dir -q/--quiet!", "-b/--base-dir -q/--quiet!", "--dry-run --json"
_START = f"--wu -a/--agent-type -c/--context-tier {_D}"
NOTHING = 3
_SEVERITIES = {"blocker": "P0", "major": "P1", "minor": "P2", "info": "P3"}


def _triage(session: Session, options: Namespace) -> int:
    """Run `triage`, also as a dry run of a decision and as JSON."""
    texts = options.promote or options.archive
    if options.promote and options.archive:
        raise ActionError("--promote and --archive exclude each other: one of both")
    if not texts or not (options.dry_run or options.json):
        options.list = options.dry_run = False
        row = ROWS["mem:triage"]
        return run_own(session, row._replace(ours=("triage", "--documented")), options)
    node_ids = checks.node_ids(session.store, texts)
    if options.promote and not options.lane:
        raise ActionError("--promote needs --lane: the stream of work it goes to")
    request: PromoteDiscoveries | ArchiveDiscoveries
    if options.promote:
        request = PromoteDiscoveries(
            node_ids=node_ids, lane=options.lane, title=options.title or "", wu_id=options.wu_id or ""
        )
    else:
        request = ArchiveDiscoveries(node_ids=node_ids, reason=checks.reason(options.reason or ""))
    if options.promote:
        from lumen_tui.cli.commands.triage import report_alike  # comparing titles costs imports

        report_alike(session, node_ids)
    if not options.dry_run:
        document(session.perform(request))
        return 0
    facts = {name: value for name, value in msgspec.structs.asdict(request).items() if name != "node_ids"}
    title = one_line(str(nodes.find(session.layout.memory, node_ids)[node_ids[0]][1].get("content", "")), 100)
    plan = {"dry_run": True, "verb": request.verb, "id": node_ids[0], **facts, "title": facts.get("title") or title}
    document(plan) if options.json else say(f"would {request.verb.partition('.')[2]} {node_ids[0]} “{plan['title']}”")
    return 0


def _index(session: Session, options: Namespace) -> int:
    folder = Path(options.base_dir or ".").expanduser().absolute()
    try:
        return knowledge.index_folder(session, str(Path.cwd() if folder == session.root else folder), options)
    except ActionError as error:
        if not error.missing or options.base_dir:
            raise
        say(str(error))
        return NOTHING


_CLEANUPS = (("signals", "signal-cleanup", "memory_only"), ("memory", "cleanup", "signals_only"))


def _state_cleanup(session: Session, options: Namespace) -> int:
    """Run both cleanups, each with its own rules, and print one result."""
    if options.signals_only and options.memory_only:
        raise ActionError("--signals-only and --memory-only exclude each other: one of both")
    results = {name: _cleaned(session, word, options) for name, word, other in _CLEANUPS if not vars(options)[other]}
    if options.json:
        document({"dry_run": options.dry_run, **{name: facts for name, (facts, _) in results.items()}})
    else:
        for name, (facts, _) in results.items():
            count = facts["removed"] if "removed" in facts else len(facts["nodes"])
            say(f"{name}: {facts.get('summary') or f'{count} would leave'}")
    return NOTHING if all(code == NOTHING for _, code in results.values()) else 0


def _cleaned(session: Session, word: str, options: Namespace) -> tuple[dict[str, Any], int]:
    """Return the JSON of one cleanup and its exit code."""
    row = Spelling((word,), _PREVIEW)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = run_own(session, row, Namespace(dry_run=options.dry_run, json=True))
    import json

    return dict(json.loads(output.getvalue())), code


def _agent_session(session: Session, options: Namespace) -> int:
    """Run `start`; the documented tiers are numbers, in the order of ours."""
    tier = options.tier or "2"
    if tier not in ("1", "2", "3"):
        raise ActionError(f"--tier {tier!r} is unknown: 1 ({TIERS[0]}), 2 ({TIERS[1]}) or 3 ({TIERS[2]})")
    options.context_tier = TIERS[int(tier) - 1]
    options.agent_type = options.agent_type or "claude-code"
    return run_own(session, Spelling(("start",), _START), options)


def _log_issue(session: Session, options: Namespace) -> int:
    """Create a discovery with the tag `issue` that holds every text of the options."""
    title = text(options, ROWS["agent:log-issue"])
    severity = (options.severity or "minor").lower()
    if not title:
        raise ActionError("--title is needed: say in a few words what went wrong")
    if severity not in _SEVERITIES:
        near = refusal.nearest(severity, _SEVERITIES)
        raise ActionError(f"--severity {severity!r} is unknown: one of {', '.join(_SEVERITIES)}", candidates=near)
    parts = {
        "": options.description,
        "Resolution: ": options.resolution,
        "Step: ": options.step,
        "Files: ": options.files,
    }
    lines = [title[0], *[f"{name}{value}" for name, value in parts.items() if value]]
    tags = ",".join(tag for tag in ("issue", options.category, options.tags) if tag)
    row = Spelling(("create",), "--tags --priority --wu --session", "content")
    fields = {"tags": tags, "priority": _SEVERITIES[severity], "wu": options.wu, "session": options.session}
    return run_own(session, row, Namespace(words=["\n".join(lines)], **fields))


_CLIENTS = ("claude-code",)


def _integrate(session: Session, options: Namespace) -> int:
    """Run `hooks install`, for the one client whose hooks are known."""
    client = options.client or _CLIENTS[0]
    if client not in _CLIENTS:
        near = refusal.nearest(client, _CLIENTS)
        raise ActionError(f"--client {client!r} is unknown: {' or '.join(_CLIENTS)}", candidates=near)
    folder = options.base_dir or ""
    return run_own(session, Spelling(("hooks", "install"), "--project"), Namespace(project=folder or None))


def _unit(*words: str, flags: str = "") -> Spelling:
    """Return the row of a verb on a work unit, whose id comes with `--id` or without it."""
    return Spelling(("wu", *words), f"{flags} --id {_D}".strip(), "id")


ROWS: dict[str, Spelling] = {
    "mem:init": Spelling(("init",), _D),
    "mem:start": Spelling(("start",), _START),
    "mem:ready": Spelling(("ready",), f"--wu -t/--type -f/--format {_D}"),
    "mem:checkpoint": Spelling(
        ("checkpoint",),
        f"-n/--note -s/--session --wu -p/--progress --next-steps -t/--trigger --git-diff-stat --from {_D}",
        "note",
    ),
    "mem:signal": Spelling(
        ("signal",), f"-m/--message --wu -l/--lane --to --type -p/--priority --from {_D}", "message"
    ),
    "mem:inbox": Spelling(
        ("inbox",), f"--wu -l/--lane -s/--since -w/--watch --no-mark -c/--count --reader --json {_D}"
    ),
    "mem:create": Spelling(
        ("create",),
        f"-t/--title --type -d/--discovered-from --wu -s/--session --tags -p/--priority --from {_B}",
        "title",
    ),
    "mem:triage": Spelling(
        ("triage",),
        f"-l/--list -p/--promote -a/--archive -r/--reason --title --lane --wu-id --wu --tag --dry-run! --json {_B}",
        "",
        _triage,
    ),
    "mem:summarize": Spelling(("summarize",), f"--wu {_PREVIEW} {_B}"),
    "mem:cleanup": Spelling(("cleanup",), f"--ttl --session-id --decay {_PREVIEW} {_B}"),
    "signal:cleanup": Spelling(("signal-cleanup",), f"--ttl --unread-ttl --max-entries --force {_PREVIEW} {_B}"),
    "mem:context": Spelling(
        ("context",), f"--wu -m/--max-size -l/--lane --max-recent-summaries --max-project-nodes -f/--format {_D}"
    ),
    "mem:recover": Spelling(("recover",), f"--wu -m/--max-size -f/--format {_D}"),
    "mem:promote": Spelling(("promote",), f"-n/--node -w/--wu -t/--tag {_PREVIEW} {_D}", "node"),
    "mem:profile": Spelling(("profile",), f"-l/--limit -t/--tag --json --raw {_D}"),
    "mem:delete": Spelling(("delete",), f"--tag --older-than {_PREVIEW} {_D}", "ids*"),
    "mem:export": Spelling(("export",), f"--wu -t/--type -l/--lifecycle -f/--format {_D}"),
    "mem:index": Spelling(("index",), f"-n/--dry-run --json {_B}", "", _index),
    "state:cleanup": Spelling(("cleanup",), f"--signals-only! --memory-only! {_PREVIEW} {_B}", "", _state_cleanup),
    "state:doctor": Spelling(("doctor",), f"--fix --json {_B}"),
    "agent:session": Spelling(("start",), f"--wu --tier -a/--agent-type {_D}", "", _agent_session),
    "agent:session-end": Spelling(("session", "end"), _D, "id"),
    "agent:log-issue": Spelling(
        ("create",),
        f"--category --severity --title --description --resolution --tags --step --files --wu -s/--session {_D}",
        "title",
        _log_issue,
    ),
    "wu:claim": _unit("claim", flags="-l/--lane"),
    "wu:done": _unit("done", flags="--no-checkpoint-check"),
    "wu:block": _unit("block", flags="-r/--reason"),
    "wu:unblock": _unit("unblock"),
    "wu:release": _unit("release", flags="-r/--reason"),
    "lumenflow:integrate": Spelling(("hooks", "install"), f"--client {_D}", "", _integrate),
    "session start": Spelling(("start",), _START),
    "session stop": Spelling(("session", "end"), _D, "id"),
    "session status": Spelling(("session", "show"), f"--json {_D}", "id"),
    "session handoff": Spelling(("handoff",), f"-n/--note --to --wu -s/--session {_D}", "note"),
}

_UPKEEP = ("mem:cleanup", "mem:index")
_FAMILIES = ("mem", "signal", "state", "agent", "wu", "lumenflow")


def spelled(words: list[str]) -> str:
    """Return the documented name at the beginning of the words, or the empty string where they are ours."""
    if not words or words[0] == "signal-cleanup":
        return ""  # our own, which is also typed in two words; the documented one has a colon
    name = (
        words[0].replace("-", ":", 1) if words[0].startswith(tuple(f"{family}-" for family in _FAMILIES)) else words[0]
    )
    if " ".join(words[:2]) in ROWS:
        return " ".join(words[:2])
    if name in ROWS:
        return name
    if name.startswith(tuple(f"{family}:" for family in _FAMILIES)):
        from lumen_tui.cli.parser import UsageError

        raise UsageError(
            f"there is no command {words[0]!r}; the documented ones are known", refusal.nearest(name, ROWS)
        )
    return ""


def run(name: str, words: list[str], root: Path, operator: str) -> int:
    """Carry out a documented command with the `words` after its name; return the exit code."""
    row = ROWS[name]
    options = parser(name, row).parse_args(words)
    session = Session(_base(options.base_dir) if options.base_dir else root, operator)
    with _hushed(options.quiet, whole=name == "mem:init"):
        if _wants_json(options):
            return _code(name, _shaped(name, session, options))
        return _code(name, _run(row, session, options))


def _run(row: Spelling, session: Session, options: Namespace) -> int:
    if row.run is not None:
        session.must_exist()
        return row.run(session, options)
    from lumen_tui.cli.parser import build_parser

    command = ours(row, options)
    args = build_parser(command[0]).parse_args(command)
    if not args.without_state:
        session.must_exist()
    return int(args.run(session, args) or 0)


def _wants_json(options: Namespace) -> bool:
    return bool(getattr(options, "json", False)) or getattr(options, "format", None) == "json"


def _shaped(name: str, session: Session, options: Namespace) -> int:
    """Carry out a command and print its JSON in the documented shape, where that is another than ours."""
    from lumen_tui.cli.lumenflow.shapes import SHAPES

    shape = SHAPES.get(name)
    if shape is None:
        return _run(ROWS[name], session, options)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = _run(ROWS[name], session, options)
    import json

    document(shape(session, options, json.loads(printed.getvalue())))
    return code


def _code(name: str, code: int) -> int:
    """Return 0 for `nothing to do` of a command that the documentation has run periodically."""
    return 0 if code == NOTHING and name in _UPKEEP else code


def _base(text: str) -> Path:
    """Return the state folder that a base folder means: itself, or the one below it."""
    folder = Path(text).expanduser().absolute()
    below = [folder / ".lumenflow", folder / "state"]
    for place in (folder, *below):
        if Layout(place).exists():
            return place
    return below[0] if below[0].is_dir() else folder


@contextlib.contextmanager
def _hushed(quiet: bool, *, whole: bool) -> Iterator[None]:
    """Suppress standard error where `quiet`, with `whole` the result too; errors are still raised."""
    with contextlib.ExitStack() as stack:
        if quiet:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        if quiet and whole:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        yield
