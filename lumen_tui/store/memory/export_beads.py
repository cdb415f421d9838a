"""Export of discoveries, work units and notes as issues and memories of beads, in one JSONL file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lumen_tui.model import beads, beads_marks
from lumen_tui.model.foreign import Raw
from lumen_tui.model.jsontext import table_of, text_of
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.rewriting import Watch
from lumen_tui.store.memory import exporting
from lumen_tui.store.memory.exporting import ExportReport
from lumen_tui.store.memory.node_bulk import newest_nodes

_MEMORIES = ("note", "summary")
_UNTOLD = {"session": "session nodes", "checkpoint": "checkpoints"}


def export(layout: Layout, path: Path, watch: Watch) -> ExportReport:
    """Write a new file that `bd import` takes. Raise Refused, with nothing written."""
    report = ExportReport(kind="beads", path=str(path), left_out=exporting.left_behind(layout))
    exporting.into_new_file(layout, path, _BeadsExport(layout, report, watch).records())
    return report


class _BeadsExport:
    """One export into a file."""

    def __init__(self, layout: Layout, report: ExportReport, watch: Watch) -> None:
        self._layout = layout
        self._report = report
        self._watch = watch
        self._dependencies: dict[str, list[Raw]] = {}  # by the id here of the end that has them
        self._names: dict[str, str] = {}  # of issues: the id there

    def records(self) -> Iterator[Raw]:
        """Yield the lines of the file: issues of discoveries, issues of work units, memories."""
        exporting.count_damaged(self._layout, self._report.left_out)
        units = list(exporting.units(self._layout, self._report.left_out))
        kinds = {str(node["id"]): node for node in newest_nodes(self._layout) if node.get("type") == "discovery"}
        self._names = {name: text_of(table_of(node, "metadata"), "beads_id") or name for name, node in kinds.items()}
        self._names |= {str(unit.front["id"]): str(unit.front["id"]) for unit in units}
        self._sort_edges()
        yield from self._nodes(len(kinds))
        for unit in units:
            exporting.count(self._report.written, "work units")
            dependencies = self._found(str(unit.front["id"]))
            issue = beads_marks.issue_of_unit(unit.front, unit.body)
            yield {**issue, "dependencies": dependencies} if dependencies else issue
        signals = exporting.raw_lines(self._layout.signals, self._report.left_out, "signals")
        exporting.count(self._report.left_out, "signals", sum(1 for _ in signals))
        sessions = len(list(self._layout.sessions.glob("*.json"))) + len(
            list(self._layout.ended_sessions.glob("*.json"))
        )
        exporting.count(self._report.left_out, "sessions", sessions)

    def _nodes(self, discoveries: int) -> Iterator[Raw]:
        deleted = 0
        for number, node in enumerate(newest_nodes(self._layout)):
            self._watch(min(number / (discoveries + 1), 1.0))
            kind = text_of(node, "type")
            deleted += text_of(table_of(node, "metadata"), "status") == "deleted" and kind == "discovery"
            if kind == "discovery":
                exporting.count(self._report.written, "discoveries")
                yield beads_marks.issue_of(node, self._found(str(node["id"])))
            elif kind in _MEMORIES:
                exporting.count(self._report.written, "notes and summaries, as memories")
                yield beads_marks.memory_of(node)
            else:
                exporting.count(self._report.left_out, _UNTOLD.get(kind, "nodes of other types"))
        if deleted:
            self._report.notes.append(f"deleted discoveries, closed there with the reason `deleted`: {deleted}")

    def _sort_edges(self) -> None:
        for edge in exporting.edges_in_force(self._layout, self._report.left_out):
            if edge.get("removed"):
                exporting.count(self._report.left_out, "withdrawn relationships")
                continue
            dependency = beads_marks.dependency_of(edge)
            mine, other = str(dependency["issue_id"]), str(dependency["depends_on_id"])
            if mine not in self._names or not (other in self._names or beads.is_external(other)):
                exporting.count(self._report.left_out, "relationships of what is no issue there")
                continue
            there = {"issue_id": self._names[mine], "depends_on_id": self._names.get(other, other)}
            self._dependencies.setdefault(mine, []).append(dependency | there)

    def _found(self, name: str) -> list[Raw]:
        """Return the dependencies of an issue."""
        dependencies = self._dependencies.get(name, [])
        exporting.count(self._report.written, "dependencies", len(dependencies))
        return dependencies
