"""Hosts as the operator sees them, and which of them a task goes to. Pure: everything it goes by is given.

A host is registered by the operator, describes itself, and is looked at by the link. It is cordoned by a person, or by
name for what is wrong with it; a task that finds none waits, and never runs here instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.tasks import Spec, TaskView
from lumen_tui.model.text import one_line

ANY = "any"  # as the host of a task: whichever has room
MOST_SLOTS = 256  # more than one host has: it is not believed
ROOM = 256 * 1024 * 1024  # bytes that must be free on the disk of a host for a task to begin
MOST_SKEW = 60.0  # seconds between the clock of a host and that of its engine
MOST_RESOURCES, MOST_OF_ONE = 32, 100_000
TIERS = ("bubblewrap", "landlock")  # sandboxes that hold while nobody is there to ask
_RESOURCE = lazy_re(r"([a-z][a-z0-9-]{0,31})(?:=([1-9][0-9]{0,5}))?")


def resources_of(words: Iterable[str]) -> dict[str, int]:
    """Return how much of each resource words such as `gpu=2` name; `gpu` alone is one. ValueError."""
    found: dict[str, int] = {}
    for word in words:
        match = _RESOURCE.fullmatch(word)
        if match is None or int(match[2] or 1) > MOST_OF_ONE:
            raise ValueError(f"{one_line(word, 60)!r} is no resource: a name, such as gpu, or gpu=2 for two of them")
        found[match[1]] = int(match[2] or 1)
    if len(found) > MOST_RESOURCES:
        raise ValueError(f"{len(found)} resources are too many: {MOST_RESOURCES} at most")
    return found


def lacks(asked: Mapping[str, int], there: Mapping[str, int], held: Mapping[str, int]) -> str:
    """Return which resource of those that are there does not suffice, when so much is held; empty where all do."""
    for name, count in asked.items():
        if (whole := there.get(name, 0)) < count:
            return f"it has {whole or 'no'} {name}" + (f", and {count} are asked for" if whole else "")
        if whole - held.get(name, 0) < count:
            return f"{held.get(name, 0)} of {whole} {name} are at work"
    return ""


class HostFacts(Struct, frozen=True):
    """A host as it describes itself. `now` is its wall clock; `workers` are (task, attempt, frames so far).

    `kept` are attempts, (task, number), that have ended and lie there still, as many as are named at once.
    """

    name: str
    version: str
    slots: int
    roles: tuple[str, ...]
    tier: str
    now: float
    boot_id: str
    free: int
    workers: tuple[tuple[str, int, int], ...] = ()
    resources: dict[str, int] = {}
    kept: tuple[tuple[str, int], ...] = ()


class HostEntry(Struct, frozen=True):
    """A host that the operator has registered. `cordon` says why it takes no new task: empty, it takes some."""

    name: str
    added_at: str
    by: str
    cordon: str = ""
    leaves: bool = False  # it is drained: once nothing runs there, it ends


class HostSighting(Struct, frozen=True):
    """What the link knows of a host. `skew`: seconds by which its clock is ahead."""

    facts: HostFacts | None = None
    heard: float = 0.0  # when it answered last, in seconds since 1970
    skew: float = 0.0
    trouble: str = ""  # why nothing can begin there now


class Sightings(Struct, frozen=True):
    """hosts/seen.json: what the link saw. `address` is where hosts join."""

    address: str = ""
    trouble: str = ""  # why there is no link
    hosts: dict[str, HostSighting] = field(default_factory=dict)


class Host(Struct, frozen=True):
    """A registered host with what is known of it."""

    entry: HostEntry
    sighting: HostSighting = field(default_factory=HostSighting)

    @property
    def name(self) -> str:
        """Its name, which its certificate bears."""
        return self.entry.name

    @property
    def slots(self) -> int:
        """How many tasks it does at once; 0 where that is not known, or not believed."""
        facts = self.sighting.facts
        return facts.slots if facts is not None and 1 <= facts.slots <= MOST_SLOTS else 0

    def faults(self, version: str) -> list[str]:
        """Return what is wrong with the host itself, for an engine of that version; one sentence for each fault.

        No figure in them moves from one look to the next: each would be another fault.
        """
        facts, found = self.sighting.facts, []
        if self.sighting.trouble:
            return [self.sighting.trouble]
        if facts is None:
            return ["it has not joined yet"]
        if facts.version != version:
            found.append(f"it runs version {facts.version}, and the engine is {version}: install the same on both")
        if abs(self.sighting.skew) > MOST_SKEW:
            ahead = "ahead" if self.sighting.skew > 0 else "behind"
            found.append(f"its clock is more than {MOST_SKEW:.0f} s {ahead}: set it")
        if facts.tier not in TIERS:
            found.append("it has no sandbox that holds: `lumen-tui doctor` there says what is missing")
        if facts.free < ROOM:
            found.append(f"its disk is full: less than {ROOM // 1024**2} MiB are free")
        if not self.slots:
            found.append(f"it says that it has {facts.slots:,} slots, which is not believed")
        return found

    def closed(self, version: str) -> str:
        """Return why the host takes no task at all; empty where it does."""
        return self.entry.cordon or "; ".join(self.faults(version))


class HostWait(NamedTuple):
    """Where a task goes: `name`, or why it goes nowhere now, in two or three words and in a sentence."""

    name: str = ""
    short: str = ""
    words: str = ""


class HostBook(NamedTuple):
    """What placement goes by: the hosts, what runs on each, and where the tasks of a work unit ran last."""

    hosts: Sequence[Host] = ()
    busy: Mapping[str, int] = {}  # host -> tasks
    held: Mapping[str, Mapping[str, int]] = {}  # host -> resource -> how much of it they have
    units: Mapping[str, str] = {}  # work unit -> host
    link: str = ""  # why no host can be reached at all
    version: str = ""


NO_HOSTS = HostBook()


def with_load(book: HostBook, alive: Iterable[TaskView]) -> HostBook:
    """Return the book with what these tasks, which have workers, take of each host."""
    busy: Counter[str] = Counter()
    held: dict[str, Counter[str]] = {}
    for view in alive:
        if view.host:
            busy[view.host] += 1
            held.setdefault(view.host, Counter()).update(resources_of(view.spec.resources))
    return book._replace(busy=busy, held=held)


def place(spec: Spec, book: HostBook) -> HostWait:
    """Return the host of a task that names one or `any`: the last of its work unit, else the one with most room."""
    if spec.host == ANY and not book.hosts:
        return HostWait("", "no host", "it runs on any host, and there is none: `lumen-tui hosts add NAME`")
    wanted = one_line(spec.host, 60)
    named = [host for host in book.hosts if spec.host in (ANY, host.name)]
    if not named:
        return HostWait("", "no such host", f"it runs on host {wanted} alone, and there is no such host")
    if book.link:
        return HostWait("", "no link", f"it runs on host {wanted}, and no host can be reached: {book.link}")
    refusals = {host.name: why_not(host, spec, book) for host in named}
    free = [host for host in named if not refusals[host.name]]
    if not free:
        if spec.host != ANY:
            return HostWait("", "waits for host", f"it runs on host {wanted}: {refusals[spec.host]}")
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
        return HostWait("", "waits for host", f"it runs on any host, and none takes it now: {reasons}")
    last = book.units.get(spec.wu_id, "") if spec.wu_id else ""
    chosen = max(free, key=lambda host: (host.name == last, host.slots - book.busy.get(host.name, 0)))
    return HostWait(chosen.name)


def why_not(host: Host, spec: Spec, book: HostBook) -> str:
    """Return why a host does not take this task now; empty where it does."""
    if reason := host.closed(book.version):
        return reason
    facts = host.sighting.facts
    if facts is not None and facts.roles and spec.role not in facts.roles:
        return f"it has no role {spec.role}"
    if (now := book.busy.get(host.name, 0)) >= host.slots:
        return f"{now} of {host.slots} slots are at work"
    return lacks(resources_of(spec.resources), facts.resources if facts else {}, book.held.get(host.name, {}))
