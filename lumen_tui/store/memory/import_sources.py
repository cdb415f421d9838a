"""What can be imported: a .lumenflow folder, and issues of beads (issues.jsonl).

An issue becomes a discovery under its own id; what has no place in a node goes to metadata.beads. Nothing of an issue
is lost, and the mapping never varies.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.ids import short_hash
from lumen_tui.model.jsontext import text_of
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean
from lumen_tui.store.memory import importing
from lumen_tui.store.memory.importing import ImportPart, ImportReport, SourceLine

_LONG_AGO = "1970-01-01T00:00:00.000Z"
_IN_THE_NODE = ("id", "title", "description", "created_at", "updated_at")
_RELATIONS = {"parent-child": "parent_child", "discovered-from": "discovered_from", "blocks": "blocks"}


def lumenflow_folder(path: Path) -> Path | None:
    """Return the .lumenflow folder that `path` is or holds."""
    for folder in (path, path / ".lumenflow"):
        if (folder / "memory").is_dir():
            return folder
    return None


def import_lumenflow(layout: Layout, folder: Path, now: str) -> ImportReport:
    """Import a .lumenflow folder: journals line by line, session and stamp files whole."""
    report = ImportReport(kind="lumenflow", path=str(folder), parts=[])
    journals = {
        layout.memory: ("id", "type", "content", "created_at"),
        layout.signals: ("id", "message", "created_at"),
        layout.receipts: ("signal_id", "read_at"),
        layout.relationships: ("from_id", "to_id", "type", "created_at"),
    }
    for target, needed in journals.items():
        source = folder / "memory" / target.name
        if source.is_file():
            sources = importing.checked(importing.read_lines(source), importing.why_not(*needed))
            report.parts.append(importing.add_lines(layout, target, source, sources, now))
    for name, pattern in (("sessions", "*.json"), ("stamps", "*.done")):
        if (folder / name).is_dir():
            report.parts.append(_copy_files(layout, folder / name, layout.root / name, pattern))
    return report


def _copy_files(layout: Layout, source: Path, target: Path, pattern: str) -> ImportPart:
    """Copy the files that are missing here; existing ones are never overwritten."""
    part = ImportPart(source=str(source), target=str(target.relative_to(layout.root)))
    for path in sorted(source.glob(pattern)):
        part.read += 1
        try:
            place = target / ids.check_file_name(path.name)
            data = files.read(path)
        except (ids.BadId, files.StoreError) as error:
            part.quarantined += 1
            part.problems.append(f"{path}: {error}")
            continue
        if (present := files.read(place)) is None:
            files.replace(place, _clean_file(data or b""))
            part.added += 1
            part.copied.append(str(place.relative_to(layout.root)))
            continue
        part.present += 1
        if present != _clean_file(data or b""):
            part.problems.append(f"{path}: ours is another and was kept")
    return part


def _clean_file(data: bytes) -> bytes:
    """Return a session or stamp file without secrets; one that is not UTF-8 unchanged."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    redacted = clean(text)
    return data if redacted == text else redacted.encode()


def issues_file(path: Path) -> Path | None:
    """Return the file of issues that `path` is or holds."""
    if path.is_file():
        return path
    names = ("issues.jsonl", "beads.jsonl", ".beads/issues.jsonl", ".beads/beads.jsonl")
    return next((path / name for name in names if (path / name).is_file()), None)


def import_beads(layout: Layout, path: Path, now: str) -> ImportReport:
    """Import the issues of one file, and their dependencies as relationships."""
    issues: list[SourceLine] = []
    edges: list[SourceLine] = []
    for source in importing.read_lines(path):
        if not source.line:
            continue
        issue = None if source.reason else _issue(source)
        if issue is None:
            issues.append(source)
            continue
        issues.append(_line(source, _node(issue)))
        edges.extend(_line(source, edge) for edge in _edges(issue))
    parts = [
        importing.add_lines(layout, layout.memory, path, issues, now),
        importing.add_lines(layout, layout.relationships, path, edges, now),
    ]
    return ImportReport(kind="beads", path=str(path), parts=parts)


