"""What was learnt leads back to the task or the session in which it was said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from lumen_robot import until
from lumen_stage import Stage

from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.evolution import DOMAIN, Observation, ObservationKind, Source, Trust
from lumen_tui.model.ids import Ambiguous
from lumen_tui.model.lineage import rows
from lumen_tui.model.tasks import Spec
from lumen_tui.model.transcript import session_id
from lumen_tui.queries.lineage.trace import resolve, trace
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import evolved
from lumen_tui.store.tasks import task_files
from lumen_tui.tui.screens.evolution import EvolutionScreen
from lumen_tui.tui.screens.lineage import WhyScreen
from lumen_tui.tui.theme import NO_APPEARANCE

NOW = 1_800_000_000.0
AT = "2027-01-15T07:00:00Z"


def learnt(name: str, session: str, **more: Any) -> Observation:
    text = f"Use pnpm, says {name}"
    return Observation(
        name,
        AT,
        ObservationKind.RULE,
        text,
        DOMAIN,
        text,
        (Source(session, 3), Source(session, 9)),
        Trust.PERSON,
        **more,
    )


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """One that a task taught, and one that contradicts it from a session of somebody else."""
    found = Layout(tmp_path / "state")
    found.create()
    spec = Spec("tsk-0000000000001", "look at the build", "builder", created_at=AT)
    task_files.add(found, spec)
    session = session_id(spec, 1)
    line = {"type": "user", "cwd": f"{found.task(spec.id)}/files", "sessionId": session}
    files.append(found.transcript(session), msgspec.json.encode(line) + b"\n")
    evolved.add(found, [learnt("evo-1one", session), learnt("evo-2two", "5e5510a0", contradicts="evo-1one")])
    return found


def told(layout: Layout, name: str) -> list[tuple[str, str, str, str]]:
    return [(row.side, row.hop.kind, row.hop.link, row.hop.id) for row in rows(trace(layout, name, NOW))]


def test_it_leads_to_the_task_and_to_what_speaks_against_it(layout: Layout) -> None:
    assert told(layout, "evo-1") == [
        ("up", "task", "said in", "tsk-0000000000001"), ("here", "learnt", "", "evo-1one"),
        ("down", "learnt", "contradicted by", "evo-2two"),
    ]  # fmt: skip
    assert ("down", "learnt", "taught", "evo-1one") in told(layout, "tsk-0000000000001")
    assert trace(layout, "evo-1one", NOW).node.title == "Use pnpm, says evo-1one"


def test_a_session_of_nobody_known_is_named_and_a_broken_transcript_is_one(layout: Layout) -> None:
    assert ("up", "session", "said in", "5e5510a0") in told(layout, "evo-2two")
    files.append(layout.transcript("torn"), b"\xff{no line")
    evolved.add(layout, [learnt("evo-3three", "torn"), learnt("evo-4four", "../../etc/passwd")])
    assert ("up", "session", "said in", "torn") in told(layout, "evo-3")
    assert ("up", "session", "said in", "../../etc/passwd") in told(layout, "evo-4")


def test_what_is_not_there_is_not_found(layout: Layout) -> None:
    for text in ("evo-", "evo-9"):
        with pytest.raises(LookupError):
            resolve(layout, text)
    evolved.add(layout, [learnt("evo-1other", "s")])
    with pytest.raises(Ambiguous):
        resolve(layout, "evo-1")


async def test_w_on_the_evolution_screen_shows_it_and_a_session_is_the_end(layout: Layout) -> None:
    port = RemotePort(layout.root, "ana")
    perform(Store(layout.root), named("evolution.accept", {"ids": "evo-1one"}), by="ana", now=NOW)
    app = Stage(EvolutionScreen(port, port.snapshot()))
    app.host = SimpleNamespace(  # type: ignore[attr-defined] - as the room has one
        port=port, look=NO_APPEARANCE, clock=lambda: NOW, room=SimpleNamespace(snapshot=port.snapshot()),
        open_lineage=lambda name: app.push_screen(WhyScreen(port, name, NOW)),
    )  # fmt: skip
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "says evo-2two" in app.shown)
        app.screen.rows.select_key("evo-2two")
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, WhyScreen) and "said in" in app.shown)
        await until(pilot, lambda: app.screen.rows.selected[1].side == "here")
        await pilot.press("home", "enter")
        await until(pilot, lambda: "A session that belongs to no task" in app.shown)
