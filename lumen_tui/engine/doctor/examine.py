"""All checks of a state folder, in the order in which one repair uncovers the next problem; here those of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from lumen_tui import STATE_SCHEMA
from lumen_tui.actions import kinds, undo
from lumen_tui.actions.cleanup import SIGNALS_KIND
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.doctor import disk, history
from lumen_tui.engine.doctor.disk import NOTE, PROBLEM, DoctorFinding, DoctorReport
from lumen_tui.model import renamed
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.liveness import EngineLife, derive_engine
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.problem import Problem
from lumen_tui.model.records import Action, Change, Relationship, Stage
from lumen_tui.model.roles import unreached
from lumen_tui.model.tasks import Status
from lumen_tui.model.text import one_line
from lumen_tui.model.work import WorkSession
from lumen_tui.storage import directories, files, frontmatter, kept, lease, locks, process, schema
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.process import ProcessId
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.audit.journal import JournalEntry
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.settings.themes import list_themes
from lumen_tui.store.signals import cleanups, compaction
from lumen_tui.store.tasks.task_index import TaskIndex
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.store.work.work_units import list_units

_MOST_NAMED = 20
_edge = msgspec.json.Decoder(Relationship).decode


def references(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report nodes on unknown work units and edges that lead nowhere, as notes: both are honoured."""
    units = {path.stem for path in layout.work.rglob("WU-*.md")}
    known, unknown = set(units), Counter[str]()
    for node in newest_nodes(layout):
        known.add(str(node["id"]))
        wu_id = node.get("wu_id")
        if isinstance(wu_id, str) and wu_id and wu_id not in units:
            unknown[wu_id] += 1
    for wu_id, count in unknown.most_common(_MOST_NAMED):
        fault = f"{count} node(s) are about {one_line(wu_id, 40)}, which has no file in work/"
        yield DoctorFinding("work units", "memory/memory.jsonl", fault, "`wu new --id` makes it", NOTE)
    if len(unknown) > _MOST_NAMED:
        fault = f"{len(unknown) - _MOST_NAMED} further work units have nodes and no file"
        yield DoctorFinding("work units", "memory/memory.jsonl", fault, level=NOTE)
    yield from _edges(layout, known)


def _edges(layout: Layout, known: set[str]) -> Iterator[DoctorFinding]:
    for number, line in enumerate(Journal(layout.relationships).lines(), start=1):
        try:
            edge = _edge(line)
        except UNDECODABLE:
            continue
        missing = [node_id for node_id in (edge.from_id, edge.to_id) if node_id not in known]
        if missing:
            fault = f"{one_line(edge.type, 40)} leads to nothing: {one_line(', '.join(missing), 100)} is not there"
            yield DoctorFinding("relationships", f"memory/relationships.jsonl:{number}", fault, level=NOTE)


