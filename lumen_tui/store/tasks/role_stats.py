"""Statistics of ended tasks by role and model: an index that may be deleted at any time.

index/rolestats.db holds a row for each task that ended. A month of the archive is listed again only when its folder
changed, and only unknown tasks are read. Where the file cannot be used the index is built in memory. Who made which
task, and which one repeats another, is recorded for tracing causes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lumen_tui.model import agent, analytics, times
from lumen_tui.model.acceptance import Verdict
from lumen_tui.model.analytics import Retirement, Sample, Tally, TaskStatistics
from lumen_tui.model.tasks import BEGUN, Exit, Spec
from lumen_tui.storage import directories, files
from lumen_tui.store.tasks import claims
from lumen_tui.store.tasks.task_records import (
    DamagedTask,
    archive_months,
    exit_stamp,
    read_json,
    read_spec,
    settled,
    task_names,
)

if TYPE_CHECKING:
    import sqlite3

    from lumen_tui.storage.layout import Layout
    from lumen_tui.store.tasks.task_index import TaskIndex

_T = TypeVar("_T")
_VERSION = 2
_LIVE = "live"
_BUSY = 5.0  # seconds to wait for another process
_PORTION = 400  # tasks that one refresh of `Proposals` reads
_TABLES = """
DROP TABLE IF EXISTS tasks; DROP TABLE IF EXISTS months;
CREATE TABLE tasks (id TEXT PRIMARY KEY, place TEXT, stamp INTEGER, role TEXT, model TEXT, status TEXT, finished REAL,
 seconds REAL, tokens INTEGER, usd REAL, attempts INTEGER, retry_of TEXT, made_by TEXT,
 verdict TEXT, disproved INTEGER);
CREATE TABLE months (name TEXT PRIMARY KEY, stamp INTEGER);
CREATE INDEX by_place ON tasks (place); CREATE INDEX by_maker ON tasks (made_by);
CREATE INDEX by_retry ON tasks (retry_of)
"""


def path(layout: Layout) -> Path:
    """Return the path of the index."""
    return layout.index / "rolestats.db"


class RoleIndex:
    """The index of ended tasks, brought up to date. `most` bounds how many are read; `behind`: there are more."""

    def __init__(self, layout: Layout, now: float, most: int = 0) -> None:
        self._layout = layout
        self._now = now
        self._most = most
        self.behind = False
        self.lasting = True  # whether the index is on disk; without that, a bounded one stays empty
        self.db = self._open()

    def __enter__(self) -> RoleIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def _open(self) -> sqlite3.Connection:
        import sqlite3  # here, so that other commands do not load it

        for _ in range(2):
            try:
                os.close(files.open_append(path(self._layout)))  # created private, refused where it is a link
                return self._level(str(path(self._layout)))
            except (sqlite3.OperationalError, files.StoreError, OSError):
                break  # busy or full: no reason to throw the file away
            except sqlite3.DatabaseError:
                directories.remove(path(self._layout))
        self.lasting = False
        if self._most:
            return _empty()
        return self._level(":memory:")

    def _level(self, where: str) -> sqlite3.Connection:
        """Open a database and bring it up to date with the folders, as far as `most` allows."""
        import sqlite3

        db = sqlite3.connect(where, timeout=_BUSY, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous=OFF")  # derived: what a crash spoils is built again
            if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                _make(db)
            self._take_in(db)
        except BaseException:
            db.close()
            raise
        return db

    def _take_in(self, db: sqlite3.Connection) -> None:
        remaining = self._most or 1 << 60
        changed = [(_LIVE, self._layout.tasks, 0), *self._changed_months(db)]
        for place, folder, stamp in changed:
            removed, new = _difference(db, place, folder)
            if not removed and not new:
                _remember(db, place, stamp)
                continue
            db.execute("BEGIN IMMEDIATE")
            db.executemany("DELETE FROM tasks WHERE id = ? AND place = ?", [(name, place) for name in removed])
            _add(db, place, folder, dict(list(new.items())[:remaining]))
            if len(new) <= remaining:
                _remember(db, place, stamp)
            db.execute("COMMIT")
            remaining -= len(new)
            if remaining < 0:
                self.behind = True
                return

    def _changed_months(self, db: sqlite3.Connection) -> Iterator[tuple[str, Path, int]]:
        known = dict(db.execute("SELECT name, stamp FROM months").fetchall())
        on_disk = archive_months(self._layout.archive)
        for name in known.keys() - {name for name, _, _ in on_disk}:
            db.execute("DELETE FROM tasks WHERE place = ?", (name,))
            db.execute("DELETE FROM months WHERE name = ?", (name,))
        for name, month, stamp in on_disk:
            if known.get(name) != stamp:
                yield name, month, settled(stamp, self._now)

    # Queries.

    def samples(self) -> list[Sample]:
        """Return every ended task."""
        columns = "role, model, status, finished, seconds, tokens, usd, attempts, retry_of != '', verdict, disproved"
        rows = self.db.execute(f"SELECT {columns} FROM tasks")  # noqa: S608 - a constant
        return [Sample(*row) for row in rows]

    def tallies(self) -> dict[str, tuple[Tally, float]]:
        """Return for each role its tasks that count, and what they cost in USD."""
        query = (
            "SELECT role, sum(status = 'done'), count(*), total(usd) FROM tasks "
            "WHERE status IN ('done', 'failed', 'lost') GROUP BY role"
        )
        return {role: (Tally(done, tried), usd) for role, done, tried, usd in self.db.execute(query)}

    def made_by(self, maker: str) -> list[str]:
        """Return the ids of the ended tasks that an agent's task or loop made, in the order of their ends."""
        return self._ids("made_by = ?", maker)

    def retries_of(self, task_id: str) -> list[str]:
        """Return the ids of the ended tasks that repeat another one."""
        return self._ids("retry_of = ?", task_id)

    def around(self, role: str, moment: float, most: int) -> tuple[list[str], list[str]]:
        """Return the ids of the last tasks of a role that ended before a time, and of the first ones after it.

        Without a role those of all, but of the main agent's own.
        """
        whose = "role =" if role else "role !="
        sides = (("finished <= ?", "DESC"), ("finished > ?", "ASC"))
        queries = [
            f"SELECT id FROM tasks WHERE {whose} ? AND {where} AND status IN ('done', 'failed', 'lost') "  # noqa: S608
            f"ORDER BY finished {order}, id LIMIT ?"
            for where, order in sides
        ]
        values = (role or agent.ROLE, moment, most)
        before, after = ([row[0] for row in self.db.execute(query, values)] for query in queries)
        return before, after

    def _ids(self, where: str, value: str) -> list[str]:
        query = f"SELECT id FROM tasks WHERE {where} ORDER BY finished, id"  # noqa: S608 - one of two constants
        return [row[0] for row in self.db.execute(query, (value,))]


