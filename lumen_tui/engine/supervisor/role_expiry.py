"""Roles that were hired for a time: when it is over they are fired, which can be taken back like any firing."""

from __future__ import annotations

from pathlib import Path

from lumen_tui.actions import roles as actions
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.stamped import Stamped
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.roles import list_roles


class RoleExpiry:
    """Fires roles whose time is over, once per beat. Roles are read again only if a file of theirs changed."""

    def __init__(self, store: Store, log: EventLog) -> None:
        self._store = store
        self._log = log
        self._ends: Stamped[list[tuple[float, str]]] = Stamped(self._files, self._read)

    def _files(self) -> list[Path]:
        folder = self._store.layout.roles
        return [folder, *sorted(folder.glob("*.md"))]

    def _read(self) -> list[tuple[float, str]]:
        hired = [role for role in list_roles(self._store.layout)[0] if role.until and role.source == "hired"]
        return [(times.epoch(role.until), role.name) for role in hired]

    def beat(self, now: float) -> None:
        """Fire every role whose time is over."""
        self._ends.refresh()
        for ends, name in self._ends.value:
            if 0 < ends <= now:
                self._fire(name, now)

    def _fire(self, name: str, now: float) -> None:
        reason = "it was hired for a time, which is over"
        try:
            actions.fire(self._store, by="engine", now=now, name=name, reason=reason)
        except (ActionError, StoreError) as error:
            self._log.add("role_kept", f"{name}: its time is over, and it cannot be fired: {error}", now)
            return
        self._log.add("role_ended", f"{name} was fired: {reason}", now)
