"""The documented commands, a row each, and what some of them do beyond our own command."""

from __future__ import annotations

import contextlib
import io
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from lumen_tui.actions import checks
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands import knowledge
from lumen_tui.cli.lumenflow.spelling import Spelling, plainly, text
from lumen_tui.cli.session import Session, document, say
from lumen_tui.model.session import TIERS
from lumen_tui.model.text import one_line
from lumen_tui.store.memory import nodes

_D, _B, _LOOK = "-d/--base-dir -q/--quiet!", "-b/--base-dir -q/--quiet!", "--dry-run! --json!"
_START = f"--wu -a/--agent-type -c/--context-tier {_D}"
NOTHING = 3
_SEVERITIES = {"blocker": "P0", "major": "P1", "minor": "P2", "info": "P3"}


def _triage(session: Session, given: Namespace) -> int:
    """`triage`, with a look before a judgement, and that as JSON."""
    named = given.promote or given.archive
    if given.promote and given.archive:
        raise ActionError("--promote and --archive exclude each other: one of both")
    if not named or not (given.dry_run or given.json):
        given.list = given.dry_run = False
        row = ROWS["mem:triage"]
        return plainly(session, row._replace(ours=("triage", "--documented")), given)
    found = checks.node_ids(session.store, named)
    if given.promote and not given.lane:
        raise ActionError("--promote needs --lane: the stream of work it goes to")
    to = {"lane": given.lane, "title": given.title or "", "wu_id": given.wu_id or ""}
    why = {"reason": checks.reason(given.reason or "") if given.archive else ""}
    if given.promote:
        from lumen_tui.cli.commands.triage import tell_alike  # what compares titles is not for every command

        tell_alike(session, found)
    verb, facts = ("triage.promote", to) if given.promote else ("triage.archive", why)
    if not given.dry_run:
        document(session.perform(verb, node_ids=found, **facts))
        return 0
    title = one_line(str(nodes.find(session.layout.memory, found)[found[0]][1].get("content", "")), 100)
    plan = {"dry_run": True, "verb": verb, "id": found[0], **facts, "title": facts.get("title") or title}
    document(plan) if given.json else say(f"would {verb.partition('.')[2]} {found[0]} “{plan['title']}”")
    return 0


def _index(session: Session, given: Namespace) -> int:
    folder = Path(given.base_dir or ".").expanduser().absolute()
    try:
        return knowledge.index_folder(session, str(Path.cwd() if folder == session.root else folder), given)
    except ActionError as error:
        if not error.missing or given.base_dir:
            raise
        say(str(error))
        return NOTHING


_CLEANUPS = (("signals", "signal-cleanup", "memory_only"), ("memory", "cleanup", "signals_only"))


def _state_cleanup(session: Session, given: Namespace) -> int:
    """Both cleanups, each with its own rules, as one answer."""
    if given.signals_only and given.memory_only:
        raise ActionError("--signals-only and --memory-only exclude each other: one of both")
    found = {name: _cleaned(session, word, given) for name, word, other in _CLEANUPS if not vars(given)[other]}
    if given.json:
        document({"dry_run": given.dry_run, **{name: facts for name, (facts, _) in found.items()}})
    else:
        for name, (facts, _) in found.items():
            count = facts["removed"] if "removed" in facts else len(facts["nodes"])
            say(f"{name}: {facts.get('summary') or f'{count} would leave'}")
    return NOTHING if all(code == NOTHING for _, code in found.values()) else 0


def _cleaned(session: Session, word: str, given: Namespace) -> tuple[dict[str, Any], int]:
    """The answer of one cleanup, and its exit code."""
    row = Spelling((word,), "--dry-run! --json!")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = plainly(session, row, Namespace(dry_run=given.dry_run, json=True))
    return dict(json.loads(said.getvalue())), code


def _agent_session(session: Session, given: Namespace) -> int:
    """`start`; the tiers are numbered there, in the order of ours."""
    tier = given.tier or "2"
    if tier not in ("1", "2", "3"):
        raise ActionError(f"--tier {tier!r} is unknown: 1 ({TIERS[0]}), 2 ({TIERS[1]}) or 3 ({TIERS[2]})")
    given.context_tier, given.agent_type = TIERS[int(tier) - 1], given.agent_type or "claude-code"
    return plainly(session, Spelling(("start",), _START), given)


def _log_issue(session: Session, given: Namespace) -> int:
    """`create` of a discovery with the tag `issue`, in which everything that was said of it stands."""
    title = text(given, ROWS["agent:log-issue"])
    severity = (given.severity or "minor").lower()
    if not title:
        raise ActionError("--title is needed: say in a few words what went wrong")
    if severity not in _SEVERITIES:
        near = checks.nearest(severity, _SEVERITIES)
        raise ActionError(f"--severity {severity!r} is unknown: one of {', '.join(_SEVERITIES)}", candidates=near)
    parts = {"": given.description, "Resolution: ": given.resolution, "Step: ": given.step, "Files: ": given.files}
    lines = [title[0], *[f"{name}{said}" for name, said in parts.items() if said]]
    tags = ",".join(tag for tag in ("issue", given.category, given.tags) if tag)
    row = Spelling(("create",), "--tags --priority --wu --session", "content")
    made = {"tags": tags, "priority": _SEVERITIES[severity], "wu": given.wu, "session": given.session}
    return plainly(session, row, Namespace(words=["\n".join(lines)], **made))


