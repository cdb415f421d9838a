"""One verb with arguments that a folder allows, and a look at what a fault in the middle of it leaves.

The folder opens, the doctor leaves no problem, and the verb is wholly undone, wholly done, or named as unfinished; one
that consists of several actions may have ended between two of them. `undo` takes back what there is of it, and it can
be carried out again.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
from contextlib import closing
from pathlib import Path

from lumen_failures import FINE, REFUSED, calls_of, failed_at
from lumen_kills import Failed, killed_before, state_calls
from lumen_power import Cut, PowerCuts, power_cuts

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.model.records import Action
from lumen_tui.model.records import Stage as ActionStage
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import locks
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.audit.journal import JournalEntry
from tests.actions import random_acts
from tests.actions.conftest import NOW, ActionsFolder
from tests.actions.random_acts import Arguments, Stage
from tests.actions.visible import visible

_DRAWS = 60  # of arguments for one verb, until the state of the folder allows it
_EARLIER, _LATER = NOW + 400, NOW + 500
UNDONE, DONE, UNFINISHED = "undone", "done", "named as unfinished"
UNRECORDED = "done, not recorded"
IN_PART = "done in part"  # the first of several actions, each of them whole and undone by itself
_AT_ONCE = ("kill", "unkill", "fact.check")  # they hold before they are recorded, and cannot be undone or need not be
RESUMED = ("import.lumenflow", "import.beads")  # of lines that were torn the first ones stay, until it is repeated
OWN = ("undo", "redo")  # they belong to the entry that they turn
# Derived, or kept under its hash, where it means nothing before something names it.
_DERIVED = (
    "index/",
    "locks/",
    "work/retired",
    "blocks/texts/",
    "accepted/definitions/",
    "memory/cleanups/",
    "quarantine/",
    "actions.jsonl",
)
# What is there before a verb that takes something back.
BEFORE = {back: verb for verb, back in random_acts.BACK.items()} | {
    "undo": "triage.promote", "redo": "triage.promote", "attention.back": "attention.snooze",
    "fact.check": "fact.probe", "changes.push": "changes.commit",
}  # fmt: skip


class Act:
    """One verb with arguments that the folder allows, and what it makes of the folder."""

    def __init__(self, verb: str, stage: Stage, beside: Path) -> None:
        self.verb, self._stage, self._beside = verb, stage, beside
        stage.chance.seed(verb)
        self._ready = beside / "ready"  # the folder before the verb
        self._theirs, self._kept = stage.beside / "repository", beside / "repository"
        self.calls = self._prepare()
        self._before, self._after = _files(self._ready), _files(beside / "done")
        self._visible = visible(ActionsFolder(self._ready))
        self._entries = {entry.first.id for entry in journal.in_effect(Store(self._ready).layout, lambda _: True)}
        self._shown = _shown_problems(self._ready), _shown_problems(beside / "done")
        self._known = _problems(self._ready) | _problems(beside / "done")

    def _prepare(self) -> list[str]:
        """Draw arguments until the verb is carried out with them; return the calls by which that changes the folder."""
        for _ in range(_DRAWS):
            desk = _desk(self._copy(self._stage.desk.root, "ready"), _EARLIER)
            try:
                self.arguments = self._draw(desk)
            except ActionError:
                continue
            self._keep_operators_files()
            done = self._copy(desk.root, "done")
            with contextlib.suppress(Failed):
                if calls := state_calls(done, functools.partial(self._perform, done)):
                    return calls
        raise AssertionError(f"{self.verb}: no arguments of {_DRAWS} are possible in the furnished folder")

    def _draw(self, desk: ActionsFolder) -> Arguments:
        """Return arguments, after what the verb takes back was done. Raise ActionError where that is not possible."""
        forward = BEFORE.get(self.verb)
        if self.verb in random_acts.NEEDS_ENGINE:
            desk.store.layout.engine_lock.touch(0o600)
        if not forward:
            return random_acts.VERBS[self.verb](self._stage)
        arguments = random_acts.VERBS[forward](self._stage)
        desk.do(forward, **arguments)
        if self.verb == "redo":
            desk.do("undo")
        if self.verb in OWN:
            return {}
        return random_acts.way_back(self._stage, self.verb, arguments)

    def _copy(self, root: Path, name: str) -> Path:
        shutil.rmtree(self._beside / name, ignore_errors=True)
        return Path(shutil.copytree(root, self._beside / name, symlinks=True))

    def _keep_operators_files(self, *, again: bool = False) -> None:
        """Copy the repository that lies beside the folder, or put the copy in its place again."""
        if self.verb.startswith("changes."):
            source, target = (self._kept, self._theirs) if again else (self._theirs, self._kept)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)

    def _perform(self, root: Path) -> None:
        lock = locks.try_lock(root / "engine.lock") if self.verb in random_acts.NEEDS_ENGINE else None
        _desk(root, _LATER).do(self.verb, **self.arguments)
        if lock is not None:
            os.close(lock)

    def calls_that_may_fail(self) -> list[str]:
        """Return the kinds of calls on the folder, in the order in which the verb makes them."""
        root = self._copy(self._ready, "killed")
        self._keep_operators_files(again=True)
        return calls_of(root, lambda: self._perform(root))

    def kill(self, call: int) -> str:
        """Kill the verb before this call; return in what state that left the folder."""
        root = self._copy(self._ready, "killed")
        self._keep_operators_files(again=True)
        assert killed_before(call, root, lambda: self._perform(root)), "it made fewer calls than before"
        state = self._state(root)
        self._check(root, state, (call, self.calls[call]))
        return state

    def power_cuts(self) -> PowerCuts:
        """Carry the verb out once more and return what power cuts may leave of it."""
        root = self._copy(self._ready, "killed")
        self._keep_operators_files(again=True)
        cuts = power_cuts(self._roots(), lambda: self._perform(root))
        self._after = _files(root)  # git's hashes are others each time
        return cuts

    def _roots(self) -> dict[str, Path]:
        theirs = {"theirs": self._theirs} if self.verb.startswith("changes.") else {}
        return {"state": self._beside / "killed", **theirs}

    def cut(self, cuts: PowerCuts, cut: Cut) -> str:
        """Have the power cut there; return in what state that left the folder. What was acknowledged is there."""
        roots = self._roots()
        for root in roots.values():
            shutil.rmtree(root, ignore_errors=True)
        cuts.left_by(cut).put(roots)
        root, point = roots["state"], (cut.at, cut.words)
        if cut.at % 2:  # what is derived may be on the disk although that from which it was is not
            shutil.rmtree(root / "index")
            shutil.copytree(self._beside / "done" / "index", root / "index")
        state = self._ended(root)
        if cut.at == len(cuts.done):
            self._is_kept(root, point)
        if damaged := cut.torn >= 0 or cut.blank >= 0:
            state = state or self._mended(root)
        self._check(root, state, point, shown=not damaged)
        return state

    def _mended(self, root: Path) -> str:
        """Have the doctor move a torn line out of the way; return the state that this leaves."""
        self._is_repaired(root)
        return self._ended(root)

    def _is_kept(self, root: Path, point: tuple[object, ...]) -> None:
        """Look whether what was acknowledged is there, and counts, also where its end was not synced."""
        kept = self._copy(root, "kept")
        self._is_repaired(kept)
        state = self._ended(kept)
        assert state in (DONE, UNRECORDED), (*point, "was acknowledged", state, self._differing(kept))

    def fail(self, call: int, error: int, *, for_good: bool) -> str:
        """Let a call of the verb fail, once or from then on; return how that ended and in what state it left it.

        What was acknowledged is there. Of what was refused a part may be: the system did not say how much.
        """
        root = self._copy(self._ready, "killed")
        self._keep_operators_files(again=True)
        code = failed_at(call, error, root, lambda: self._perform(root), for_good=for_good)
        point = (call, errno.errorcode[error], "for good" if for_good else "once")
        assert code in (FINE, REFUSED), (*point, "ended with a traceback")
        state = self._ended(root)
        assert code == REFUSED or state not in ("", UNDONE), (*point, "was acknowledged", state)
        self._is_repaired(root)
        self._goes_on(root, done=True)
        return f"{'acknowledged' if code == FINE else 'refused'}, {state or IN_PART}"

    def _check(self, root: Path, state: str, point: tuple[object, ...], *, shown: bool = True) -> None:
        """Look whether the folder is whole, goes on, and can be mended and put back; `shown`: a room names no fault."""
        assert state, (*point, self._differing(root))
        before, after = self._shown
        allowed = {UNDONE: [before], DONE: [after], UNRECORDED: [after]}.get(state, [before, after])
        assert not shown or _shown_problems(root) in allowed, (*point, state)
        if state != UNRECORDED and self.verb not in OWN and (shown or self.verb not in RESUMED):
            self._is_taken_back(self._copy(root, "undone"))
        self._is_repaired(root)
        self._goes_on(root, done=state in (DONE, UNRECORDED))

    def _state(self, root: Path) -> str:
        """Return how much of the verb is in the folder; empty where it is a part that nothing names."""
        store, files = Store(root), _files(root)
        if journal.open_entries(store.layout) or newest_action(store).stage == ActionStage.BEGUN:
            return UNFINISHED
        if files == self._before:
            return UNDONE
        if self._new_entries(store) or self.verb in OWN:
            return DONE if files == self._after else IN_PART
        return UNRECORDED if files == self._after and self.verb in _AT_ONCE else ""

    def _ended(self, root: Path) -> str:
        """Return the state, by the journal of actions where the verb changes nothing else."""
        state = self._state(root)
        return DONE if state == UNDONE and self._new_entries(Store(root)) else state

    def _new_entries(self, store: Store) -> list[JournalEntry]:
        mine = journal.in_effect(store.layout, lambda action: action.by == "ana")
        return [entry for entry in mine if entry.first.id not in self._entries]

    def _differing(self, root: Path) -> list[str]:
        files = _files(root)
        return [name for name in files | self._before if files.get(name) != self._before.get(name)]

    def _is_taken_back(self, root: Path) -> None:
        """Undo what was done or begun, the newest first: all is as before, but for what cannot be undone."""
        desk = _desk(root, _LATER + 10)
        entries = self._new_entries(desk.store)
        if any(action.final or not action.changes for entry in entries for action in entry.actions):
            return
        for entry in entries:
            desk.do("undo", action_id=entry.first.id)
        assert visible(desk) == self._visible
        if self.verb.startswith("changes."):
            assert _texts(self._theirs) == _texts(self._kept)

    def _is_repaired(self, root: Path) -> None:
        examine(Store(root), now=_LATER, fix=True)
        assert _problems(root) <= self._known
        assert not journal.open_entries(Store(root).layout)

    def _goes_on(self, root: Path, *, done: bool) -> None:
        """It can be carried out again, unless it was done, and leaves nothing open."""
        try:
            self._perform(root)
        except ActionError:
            assert done or not self._is_as_before(root)
        assert not journal.open_entries(Store(root).layout)

    def _is_as_before(self, root: Path) -> bool:
        return visible(ActionsFolder(root)) == self._visible


def _desk(root: Path, now: float) -> ActionsFolder:
    desk = ActionsFolder(root)
    desk.now = now
    return desk


def _problems(root: Path) -> set[str]:
    return {finding.what for finding in examine(Store(root), now=_LATER).left}


def _shown_problems(root: Path) -> set[str]:
    """Return the problems that a room names on this folder."""
    with closing(SnapshotReader(root)) as reader:
        reader.load(_LATER)
        return {problem.what for problem in reader.snapshot(_LATER).problems}


def _texts(repository: Path) -> dict[str, str]:
    """Return the files by name, but for one that was being written beside the file whose place it takes."""
    files = [path for path in repository.iterdir() if path.is_file() and path.suffix != ".tmp"]
    return {path.name: path.read_text() for path in files}


def newest_action(store: Store) -> Action:
    """The newest entry of the audit log."""
    return next(journal.newest_first(store.layout))


def _files(root: Path) -> dict[str, bytes]:
    """Return what the files hold, but for locks, temporary and derived ones; one that is empty is as none."""
    return {
        name: data
        for name, data in ActionsFolder(root).files().items()
        if data and not name.startswith(_DERIVED) and "/." not in f"/{name}"
    }