def _issue(source: SourceLine) -> dict[str, Any] | None:
    """Return the issue in a line; None where there is none, with the reason set on `source`."""
    try:
        issue = msgspec.json.decode(source.line)
    except UNDECODABLE as error:
        source.reason = str(error)
        return None
    named = isinstance(issue, dict) and all(isinstance(issue.get(key), str) and issue[key] for key in ("id", "title"))
    if not named:
        source.reason = "not an issue: it has no id or no title"
        return None
    return dict(issue)


def _line(source: SourceLine, record: dict[str, Any]) -> SourceLine:
    line = msgspec.json.encode(record)
    if len(line) > files.MAX_READ_LINE:
        return SourceLine(source.number, source.line, "the issue is longer than 1 MiB")
    return SourceLine(source.number, line)


def node_id(beads_id: str) -> str:
    """Return the issue's own id, or one derived from it where it is not a valid id here."""
    try:
        return ids.check_file_name(beads_id)
    except ids.BadId:
        return f"mem-{short_hash(beads_id)}"


def _node(issue: dict[str, Any]) -> dict[str, Any]:
    description = text_of(issue, "description")
    node: dict[str, Any] = {
        "id": node_id(issue["id"]),
        "type": "discovery",
        "lifecycle": "wu",
        "content": issue["title"] + (f"\n\n{description}" if description else ""),
        "created_at": text_of(issue, "created_at") or text_of(issue, "updated_at") or _LONG_AGO,
    }
    if updated := text_of(issue, "updated_at"):
        node["updated_at"] = updated
    if tags := _tags(issue):
        node["tags"] = tags
    if author := text_of(issue, "created_by"):
        node["created_by"] = author
    node["metadata"] = _metadata(issue)
    node["schema"] = 1
    return node


def _tags(issue: dict[str, Any]) -> list[str]:
    labels = issue.get("labels")
    words = [*(labels if isinstance(labels, list) else ()), text_of(issue, "issue_type")]
    return list(dict.fromkeys(word for word in words if isinstance(word, str) and word))


def _metadata(issue: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    priority = issue.get("priority")
    if isinstance(priority, int) and 0 <= priority <= 4:
        metadata["priority"] = f"P{min(priority, 3)}"
    status = text_of(issue, "status")
    if status == "closed":
        metadata["status"] = "archived"
        metadata["archive_reason"] = text_of(issue, "close_reason") or "closed in beads"
        metadata["archived_at"] = text_of(issue, "closed_at") or text_of(issue, "updated_at") or _LONG_AGO
    elif status == "tombstone":
        metadata["status"] = "deleted"
        metadata["deleted_at"] = text_of(issue, "deleted_at") or _LONG_AGO
    elif status == "pinned":
        metadata["pinned"] = True
    if node_id(issue["id"]) != issue["id"]:
        metadata["beads_id"] = issue["id"]
    metadata["beads"] = {key: value for key, value in issue.items() if key not in _IN_THE_NODE}
    return metadata


def _edges(issue: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an issue's dependencies. Where B blocks A or is A's parent, beads has it on A; our edge begins at B."""
    dependencies = issue.get("dependencies")
    for dependency in dependencies if isinstance(dependencies, list) else ():
        target = text_of(dependency, "depends_on_id") if isinstance(dependency, dict) else ""
        if not target:
            continue
        source = node_id(text_of(dependency, "issue_id") or issue["id"])
        target_id = node_id(target)
        kind = text_of(dependency, "type")
        relation = _RELATIONS.get(kind, "related")
        backwards = relation in ("blocks", "parent_child")
        edge = {
            "from_id": target_id if backwards else source,
            "to_id": source if backwards else target_id,
            "type": relation,
            "created_at": text_of(dependency, "created_at") or text_of(issue, "created_at") or _LONG_AGO,
        }
        yield edge if relation != "related" or kind == "related" else {**edge, "beads_type": kind}
