"""Whatever a file holds, it is shown as text: nothing acts on the terminal or on the room."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from lumen_rows import each_row
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from lumen_tui.model.config import AgentConfig, Config
from lumen_tui.model.loop import Artifact, Health
from lumen_tui.model.problem import Problem
from lumen_tui.model.snapshot import Attention, Need, Snapshot, WakeState
from lumen_tui.model.text import is_safe
from lumen_tui.tui.patches.terminal import Guard

EVIL = "a\x1b]52;c;aGk=\x07b\x1b[2Jc\x9bd\u202ee\u200bf [/] [bold red]g[/] [@click=app.exit]h[/]"


def spoil(snapshot: Snapshot) -> Snapshot:
    """Every text a person did not write becomes hostile, as if the first wall were not there."""
    replace = msgspec.structs.replace
    tasks = tuple(
        replace(task, spec=replace(task.spec, objective=EVIL, role=EVIL, model=EVIL), reason=EVIL,
                tail=tuple(replace(event, text=EVIL, tool=EVIL) for event in task.tail))
        for task in snapshot.tasks
    )  # fmt: skip
    signals = tuple(
        replace(row, signal=replace(row.signal, message=EVIL, sender=EVIL, wu_id=EVIL, lane=EVIL))
        for row in snapshot.signals
    )
    discoveries = tuple(
        replace(row, node=replace(row.node, content=EVIL, tags=(EVIL,), wu_id=EVIL)) for row in snapshot.discoveries
    )
    loop = replace(snapshot.loop, last_artifact=Artifact(EVIL, EVIL), health=Health(EVIL, EVIL))
    return replace(
        snapshot, root=f"/{EVIL}", tasks=tasks, signals=signals, discoveries=discoveries, loop=loop,
        fading=tuple(replace(row, title=EVIL) for row in snapshot.fading), wake=WakeState(f"# {EVIL}\n{EVIL}", 1.0),
        attention=(Attention(Need.PROBLEM, "x", EVIL),), problems=(Problem(EVIL, EVIL),),
        config=Config(agent=AgentConfig(name=EVIL)), read_only=EVIL,
    )  # fmt: skip


@pytest.mark.threat("S1", "hostile words in every record, on every pane, dialog and screen")
@pytest.mark.parametrize("size", [(120, 40), (80, 24), (200, 50)])
async def test_hostile_text_in_every_pane_stays_text(
    open_room: Any, busy_snapshot: Snapshot, size: tuple[int, int]
) -> None:
    async with open_room(spoil(busy_snapshot), size=size) as room:
        for pane in ("1", "2", "3", "4", "5", "6"):
            await room.press(pane, "n")
            assert all(is_safe(line) and "\n" not in line for line in room.lines)
            assert all(len(line) == size[0] for line in room.lines)
        assert "[/]" in room.text
        assert room.app.return_value is None


@pytest.mark.threat("S2", "clicks on markup, widgets and words that look like it")
async def test_a_click_on_hostile_markup_does_nothing(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(spoil(busy_snapshot)) as room:
        for x in range(4, 70, 6):
            await room.pilot.click(room.app.room.pane("discoveries").rows, offset=(x, 1))
        await room.settle()
        assert room.app.return_value is None
        assert room.app.is_running


@pytest.mark.threat("S1", "hostile words in every record, on every pane, dialog and screen")
@each_row(
    "segment",
    [
        Segment("a\x1b[2Jb"),
        Segment("a\u202eb"),
        Segment("two\nlines"),
        Segment("click", Style.from_meta({"@click": "app.exit"})),
        Segment("link", Style(link="https://example.org")),
        Segment("x", None, [(1,)]),  # type: ignore[list-item]
    ],
)
def test_the_second_wall(segment: Segment) -> None:
    shown = Guard().apply([Segment("before "), segment], Color(0, 0, 0))
    assert all(is_safe(text) and "\n" not in text and not control for text, _, control in shown)
    assert all(style is None or (not style.link and not style.meta) for _, style, _ in shown)
    assert sum(s.cell_length for s in shown) == 7 + segment.cell_length


@pytest.mark.threat("S1", "hostile words in every record, on every pane, dialog and screen")
def test_the_second_wall_lets_the_rest_through_as_it_is() -> None:
    line = [Segment("plain ", Style(bold=True)), Segment("▲ 3 · ünï 漢", Style.from_meta({"@mouse.down": "grab"}))]
    assert Guard().apply(line, Color(0, 0, 0)) is line
