"""Live A/B tests on disk: a journal of them, and the version that a task of a role gets."""

from __future__ import annotations

from lumen_tui.model.abtests import ABTest
from lumen_tui.model.evolved_edits import EvolvedVersion
from lumen_tui.model.roles import Role
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import champions


def last(layout: Layout) -> ABTest | None:
    """Return the test that was begun, ended or resumed last; None where there was none. No other one goes on."""
    tests = list(Journal(layout.abtests).records(ABTest)) if layout.abtests.exists() else []
    return tests[-1] if tests else None


def running(layout: Layout) -> ABTest | None:
    """Return the test that goes on; None where none does."""
    test = last(layout)
    return None if test is None or test.ended else test


def find(layout: Layout, name: str) -> ABTest | None:
    """Return a test by its id."""
    return next((test for test in reversed(list(Journal(layout.abtests).records(ABTest))) if test.id == name), None)


def write(layout: Layout, test: ABTest) -> None:
    """Append a record durably; call it under the lock of suites."""
    Journal(layout.abtests).append(test)


def version_for(layout: Layout, role: str, task_id: str) -> EvolvedVersion:
    """Return the version of a task: that in force, or while a test of its role goes on that of its arm.

    A test is of the version in force when it began: behind another one it counts no more. DamagedChampion.
    """
    in_force = champions.current(layout)
    test = running(layout)
    if test is None or test.role != role or test.a != in_force.name:
        return in_force
    return champions.read(layout, test.version_of(task_id))


def with_edits(layout: Layout, role: Role, task_id: str) -> Role:
    """Return a role as a task has it. DamagedChampion: a role whose edits are lost is no role without them."""
    return version_for(layout, role.name, task_id).applied(role)
