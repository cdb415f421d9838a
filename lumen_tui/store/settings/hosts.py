"""hosts/: which hosts the operator has registered, what the link saw of them, and whether there is a link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from lumen_tui import __version__
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.hosting import Host, HostBook, HostEntry, HostSighting, Sightings
from lumen_tui.model.problem import Problem
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.layout import Layout

MOST = 200
_NO_LINK = "the engine has not opened the link to them"


def entries(layout: Layout) -> list[HostEntry]:
    """Return the registered hosts by name; none where the file cannot be read: then no task goes to any."""
    try:
        data = files.read(layout.host_registry)
        return [] if data is None else decode_safe(data, list[HostEntry])
    except (*UNDECODABLE, files.StoreError):
        return []


def change(layout: Layout, name: str, decide: Callable[[HostEntry | None], HostEntry | None]) -> HostEntry | None:
    """Put what `decide` makes of a host in its place, None to remove it; return that. StoreError, what it raises."""
    directories.make_folder(layout.hosts)
    with locks.waiting_lock(layout.lock("hosts")):
        known = {entry.name: entry for entry in entries(layout)}
        new = decide(known.pop(name, None))
        if new is not None:
            known[name] = new
        ordered = [known[each] for each in sorted(known)]
        files.replace(layout.host_registry, msgspec.json.encode(ordered))
    return new


def sightings(layout: Layout) -> Sightings:
    """Return what the link saw; nothing where there is none, or it cannot be read."""
    try:
        data = files.read(layout.host_sightings)
        return Sightings() if data is None else decode_safe(data, Sightings)
    except (*UNDECODABLE, files.StoreError):
        return Sightings()


def see(layout: Layout, seen: Sightings) -> None:
    """Record what the link saw. StoreError."""
    files.replace(layout.host_sightings, msgspec.json.encode(seen))


def link_fault(layout: Layout) -> str:
    """Return why no host can be reached at all; empty where the link is open."""
    if locks.is_locked(layout.link_lock):
        return sightings(layout).trouble
    return sightings(layout).trouble or _NO_LINK


def known_hosts(layout: Layout) -> list[Host]:
    """Return every registered host with what the link saw of it."""
    registered = entries(layout)
    if not registered:
        return []
    seen = sightings(layout).hosts
    return [Host(entry, seen.get(entry.name, HostSighting())) for entry in registered]


def book(layout: Layout, known: Sequence[Host] | None = None) -> HostBook:
    """Return what placement goes by, without what is at work; `known` where the hosts were read already."""
    registered = known_hosts(layout) if known is None else known
    return HostBook(registered, link=link_fault(layout) if registered else "", version=__version__)


def problems(known: Iterable[Host]) -> list[Problem]:
    """Return a problem for each host that can do nothing, unless a person has cordoned it."""
    return [
        Problem(f"host {host.name}", reason, "it begins no task until then; tasks for it wait")
        for host in known
        if not host.entry.cordon
        for reason in host.faults(__version__)
    ]


def sources(layout: Layout) -> list[Path]:
    """Return the files that these come from."""
    return [layout.host_registry, layout.host_sightings]
