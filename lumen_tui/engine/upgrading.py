"""A state folder of an earlier version brought to the form of this one, after a backup.

Each step looks at what is there and changes what is not yet as it should be. The record in `schema.json` is written
last, so that an upgrade that was killed is made again from its beginning, with a backup of its own, and comes to the
same end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from lumen_tui import STATE_SCHEMA, __version__
from lumen_tui.actions import acting, roles
from lumen_tui.model import times
from lumen_tui.model.schema import StateSchema
from lumen_tui.storage import directories, files, schema
from lumen_tui.storage.backup import write_backup
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config

_STAMP = "%Y%m%dT%H%M%SZ"


class UpgradeStep(NamedTuple):
    """What brings a folder to a number: in words, and the function that does it and returns what it changed."""

    to: int
    summary: str
    change: Callable[[Store, float], list[str]]


STEPS = (UpgradeStep(2, "roles name tools as they are called now", roles.rename_tools),)


class Upgrade(NamedTuple):
    """An upgrade that is to be made or was made."""

    before: int
    steps: tuple[str, ...]
    backup: str = ""
    changed: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What was done, as a sentence for the screen."""
        changed = f"; changed: {', '.join(self.changed)}" if self.changed else ""
        return f"state schema {self.before} became {STATE_SCHEMA}; the state before is in {self.backup}{changed}"


def pending(layout: Layout) -> Upgrade | None:
    """Return the upgrade that the folder needs, None where it needs none. StoreError where a newer version wrote it."""
    if reason := schema.heed(layout.schema):
        raise files.Refused(reason)
    before = schema.read_schema(layout.schema).schema
    if before == STATE_SCHEMA:
        return None
    return Upgrade(before, tuple(step.summary for step in STEPS if step.to > before))


def upgrade(store: Store, now: float) -> Upgrade | None:
    """Bring the folder to the form of this version; None where it has it.

    Whoever calls holds the lease. Raise StoreError with the folder as it was where there can be no backup.
    """
    layout = store.layout
    due = pending(layout)
    if due is None:
        return None
    backup = _back_up(layout, due.before, now)
    with acting.acting_for(acting.ENGINE, acting.ENGINE, now):
        changed = [name for step in STEPS if step.to > due.before for name in step.change(store, now)]
    made = StateSchema(STATE_SCHEMA, __version__, times.iso(now), due.before, backup)
    schema.write_schema(layout.schema, made)
    return due._replace(backup=backup, changed=tuple(changed))


def _back_up(layout: Layout, before: int, now: float) -> str:
    """Save the folder as it is, encrypted where `[backup]` says so; return the path below it. Raise StoreError."""
    recipients = load_config(layout)[0].backup.recipients
    stamp = time.strftime(_STAMP, time.gmtime(now))
    name = f"before-schema-{STATE_SCHEMA}-{stamp}.tar.gz{'.age' if recipients else ''}"
    try:
        directories.make_folder(layout.backups)
        for leaving in layout.backups.glob(".*.tmp"):  # of one that was killed: it may be large
            files.discard(str(leaving))
        write_backup(layout, str(layout.backups / name), recipients, now)
    except files.StoreError as error:
        raise files.NotWritten(
            f"{layout.root} is of an earlier version (state schema {before}) and was not upgraded, as there is no "
            f"backup of it: {error}"
        ) from error
    return f"{layout.backups.name}/{name}"
