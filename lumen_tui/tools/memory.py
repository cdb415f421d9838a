"""memory_search, recall, remember and read_signals: what a worker may know of before and leave for later.

What it remembers is marked as a worker's word, and as not to be trusted once it has read from the web; only a person
makes more of it.
"""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import ids, times
from lumen_tui.model.records import NODE_TYPES, Node, Receipt, Touch
from lumen_tui.model.text import one_line, safe
from lumen_tui.store import inbox, nodes
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural

_EXCERPT = 240
_LONGEST = 20_000  # characters of one node that are handed on
_HIDDEN = ("archived", "deleted")


class SearchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(min_length=2, max_length=300, description="words; nodes with most of them first")]
    type: Annotated[Literal["", *NODE_TYPES], Meta(description="only nodes of this type")] = ""  # type: ignore[valid-type]
    limit: Annotated[int, Meta(ge=1, le=50, description="at most so many")] = 10


class RecallArguments(Struct, frozen=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(min_length=1, max_length=64, description="the id of a node, such as mem-7f2k9c0w4h1zt")]


class RememberArguments(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=8000, description="what to keep; its first line is a title")]
    tags: Annotated[tuple[str, ...], Meta(max_length=10, description="short words")] = ()


class SignalsArguments(Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=100, description="the newest so many")] = 20
    mark_read: Annotated[bool, Meta(description="whether they count as read by this role then")] = True


class _Slim(Struct, gc=False):
    """As much of a node as a search needs."""

    id: str = ""
    type: str = ""
    content: str = ""
    created_at: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


_slim = msgspec.json.Decoder(_Slim).decode


