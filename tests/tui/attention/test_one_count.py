"""The header, the list, `status -q` and the terminal's title say the same number, whatever the state is."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from lumen_rows import each_row

from lumen_tui.cli.main import main
from lumen_tui.model.attention import collect, sift, until_tomorrow
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.problem import Problem
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.tui.kit.header import header
from lumen_tui.tui.theme import NO_APPEARANCE

NOW = 1_800_000_000.0


def scatter(desk: Any, dice: random.Random) -> None:
    """Some of everything that may need a person, a part of it put aside, put off, answered or taken back."""
    for number in range(dice.randrange(4)):
        desk.ask(f"make part-{number}", at=NOW - dice.choice((10, 600, 5000)))
    for number in range(dice.randrange(4)):
        desk.ended(desk.task(f"job {number}"), dice.choice(("failed", "lost", "done", "cancelled")))
    for number in range(dice.randrange(4)):
        desk.do("signal.send", message=f"news {number}", priority=dice.choice(("P0", "P2")))
    for number in range(dice.randrange(3)):
        record = {
            "id": f"mem-{number:08d}", "type": "discovery", "content": f"found {number}", "created_at": iso(NOW - 60),
            "metadata": {"priority": dice.choice(("P0", "P1"))},
        }  # fmt: skip
        desk.store.nodes.append(record)
    if dice.random() < 0.5:
        (desk.store.root / "lumen.toml").write_text("[workers]\nlimit = 'x'\n[budget]\nday_tokens = 'y'\n")
    if dice.random() < 0.3:
        desk.do("kill", reason="a drill")
    for need in desk.port.snapshot().attention:
        act(desk, need, dice)


def act(desk: Any, need: Any, dice: random.Random) -> None:
    roll = dice.random()
    if need.need is Need.APPROVAL and roll < 0.4:
        desk.do(dice.choice(("approval.allow", "approval.deny")), approval_ids=[need.target], reason="why")
    elif need.need not in (Need.APPROVAL, Need.ENGINE) and roll < 0.4:
        name = until_tomorrow(need.target, desk.port.snapshot().spend.day) if roll < 0.2 else need.target
        desk.do("attention.dismiss", targets=[name])
    else:
        return
    if dice.random() < 0.3:
        desk.do("undo")


def counted(text: str) -> int:
    """What a header says; in words where it is none."""
    if "OK, no alerts" in text or "nothing needs you" in text:
        return 0
    found = re.search(r"▲ (\d+) needs? you", text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("seed", range(8))
async def test_four_places_say_one_number(
    seed: int, desk: Any, open_room: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    dice = random.Random(seed)  # noqa: S311 - the same state for the same seed
    scatter(desk, dice)
    wanted = len(desk.port.snapshot().attention)
    titles: list[str] = []
    async with open_room(desk, size=dice.choice([(80, 24), (120, 40)])) as room:
        await room.until(lambda: room.needs == wanted)
        if wanted:
            room.app.room.action_do("needs")
            await room.sees(f"Needs you · {wanted} ")
        driver = type(room.app._driver)
        monkeypatch.setattr(driver, "write", lambda _, data: titles.append(data))
        monkeypatch.setattr(type(room.app), "is_headless", False)
        room.app.mouth.name_terminal(room.app.room.snapshot)
        monkeypatch.undo()
        assert counted(room.lines[0]) == wanted
        if wanted:
            assert len(room.app.screen.rows.model) == wanted
    assert titles == [f"\x1b]0;{f'({wanted}) ' if wanted else ''}lumen\x07"]
    monkeypatch.setattr("time.time", lambda: NOW)
    capsys.readouterr()
    assert main(["--state", str(desk.store.root), "status", "-q"]) == (1 if wanted else 0)
    assert capsys.readouterr().out.strip() == str(wanted)


@each_row("width", [30, 60, 80, 120])
def test_the_count_is_the_last_thing_that_a_narrow_header_loses(width: int) -> None:
    needs = collect(
        engine=EngineView(), tasks=(), p0_signals=(), p0_discoveries=(), spend=SpendView(),
        problems=[Problem(f"file-{number}", "broken") for number in range(1204)],
    )  # fmt: skip
    snapshot = Snapshot(root="/state", taken=NOW, attention=needs, killed="killed by ann: a drill")
    text = "".join(part.text for part in header(snapshot, NOW, width, NO_APPEARANCE, here=False))
    assert "▲ 1,204 need you" in text


def paused(note: str, width: int = 120) -> str:
    beat = Heartbeat(beat=7, phase="paused", at=iso(NOW), note=note)
    held = {"everything": one_line(note, 300)}
    snapshot = Snapshot(root="/state", taken=NOW, engine=EngineView(EngineLife.ALIVE, beat), paused=held)
    return "".join(part.text for part in header(snapshot, NOW, width, NO_APPEARANCE, here=False))


def test_the_header_says_who_paused_until_when_and_why() -> None:
    today = iso(NOW)[:10]
    assert "PAUSED by ops until 14:00 UTC: the disk is copied" in paused(f"paused by ops until {today} 14:00 UTC: "
                                                                       "the disk is copied")  # fmt: skip
    assert "until 2030-01-01 14:00 UTC" in paused("paused by ops until 2030-01-01 14:00 UTC")
    assert "PAUSED" in paused("paused by ops: " + "because " * 40, 60)
    assert "\x1b" not in paused("paused by \x1b[2J")


def test_put_off_until_tomorrow_ends_with_the_budgets_day() -> None:
    def shown(day: str, *dismissed: str) -> list[str]:
        found = collect(
            engine=EngineView(), tasks=(), p0_signals=(), p0_discoveries=(), spend=SpendView(day=day),
            problems=[Problem("a", "x"), Problem("b", "x")],
        )  # fmt: skip
        return [item.target for item in sift(found, frozenset(dismissed), day, NOW).shown]

    name = until_tomorrow("a", "2026-12-31")
    assert name == "a until 2027-01-01"
    assert shown("2026-12-31", name) == ["b"]
    assert shown("2027-01-01", name) == ["a", "b"]
    assert shown("", name) == ["a", "b"]
    assert shown("2026-12-31", "a until 9") == ["a", "b"]
    with pytest.raises(ValueError, match="isoformat"):
        until_tomorrow("a", "")
