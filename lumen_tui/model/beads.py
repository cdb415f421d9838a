"""Issues of beads as discoveries, and back. The mapping never varies, and nothing of an issue is lost.

An issue becomes a discovery under its own id; what has no place in a node goes to metadata.beads. Where B blocks A or
is A's parent, beads has it on A; our edge begins at B. What is outside of the project (`external:PROJECT:CAPABILITY`)
keeps its name as the end of an edge.
"""

from __future__ import annotations

from collections.abc import Iterator

from lumen_tui.model import ids
from lumen_tui.model.foreign import Raw
from lumen_tui.model.ids import short_hash
from lumen_tui.model.jsontext import text_of

LONG_AGO = "1970-01-01T00:00:00.000Z"
EXTERNAL = "external:"
BACKLOG = 4  # the priority that beads has and we have not: P3 here, and its own in metadata.beads
MEMORY_TAG = "beads-memory"
_LOWEST = 3
_IN_THE_NODE = ("id", "title", "description", "created_at", "updated_at")
_RELATIONS = {"parent-child": "parent_child", "discovered-from": "discovered_from", "blocks": "blocks"}
_BACKWARDS = ("blocks", "parent_child")


def node_id(beads_id: str) -> str:
    """Return the issue's own id, or one derived from it where it is not a valid id here."""
    if is_external(beads_id):
        return beads_id
    try:
        return ids.check_file_name(beads_id)
    except ids.BadId:
        return f"mem-{short_hash(beads_id)}"


def is_external(name: str) -> bool:
    """Return whether this names something in another project, which is the end of an edge and never a node."""
    return name.startswith(EXTERNAL) and len(name) <= 200 and name.isprintable() and " " not in name


def node_of(issue: Raw) -> Raw:
    """Return the discovery that an issue becomes."""
    description = text_of(issue, "description")
    node: Raw = {
        "id": node_id(text_of(issue, "id")),
        "type": "discovery",
        "lifecycle": "wu",
        "content": text_of(issue, "title") + (f"\n\n{description}" if description else ""),
        "created_at": text_of(issue, "created_at") or text_of(issue, "updated_at") or LONG_AGO,
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


def _tags(issue: Raw) -> list[str]:
    labels = issue.get("labels")
    words = [*(labels if isinstance(labels, list) else ()), text_of(issue, "issue_type")]
    return list(dict.fromkeys(word for word in words if isinstance(word, str) and word))


def _metadata(issue: Raw) -> Raw:
    metadata: Raw = {}
    if (priority := priority_of(issue)) >= 0:
        metadata["priority"] = f"P{min(priority, _LOWEST)}"
    status = text_of(issue, "status")
    if status == "closed":
        metadata["status"] = "archived"
        metadata["archive_reason"] = text_of(issue, "close_reason") or "closed in beads"
        metadata["archived_at"] = text_of(issue, "closed_at") or text_of(issue, "updated_at") or LONG_AGO
    elif status == "tombstone":
        metadata["status"] = "deleted"
        metadata["deleted_at"] = text_of(issue, "deleted_at") or LONG_AGO
    elif status == "pinned":
        metadata["pinned"] = True
    if node_id(text_of(issue, "id")) != issue["id"]:
        metadata["beads_id"] = issue["id"]
    metadata["beads"] = {key: value for key, value in issue.items() if key not in _IN_THE_NODE}
    return metadata


def priority_of(issue: Raw) -> int:
    """Return the priority, 0 (highest) to 4; -1 where there is none."""
    priority = issue.get("priority")
    in_range = isinstance(priority, int) and not isinstance(priority, bool) and 0 <= priority <= BACKLOG
    return int(str(priority)) if in_range else -1


def edges_of(issue: Raw) -> Iterator[Raw]:
    """Yield an issue's dependencies as relationships."""
    for dependency in dependencies(issue):
        source = node_id(text_of(dependency, "issue_id") or text_of(issue, "id"))
        target = node_id(text_of(dependency, "depends_on_id"))
        kind = text_of(dependency, "type")
        relation = _RELATIONS.get(kind, "related")
        backwards = relation in _BACKWARDS
        edge: Raw = {
            "from_id": target if backwards else source,
            "to_id": source if backwards else target,
            "type": relation,
            "created_at": text_of(dependency, "created_at") or text_of(issue, "created_at") or LONG_AGO,
        }
        yield edge if relation != "related" or kind == "related" else {**edge, "beads_type": kind}


def dependencies(issue: Raw) -> list[Raw]:
    """Return the dependencies that name what they depend on."""
    value = issue.get("dependencies")
    listed = value if isinstance(value, list) else []
    return [
        dependency for dependency in listed if isinstance(dependency, dict) and text_of(dependency, "depends_on_id")
    ]


def texts_of(issue: Raw) -> list[str]:
    """Return what people wrote in an issue beside its description, and what outside of the project it depends on."""
    texts = [text_of(issue, key) for key in ("design", "acceptance_criteria", "notes", "external_ref")]
    comments = issue.get("comments")
    for comment in comments if isinstance(comments, list) else ():
        if isinstance(comment, dict) and text_of(comment, "text"):
            texts.append(f"{text_of(comment, 'author')}: {text_of(comment, 'text')}")
    ends = [text_of(dependency, "depends_on_id") for dependency in dependencies(issue)]
    return [text for text in texts if text] + [end for end in ends if is_external(end)]


def note_of(memory: Raw) -> Raw:
    """Return the project-wide note that a memory of beads (`bd remember`) becomes."""
    key = text_of(memory, "key")
    return {
        "id": f"mem-{short_hash(f'beads memory {key}')}",
        "type": "note",
        "lifecycle": "project",
        "content": text_of(memory, "value"),
        "created_at": LONG_AGO,
        "tags": [MEMORY_TAG],
        "metadata": {"beads_memory": key},
        "schema": 1,
    }