def _empty() -> sqlite3.Connection:
    import sqlite3

    db = sqlite3.connect(":memory:", isolation_level=None)
    _make(db)
    return db


def _make(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:  # another process may have made them
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version={_VERSION}")
    db.execute("COMMIT")


def _remember(db: sqlite3.Connection, place: str, stamp: int) -> None:
    if stamp:
        db.execute("INSERT OR REPLACE INTO months VALUES (?, ?)", (place, stamp))


def _difference(db: sqlite3.Connection, place: str, folder: Path) -> tuple[set[str], dict[str, int]]:
    """Return the ids that are gone, and those to be read with their stamps.

    A live task counts from its exit.json on, which may be removed again; an archived one never changes.
    """
    known = dict(db.execute("SELECT id, stamp FROM tasks WHERE place = ?", (place,)).fetchall())
    names = task_names(folder)
    if place != _LIVE:
        return known.keys() - names, dict.fromkeys(sorted(names - known.keys()), 0)
    ended = {name: stamp for name in sorted(names) if (stamp := exit_stamp(folder / name))}
    return known.keys() - ended.keys(), {name: stamp for name, stamp in ended.items() if known.get(name) != stamp}


def _add(db: sqlite3.Connection, place: str, folder: Path, new: dict[str, int]) -> None:
    rows = [_row(name, place, stamp, folder / name) for name, stamp in new.items()]
    db.executemany("INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _row(name: str, place: str, stamp: int, folder: Path) -> tuple[object, ...]:
    """Return the row of a task. One that cannot be read has no role, so that it is not read again each time."""
    try:
        spec = read_spec(folder)
        ended = read_json(folder / "exit.json", Exit)
    except (DamagedTask, files.StoreError, OSError):
        spec = Spec(id=name, objective="", role="")
        ended = None
    ended = ended or Exit(task_id=name, status="lost", finished_at="")
    used = ended.usage
    return (
        name,
        place,
        stamp,
        spec.role,
        _model(ended.brain),
        ended.status,
        times.epoch(ended.finished_at),
        ended.seconds,
        used.tokens,
        used.usd,
        ended.attempt,
        spec.retry_of,
        spec.created_by,
        str(ended.acceptance.verdict) if ended.acceptance else "",
        len({claim.attempt for claim in claims.refuted(folder)} | _disproved(ended)),
    )


def _disproved(ended: Exit) -> set[int]:
    """Return the attempt with which the task ended, where its checks failed."""
    failed = ended.acceptance is not None and ended.acceptance.verdict is Verdict.DISPROVED
    return {ended.attempt} if failed else set()


def _model(brain: str) -> str:
    """Return the model of an exit's `brain`; all playbooks (`offline: largest-files`) are one model."""
    return "offline" if brain.partition(":")[0] == "offline" else brain


def ask(layout: Layout, now: float, question: Callable[[RoleIndex], _T], most: int = 0) -> _T:
    """Answer a question from the index; a damaged one is built again."""
    import sqlite3

    try:
        with RoleIndex(layout, now, most) as index:
            return question(index)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        directories.remove(path(layout))
        with RoleIndex(layout, now, most) as index:
            return question(index)


def book(layout: Layout, now: float) -> TaskStatistics:
    """Return the figures of all roles and models."""
    samples = ask(layout, now, lambda index: index.samples())
    return analytics.task_statistics((sample for sample in samples if sample.role), now)


class Proposals:
    """Follows which roles should be retired; a long archive that was never read is indexed in portions."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._looked = -1  # revision of the tasks
        self._seen: object = None
        self.retirements: tuple[Retirement, ...] = ()
        self.revision = 0

    def refresh(self, tasks: TaskIndex, now: float) -> bool:
        """Update after tasks ended; return whether there is more to read."""
        if tasks.revision == self._looked:
            return False
        mark = self._mark(tasks)
        behind = mark != self._seen and self._look(now)
        if not behind:
            self._looked = tasks.revision
            self._seen = mark
        return behind

    def _mark(self, tasks: TaskIndex) -> object:
        """Return a value that changes when a task ended or was archived; None while there are too few."""
        ended = [view.finished for view in tasks.of_status(BEGUN) if view.finished]
        months = archive_months(self._layout.archive)
        few = not months and len(ended) < 2 * analytics.LEAST
        return None if few else (len(ended), max(ended, default=0.0), months)

    def _look(self, now: float) -> bool:
        tallies, behind = ask(self._layout, now, lambda index: (index.tallies(), index.behind), _PORTION)
        retirements = () if behind else analytics.retirements({name: pair for name, pair in tallies.items() if name})
        if retirements != self.retirements:
            self.retirements = retirements
            self.revision += 1
        return behind