def _hits(context: Context, words: list[str], kind: str) -> list[tuple[int, str, _Slim]]:
    """(words found, date, node) of each node that has any of the words; the last line of an id counts."""
    found: dict[str, tuple[int, str, _Slim]] = {}
    for number, line in enumerate(context.store.nodes.lines()):
        if number % 4096 == 0:
            context.check()
        try:
            node = _slim(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        text = f"{node.content} {' '.join(node.tags)}".lower()
        count = sum(word in text for word in words)
        if not count or (kind and node.type != kind) or node.metadata.get("status") in _HIDDEN:
            found.pop(node.id, None)
        else:
            found[node.id] = (count, node.created_at, node)
    return sorted(found.values(), key=lambda hit: hit[:2], reverse=True)


def trust(metadata: dict[str, Any]) -> str:
    """Whose word a node is."""
    found = metadata.get("trust")
    return one_line(found, 20) if isinstance(found, str) and found else "operator or agent"


def memory_search(context: Context, arguments: SearchArguments) -> ToolResult:
    words = list(dict.fromkeys(re.findall(r"\w+", arguments.query.lower())))
    if not words:
        raise ToolError("the query has no word in it")
    hits = _hits(context, words, arguments.type)
    shown = hits[: arguments.limit]
    lines = [_line(node) for _, _, node in shown]
    if len(hits) > len(shown):
        lines.append(f"… and {len(hits) - len(shown):,} more")
    data = {"total": len(hits), "ids": [node.id for _, _, node in shown]}
    return ToolResult("\n".join(lines) or "nothing found", data=data, summary=plural(len(hits), "node"))


def _line(node: _Slim) -> str:
    excerpt = one_line(node.content, _EXCERPT)
    return f"{node.id}  {node.type}  {node.created_at[:10]}  ({trust(node.metadata)})  {excerpt}"


def recall(context: Context, arguments: RecallArguments) -> ToolResult:
    try:
        node_id = nodes.resolve(context.store.layout.memory, ids.check_file_name(arguments.id, "node id"), "mem")
    except nodes.Ambiguous as error:
        raise ToolError(f"{arguments.id!r} is the beginning of several ids: {', '.join(error.candidates)}") from error
    except (LookupError, ids.BadId):
        raise ToolError(f"there is no node {one_line(arguments.id, 60)!r}: memory_search finds ids") from None
    _, record = nodes.find(context.store.layout.memory, [node_id])[node_id]
    content = str(record.get("content", ""))
    metadata = record.get("metadata") if isinstance(record.get("metadata"), dict) else {}
    with context.guard():
        touch = Touch(node_id=node_id, at=times.iso(context.now()), kind="use", by=context.role.name)
        context.store.touches.append(touch)
    head = f"{node_id}  {record.get('type')}  {record.get('created_at')}  ({trust(metadata or {})})"
    cut = f"\n… {len(content) - _LONGEST:,} more characters" if len(content) > _LONGEST else ""
    return ToolResult(f"{head}\n{content[:_LONGEST]}{cut}", data={"id": node_id}, summary=ids.short(node_id))


def source_of(context: Context) -> dict[str, Any]:
    """Where a note comes from: its task, and how far it can be trusted."""
    hosts = sorted(context.kept.web)
    found: dict[str, Any] = {"task_id": context.spec.id, "trust": "untrusted" if hosts else "worker"}
    return {**found, "read_from": hosts[:10]} if hosts else found


def label(tag: str) -> str:
    """A tag that may be written; ToolError otherwise."""
    try:
        return ids.check_label(safe(tag.strip()), "tag")
    except ids.BadId as error:
        raise ToolError(str(error)) from error


def remember(context: Context, arguments: RememberArguments) -> ToolResult:
    node = Node(
        id=ids.new_id("mem"), type="note", content=context.redact(safe(arguments.text)).strip(), lifecycle="project",
        created_at=times.iso(context.now()), wu_id=context.spec.wu_id, metadata=source_of(context),
        tags=tuple(label(tag) for tag in arguments.tags), created_by=context.role.name,
    )  # fmt: skip
    with context.guard():
        context.store.nodes.append(node)
    return ToolResult(f"{node.id} remembered", data={"id": node.id}, summary=ids.short(node.id))


def read_signals(context: Context, arguments: SignalsArguments) -> ToolResult:
    reader = context.role.name
    folder = os.fspath(context.store.layout.signals.parent)
    page = inbox.unread(folder, reader, arguments.limit, lambda raw: raw.get("target_agent") in (None, "", reader))
    lines = [_signal(raw) for _, raw in page.found]
    if page.more:
        lines.append("… older ones are unread as well")
    if arguments.mark_read and page.found:
        now = times.iso(context.now())
        receipts = [Receipt(str(raw["id"]), now, reader, offset=at) for at, raw in page.found]
        with context.guard():
            context.store.receipts.append_all(receipts)
    data = {"ids": [raw["id"] for _, raw in page.found], "more": page.more}
    return ToolResult("\n".join(lines) or "nothing unread", data=data, summary=plural(len(page.found), "signal"))


def _signal(raw: dict[str, Any]) -> str:
    words = [raw.get(name) for name in ("priority", "wu_id", "lane")]
    where = " ".join(str(word) for word in words if isinstance(word, str) and word)
    sender = one_line(str(raw.get("sender", "")), 60)
    said = one_line(str(raw.get("message")), 1000)
    return f"{raw['id']}  {raw.get('created_at', '')}  from {sender}  {where}\n  {said}"


MEMORY_SEARCH = Tool(
    "memory_search", "Search what the agent remembers. Each hit says whose word it is.", SearchArguments,
    memory_search, lambda a: f"memory_search {a.query}",
)  # fmt: skip
RECALL = Tool("recall", "Read one node of memory whole.", RecallArguments, recall, lambda a: f"recall {a.id}")
REMEMBER = Tool(
    "remember", "Keep something for later tasks. It is marked as your word; a person decides what becomes of it.",
    RememberArguments, remember, lambda a: f"remember {a.text}", risk="It stays in the agent's memory.",
)  # fmt: skip
READ_SIGNALS = Tool(
    "read_signals", "Read the notes to this role and to everybody that this role has not read yet.", SignalsArguments,
    read_signals, lambda a: "read_signals",
)  # fmt: skip