_CLIENTS = ("claude-code",)


def _integrate(session: Session, given: Namespace) -> int:
    """`hooks install`, for the one client whose hooks are known."""
    client = given.client or _CLIENTS[0]
    if client not in _CLIENTS:
        near = checks.nearest(client, _CLIENTS)
        raise ActionError(f"--client {client!r} is unknown: {' or '.join(_CLIENTS)}", candidates=near)
    folder = given.base_dir or ""
    return plainly(session, Spelling(("hooks", "install"), "--project"), Namespace(project=folder or None))


def _unit(*words: str, flags: str = "") -> Spelling:
    """A verb on a work unit: its id is told by `--id` or as it stands."""
    return Spelling(("wu", *words), f"{flags} --id {_D}".strip(), "id")


ROWS: dict[str, Spelling] = {
    "mem:init": Spelling(("init",), _D),
    "mem:start": Spelling(("start",), _START),
    "mem:ready": Spelling(("ready",), f"--wu -t/--type -f/--format {_D}"),
    "mem:checkpoint": Spelling(
        ("checkpoint",),
        f"-n/--note -s/--session --wu -p/--progress --next-steps -t/--trigger --git-diff-stat --from {_D}", "note",
    ),
    "mem:signal": Spelling(
        ("signal",), f"-m/--message --wu -l/--lane --to --type -p/--priority --from {_D}", "message"
    ),
    "mem:inbox": Spelling(
        ("inbox",), f"--wu -l/--lane -s/--since -w/--watch! --no-mark! -c/--count! --reader --json! {_D}"
    ),
    "mem:create": Spelling(
        ("create",),
        f"-t/--title --type -d/--discovered-from --wu -s/--session --tags -p/--priority --from {_B}", "title",
    ),
    "mem:triage": Spelling(
        ("triage",),
        f"-l/--list! -p/--promote -a/--archive -r/--reason --title --lane --wu-id --wu --tag {_LOOK} {_B}", "",
        _triage,
    ),
    "mem:summarize": Spelling(("summarize",), f"--wu {_LOOK} {_B}"),
    "mem:cleanup": Spelling(("cleanup",), f"--ttl --session-id --decay! {_LOOK} {_B}"),
    "signal:cleanup": Spelling(("signal-cleanup",), f"--ttl --unread-ttl --max-entries --force! {_LOOK} {_B}"),
    "mem:context": Spelling(
        ("context",), f"--wu -m/--max-size -l/--lane --max-recent-summaries --max-project-nodes -f/--format {_D}"
    ),
    "mem:recover": Spelling(("recover",), f"--wu -m/--max-size -f/--format {_D}"),
    "mem:promote": Spelling(("promote",), f"-n/--node -w/--wu -t/--tag {_LOOK} {_D}", "node"),
    "mem:profile": Spelling(("profile",), f"-l/--limit -t/--tag --json! --raw! {_D}"),
    "mem:delete": Spelling(("delete",), f"--tag --older-than {_LOOK} {_D}", "ids*"),
    "mem:export": Spelling(("export",), f"--wu -t/--type -l/--lifecycle -f/--format {_D}"),
    "mem:index": Spelling(("index",), f"-n/--dry-run! --json! {_B}", "", _index),
    "state:cleanup": Spelling(
        ("cleanup",), f"--signals-only! --memory-only! {_LOOK} {_B}", "", _state_cleanup
    ),
    "state:doctor": Spelling(("doctor",), f"--fix! --json! {_B}"),
    "agent:session": Spelling(("start",), f"--wu --tier -a/--agent-type {_D}", "", _agent_session),
    "agent:session-end": Spelling(("session", "end"), _D, "id"),
    "agent:log-issue": Spelling(
        ("create",),
        f"--category --severity --title --description --resolution --tags --step --files --wu -s/--session {_D}",
        "title", _log_issue,
    ),
    "wu:claim": _unit("claim", flags="-l/--lane"),
    "wu:done": _unit("done", flags="--no-checkpoint-check!"),
    "wu:block": _unit("block", flags="-r/--reason"),
    "wu:unblock": _unit("unblock"),
    "wu:release": _unit("release", flags="-r/--reason"),
    "lumenflow:integrate": Spelling(("hooks", "install"), f"--client {_D}", "", _integrate),
    "session start": Spelling(("start",), _START),
    "session stop": Spelling(("session", "end"), _D, "id"),
    "session status": Spelling(("session", "show"), f"--json! {_D}", "id"),
    "session handoff": Spelling(("handoff",), f"-n/--note --to --wu -s/--session {_D}", "note"),
}  # fmt: skip
