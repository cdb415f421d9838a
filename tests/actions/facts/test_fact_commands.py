"""Facts from the shell and in the room, as a person uses them."""

import json
from pathlib import Path

import pytest
from lumen_clock import HandClock
from lumen_robot import screen_text, until

from lumen_tui.cli.main import main
from lumen_tui.engine.port import RemotePort
from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.screens.facts import FreshnessScreen, ProbeForm


@pytest.fixture
def shell(world, capsys, monkeypatch):
    monkeypatch.delenv("CLAUDECODE", raising=False)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["--state", str(world.root), "--operator", "ann", *words])
        return code, *capsys.readouterr()

    return run


def test_a_fact_from_the_shell_with_its_own_probes(world, shell, tmp_path: Path, monkeypatch, sandbox) -> None:
    (tmp_path / "VERSION").write_text("1.4.2\n")
    code, out, err = shell("fact", "add", f"{tmp_path}/VERSION holds 1.4.2", "--class", "quick")
    fact = out.strip()
    assert (code, err.count("probe: ")) == (0, 2)
    learnt = json.loads(shell("fact", "add", "the version", "-p", f"output cat {tmp_path}/VERSION", "--json")[1])
    assert shell("fact", "check")[0] == 0
    (tmp_path / "VERSION").write_text("1.5.0\n")
    assert shell("fact", "check", fact, learnt["id"])[0] == 1
    found = {one["id"]: one for one in json.loads(shell("fact", "list", "--all", "--json")[1])}
    assert (found[fact]["phase"], found[learnt["id"]]["superseded_by"]) == (
        "drifted",
        found[learnt["id"]]["superseded_by"],
    )
    after = found[found[learnt["id"]]["superseded_by"]]
    assert (after["probes"], after["was"]) == ([f"output cat {tmp_path}/VERSION = 1.5.0"], "1.4.2")
    assert shell("fact", "confirm", fact)[0] == 2
    assert shell("fact", "retire", fact, "-r", "moved")[0] == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "only a probe or a person" in shell("fact", "confirm", after["id"])[2]
    assert json.loads(shell("fact", "list", "--json")[1])[-1]["last_confirmed_at"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("fact", "add", "x", "-p", "smell /etc"), 2, "there is no probe 'smell'"),
        (("fact", "add", "x", "-p", "json /nowhere.json a"), 2, "cannot say what is there now"),
        (("fact", "add", "x", "--class", "eternal"), 2, "eternal"),
        (("fact", "confirm", "mem-nothing"), 3, "there is no node"),
        (("fact", "check"), 3, "no fact has a probe"),
        (("fact", "list"), 3, "nothing to list"),
    ],
)
def test_what_cannot_be_done_says_why(shell, words: tuple[str, ...], code: int, said: str) -> None:
    found = shell(*words)
    assert found[0] == code
    assert said in found[2]


async def test_the_screen_shows_both_clocks_and_acts(world, tmp_path: Path) -> None:
    fact = world.fact("[/] \x1b[2J [@click=app.quit]the sky is blue", by="lumen")
    gone = world.fact(f"a marker stands at {tmp_path}", f"file {tmp_path}/marker", by="ann")
    world.layout.claude_md.write_text(f"{gone}\n")
    port = RemotePort(world.root, "ann", clock=HandClock(world.clock.wall + 40 * 86_400))
    app = LumenApp(port, operator="ann", clock=port._clock.now)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.room.snapshot.facts.current == 2)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FreshnessScreen) and "2 facts" in screen_text(app))
        shown = screen_text(app)
        assert ("▮▮▮▯  a marker stands" in shown, "▯▯▯▯  [/]" in shown) == (True, True)
        assert ("confirmed 40 d" in shown, "never confirmed" in shown, "\x1b" in shown) == (True, True, False)
        await pilot.press("a")
        await until(pilot, lambda: "the sky is blue” confirmed" in screen_text(app))
        assert world.state(fact).confirmed_by == "ann"
        await pilot.press("u")
        await until(pilot, lambda: "undone:" in screen_text(app) and "never confirmed" in screen_text(app))
        assert not world.state(fact).confirmed
        app.screen.rows.select_key(gone)
        await pilot.press("B")
        await until(pilot, lambda: "↯" in screen_text(app) and "used by CLAUDE.md" in screen_text(app))
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ProbeForm))
        await pilot.press(*"nonsense", "enter")
        await until(pilot, lambda: "there is no probe 'nonsense'" in screen_text(app))
        await pilot.press("escape", "d")
        await until(pilot, lambda: "retired" in screen_text(app) and "1 fact" in screen_text(app))
    assert world.state(gone).fact.status == "archived"


def test_a_new_probe_is_looked_at_and_takes_a_path_from_here(world, shell, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "app.conf").write_text("port = 8080\n")
    monkeypatch.chdir(tmp_path)
    _, _, err = shell("fact", "add", "it is there", "-p", "text app.conf = port = 8080", "-p", "file gone")
    assert f"probe: text {tmp_path}/app.conf = port = 8080" in err
    assert f"it does not hold now: file {tmp_path}/gone: {tmp_path}/gone is not there" in err
    for wrong in ("port 99999", "port abc", "http ftp://x", "text app.conf"):
        assert shell("fact", "add", "wrong", "-p", wrong)[0] == 2


async def test_what_never_held_was_confirmed_by_nobody_until_it_holds(world, tmp_path):
    fact = world.fact("a file stands here", f"file {tmp_path / 'late'}", by="ann")
    assert world.state(fact).confirmed_words(world.clock.wall) == "confirmed now", "by the word of ann"
    await world.beat()
    assert world.state(fact).drifted
    assert world.state(fact).confirmed_words(world.clock.wall) == "never held"
    assert world.events("fact_drifted")[0].startswith("“a file stands here” never held: ")
    (tmp_path / "late").touch()
    world.clock.wall += 60
    world.do("fact.check", fact_ids=fact)
    assert world.state(fact).confirmed_words(world.clock.wall) == "confirmed now"
    assert world.state(fact).denial == "is not so any more", "from now on, should it go"


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_fact_whose_probe_denies_it_as_it_is_noted_is_never_shown_as_confirmed(shell, tmp_path, more) -> None:
    assert shell("fact", "add", "it is there", "-p", f"file {tmp_path}/gone", *more)[0] == 0
    assert shell("fact", "add", "a folder is there", "-p", f"file {tmp_path}")[0] == 0
    (denied,) = (one for one in shell("fact", "list")[1].splitlines() if "it is there" in one)
    assert "never held" in denied and "confirmed" not in denied
    (held,) = (one for one in shell("fact", "list")[1].splitlines() if "a folder" in one)
    assert "confirmed now" in held
