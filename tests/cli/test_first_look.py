"""What somebody new sees: the settings that `init` writes, the doctor's word on them, and why nothing runs."""

from __future__ import annotations

import json
import os
import shutil
import tomllib

import pytest

from lumen_tui.__main__ import main
from lumen_tui.headless import runs
from lumen_tui.model.config import Config
from lumen_tui.model.loop import Pause
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import settings_text, shipped
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import pauses


def leaves(table: dict) -> list:
    return [leaf for value in table.values() for leaf in (leaves(value) if isinstance(value, dict) else [value])]


def test_init_writes_settings_that_change_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "new"))
    assert main(["init"]) == 0
    layout = Layout(tmp_path / "new")
    text = layout.config.read_text()
    assert str(layout.config) in capsys.readouterr().out
    assert load_config(layout) == (Config(), [])
    assert leaves(tomllib.loads(text)) == []
    wanted = ("provider", "haiku", "day_usd", "tier", "limit", "require")
    assert [name for name in wanted if f"\n# {name} = " not in text] == []
    assert layout.config.stat().st_mode & 0o777 == 0o600
    assert main(["doctor"]) == 0


def test_init_leaves_settings_alone_that_are_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "mine"))
    (tmp_path / "mine").mkdir(mode=0o700)
    mine = tmp_path / "mine" / "lumen.toml"
    mine.write_text("[workers]\nlimit = 2\n")
    assert main(["init"]) == 0
    assert mine.read_text() == "[workers]\nlimit = 2\n"
    assert "default" not in capsys.readouterr().out


def test_every_line_of_the_settings_means_something_once_its_mark_is_gone():
    lines = settings_text().split("\n")
    for line in lines:
        name, equals, _ = line.removeprefix("# ").partition(" = ")
        if line.startswith("# ") and equals and name.isidentifier():
            tomllib.loads(line.removeprefix("# "))


def test_what_commands_made_in_a_tasks_folder_is_no_business_of_the_doctor(here, capsys):
    folder = here.layout.tasks / "tsk-one" / "files"
    folder.mkdir(parents=True, mode=0o700)
    os.chmod(folder.parent, 0o700)
    (folder.parent / "spec.json").write_text('{"id": "tsk-one", "objective": "o", "role": "builder"}')
    os.chmod(folder.parent / "spec.json", 0o600)
    (folder / "made").write_text("x")
    os.chmod(folder / "made", 0o644)
    (folder / "link").symlink_to("made")
    main(["doctor", "--json"])
    assert [one["where"] for one in json.loads(capsys.readouterr().out)["findings"] if "files" in one["where"]] == []
    os.chmod(folder.parent / "spec.json", 0o644)
    main(["doctor", "--json"])
    found = [(one["where"], one["what"]) for one in json.loads(capsys.readouterr().out)["findings"]]
    assert ("tasks/tsk-one/spec.json", "mode 0644: other users can use it") in found


def test_the_doctor_shows_all_that_the_sandbox_was_tried_with(here, capsys):
    main(["doctor", "--sandbox"])
    out = capsys.readouterr().out
    main(["doctor", "--sandbox", "--json"])
    tests = json.loads(capsys.readouterr().out)["sandbox_tests"]
    assert [one["tier"] for one in tests] == ["bubblewrap", "landlock"]
    for one in tests:
        assert ("holds" if one["holds"] else one["why"][:30]) in out
        assert [name for name in one["tried"] if name not in out] == []
    if not any(one["tried"] for one in tests):
        pytest.skip("no tier can be tried here")
    assert "read a secret" in out


def test_status_says_why_nothing_runs(here, capsys):
    pauses.change(here.layout, "role:builder", Pause(at="2026-01-01T00:00:00Z", by="ann", reason="a drill"))
    pauses.pause_all(here.layout, Pause(at="2026-01-01T00:00:00Z", by="ann", reason="backup"))
    main(["kill", "--reason", "wild"])
    capsys.readouterr()
    main(["status"])
    lines = capsys.readouterr().out.splitlines()
    assert "nothing starts: it is killed by" in lines[1]
    assert "wild; `lumen-tui unkill` resumes it" in lines[1]
    assert lines[2] == "  nothing starts: everything is paused by ann: backup; `lumen-tui resume` resumes it"
    assert lines[3].startswith("  role builder is paused by ann: a drill; `lumen-tui resume role builder`")
    main(["status", "--json"])
    told = json.loads(capsys.readouterr().out)["held_back"]
    assert [f"  {reason}" for reason in told] == lines[1:4]
    assert sum("wild" in line for line in lines) == 1  # though it is among what needs somebody as well


BEFORE = {  # what stands where the state folder shall be -> what is said of it, by who needs one and by who makes one
    "nothing": ("there is no state folder at ", "there was no state folder at {}: it was made"),
    "an empty folder": ("nothing was kept in ", "{} was made a state folder"),
    "the seed of a checkout": ("nothing was kept in ", ""),
}


@pytest.fixture(params=BEFORE)
def before(request, tmp_path, monkeypatch):
    root = tmp_path / "new"
    if request.param != "nothing":
        root.mkdir()
    if request.param == "the seed of a checkout":
        shutil.copytree(shipped("state/lumen.toml").parent, root, dirs_exist_ok=True, ignore=_all_but_the_seed)
    monkeypatch.setenv("LUMEN_STATE", str(root))
    needed, made = BEFORE[request.param]
    return root, f"{needed}{root}", made.format(root)


def _all_but_the_seed(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name not in ("README.md", "lumen.toml", "evolved", "constitution.md")]


@pytest.mark.parametrize("words", [["task", "new", "Disk usage of /etc"], ["run", "Disk usage of /etc"]])
def test_a_task_needs_no_preparation_and_what_was_made_for_it_is_told(before, monkeypatch, capsys, words):
    root, _, made = before
    monkeypatch.setattr(runs, "_see_through", _done)  # the engine's part is not what is looked at
    assert main(words) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if str(root) in line] == ([f"lumen-tui: {made}"] if made else [])
    assert len(list(Layout(root).tasks.glob("tsk-*/spec.json"))) == 1
    assert main(words) == 0
    assert str(root) not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["inbox"], ["doctor"], ["signal", "hello"], ["mem:inbox"]])
def test_who_needs_a_state_folder_says_what_is_there_and_what_makes_one(before, capsys, words):
    root, needed, _ = before
    assert main(words) != 0
    said = capsys.readouterr().err
    assert needed in said
    assert f"`lumen-tui init --state {root}`" in said
    assert not (root / "memory").exists()


def test_a_task_without_an_objective_makes_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "new"))
    assert main(["task", "new"]) == 2
    assert not (tmp_path / "new").exists()


async def _done(*_: object) -> int:
    return 0
