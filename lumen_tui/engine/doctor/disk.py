"""What a finding of the doctor is, and the checks of files: places, modes, links, owners, leftovers, journals."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field

from lumen_tui.model.abtests import ABTest
from lumen_tui.model.answers import AnswerLine
from lumen_tui.model.archive import Passage
from lumen_tui.model.blocks import Step as BlockStep
from lumen_tui.model.chat import ChatLine
from lumen_tui.model.decoding import UNDECODABLE, must_be_text
from lumen_tui.model.evals import CaseRun, EvalCase
from lumen_tui.model.evolution import Observation, ReadPosition, Rejection, Version
from lumen_tui.model.facts import Confirmation
from lumen_tui.model.loop import Command, CommandReceipt, EngineEvent, Packet
from lumen_tui.model.mail import MailLine
from lumen_tui.model.notifying import ToldReceipt
from lumen_tui.model.problem import Problem
from lumen_tui.model.records import EVERYONE, Action, Receipt, Relationship, Touch, decode_receipt
from lumen_tui.model.relay import Submission
from lumen_tui.model.schedule_runs import ScheduledRun
from lumen_tui.model.spendbook import LedgerEntry
from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.model.transitions import Transition
from lumen_tui.model.trials import EvolutionCandidate, Promotion, TrialReport
from lumen_tui.storage import files, integrity, repair
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import FOLDERS, Layout
from lumen_tui.storage.line_access import whole_blocks
from lumen_tui.storage.repair import Damaged, Judge
from lumen_tui.store.evolution import suites
from lumen_tui.store.memory import relays
from lumen_tui.store.signals import receipts
from lumen_tui.store.signals.compaction import archive_path
from lumen_tui.store.signals.retention import read_signal
from lumen_tui.store.tasks.task_records import has_worker
from lumen_tui.tools.files.paths import OWN_FILES
from lumen_tui.tools.isolation import shadows
from lumen_tui.tools.sandbox import tiers

PROBLEM, NOTE = "problem", "note"


class DoctorFinding(Struct, frozen=True):
    """One thing out of order. A note is worth knowing and needs no repair."""

    check: str
    where: str  # a path below the state folder, with `:line` where there is one
    what: str
    hint: str = ""
    level: str = PROBLEM
    repairable: bool = field(default=False, name="mendable")
    repaired: str = field(default="", name="mended")  # what was done about it; empty where nothing was


class DoctorReport(Struct, frozen=True):
    """The result of checking a state folder."""

    root: str
    checked: tuple[str, ...]
    findings: tuple[DoctorFinding, ...] = ()

    @property
    def left(self) -> list[DoctorFinding]:
        """Problems that are still there."""
        return [finding for finding in self.findings if finding.level == PROBLEM and not finding.repaired]


_MOST_NAMED = 20  # damaged lines of one file that are named one by one


class _Identified(msgspec.Struct):
    id: str


_AnyRecord = dict[str, object]  # of any fields
Kind = type[msgspec.Struct] | type[_AnyRecord]


def judge(kind: Kind) -> Judge:
    """Return a function that says why a line is no record of this kind; empty if it is one."""
    decode = msgspec.json.Decoder(kind).decode

    def why(line: bytes) -> str:
        try:
            decode(line)
            must_be_text(line)
        except UNDECODABLE as error:
            return one_line(str(error), 160)
        return ""

    return why


def kinds(layout: Layout) -> dict[Path, Kind]:
    """Return the shared journals, each with the type of its lines."""
    return {
        layout.memory: _Identified,
        layout.signals: _Identified,
        archive_path(layout): _Identified,
        layout.receipts: Receipt,
        layout.relationships: Relationship,
        layout.touches: Touch,
        layout.actions: Action,
        layout.events: EngineEvent,
        layout.earlier_events: EngineEvent,
        layout.hook_events: _AnyRecord,
        layout.commands: Command,
        layout.command_receipts: CommandReceipt,
        layout.personnel: _AnyRecord,
        layout.packets: Packet,
        layout.spend: LedgerEntry,
        layout.confirmations: Confirmation,
        layout.observations: Observation,
        layout.rejections: Rejection,
        layout.block_history: BlockStep,
        layout.read_sessions: ReadPosition,
        layout.versions_log: Version,
        layout.cases: EvalCase,
        layout.candidates: EvolutionCandidate,
        layout.case_runs: CaseRun,
        layout.abtests: ABTest,
        layout.trials: TrialReport,
        layout.promotions: Promotion,
        layout.archival: Passage,
        layout.schedules: _Identified,
        layout.schedule_runs: ScheduledRun,
        layout.chat: ChatLine,
        layout.transitions: Transition,
        layout.told: ToldReceipt,
        layout.answers: AnswerLine,
        layout.mail_log: MailLine,
    }


def _journals(layout: Layout) -> Iterator[tuple[Path, Kind]]:
    """Yield every journal with the type of its lines; of tasks only those that do not run."""
    yield from kinds(layout).items()
    yield from ((path, EvalCase) for path in suites.paths(layout) if path != layout.cases)
    yield from ((relays.path_of(layout, name), Submission) for name in relays.names(layout))
    for path in sorted(layout.tasks.glob("[!.]*/events.jsonl")):
        if path.parent != layout.archive and not has_worker(path.parent):
            yield path, TaskEvent


def lines(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report torn ends and damaged lines; torn ends first, because closing one makes a damaged line of it."""
    for path, kind in _journals(layout):
        name = str(path.relative_to(layout.root))
        try:
            yield from _torn(path, name, fix)
            yield from _damaged(layout, path, name, judge(kind), now, fix)
        except files.StoreError as error:
            yield DoctorFinding("journals", name, str(error))


