"""What servers tell people: documents of the catalogue as short Markdown, calls and questions that wait whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lumen_tui.model.approvals import Approval, canonical, whole_call
from lumen_tui.model.budget import dollars
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.documents import Document

ANSWER_FORM: Document = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "title": "Answer", "description": "a text, or the number of an option"}
    },
    "required": ["answer"],
}
"""What a person fills in to answer a question: a JSON Schema, as MCP and ACP have it."""
_ENTRY = 300  # characters of one entry


def entries(value: object) -> list[Document]:
    """Return the objects of a list; what is none is left out."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, (list, tuple)) else []


def status(document: Mapping[str, object]) -> str:
    """Return what `status` answers."""
    agent, spend = _mapping(document["agent"]), _mapping(document["spend"])
    lines = [f"**{agent['state']}**: {agent['detail']}", f"- engine: {document['engine']}"]
    counts = [f"{document[name]} {name}" for name in ("asking", "running", "queued", "failed") if document.get(name)]
    lines += [f"- tasks: {', '.join(counts) or 'none open'}"]
    lines += [f"- spent today: {dollars(float(str(spend.get('usd', 0))))}"]
    held, needs = document["held_back"], entries(document["attention"])
    lines += [f"- held back: {reason}" for reason in held] if isinstance(held, list) else []
    lines += [f"- needs you: {len(needs)}, see /needs"] if needs else []
    return "\n".join(lines)


def needs(document: Mapping[str, object]) -> str:
    """Return what `attention` answers."""
    return _listed(
        (f"{one_line(str(entry['text']), _ENTRY)} (`{entry['target']}`)" for entry in entries(document["attention"])),
        "Nothing needs you.",
    )


def briefing(document: Mapping[str, object]) -> str:
    """Return what `briefing` answers: its sections with an entry a line; empty where nothing is known."""
    lines = []
    for section in entries(document["sections"]):
        lines += ["", f"{section['name']}"]
        lines += [f"- {hit['ref']}: {one_line(str(hit['excerpt']), _ENTRY)}" for hit in entries(section["hits"])]
    return "\n".join([str(document["title"]), *lines]) if lines else ""


def signals(document: Mapping[str, object]) -> str:
    """Return what `inbox` answers."""
    return _listed(
        (
            f"{entry.get('sender', '')}: {one_line(str(entry.get('message', '')), _ENTRY)} (`{entry.get('id', '')}`)"
            for entry in entries(document["signals"])
        ),
        "No signal is unread.",
    )


def discoveries(document: Mapping[str, object]) -> str:
    """Return what `list_discoveries` answers."""
    rows = entries(document["discoveries"])
    words = _listed(
        (f"{one_line(str(row.get('content', '')), _ENTRY)} (`{row.get('id', '')}`)" for row in rows),
        "No discovery is open.",
    )
    more = int(str(document["total"])) - len(rows)
    return f"{words}\n- and {more} more" if more > 0 else words


def tasks(document: Mapping[str, object]) -> str:
    """Return what `list_tasks` answers."""
    return _listed(
        (
            f"{row['status']}, {row['role']}: {one_line(str(row['objective']), _ENTRY)} (`{row['id']}`)"
            for row in entries(document["tasks"])
        ),
        "No task is open.",
    )


def _listed(lines: Iterable[str], nothing: str) -> str:
    return "\n".join(f"- {line}" for line in lines) or nothing


def _mapping(value: object) -> Document:
    return value if isinstance(value, dict) else {}


def question(request: Approval) -> str:
    """Return a question as it is read, with its options."""
    options = "".join(f"\n{number}. {text}" for number, text in enumerate(request.options, 1))
    return safe(f"{request.role} asks: {request.question}{options}")


def call(request: Approval) -> str:
    """Return all of a call that an answer counts for, and what is known of it."""
    facts = [request.risk, f"In {request.folder}" if request.folder else "", request.why]
    whole = canonical(request.tool, request.arguments).decode()
    parts = [whole_call(request), *facts, request.diff, f"All of the call: {whole}"]
    return safe("\n\n".join(part for part in parts if part))