def unfinished(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report actions whose end was not recorded; each is completed or taken back."""
    store = Store(layout.root)
    for entry in journal.open_entries(layout):
        summary = one_line(entry.first.summary or entry.first.verb, 80)
        fault = f"an action of {one_line(entry.first.by, 40)} was cut off: {summary}"
        hint = f"`undo {entry.first.id}` takes back what was done of it, doctor --fix finishes or clears it"
        repaired = _repair(store, entry, now) if fix else ""
        yield DoctorFinding("unfinished actions", "actions.jsonl", fault, hint, repairable=True, repaired=repaired)


def _repair(store: Store, entry: JournalEntry, now: float) -> str:
    """Complete or take back an action; return what was done, or the empty string."""
    begun = [action for action in entry.actions if action.stage == Stage.BEGUN]
    try:
        with locks.waiting_lock(store.layout.lock("roles")):
            return "; ".join(dict.fromkeys([_repair_one(store, action, now) for action in reversed(begun)]))
    except (ActionError, files.StoreError, OSError, LookupError):
        return ""


def _repair_one(store: Store, action: Action, now: float) -> str:
    lines = journal.begun_lines(action)
    if not action.changes:  # nothing of it can be looked at: a record that is there too often misleads less than none
        journal.record_end(store.layout, lines, Stage.DONE)
        return "it may have been done and cannot be taken back: it counts"
    done = [kinds.side_now(store, change) == change.after for change in action.changes]
    if any(
        change.kind == SIGNALS_KIND and not cleanups.is_whole(store.layout, change.key) for change in action.changes
    ):
        undo.put_back(store, _turned(action), by=action.by, now=now)
        done = []
    if done and all(done):
        journal.record_end(store.layout, lines, Stage.DONE)
        return "all of it was done: it counts"
    if any(done):
        undo.put_back(store, _turned(action), by=action.by, now=now)
    journal.record_end(store.layout, lines, Stage.DROPPED)
    return "taken back" if any(done) else "nothing of it was done: it does not count"


def _turned(action: Action) -> list[Change]:
    return [Change(change.kind, change.key, change.after, change.before) for change in reversed(action.changes)]


def cut_off_cleanups(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report signals that a killed cleanup had copied and did not take out of their journal."""
    if count := compaction.cut_off(layout, mend=fix):
        fault = f"{count} signal(s) stand in memory/signals.jsonl as well: a cleanup was cut off"
        hint = "the next `signal cleanup` goes on there, doctor --fix takes the copies back"
        repaired = "the copies were taken back" if fix else ""
        yield DoctorFinding("unfinished cleanups", "memory/archive.jsonl", fault, hint, PROBLEM, True, repaired)


_SQLITE = b"SQLite format 3\x00"


def documents(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report problems in what a person writes: settings, themes, roles, work units, sessions."""
    yield from _as_findings("settings", load_config(layout)[1])
    yield from _as_findings("themes", list_themes(layout)[1])
    listed, _, faults = list_roles(layout)
    beat = read_json(layout.heartbeat, Heartbeat)
    yield from _as_findings("roles", [*faults, *unreached(listed, beat.sandbox if beat else "")])
    yield from _as_findings("work units", list_units(layout)[1])
    yield from _old_names(layout)
    for path in sorted(layout.root.glob("sessions/[!.]*.json")):
        try:
            msgspec.json.decode(files.read(path) or b"", type=WorkSession)
        except (*UNDECODABLE, files.StoreError) as error:
            yield DoctorFinding("sessions", f"sessions/{path.name}", str(error), "fix the file or move it away")


def _old_names(layout: Layout) -> Iterator[DoctorFinding]:
    """Report tools in settings and roles by names of before, as notes: they are understood for a release."""
    for path in (layout.config, layout.operator, *sorted(layout.roles.glob("*.md"))):
        try:
            text = (files.read(path) or b"").decode()
            table = frontmatter.split(text)[0] if path.suffix == ".md" else frontmatter.parse_toml(text)
        except (BadFile, files.StoreError, OSError, UnicodeDecodeError):
            continue  # reported above
        for name in dict.fromkeys(renamed.named_in(table)):
            fault = f"the tool {name} is called {renamed.tool(name)} now"
            hint = "it goes on working in this release; write the new name"
            yield DoctorFinding("names of tools", str(path.relative_to(layout.root)), fault, hint, NOTE)


def _as_findings(check: str, problems: Iterable[Problem]) -> Iterator[DoctorFinding]:
    for problem in problems:
        yield DoctorFinding(check, problem.where, problem.what, problem.hint or "fix the file")


def tasks(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report task folders that cannot be used, and workers that are lost."""
    index = TaskIndex(layout)
    index.refresh(now, {})
    yield from _as_findings("tasks", index.problems.values())
    driven = lease.is_held(layout)
    for view in index.live():
        if view.status is Status.LOST and not view.finished:
            hint = "the engine takes it up" if driven else "the next engine takes it up"
            yield DoctorFinding("tasks", f"tasks/{view.spec.id}", "its worker is gone and left no result", hint, NOTE)


def engine(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report where the lock, the heartbeat and the process disagree."""
    beat = read_json(layout.heartbeat, Heartbeat)
    if layout.heartbeat.exists() and beat is None:
        yield DoctorFinding("engine", "heartbeat.json", "cannot be read", "the next beat writes it again", NOTE)
    held = lease.is_held(layout)
    if beat is None:
        return
    recorded = ProcessId(beat.pid, beat.start_ticks, beat.boot_id)
    if not held and beat.phase != "stopped":
        alive = process.is_same(recorded)
        fault = f"nobody holds the lock; {'its process lives all the same' if alive else 'the engine crashed'}"
        hint = f"end process {beat.pid}, then start an engine" if alive else "the next engine recovers"
        yield DoctorFinding("engine", "heartbeat.json", fault, hint, PROBLEM if alive else NOTE)
    if not held:
        return
    holder = lease.read_lease(layout)
    if holder.epoch > beat.epoch > 0 or (holder.pid and beat.pid and holder.pid != beat.pid):
        fault = f"process {holder.pid} holds the lock, the heartbeat is of process {beat.pid}"
        yield DoctorFinding("engine", "engine.lock", fault, "wait for a beat; if it stays, stop that process")
    view = derive_engine(lock_held=True, heartbeat=beat, process_state=process.state_letter(beat.pid), now=now)
    if view.life in (EngineLife.LATE, EngineLife.HUNG):
        yield DoctorFinding("engine", "heartbeat.json", f"{view.life.value}: {view.why}", "stop it and start another")


def indexes(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report derived files that are not what their name says; they are made again when missing."""
    for path in sorted(layout.index.glob("[!.]*")):
        try:
            fault = _why_bad(path)
        except (files.StoreError, OSError) as error:
            yield DoctorFinding("index", f"index/{path.name}", str(error))
            continue
        if fault:
            if fix:
                directories.remove(path)
            repaired = "removed; it is made again" if fix else ""
            yield DoctorFinding("index", f"index/{path.name}", fault, repairable=True, repaired=repaired)


def _why_bad(path: Path) -> str:
    if path.suffix == ".json":
        try:
            msgspec.json.decode(files.read(path) or b"")
        except UNDECODABLE as error:
            return f"is not JSON: {error}"
    if path.suffix == ".db" and (head := files.read(path, len(_SQLITE))) and head != _SQLITE:
        return "is not a database"
    if path.suffix == ".columns":
        try:
            kept.read(path)
        except kept.NotUsable as error:
            return str(error)
    return ""


Check = Callable[[Layout, float, bool], Iterator[DoctorFinding]]


def version(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report a folder that another version wrote: a newer one is not written into, an older one upgraded."""
    if reason := schema.heed(layout.schema):
        yield DoctorFinding("version", "schema.json", reason)
    elif (number := schema.read_schema(layout.schema).schema) < STATE_SCHEMA:
        fault = f"the folder is of an earlier version (state schema {number}, this version's is {STATE_SCHEMA})"
        hint = "the next engine upgrades it after a backup, as `lumen-tui upgrade` does"
        yield DoctorFinding("version", "schema.json", fault, hint, NOTE)


CHECKS: dict[str, Check] = {
    "version": version,
    "places": disk.places,
    "modes, links and owners": disk.modes,
    "leftovers": disk.leftovers,
    "journals": disk.lines,
    "records": disk.records,
    "legacy records": disk.legacy,
    "receipts": disk.orphaned,
    "unfinished actions": unfinished,
    "unfinished cleanups": cut_off_cleanups,
    "references": references,
    "documents": documents,
    "tasks": tasks,
    "engine": engine,
    "index": indexes,
    "history": history.chain,
}


def examine(store: Store, *, now: float, fix: bool = False) -> DoctorReport:
    """Check a state folder; with `fix`, repair what can be. A check that fails is a finding itself."""
    findings: list[DoctorFinding] = []
    for name, check in CHECKS.items():
        try:
            findings += check(store.layout, now, fix)
        except (files.StoreError, OSError) as error:
            findings.append(DoctorFinding(name, ".", f"could not be looked at: {error}"))
    return DoctorReport(root=str(store.root), checked=tuple(CHECKS), findings=tuple(findings))
