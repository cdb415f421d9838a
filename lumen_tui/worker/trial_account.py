"""The account of a task in the state folder of a trial: the real ledger pays, on the line of trials."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.model.asks import HoldReply
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import ProviderError, Reserve
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.worker.accounts import TaskAccount


class Payer(Struct, frozen=True):
    """payer.json of a trial's state folder: whose ledger pays for its tasks, on which line, and under which name."""

    root: str
    role: str
    name: str

    @property
    def layout(self) -> Layout:
        """The state folder that pays."""
        return Layout(Path(self.root))


def payer_of(layout: Layout) -> Payer | None:
    """Return who pays for the tasks of a state folder; None where it does itself. ProviderError for a damaged file."""
    try:
        data = files.read(layout.payer)
        return msgspec.json.decode(data, type=Payer) if data is not None else None
    except (*UNDECODABLE, files.StoreError) as error:
        raise ProviderError(f"who pays for this trial cannot be read, so no call is made: {error}") from error


class TrialAccount(TaskAccount):
    """The account of one attempt, in the name of a trial. Where there is no room nobody waits: it goes on later."""

    def __init__(
        self,
        payer: Payer,
        now: Callable[[], float],
        spec: Spec,
        attempt: int,
        guard: Callable[[], AbstractContextManager[None]],
    ) -> None:
        named = replace(spec, id=f"{payer.name}-{spec.id}", role=payer.role, parent="")
        super().__init__(payer.layout, now, named, attempt, guard)

    def reserve(self, call: Reserve, *, seconds: float, waited: float, key: str = "") -> HoldReply:
        """Set aside what a call can cost; whatever is short ends the task."""
        reply = super().reserve(call, seconds=seconds, waited=waited, key=key)
        return replace(reply, own=reply.own or self._role) if reply.short else reply
