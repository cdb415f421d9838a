"""`hooks install`: ours beside what is there, and out again without a trace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lumen_tui.cli.main import main
from lumen_tui.store.sessions import hook_journal

THEIRS = {
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "model": "opus", "unknown": {"ä": [1.5, None, True]},
    "hooks": {
        "PostToolUse": [
            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "npx prettier --write", "timeout": 30}]}
        ],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo hook PostToolUse"}]}],
        "Stop": [],
    },
    "permissions": {"allow": ["Bash(ls:*)"]},
}  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LUMEN_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    return tmp_path / ".claude" / "settings.local.json"


def written(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    path.chmod(mode)
    return path


def commands(path: Path, event: str) -> list[str]:
    groups = json.loads(path.read_text())["hooks"].get(event, [])
    return [hook["command"] for group in groups for hook in group["hooks"]]


def test_a_new_file_names_every_event_and_goes_with_us(settings):
    assert main(["hooks", "install"]) == 0
    for event in hook_journal.EVENTS:
        (line,) = commands(settings, event)
        assert line.endswith(f" hook {event} --state {settings.parents[1] / 'state'}")
        assert os.access(line.split()[0], os.X_OK)
    assert json.loads(settings.read_text())["hooks"]["PostToolUse"][0]["matcher"] == "*"
    assert main(["hooks", "uninstall"]) == 0
    assert not settings.exists()
    assert main(["hooks", "uninstall"]) == 3


@pytest.mark.parametrize("indent", [2, 4, "\t", None])
def test_the_others_stay_and_what_was_there_comes_back_byte_for_byte(settings, indent):
    text = json.dumps(THEIRS, indent=indent, ensure_ascii=False) + "\n"
    written(settings, text, 0o640)
    assert main(["hooks", "install"]) == 0
    there = json.loads(settings.read_text())
    assert {key: value for key, value in there.items() if key != "hooks"} == {
        key: value for key, value in THEIRS.items() if key != "hooks"
    }
    assert list(there) == list(THEIRS)
    assert commands(settings, "PostToolUse")[0] == "npx prettier --write"
    assert len(commands(settings, "PostToolUse")) == 2
    assert (settings.parent / "settings.local.json.before-lumen").read_text() == text
    assert settings.stat().st_mode & 0o777 == 0o640
    assert main(["hooks", "uninstall"]) == 0
    assert settings.read_text() == text


def test_what_others_changed_meanwhile_stays(settings):
    written(settings, json.dumps(THEIRS, indent=2))
    main(["hooks", "install"])
    changed = json.loads(settings.read_text())
    changed["model"] = "haiku"
    changed["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    written(settings, json.dumps(changed, indent=2))
    assert main(["hooks", "uninstall"]) == 0
    expected = json.loads(json.dumps(THEIRS))
    expected["model"] = "haiku"
    expected["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "say done"}]}]
    assert json.loads(settings.read_text()) == expected


def test_twice_is_once_and_another_state_folder_takes_the_place_of_the_first(settings, tmp_path):
    written(settings, json.dumps(THEIRS, indent=2))
    main(["hooks", "install"])
    once = settings.read_bytes()
    assert main(["hooks", "install"]) == 0
    assert settings.read_bytes() == once
    assert main(["--state", str(tmp_path / "other place"), "init"]) == 0
    assert main(["--state", str(tmp_path / "other place"), "hooks", "install"]) == 0
    for event in hook_journal.EVENTS:
        ours = [line for line in commands(settings, event) if " hook " in line]
        assert ours == [line for line in ours if f"'{tmp_path}/other place'" in line]
        assert len(ours) == 1
    assert json.loads((settings.parent / "settings.local.json.before-lumen").read_text()) == THEIRS
    main(["hooks", "uninstall"])
    assert json.loads(settings.read_text()) == THEIRS


@pytest.mark.parametrize(
    "text",
    ['{"hooks": ', "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"a": 1, "a": 2}', '{"a": NaN}', "// x\n{}"],
)
def test_a_file_that_cannot_be_read_is_left_as_it_is(settings, text, capsys):
    written(settings, text)
    assert main(["hooks", "install"]) in (1, 2)
    said = capsys.readouterr().err
    assert str(settings) in said
    assert "nothing was changed" in said
    assert settings.read_text() == text
    assert [path.name for path in settings.parent.iterdir()] == ["settings.local.json"]


def test_a_read_only_file_is_left_as_it_is(settings, capsys):
    written(settings, "{}", 0o444)
    assert main(["hooks", "install"]) == 1
    assert "not writable" in capsys.readouterr().err
    assert settings.read_text() == "{}"


def test_a_folder_that_cannot_be_made_is_a_clear_error(settings, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["hooks", "install", "--settings", str(tmp_path / "file" / "settings.json")]) == 1
    assert "nothing was changed" in capsys.readouterr().err


def test_a_link_is_followed_and_stays_a_link(settings, tmp_path):
    real = written(tmp_path / "dotfiles.json", '{"model": "opus"}')
    settings.parent.mkdir()
    settings.symlink_to(real)
    assert main(["hooks", "install"]) == 0
    assert settings.is_symlink()
    assert len(commands(real, "Stop")) == 1
    assert main(["hooks", "uninstall"]) == 0
    assert real.read_text() == '{"model": "opus"}'


def test_status_says_what_is_wrong(settings, tmp_path, capsys):
    assert main(["hooks", "status"]) == 3
    main(["hooks", "install"])
    assert main(["hooks", "status"]) == 0
    assert "no hook has run yet" in capsys.readouterr().out
    text = settings.read_text()
    there = json.loads(text)
    del there["hooks"]["Stop"]
    written(settings, json.dumps(there))
    assert main(["hooks", "status"]) == 1
    assert "not installed for Stop" in capsys.readouterr().out
    written(settings, text.replace(str(tmp_path / "state"), "/elsewhere"))
    assert main(["hooks", "status"]) == 1
    assert "another state folder, /elsewhere" in capsys.readouterr().out
    written(settings, "{")
    assert main(["hooks", "status", "--json"]) == 1
    assert "is not JSON" in json.loads(capsys.readouterr().out)["trouble"][0]
