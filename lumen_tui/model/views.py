"""Records without a library, for commands that must start within a few milliseconds.

A view is what a line or a file says, in the names of `records` and `work`; a page is what a fresh agent gets to go on
from. The annotations of a class are its fields, the values beside them their defaults. Texts are those of the
file unless it says otherwise; ages are in seconds.
"""

from __future__ import annotations

from lumen_tui.model import ids, times


class Plain:
    """One record; nobody changes a field of one that was handed out."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and builtins(self) == builtins(other)

    __hash__ = None  # type: ignore[assignment]  # fields may hold lists and dicts

    def __repr__(self) -> str:
        return f"{type(self).__name__}({builtins(self)})"


def builtins(value: object) -> object:
    """Return a record, or what holds some, as dicts and lists; other values as they are."""
    if isinstance(value, Plain):
        return {name: builtins(getattr(value, name)) for name in type(value).__annotations__}
    if isinstance(value, dict):
        return {key: builtins(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [builtins(inner) for inner in value]
    return value


class NodeView(Plain):
    """A memory node; every text in it was made safe."""

    id: str = ""
    type: str = "note"
    content: str = ""
    created_at: str = ""
    created_by: str = ""
    wu_id: str = ""
    session_id: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, object] = {}  # noqa: RUF012 - a default that nobody changes

    @property
    def title(self) -> str:
        """The first line of the content."""
        return self.content.partition("\n")[0]

    @property
    def priority(self) -> str:
        """P0 to P3, or the empty string."""
        value = self.metadata.get("priority")
        return value if value in ("P0", "P1", "P2", "P3") else ""

    @property
    def status(self) -> str:
        """`open`, or what became of it."""
        value = self.metadata.get("status")
        return value if isinstance(value, str) and value else "open"

    @property
    def created(self) -> float:
        """Creation in seconds since 1970; 0 where the date cannot be read."""
        return times.epoch(self.created_at)

    @property
    def author(self) -> str:
        """Who wrote it, as far as it says."""
        return self.created_by or "unknown"


class SignalView(Plain):
    """A signal; every text in it was made safe."""

    id: str = ""
    message: str = "(not readable)"
    created_at: str = ""
    type: str = "coordination"
    sender: str = "system"
    target_agent: str = ""
    wu_id: str = ""
    lane: str = ""
    priority: str = ""


class SessionView(Plain):
    """One session (sessions/<id>.json)."""

    session_id: str = ""
    started_at: str = ""
    active_wu: str = ""
    lane: str = ""
    files_touched: tuple[str, ...] = ()
    decisions: tuple[dict[str, str], ...] = ()
    agent: str = ""
    agent_type: str = "unknown"
    context_tier: str = "full"
    node_id: str = ""
    folder: str = ""
    started_below: tuple[str, ...] = ()
    head_at_start: str = ""
    dirty_at_start: dict[str, str] = {}  # noqa: RUF012 - a default that nobody changes
    last_activity: str = ""
    last_checkpoint: str = ""
    ended_at: str = ""
    ended_by: str = ""
    schema: int = 1


class UnitView(Plain):
    """A work unit with what claim, block and done write into its front matter."""

    id: str = ""
    title: str = ""
    lane: str = ""
    type: str = "task"
    priority: str = "P2"
    status: str = "ready"
    acceptance: tuple[str, ...] = ()
    discovered_in: str = ""
    discovery: str = ""
    created_at: str = ""
    created_by: str = ""
    body: str = ""
    claimed_by: str = ""
    claimed_at: str = ""
    claimed_in: str = ""
    blocked_by: str = ""
    blocked_at: str = ""
    blocked_reason: str = ""
    done_by: str = ""
    done_at: str = ""
    key: str = ""
    schema: int = 1


class HolderView(Plain):
    """Who holds a place in a lane."""

    lane: str = ""
    wu_id: str = ""
    by: str = ""
    since: str = ""
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    host: str = ""
    session_id: str = ""


def fields_of(kind: type[Plain], raw: dict[str, object]) -> dict[str, object] | None:
    """Return the fields of `raw` that this kind knows, lists as tuples; None where one is of a wrong type."""
    values = {}
    for name in kind.__annotations__:
        if name not in raw:
            continue
        value = raw[name]
        if isinstance(value, list):
            value = tuple(value)
        if type(value) is not type(getattr(kind, name)) or (isinstance(value, tuple) and not _plain_texts(name, value)):
            return None
        values[name] = value
    return values


def _plain_texts(name: str, values: tuple[object, ...]) -> bool:
    """Return whether a list holds texts, or that of the decisions records of texts with a question."""
    if name != "decisions":
        return all(isinstance(item, str) for item in values)
    return all(
        isinstance(item, dict) and "question" in item and all(isinstance(text, str) for text in item.values())
        for item in values
    )


def present_unit_fields(fields: dict[str, object]) -> dict[str, object]:
    """Return the front matter of a work unit with the fields about a discovery under their present names.

    Earlier files have the node's id under `discovered_in` and the work unit under `found_during`.
    """
    renamed = dict(fields)
    found_during = renamed.pop("found_during", None)
    discovered_in = renamed.get("discovered_in")
    if isinstance(discovered_in, str) and discovered_in and not ids.is_wu(discovered_in):
        renamed.setdefault("discovery", renamed.pop("discovered_in"))
    if found_during is not None:
        renamed.setdefault("discovered_in", found_during)
    return renamed


class PageEntry(Plain):
    """One line of the page. `extra` holds what this kind of line has beside its text."""

    id: str = ""
    kind: str = ""
    text: str = ""
    by: str = ""
    at: str = ""
    age_seconds: float = 0.0
    extra: dict[str, str] = {}  # noqa: RUF012 - a default that nobody changes


class Blocker(Plain):
    """Something open that must be closed first."""

    id: str = ""
    title: str = ""
    status: str = ""
    by: str = ""
    at: str = ""
    age_seconds: float = 0.0


class Page(Plain):
    """What `ready --wu` shows. Lists hold the newest or the most urgent; `left_out` counts the others."""

    wu_id: str = ""
    taken_at: str = ""
    unit: UnitView | None = None
    lane_holders: tuple[HolderView, ...] = ()
    session: SessionView | None = None  # the newest open one on this work unit
    session_age_seconds: float = 0.0
    other_sessions: tuple[str, ...] = ()
    handoffs: tuple[PageEntry, ...] = ()
    last_checkpoint: PageEntry | None = None
    files_touched: tuple[str, ...] = ()
    signals: tuple[PageEntry, ...] = ()
    pending_decisions: tuple[PageEntry, ...] = ()
    decisions: tuple[PageEntry, ...] = ()
    summary: PageEntry | None = None  # the newest one, of what is not listed any more
    discoveries: tuple[PageEntry, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    items: tuple[PageEntry, ...] = ()  # open nodes in order of priority, date and id
    drifted: tuple[str, ...] = ()  # facts that the work unit relies on and that are not so any more, each with its mark
    left_out: dict[str, int] = {}  # noqa: RUF012 - a default that nobody changes


class Cut(Plain):
    """What a block had no room for."""

    section: str = ""
    left_out: int = 0
    why: str = ""


class ContextBlock(Plain):
    """Text for an agent's context, within its budget of characters."""

    wu_id: str = ""
    text: str = ""
    size: int = 0
    max_size: int = 0
    cut: tuple[Cut, ...] = ()


NO_REPOSITORY = "not a git repository"


class Changes(Plain):
    """`why` says why nothing is known; it is empty where `stat` and `files` are what git said."""

    root: str = ""
    branch: str = ""
    head: str = ""  # the commit that the working tree is at
    base: str = ""  # what it was compared with
    stat: str = ""
    files: tuple[str, ...] = ()
    more_files: int = 0
    why: str = ""

    @property
    def count(self) -> int:
        """How many files."""
        return len(self.files) + self.more_files
