"""A state folder with things to be found in it, and the questions one asks of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder

from lumen_tui.model import times
from lumen_tui.model.records import Node, Relationship, Signal
from lumen_tui.model.searching import Found, parse
from lumen_tui.queries.search.search import Searcher

NOW = 1_790_000_000.0


class Library(StateFolder):
    """A state folder; `ids` asks and names the hits in order."""

    BY = "ann"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, NOW)
        self.layout.create()
        self.sessions = folder.parent / "sessions"
        self.sessions.mkdir()
        self.layout.config.write_text(f'[evolution]\nsessions = ["{self.sessions}"]\n')

    def insert(self, text: str, **more: Any) -> str:
        return self.do("archive.insert", text=text, **more).target

    def node(self, ref: str, text: str, *, days: float = 1.0, **more: Any) -> str:
        at = times.iso(NOW - days * times.DAY)
        self.store.nodes.append(Node(id=ref, type=more.pop("type", "note"), content=text, created_at=at, **more))
        return ref

    def signal(self, ref: str, text: str, **more: Any) -> None:
        self.store.signals.append(Signal(id=ref, message=text, created_at=times.iso(NOW - 60), sender="bob", **more))

    def link(self, start: str, finish: str, kind: str = "related") -> None:
        self.store.relationships.append(Relationship(start, finish, kind, times.iso(NOW)))

    def task(self, name: str, objective: str, result: str, *, ended: bool = True) -> Path:
        folder = self.layout.tasks / name
        folder.mkdir()
        (folder / "spec.json").write_text(json.dumps({"id": name, "objective": objective, "wu_id": "WU-007"}))
        (folder / "result.md").write_text(result)
        if ended:
            exit = {"task_id": name, "status": "done", "finished_at": times.iso(NOW - 3600)}
            (folder / "exit.json").write_text(json.dumps(exit))
        return folder

    def said(self, file: str, *parts: tuple[str, str]) -> Path:
        """Lines of a session file: (user or assistant, text)."""
        path = self.sessions / f"{file}.jsonl"
        with path.open("a") as out:
            for who, text in parts:
                record = {"type": who, "message": {"role": who, "content": text}, "timestamp": times.iso(NOW - 500)}
                out.write(json.dumps(record) + "\n")
        return path

    def ask(self, query: str, **more: Any) -> Found:
        with Searcher(self.layout) as searcher:
            return searcher.search(parse(query, NOW, **more), NOW)

    def ids(self, query: str) -> list[str]:
        return [hit.ref for hit in self.ask(query).hits]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "state")


@pytest.fixture
def filled(library: Library) -> Library:
    library.node("mem-lock", "Two workers lock the session file", type="discovery", tags=("bug",), wu_id="WU-001")
    library.node("mem-cert", "The certificate of the API is renewed in May", days=200)
    library.signal("sig-pool", "The database pool is exhausted", lane="Core")
    library.insert("Reload nginx after the certificate", kind="procedural", tags=["nginx"], key="nginx", importance=0.9)
    library.task("tsk-disk", "Which disks are full?", "The disk of host seven is full of certificates")
    return library