def records(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report files of one record that are no JSON; no repair knows what stood in them."""
    for path in _records(layout):
        try:
            msgspec.json.decode(files.read(path) or b"")
        except FileNotFoundError:
            continue
        except (*UNDECODABLE, files.StoreError, OSError) as error:
            hint = "put it back from a backup, or move it away: then it counts as one that was never written"
            yield DoctorFinding("records", str(path.relative_to(layout.root)), one_line(str(error), 160), hint)


def _records(layout: Layout) -> Iterator[Path]:
    """Yield the files that verbs and engines replace as a whole, but for those at which other checks look."""
    by_hand = {layout.kill, layout.pause}  # that they are there is what counts
    elsewhere = {layout.schema, layout.heartbeat}
    for folder in ("", *FOLDERS):
        if folder not in ("index", "sessions", "tasks", "trees"):
            yield from sorted({*(layout.root / folder).glob("[!.]*.json")} - by_hand - elsewhere)


def _torn(path: Path, name: str, fix: bool) -> Iterator[DoctorFinding]:
    if not repair.is_torn(path):
        return
    if fix:
        repair.close_tail(path)
    fault = "the last line was cut off"
    yield DoctorFinding(
        "torn ends", name, fault, repairable=True, repaired="closed, so that it spoils no other" if fix else ""
    )


def _damaged(
    layout: Layout, path: Path, name: str, judge_line: Judge, now: float, fix: bool
) -> Iterator[DoctorFinding]:
    damaged = repair.damaged_lines(path, judge_line)
    if not damaged:
        return
    moved = repair.quarantine(layout, path, judge_line, iso(now)) if fix else 0
    if moved and path == layout.signals:
        receipts.tidy(layout, moved=True)
    repaired = "moved to quarantine/quarantine.jsonl" if moved else ""
    for damage in damaged[:_MOST_NAMED]:
        yield _named(name, damage, repaired)
    if len(damaged) > _MOST_NAMED:
        fault = f"{len(damaged) - _MOST_NAMED} further damaged lines"
        yield DoctorFinding("damaged lines", name, fault, repairable=True, repaired=repaired)


def _named(name: str, damage: Damaged, repaired: str) -> DoctorFinding:
    fault = f"damaged line of {damage.size:,} bytes: {damage.reason}"
    return DoctorFinding(
        "damaged lines", f"{name}:{damage.number}", fault, "the other lines are in use", "problem", True, repaired
    )


def _naming(path: Path, word: bytes) -> Iterator[bytes]:
    """Yield the whole lines of a journal that have a word in them; only blocks that do are split."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return
    try:
        for _, block in whole_blocks(fd):
            if word in block:
                yield from (line for line in block.split(b"\n") if word in line)
    finally:
        os.close(fd)


def legacy(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report records in older forms, which are honoured as they are."""
    nobody = [receipt for line in Journal(layout.receipts).lines() if (receipt := decode_receipt(line))]
    count = sum(receipt.reader == EVERYONE for receipt in nobody)
    if count:
        note = f"{count} receipt(s) name no reader: they count for everybody"
        yield DoctorFinding("legacy records", "memory/signal-receipts.jsonl", note, level=NOTE)
    inline = sum(signal.read for line in _naming(layout.signals, b'"read"') if (signal := read_signal(line)))
    if inline:
        note = f"{inline} signal(s) say inside that they were read: they are read for everybody"
        yield DoctorFinding("legacy records", "memory/signals.jsonl", note, level=NOTE)


def orphaned(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report receipts whose signal is gone."""
    count = receipts.orphans(layout)
    if not count:
        return
    removed = receipts.tidy(layout, moved=False) if fix else 0
    yield DoctorFinding(
        "orphaned receipts",
        "memory/signal-receipts.jsonl",
        f"{count} receipt(s) belong to no signal",
        repairable=True,
        repaired=f"{removed} removed" if fix else "",
    )


def places(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report folders where a state file belongs; `modes` reports links and the like."""
    for problem in _folders(layout):
        yield DoctorFinding("places", problem.where, problem.what, problem.hint)


def _folders(layout: Layout) -> list[Problem]:
    return [
        problem
        for problem in integrity.misplaced_files(layout)
        if stat.S_ISDIR(os.lstat(layout.root / problem.where).st_mode)
    ]


def modes(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report modes wider than 0600 and 0700, folders and journals not writable, links, foreign owners."""
    elsewhere = {str(layout.root / problem.where) for problem in _folders(layout)}  # their modes are not what is wrong
    shared = frozenset(kinds(layout))
    if above := files.shared_above(layout.root):
        fault = f"is in {one_line(above, 200)}, which other users can write: they can put another in its place"
        yield DoctorFinding("modes", ".", fault, f"`chmod o-w {one_line(above, 200)}`, or move it")
    for path in _everything(layout.root):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        if str(path) in elsewhere:
            continue
        yield from _check_path(layout, path, status, fix, shared)


def _everything(root: Path) -> Iterator[Path]:
    """Yield every path but those that commands of tasks, or of the sandbox's test, made in folders of their own."""
    yield root
    tasks, emptied = str(root / "tasks"), (str(root / "replays"), str(root / "index" / tiers.FOLDER))
    for folder, folders, names in os.walk(root):
        if folder in emptied:
            folders.clear()
            names.clear()
        for name in [*folders, *names]:
            yield Path(folder, name)
        if "spec.json" in names and OWN_FILES in folders and folder.startswith(tasks):
            folders.remove(OWN_FILES)


def _check_path(
    layout: Layout, path: Path, status: os.stat_result, fix: bool, shared: frozenset[Path]
) -> Iterator[DoctorFinding]:
    where = str(path.relative_to(layout.root)) if path != layout.root else "."
    if status.st_uid != os.geteuid():
        hint = "give it to the user who runs the agent, or move it away"
        yield DoctorFinding("owners", where, f"belongs to user {status.st_uid}", hint)
    if stat.S_ISLNK(status.st_mode):
        yield DoctorFinding(
            "links", where, f"is a link to {path.readlink()}", "put a plain file or folder in its place"
        )
        return
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        yield DoctorFinding("links", where, "is neither a file nor a folder", "move it away")
        return
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        yield DoctorFinding("links", where, f"has {status.st_nlink} hard links", "copy it, so that it has one")
        return
    if status.st_mode & 0o077:
        yield _open_to_others(path, where, status, fix)
    if (stat.S_ISDIR(status.st_mode) or path in shared) and not os.access(path, os.W_OK):
        hint = f"`chmod u+rwx {one_line(str(path), 200)}`, or have what it is on mounted writable"
        yield DoctorFinding("modes", where, "cannot be written to: no verb and no engine can keep anything there", hint)


def _open_to_others(path: Path, where: str, status: os.stat_result, fix: bool) -> DoctorFinding:
    mode = stat.S_IMODE(status.st_mode)
    private = mode & 0o700
    fault = f"mode {mode:04o}: other users can use it"
    if not fix:
        return DoctorFinding("modes", where, fault, "doctor --fix closes it", repairable=True)
    try:
        repair.make_private(path, private)
    except OSError as error:
        return DoctorFinding("modes", where, fault, f"could not be closed: {error.strerror}", repairable=True)
    return DoctorFinding("modes", where, fault, repairable=True, repaired=f"mode is {private:04o} now")


def leftovers(layout: Layout, now: float, fix: bool) -> Iterator[DoctorFinding]:
    """Report temporary files and half-made task folders of killed writers: harmless, so notes."""
    for path in list(repair.leftovers(layout.root, now - repair.OLD_SECONDS)):
        kind = "an unfinished replacement" if not path.is_dir() else "a task folder that was never finished"
        if fix:
            repair.remove_leftover(path)
        where = str(path.relative_to(layout.root))
        yield DoctorFinding("leftovers", where, kind, level=NOTE, repairable=True, repaired="removed" if fix else "")
    yield from _shadows(layout, fix)


def _shadows(layout: Layout, fix: bool) -> Iterator[DoctorFinding]:
    """Report the shadows of replays that were killed: harmless, so notes."""
    for folder in shadows.left(layout):
        where = str(folder.relative_to(layout.root))
        fault = "the shadow of a replay that was killed"
        yield DoctorFinding("leftovers", where, fault, level=NOTE, repairable=True, repaired="removed" if fix else "")
    if fix:
        shadows.sweep(layout)
