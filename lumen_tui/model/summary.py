"""How long nodes stay by their lifecycle, and the summary that takes their place when a work unit's notes go.

A summary reads like the conclusion of the work on one work unit, taken from the nodes' own words. Open discoveries and
decisions without an answer are named as still open; they are never taken in. The text depends on the nodes alone, so
the same nodes give the same summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field, json

from lumen_tui.model.ids import short_hash
from lumen_tui.model.kinds import CHECKPOINT_MARK, is_decided
from lumen_tui.model.text import one_line
from lumen_tui.model.times import DAY, HOUR


class Retention(Struct, frozen=True):
    """Seconds since the last touch. `project` nodes are kept for good."""

    ephemeral: float = 0.0
    session: float = HOUR
    wu: float = 7 * DAY

    def of(self, lifecycle: str) -> float | None:
        """Return the limit of one lifecycle; None where there is none."""
        return {"ephemeral": self.ephemeral, "session": self.session, "wu": self.wu}.get(lifecycle)


def is_pending_decision(node: Mapping[str, object]) -> bool:
    """Return whether a note asks for a decision that has no answer yet: it must not be put away."""
    metadata, tags = node.get("metadata"), node.get("tags")
    if node.get("type") != "note" or not isinstance(tags, (list, tuple)) or "decision" not in tags:
        return False
    return not is_decided(tags, node.get("content"), metadata.get("answer") if isinstance(metadata, dict) else "")


MOST_ITEMS = (40, 20, 10, 5)  # of one section, the newest of them; fewer where the text grows too long
MOST_BYTES = 16 * 1024  # of the text as JSON
MOST_OPEN = 300  # open nodes named in the record
MOST_NAMED = 1500  # sources named in the record, which is one line of a journal; each source names its summary too
_ITEM_CHARS = 300

Raw = Mapping[str, object]


class Subject(NamedTuple):
    """The work unit, as far as it is known."""

    wu_id: str
    title: str = ""
    status: str = ""
    lane: str = ""


class Draft(Struct, frozen=True):
    """A summary that could be written. `taken` are the nodes that it stands for from then on."""

    node_id: str
    content: str
    sources: tuple[str, ...] = ()  # everything the text is drawn from and that is closed
    taken: tuple[str, ...] = ()
    still_open: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()  # summaries of the same work unit that this one replaces
    left_out: int = 0  # sensitive nodes


class _Sorted(Struct):
    checkpoints: list[Raw] = field(default_factory=list)
    notes: list[Raw] = field(default_factory=list)
    decisions: list[Raw] = field(default_factory=list)
    pending: list[Raw] = field(default_factory=list)
    found: list[Raw] = field(default_factory=list)
    open: list[Raw] = field(default_factory=list)
    sessions: list[Raw] = field(default_factory=list)
    summaries: list[Raw] = field(default_factory=list)
    sensitive: int = 0


def meta(node: Raw, key: str) -> str:
    """Return a text in the node's metadata; empty where there is none."""
    facts = node.get("metadata")
    value = facts.get(key) if isinstance(facts, Mapping) else None
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def own_words(node: Raw) -> str:
    """Return why the words of a summary are its author's own, which nobody but a person may change; empty where not."""
    facts = node.get("metadata")
    if not isinstance(facts, Mapping) or not facts.get("source_nodes"):
        return "it was not drawn from notes"
    if author := meta(node, "own_words"):
        return f"they are {one_line(author, 60)}'s"
    if facts.get("sensitive") is True or facts.get("pinned") is True:
        return "it is pinned or sensitive"
    return ""


def draft(subject: Subject, nodes: Iterable[Raw]) -> Draft | None:
    """Return the summary of these nodes (of that work unit, not deleted); None where there is nothing to conclude."""
    parts = _sort(nodes)
    closed = [*parts.checkpoints, *parts.notes, *parts.decisions, *parts.found]
    if not closed:
        return None
    content = _text(subject, parts)
    needed = {id(node) for node in parts.checkpoints[-1:] if subject.status != "done"}  # a fresh agent goes on from it
    candidates = [*parts.checkpoints, *parts.notes, *parts.decisions]
    taken = [node for node in candidates if id(node) not in needed and not _must_stay(node)]
    sources = tuple(str(node["id"]) for node in _by_age([*closed, *parts.sessions]))
    return Draft(
        node_id=_id_for(content, sources),
        content=content,
        sources=sources,
        taken=tuple(str(node["id"]) for node in taken),
        still_open=tuple(str(node["id"]) for node in [*parts.open, *parts.pending]),
        earlier=tuple(str(node["id"]) for node in parts.summaries),
        left_out=parts.sensitive,
    )


def _id_for(content: str, sources: Sequence[str]) -> str:
    """Return the id that this text of these sources always gets."""
    key = "\n".join([content, *sources])
    return f"mem-{short_hash(key)}"


def _by_age(nodes: Iterable[Raw]) -> list[Raw]:
    return sorted(nodes, key=lambda node: (str(node.get("created_at", "")), str(node["id"])))


