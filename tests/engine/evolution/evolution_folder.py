"""A state folder, a way to write session files as they are, and proposals for the gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from lumen_folder import StateFolder

from lumen_tui.engine.evolution import evolve
from lumen_tui.engine.evolution.evolve import EvolutionOutcome
from lumen_tui.engine.evolution.pipeline import EvolutionPipeline
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.model.evolution import DOMAIN, Observation, ObservationKind, Source, Trust
from lumen_tui.store.evolution import evolved

NOW = 1_800_000_000.0


def proposal(text: str, **more: Any) -> Observation:
    """A rule of a person, unless told otherwise, with all that the gate asks for."""
    given = {
        "id": "evo-1", "at": "", "kind": ObservationKind.RULE, "text": text, "target": DOMAIN, "quote": text,
        "sources": (Source("s1", 1),), "trust": Trust.PERSON, "confidence": 0.9,
    }  # fmt: skip
    return Observation(**{**given, **more})


class SessionFile:
    """Writes lines as Claude Code does."""

    def __init__(self, path: Path, cwd: str = "/home/ana/site") -> None:
        self.path, self.cwd, self._number = path, cwd, 0

    def line(self, kind: str, content: Any, **more: Any) -> SessionFile:
        self._number += 1
        record = {
            "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": self.cwd, "version": "2.1.0",
            "sessionId": self.path.stem, "type": kind, "message": {"role": kind, "content": content},
            "uuid": f"{self.path.stem}-{self._number}", "timestamp": "2026-11-21T10:00:00.000Z", **more,
        }  # fmt: skip
        return self.raw(msgspec.json.encode(record) + b"\n")

    def raw(self, data: bytes) -> SessionFile:
        with self.path.open("ab") as file:
            file.write(data)
        return self

    def person(self, text: str, **more: Any) -> SessionFile:
        return self.line("user", text, **more)

    def agent(self, text: str, **more: Any) -> SessionFile:
        return self.line("assistant", [{"type": "text", "text": text}], **more)

    def runs(self, command: str, output: str = "ok", *, ok: bool = True, **more: Any) -> SessionFile:
        call = f"toolu_{self.path.stem}_{self._number}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        self.line("assistant", [use], **more)
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": not ok}
        return self.line("user", [result], **more)


class Mind(StateFolder):
    """One state folder and what it has learnt."""

    STEP = 1.0

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)
        self.layout.create()
        self.config = EvolutionConfig()

    def learn(self, *paths: Path, **settings: Any) -> EvolutionOutcome:
        self.now += 1
        config = msgspec.structs.replace(self.config, **settings)
        evolving = EvolutionPipeline(self.layout, config)
        outcome = evolve.evolve(self.layout, evolving, paths, now=self.now)
        evolve.write(self.layout, outcome, config, now=self.now, by="evolution")
        return outcome

    @property
    def known(self) -> list[Observation]:
        return list(evolved.observations(self.layout).values())

    def texts(self, status: str = "accepted") -> list[str]:
        return [one.text for one in self.known if one.status == status]

    def one(self, text: str) -> Observation:
        return next(one for one in self.known if text in one.text)

    @property
    def claude_md(self) -> str:
        return self.layout.claude_md.read_text(encoding="utf-8") if self.layout.claude_md.exists() else ""
