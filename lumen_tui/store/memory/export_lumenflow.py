"""Export of a state folder as a LumenFlow project: `.lumenflow/` and its work units in docs/tasks/wu."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lumen_tui.model import lumendocuments, lumenflow
from lumen_tui.model.foreign import Raw
from lumen_tui.model.jsontext import text_of
from lumen_tui.model.kinds import LIFECYCLES
from lumen_tui.model.lumenunits import Unit
from lumen_tui.model.records import EVERYONE
from lumen_tui.storage import directories, files, raw_json
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.rewriting import Watch
from lumen_tui.store.memory import exporting
from lumen_tui.store.memory.exporting import ExportRefused, ExportReport
from lumen_tui.store.memory.import_lumenflow import BESIDE, FOLDER
from lumen_tui.store.memory.import_units import DOCUMENTS, EVENTS_FILE
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.work import open_sessions, unit_yaml

_RETENTION = (0, 3600, 604_800, -1)  # seconds by lifecycle, as LumenFlow sets a new folder up; -1 is for good


def export(layout: Layout, folder: Path, watch: Watch) -> ExportReport:
    """Write a new folder that LumenFlow's own readers take. Raise ExportRefused, with nothing written."""
    return exporting.into_new_folder(layout, folder, lambda place: _LumenFlowExport(layout, place, watch).run())


class _LumenFlowExport:
    """One export into a folder of its own."""

    def __init__(self, layout: Layout, project: Path, watch: Watch) -> None:
        self._layout = layout
        self._project = project
        self._folder = project / FOLDER
        self._memory = self._folder / "memory"
        self._watch = watch
        self._report = ExportReport(kind="lumenflow", path=str(project), left_out=exporting.left_behind(layout))
        self._names: dict[str, str] = {}

    def run(self) -> ExportReport:
        exporting.count_damaged(self._layout, self._report.left_out)
        ids = [str(node["id"]) for node in newest_nodes(self._layout)]
        try:
            self._names = lumenflow.short_ids(ids)
        except lumenflow.TooManyNodes as error:
            raise ExportRefused(str(error)) from error
        self._lines("nodes", "memory.jsonl", self._nodes())
        self._lines("signals", "signals.jsonl", self._signals())
        receipts = exporting.raw_lines(self._layout.receipts, self._report.left_out, "receipts")
        self._lines("receipts", "signal-receipts.jsonl", receipts)
        edges = exporting.edges_in_force(self._layout, self._report.left_out)
        self._edges(edges)
        retention = "".join(f"  {name}: {keep}\n" for name, keep in zip(LIFECYCLES, _RETENTION, strict=True))
        files.replace(self._memory / "config.yaml", f"version: 1\nretention:\n{retention}".encode())
        self._units(edges)
        self._sessions()
        return self._report

    def _lines(self, kind: str, name: str, records: Iterator[Raw]) -> None:
        exporting.count(self._report.written, kind, exporting.write_lines(self._memory / name, records))

    def _nodes(self) -> Iterator[Raw]:
        renamed = 0
        for number, node in enumerate(newest_nodes(self._layout)):
            self._watch(number / (len(self._names) + 1))
            theirs = lumenflow.node_there(node, self._names)
            renamed += theirs["id"] != node["id"]
            yield theirs
        if renamed:
            self._report.notes.append(
                f"nodes whose id has four characters there, and stays in metadata.lumen: {renamed}"
            )

    def _signals(self) -> Iterator[Raw]:
        signals = list(exporting.raw_lines(self._layout.signals, self._report.left_out, "signals"))
        read = _Read(self._layout, [str(signal.get("id")) for signal in signals])
        for number, signal in enumerate(signals):
            yield lumenflow.signal_there(signal, read=read.covers(number, signal))

    def _edges(self, edges: list[Raw]) -> None:
        """Write the relationships; those that LumenFlow has no form for into a file of their own."""
        theirs = [(edge, lumenflow.edge_there(edge, self._names)) for edge in edges]
        self._lines("relationships", "relationships.jsonl", (there for _, there in theirs if there is not None))
        beside = [edge for edge, there in theirs if there is None]
        if beside:
            self._lines("relationships of work units, or withdrawn", BESIDE, iter(beside))

    def _units(self, edges: list[Raw]) -> None:
        events: list[Raw] = []
        blocks = [edge for edge in edges if edge.get("type") == "blocks" and not edge.get("removed")]
        for unit in exporting.units(self._layout, self._report.left_out):
            document = lumendocuments.document_of(unit) | _blocking(unit, blocks)
            self._put(self._project / DOCUMENTS / f"{unit.front['id']}.yaml", unit_yaml.write(document))
            events += lumendocuments.events_of(unit)
            if unit.front.get("status") == "done":
                stamp = lumendocuments.stamp_of(unit).encode()
                self._put(self._folder / "stamps" / f"{unit.front['id']}.done", stamp)
                exporting.count(self._report.written, "stamps")
            exporting.count(self._report.written, "work units")
        events.sort(key=lambda event: text_of(event, "timestamp"))
        exporting.count(self._report.written, "events", exporting.write_lines(self._folder / EVENTS_FILE, events))

    def _sessions(self) -> None:
        for path in sorted(self._layout.sessions.glob("*.json")) + sorted(self._layout.ended_sessions.glob("*.json")):
            try:
                data = files.read(path) or b""
            except (files.StoreError, OSError):
                exporting.count(self._report.left_out, "sessions whose file cannot be read")
                continue
            record = raw_json.read(path) if path == self._layout.current_session else None
            data = open_sessions.encode(lumenflow.session_there(record)) if record else data
            place = self._folder / "sessions" / path.relative_to(self._layout.sessions)
            self._put(place, data)
            exporting.count(self._report.written, "sessions")

    def _put(self, path: Path, data: bytes) -> None:
        directories.make_folder(path.parent)
        files.replace(path, data)


def _blocking(unit: Unit, edges: list[Raw]) -> Raw:
    """Return which work units this one blocks, and by which it is blocked."""
    wu_id = unit.front["id"]
    blocks = [edge["to_id"] for edge in edges if edge.get("from_id") == wu_id and _is_unit(edge.get("to_id"))]
    blocked = [edge["from_id"] for edge in edges if edge.get("to_id") == wu_id and _is_unit(edge.get("from_id"))]
    return {**({"blocks": blocks} if blocks else {}), **({"blocked_by": blocked} if blocked else {})}


def _is_unit(name: object) -> bool:
    return isinstance(name, str) and name.startswith("WU-")


class _Read:
    """Which signals somebody read: LumenFlow has one inbox, in which what one has read is read for all."""

    def __init__(self, layout: Layout, signal_ids: list[str]) -> None:
        positions = {name: number for number, name in enumerate(signal_ids)}
        self._single: dict[str, set[str]] = {}
        self._upto: dict[str, int] = {}
        for receipt in exporting.raw_lines(layout.receipts, {}, "receipts"):
            reader, name = text_of(receipt, "reader") or EVERYONE, text_of(receipt, "signal_id")
            self._single.setdefault(name, set()).add(reader)
            if receipt.get("upto") is True and name in positions:
                self._upto[reader] = max(self._upto.get(reader, -1), positions[name])

    def covers(self, number: int, signal: Raw) -> bool:
        """Return whether the signal was read: one to a single reader by that one."""
        readers = self._single.get(str(signal.get("id")), set()) | {
            reader for reader, upto in self._upto.items() if upto >= number
        }
        target = text_of(signal, "target_agent")
        return bool(readers & {target, EVERYONE}) if target else bool(readers)
