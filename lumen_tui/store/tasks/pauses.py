"""What holds work back: the kill switch, and who paused what, and until when.

While kill.json exists, every worker is ended and nothing starts; it may be put there by hand. pause.json pauses all,
pauses.json the loop and single roles, hold.json a task. A pause ends when a person resumes or at its own time. Readers
treat a pause whose time is over as none.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import Pause, Pauses
from lumen_tui.model.problem import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout

ENGINE = "engine"  # who paused a role whose workers kept dying, and a provider that gives no answer
PROVIDER = "provider:"
EVERYTHING, LOOP = "everything", "the loop"
HOLD_FILE = "hold.json"
_UNREADABLE = "the file cannot be read; remove it to continue"


def paused(layout: Layout) -> Pause | None:
    """Return the pause of everything, over or not; None where there is none.

    Where the paused parts cannot be read, each of them may be paused, and nothing starts.
    """
    if (everything := _read(layout.pause)) is not None:
        return everything
    return _unknown(layout.pauses) if _read_parts(layout) is None else None


def pause_all(layout: Layout, pause: Pause | None) -> None:
    """Pause everything, or resume with None."""
    if pause is None:
        directories.remove(layout.pause)
    else:
        files.replace(layout.pause, msgspec.json.encode(pause))


def held(folder: Path) -> Pause | None:
    """Return the hold of one task; None where there is none."""
    return _read(folder / HOLD_FILE)


def _read(path: Path) -> Pause | None:
    try:
        data = files.read(path)
        return msgspec.json.decode(data, type=Pause) if data else None
    except (*UNDECODABLE, files.StoreError, OSError):
        return _unknown(path)


def _unknown(path: Path) -> Pause:
    return Pause(at="", by="unknown", reason=f"{path.name}: {_UNREADABLE}")


def parts(layout: Layout) -> Pauses:
    """Return what is paused of the loop and the roles, over or not."""
    known = _read_parts(layout)
    return Pauses(loop=_unknown(layout.pauses)) if known is None else known


def _read_parts(layout: Layout) -> Pauses | None:
    """Return the same as `parts`; None where it cannot be read."""
    try:
        return msgspec.json.decode(files.read(layout.pauses) or b"{}", type=Pauses)
    except (*UNDECODABLE, files.StoreError, OSError):
        return None


def in_force(layout: Layout, now: float) -> dict[str, str]:
    """Return what is paused now, by whom and why, as `words` names it."""
    return words(paused(layout), parts(layout), now)


def words(everything: Pause | None, paused_parts: Pauses, now: float) -> dict[str, str]:
    """Return the pauses in words: `{"the loop": "paused by ann: a drill"}`; names: EVERYTHING, LOOP, `role NAME`."""
    named = [(EVERYTHING, everything), (LOOP, paused_parts.loop)]
    named += [(role_words(name), part_pause) for name, part_pause in paused_parts.roles.items()]
    named += [(provider_words(name), part_pause) for name, part_pause in paused_parts.providers.items()]
    return {
        one_line(name, 80): one_line(part_pause.words, 300)
        for name, part_pause in named
        if part_pause and not part_pause.over(now)
    }


def role_words(role: str) -> str:
    """Return how `words` names a role."""
    return f"role {role}"


def provider_words(endpoint: str) -> str:
    """Return how `words` names a provider."""
    return f"provider {endpoint}"


def change(layout: Layout, name: str, pause: Pause | None) -> bool:
    """Pause `loop`, `role:NAME` or `provider:NAME`, or resume it with None; return whether that changed anything."""
    with locks.waiting_lock(layout.lock("pauses")):
        before = parts(layout)
        after = _with(before, name, pause)
        if after == before:
            return False
        files.replace(layout.pauses, msgspec.json.encode(after))
        return True


def close(layout: Layout, endpoint: str, pause: Pause) -> bool:
    """Pause a provider unless it is paused; return whether this did. Of two limits the later one holds."""
    with locks.waiting_lock(layout.lock("pauses")):
        before = parts(layout)
        known = before.providers.get(endpoint)
        if known is None or times.epoch(known.until, 0.0) < times.epoch(pause.until, 0.0):
            files.replace(layout.pauses, msgspec.json.encode(_with(before, f"{PROVIDER}{endpoint}", pause)))
        return known is None


def _with(before: Pauses, name: str, pause: Pause | None) -> Pauses:
    kind, _, part = name.partition(":")
    if kind == "loop":
        return msgspec.structs.replace(before, loop=pause)
    table = before.providers if name.startswith(PROVIDER) else before.roles
    changed = {key: value for key, value in table.items() if key != part} | ({part: pause} if pause else {})
    if name.startswith(PROVIDER):
        return msgspec.structs.replace(before, providers=changed)
    return msgspec.structs.replace(before, roles=changed)


def hold(folder: Path, pause: Pause) -> None:
    """Ask the worker of a task to pause."""
    files.replace(folder / HOLD_FILE, msgspec.json.encode(pause))


def let_go(folder: Path) -> None:
    """Let the worker of a task go on."""
    directories.remove(folder / HOLD_FILE)


def stopped(paused_parts: Pauses) -> list[Problem]:
    """Return problems for what the engine paused and only a person can mend: roles whose workers kept dying, providers
    that refuse the key or have no credit. A limit that ends by itself is none.
    """
    closed = [
        Problem(
            where=f"provider {name}",
            what=f"nothing that needs it starts: {pause.reason}",
            hint=f"mend that (a new key: restart the engine with it), or lumen-tui resume provider {name}",
        )
        for name, pause in paused_parts.providers.items()
        if pause.by == ENGINE and not pause.until
    ]
    return closed + [
        Problem(
            where=f"role {name}",
            what=f"nothing of it starts: {role_pause.reason}",
            hint=f"lumen-tui resume role {name}",
        )
        for name, role_pause in paused_parts.roles.items()
        if role_pause.by == ENGINE
    ]


class Kill(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who threw the switch, and why."""

    at: str = ""
    by: str = ""
    reason: str = ""
    schema: int = 1

    @property
    def words(self) -> str:
        """The sentence for people: `killed by ann: it ran wild`."""
        who = f" by {one_line(self.by, 60)}" if self.by else ""
        return f"killed{who}" + (f": {one_line(self.reason, 200)}" if self.reason else "")


def is_killed(layout: Layout) -> bool:
    """Return whether the file exists, whatever it holds."""
    try:
        layout.kill.lstat()
    except OSError:
        return False
    return True


def read_kill(layout: Layout) -> Kill | None:
    """Return who killed the agent; None where nobody did. A file that cannot be read kills as well."""
    if not is_killed(layout):
        return None
    try:
        return msgspec.json.decode(files.read(layout.kill) or b"{}", type=Kill)
    except (*UNDECODABLE, files.StoreError, OSError):
        return Kill(reason="kill.json is there but cannot be read")


def write_kill(layout: Layout, kill: Kill) -> None:
    """Throw the switch, durably."""
    files.replace(layout.kill, msgspec.json.encode(kill))


def remove_kill(layout: Layout) -> None:
    """Remove the switch."""
    directories.remove(layout.kill)
