"""Schedules by command: what is refused and with which words, what is undone, and how it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumen_tui.__main__ import main
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.globs import path_pattern
from lumen_tui.model.schedules import Schedule
from lumen_tui.store.schedules import configured, schedules, timing
from tests.actions.conftest import NOW, ActionsFolder

GOOD = {"name": "nightly", "text": "run the tests", "when": "0 3 * * *", "zone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"zone": "Europe/Berln"}, "no time zone 'Europe/Berln': an IANA name such as Europe/Berlin"),
        ({"zone": "../../etc/passwd"}, "no time zone"),
        ({"when": "0 25 * * *"}, r"cron field hour \('25'\)"),
        ({"when": "0 9 * * FOO"}, "cron field day-of-week"),
        ({"when": "0 0 31 2 *"}, "cron field day-of-month"),
        ({"when": "* * * * * *"}, "five cron fields"),
        ({"when": "every 1s"}, "60 seconds is the shortest interval"),
        ({"when": "every soon"}, "not a duration"),
        ({"when": "at 2020-01-01 09:00"}, "is over"),
        ({"when": "at noon"}, "is no date"),
        ({"when": ""}, "say when"),
        ({"text": " "}, "empty"),
        ({"name": "Nightly!"}, "not usable"),
        ({"name": "agent-sleep"}, "the agent's own sleep"),
        ({"makes": "coffee"}, "one of task, signal, wake"),
        ({"missed": "never"}, "one of skip, once, all"),
        ({"jitter": 1e9}, "jitter"),
        ({"role": "main"}, "--as wake"),
        ({"role": "nobody"}, "nobody"),
        ({"on_signal": ["kind"]}, "FIELD:VALUE"),
        ({"on_signal": ["colour:red"]}, "no field 'colour'"),
        ({"on_change": ["../x"]}, "a path below the folder"),
        ({"on_change": ["*"], "folder": "/nowhere/at/all"}, "there is no folder"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write_instead(desk: ActionsFolder, change, words: str) -> None:
    before = desk.files()
    with pytest.raises(ActionError, match=words):
        desk.do("schedule.add", **{**GOOD, **change})
    assert desk.files() == before


def test_a_name_is_given_once_and_is_free_after_its_removal(desk: ActionsFolder) -> None:
    desk.do("schedule.add", **GOOD)
    with pytest.raises(ActionError, match="there is a schedule 'nightly' already"):
        desk.do("schedule.add", **GOOD)
    desk.do("schedule.remove", name="nightly")
    desk.do("schedule.add", **GOOD)
    with pytest.raises(ActionError, match=r"another schedule nightly now"):
        desk.do("undo", action_id=_action(desk, "schedule.remove"))


def _action(desk: ActionsFolder, verb: str) -> str:
    return next(str(line["id"]) for line in desk.store.actions.records(dict) if line["verb"] == verb)


def test_each_step_is_undone_and_done_again(desk: ActionsFolder) -> None:
    desk.do("schedule.add", **GOOD)
    added = schedules.read(desk.layout)
    desk.do("schedule.pause", name="nightly", reason="a release")
    desk.do("undo")
    assert schedules.read(desk.layout) == added
    desk.do("redo")
    [paused] = schedules.read(desk.layout).values()
    assert paused.pause_words == "paused by ana: a release"
    with pytest.raises(ActionError, match="paused by ana: a release already"):
        desk.do("schedule.pause", name="nightly")
    desk.do("schedule.remove", name="nightly")
    desk.do("undo")
    assert list(schedules.read(desk.layout).values()) == [paused]


def test_an_agent_s_program_is_held_to_the_agent_s_bounds(desk: ActionsFolder) -> None:
    desk.do("schedule.add", **GOOD)
    with pytest.raises(ActionError, match="15 minutes is your shortest interval"):
        desk.do("schedule.add", by="system", name="often", text="x", when="* * * * *", zone="UTC")
    with pytest.raises(ActionError, match="by time alone"):
        desk.do("schedule.add", by="system", name="often", text="x", on_signal=["kind:blocked"])
    for verb in ("remove", "pause", "run"):
        with pytest.raises(ActionError, match="a person's"):
            desk.do(f"schedule.{verb}", by="lumen", name="nightly")
    for number in range(10):
        desk.do("schedule.add", by="system", name=f"own{number}", text="x", when="every 1h")
    with pytest.raises(ActionError, match="10 of your schedules are in force"):
        desk.do("schedule.add", by="system", name="own10", text="x", when="every 1h")
    desk.do("schedule.remove", by="system", name="own3")


def test_a_wrong_entry_of_the_settings_is_named_and_spoils_only_itself() -> None:
    tables = (
        {"name": "good", "text": "look", "when": "0 9 * * *", "zone": "UTC"},
        {"name": "bad-zone", "text": "look", "when": "0 9 * * *", "zone": "Mars"},
        {"name": "bad-field", "text": "look", "wen": "0 9 * * *"},
        {"text": "no name"},
    )
    changed, problems = configured.changes(Config(schedules=tables), {}, NOW)
    assert [one.name for one in changed] == ["good"]
    assert [problem.what.partition(": ")[0] for problem in problems] == [
        "schedules bad-zone", "schedules bad-field", "schedules number 4"
    ]  # fmt: skip
    known = {one.id: one for one in changed}
    assert configured.changes(Config(schedules=tables), known, NOW + 60)[0] == []
    spoilt = ({**tables[0], "when": "0 99 * * *"},)
    assert configured.changes(Config(schedules=spoilt), known, NOW + 60)[0] == []
    [gone] = configured.changes(Config(), known, NOW + 60)[0]
    assert not gone.active
    [back] = configured.changes(Config(schedules=tables[:1]), {gone.id: gone}, NOW + 120)[0]
    assert (back.active, back.paused, back.since) == (True, False, times.iso(NOW))


def test_the_command_line_adds_lists_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = str(tmp_path / "state")

    def lumen(*words: str) -> tuple[int, str]:
        code = main(["--state", state, *words])
        return code, capsys.readouterr().out

    assert main(["--state", state, "init"]) == 0
    capsys.readouterr()
    assert lumen("schedule")[0] == 3
    code, made = lumen("schedule", "add", "nightly", "Run the tests", "--when", "0 3 * * *", "--zone", "Europe/Berlin")
    assert (code, made.startswith("sch-")) == (0, True)
    assert "nightly" in lumen("schedule")[1]
    [listed] = json.loads(lumen("schedule", "list", "--json")[1])
    assert (listed["name"], listed["zone"], listed["state"]) == ("nightly", "Europe/Berlin", "active")
    shown = json.loads(lumen("schedule", "show", "nightly", "--json")[1])
    assert len(shown["times"]) == 5
    assert f"next: schedule nightly, {listed['next'][:10]}" in lumen("status")[1]
    assert json.loads(lumen("status", "--json")[1])["upcoming"][0]["name"] == "nightly"
    assert lumen("schedule", "run", "nightly")[0] == 0
    assert json.loads(lumen("schedule", "history", "--json")[1])[0]["state"] == "asked"
    assert lumen("schedule", "pause", "nightly")[0] == 0
    assert "paused" in lumen("schedule")[1]
    assert main(["--state", state, "schedule", "show", "nothing"]) == 3
    assert main(["--state", state, "schedule", "add", "x", "y", "--missed", "never"]) == 2
    assert main(["--state", state, "schedule", "add", "x", "y", "--when", "every 1s"]) == 2


def test_intervals_and_far_gaps_are_reckoned_without_walking_through_them() -> None:
    every = Schedule("sch-a", "a", when="every 5m", since=times.iso(NOW))
    due = timing.due(every, NOW, NOW + 10 * 365 * 86_400)
    assert (due.count, due.newest[-1], due.more) == (10 * 365 * 288, NOW + 10 * 365 * 86_400, False)
    cron = Schedule("sch-b", "b", when="* * * * *", since=times.iso(NOW))
    due = timing.due(cron, NOW, NOW + 10 * 365 * 86_400)
    assert due.more and due.newest[-1] == NOW + 10 * 365 * 86_400


@pytest.mark.parametrize(
    ("pattern", "path", "meets"),
    [
        ("src/**", "src/a/b.py", True), ("src/**", "lib/a.py", False), ("*.md", "a.md", True),
        ("*.md", "docs/a.md", False), ("**/*.md", "docs/a.md", True), ("**/*.md", "a.md", True),
        ("src/**/*.py", "src/x.py", True), ("a?c", "abc", True), ("a?c", "a/c", False), ("a.c", "abc", False),
    ],
)  # fmt: skip
def test_patterns_mean_what_shells_mean_by_them(pattern: str, path: str, meets: bool) -> None:
    assert bool(path_pattern(pattern).fullmatch(path)) is meets