def _sort(nodes: Iterable[Raw]) -> _Sorted:
    parts = _Sorted()
    for node in _by_age(nodes):
        facts = node.get("metadata")
        if meta(node, "status") == "deleted":
            continue
        if isinstance(facts, Mapping) and facts.get("sensitive") is True:
            parts.sensitive += 1
            continue
        if (place := _place(parts, node)) is not None:
            place.append(node)
    return parts


def _place(parts: _Sorted, node: Raw) -> list[Raw] | None:
    kind = node.get("type")
    if kind == "discovery":
        return parts.open if meta(node, "status") in ("", "open") else parts.found
    if kind == "note":
        if is_pending_decision(node):
            return parts.pending
        return parts.decisions if "decision" in _tags(node) else parts.notes
    if kind == "summary" and (meta(node, "summarized_into") or meta(node, "status") not in ("", "open")):
        return None
    known = {"checkpoint": parts.checkpoints, "session": parts.sessions, "summary": parts.summaries}
    return known.get(str(kind), parts.notes)


def _tags(node: Raw) -> Sequence[object]:
    tags = node.get("tags")
    return tags if isinstance(tags, (list, tuple)) else ()


def _must_stay(node: Raw) -> bool:
    """Return whether a node stays active beside the summary: pinned, or handed over and not taken yet."""
    facts = node.get("metadata")
    pinned = isinstance(facts, Mapping) and facts.get("pinned") is True
    return pinned or ("handoff" in _tags(node) and not meta(node, "taken_at"))


def _text(subject: Subject, parts: _Sorted) -> str:
    sections = [
        ("Outcome", _outcome(subject, parts)),
        ("Decisions", [_decision(node) for node in parts.decisions]),
        ("What was done", [_step(node) for node in _by_age([*parts.checkpoints, *parts.notes])]),
        ("Found", [_finding(node) for node in [*parts.found, *parts.open]]),
        ("Next", _next(parts)),
    ]
    title = f"# {subject.wu_id}" + (f": {one_line(subject.title, 120)}" if subject.title else "")
    text = ""
    for most in MOST_ITEMS:
        text = "\n\n".join([title, *[_section(name, items, most) for name, items in sections if items]])
        if len(json.encode(text)) <= MOST_BYTES:
            break
    return text


def _section(name: str, items: list[str], most: int) -> str:
    shown = items[-most:]
    cut = len(items) - len(shown)
    head = [f"- ({cut} earlier ones are left out here; the sources have them)"] if cut else []
    return "\n".join([f"## {name}", *head, *shown])


def _said(node: Raw) -> str:
    text = one_line(str(node.get("content", "")), _ITEM_CHARS)
    return text.removeprefix(CHECKPOINT_MARK)


def _day(node: Raw, key: str = "") -> str:
    return one_line((meta(node, key) or str(node.get("created_at", "")))[:10])


def _outcome(subject: Subject, parts: _Sorted) -> list[str]:
    state = subject.status.replace("_", " ") or "no work unit file"
    lines = [f"- {state}" + (f", lane {one_line(subject.lane, 100)}" if subject.lane else "")]
    last = [*parts.checkpoints, *parts.notes][-1:] if not parts.checkpoints else parts.checkpoints[-1:]
    for node in last:
        lines.append(f"- In the end ({_day(node)}): {_said(node)}{_progress(node)}")
    open_ones = len(parts.open) + len(parts.pending)
    if open_ones:
        lines.append(f"- Still open: {len(parts.open)} found, {len(parts.pending)} to decide")
    return lines


def _decision(node: Raw) -> str:
    question = one_line(meta(node, "question"), _ITEM_CHARS) or _said(node)
    when = _day(node, "answered_at")
    if not meta(node, "answer"):
        return f"- {question} ({when})"
    return f"- {question} → {one_line(meta(node, 'answer'), _ITEM_CHARS)} ({when})"


def _step(node: Raw) -> str:
    return f"- {_day(node)} {_said(node)}{_progress(node)}"


def _progress(node: Raw) -> str:
    return f" ({one_line(meta(node, 'progress'), 60)})" if meta(node, "progress") else ""


def _finding(node: Raw) -> str:
    status = meta(node, "status")
    fates = {
        "promoted": f"became {meta(node, 'promoted_to') or 'a work unit'}",
        "archived": meta(node, "archive_reason") or "archived",
    }
    fate = fates.get(status, f"STILL OPEN as {node['id']}" if status in ("", "open") else status)
    priority = f"{one_line(meta(node, 'priority'), 20)} " if meta(node, "priority") else ""
    return f"- {priority}{_said(node)} — {one_line(fate, _ITEM_CHARS)}"


def _next(parts: _Sorted) -> list[str]:
    lines = []
    for node in parts.checkpoints[-1:]:
        if steps := meta(node, "nextSteps") or meta(node, "next_steps"):
            lines.append(f"- {one_line(steps, _ITEM_CHARS)}")
    lines += [
        f"- Decide ({node['id']}): {one_line(meta(node, 'question'), 200) or _said(node)}" for node in parts.pending
    ]
    return lines + [f"- Judge what was found ({node['id']}): {_said(node)}" for node in parts.open]
