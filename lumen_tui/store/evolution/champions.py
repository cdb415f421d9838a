"""Which version of the evolved edits is in force: one pointer, the versions under their hashes, and the ledger.

The pointer alone decides. A version is written under its hash before the pointer names it, and never changed; the
ledger's line stands before the swap, so that every swap is explained, and a line without its swap is known as such.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.digests import sha256
from lumen_tui.model.evolved_edits import EditKind, EvolvedVersion, is_version
from lumen_tui.model.trials import Promotion, carried_out
from lumen_tui.storage import directories, files
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout

_MOST = 256 * 1024  # bytes of a version
_WAY_BACK = "`lumen-tui evolve rollback` goes back to the version before"


class DamagedChampion(ValueError):
    """The pointer, or the version that it names, cannot be used; the text says what to do."""


class _Pointer(Struct, frozen=True):
    """evals/champion.json: nothing but the name, so that a rollback gives the same bytes."""

    version: str = ""
    schema: int = 1


def path_of(layout: Layout, version: str) -> Path:
    """Return the file of a version. DamagedChampion for a name that is no hash."""
    if not version or not is_version(version):
        raise DamagedChampion(f"{version[:80]!r} names no version of evolved edits: {_WAY_BACK}")
    return layout.champions / f"{version}.json"


def pointed(layout: Layout) -> str:
    """Return the name of the version in force; empty for the root. DamagedChampion where that cannot be read."""
    try:
        data = files.read(layout.champion, _MOST)
        name = msgspec.json.decode(data, type=_Pointer).version if data is not None else ""
    except (*UNDECODABLE, files.StoreError) as error:
        raise DamagedChampion(f"evals/champion.json cannot be read ({error}): {_WAY_BACK}") from error
    if not is_version(name):
        raise DamagedChampion(f"evals/champion.json names no version: {_WAY_BACK}")
    return name


def read(layout: Layout, version: str) -> EvolvedVersion:
    """Return a version, checked against its hash. DamagedChampion where it is gone or not what it was."""
    if not version:
        return EvolvedVersion()
    data = files.read(path_of(layout, version), _MOST)
    if data is None or sha256(data) != version:
        state = "gone" if data is None else "not what was kept"
        raise DamagedChampion(f"the evolved edits {version[:12]} are {state}: {_WAY_BACK}")
    try:
        return msgspec.json.decode(data, type=EvolvedVersion)
    except UNDECODABLE as error:
        raise DamagedChampion(f"the evolved edits {version[:12]} cannot be read ({error}): {_WAY_BACK}") from error


def current(layout: Layout) -> EvolvedVersion:
    """Return the version in force. DamagedChampion."""
    return read(layout, pointed(layout))


def ledger(layout: Layout) -> list[Promotion]:
    """Return every promotion and rollback that happened, oldest first. DamagedChampion."""
    return carried_out(Journal(layout.promotions).records(Promotion), pointed(layout))


def swap(layout: Layout, promotion: Promotion, version: EvolvedVersion) -> None:
    """Bring a version into force: its file, the ledger's line, then the pointer. Call it under the lock of suites."""
    keep(layout, version)
    Journal(layout.promotions).append(promotion)
    _point(layout, version)


def read_current(layout: Layout) -> EvolvedVersion:
    """Return the version in force; the root where it cannot be read, for what needs no role."""
    try:
        return current(layout) if layout.champion.exists() else EvolvedVersion()
    except (DamagedChampion, files.StoreError, OSError):
        return EvolvedVersion()  # no task of a shipped role begins, and says why


def synonyms(layout: Layout) -> dict[str, str]:
    """Return by words that playbooks know those that stand for them."""
    return read_current(layout).of_kind(EditKind.PLAYBOOK)


def install(layout: Layout, version: EvolvedVersion) -> None:
    """Have a version in force in the state folder of a trial, which has no ledger."""
    keep(layout, version)
    _point(layout, version)


def keep(layout: Layout, version: EvolvedVersion) -> None:
    """Write a version under its hash, if it is not there."""
    if version.name:
        path = path_of(layout, version.name)
        directories.make_folder(path.parent)
        if files.read(path, _MOST) != version.data:
            files.replace(path, version.data)


def _point(layout: Layout, version: EvolvedVersion) -> None:
    if version.name:
        files.replace(layout.champion, msgspec.json.encode(_Pointer(version.name)) + b"\n")
    else:
        directories.remove(layout.champion)
