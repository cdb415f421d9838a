"""What editors and agents obey stays as it is in every folder below a granted one, and nothing of it is left behind."""

from __future__ import annotations

import os
import time

import lumen_machine
import msgspec
import pytest

from lumen_tui.tools.sandbox import protected_paths

PLACES = ["src/.vscode", "src/1/2/3/4/5/6/.claude", "src/a b/.idea", "src/.git-less/.cursor"]


def settings(folder):
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text("mine\n")
    return folder


def looked(machine, progress):
    box = machine.box()
    msgspec.structs.force_setattr(box._context, "progress", progress)
    return box


def shell(box, command, **more):
    return box.call("shell", {"command": command, "timeout": 60, **more})


def kept_aside(top):
    return sorted(path.name.partition(".aside-")[0] for path in top.rglob("*.aside-*"))


@lumen_machine.on_a_tier
@pytest.mark.parametrize("place", PLACES)
def test_settings_that_are_there_stay_as_they_are(machine, place):
    folder = settings(machine.top / "project" / place)
    box = machine.box()
    for command in (
        "echo evil > settings.json", "echo evil > new.json", "rm -rf settings.json", "chmod 777 settings.json .",
        "cd ..; mv * .[a-z]* @project@/src/main.c 2>/dev/null; mv $(basename @here@) x; ln -s /tmp $(basename @here@)",
        "mkdir -p @project@/src/new/deep; mv @project@/src/[1a.]* @project@/src/new/deep/",
        "cd ../..; mv $(basename $(dirname @here@)) moved",
    ):  # fmt: skip
        command = command.replace("@here@", f"'{folder}'").replace("@project@", str(machine.top / "project"))
        shell(box, command, cwd=str(folder))
        assert os.listdir(folder) == ["settings.json"], command
        assert (folder / "settings.json").read_text() == "mine\n", command
        assert (folder / "settings.json").stat().st_mode & 0o777 == 0o644, command
    box.close()
    assert kept_aside(machine.top / "project") == []


def test_a_file_and_a_link_of_that_kind_stay_as_well(machine):
    src = machine.top / "project" / "src"
    (src / "sub").mkdir()
    (src / "sub" / ".mcp.json").write_text("mine")
    (src / "real").mkdir()
    (src / "real" / "rules").write_text("mine")
    (src / "sub" / ".claude").symlink_to("../real")
    machine.run(
        f"cd {src}/sub; echo evil > .mcp.json; echo evil > .claude/rules; ln -sfn /tmp .claude; rm -f .mcp.json; "
        "sleep 1"
    )
    assert (src / "sub" / ".mcp.json").read_text() == "mine"
    assert (src / "real" / "rules").read_text() == "mine"
    assert os.readlink(src / "sub" / ".claude") == "../real"


MADE = {
    "a folder": "mkdir -p x/.claude; echo evil > x/.claude/settings.json",
    "a file": "mkdir x; echo evil > x/.mcp.json",
    "far down": "mkdir -p 1/2/3/4/5/6/7/.vscode; echo evil > 1/2/3/4/5/6/7/.vscode/tasks.json",
    "under another name first": "mkdir -p x/harmless; echo evil > x/harmless/f; sleep .2; mv x/harmless x/.idea",
    "with a time of long ago": "mkdir -p x/.zed; echo evil > x/.zed/f; touch -d 2001-01-01 x/.zed/f x/.zed",
    "in a folder that comes whole": "mkdir -p @task@/files/y/.cursor; echo evil > @task@/files/y/.cursor/f; "
    "cp -a @task@/files/y x; rm -r @task@/files/y",
    "and the command fails": "mkdir -p x/.claude; echo evil > x/.claude/settings.json; exit 3",
}


@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", MADE)
def test_settings_that_a_command_makes_are_put_aside(machine, name):
    told: list[str] = []
    src = machine.top / "project" / "src"
    box = looked(machine, told.append)
    result = shell(box, f"cd {src}; " + MADE[name].replace("@task@", str(machine.values["task"])))
    assert "aside" not in result.text
    names = protected_paths.OF_ANY_FOLDER
    box.close()
    assert not [path for path in src.rglob("*") if path.name in names]
    made = [path for path in src.rglob("*") if ".aside-" in str(path) and path.is_file()]
    assert [path.read_text() for path in made] == ["evil\n"], "nothing is lost"
    assert [text for text in told if text.startswith("quarantined as ") and ".aside-" in text]


def test_a_command_that_is_ended_or_runs_in_the_background_leaves_none_either(machine):
    machine.settings(disk_mb=1)
    src = machine.top / "project" / "src"
    box = machine.box()
    shell(box, f"mkdir -p {src}/x/.claude; sleep 30", timeout=1)
    assert kept_aside(src) == [".claude"]
    box.call("shell_start", {"command": f"mkdir -p {src}/y/.vscode; echo made; sleep 60"})
    box.call("shell_output", {"name": "job-1", "timeout": 20})
    box.call("shell_stop", {"name": "job-1"})
    assert kept_aside(src) == [".claude", ".vscode"]
    box.call("shell_start", {"command": f"mkdir -p {src}/z/.idea; echo made; sleep 60"})
    box.call("shell_output", {"name": "job-2", "timeout": 20})
    box.close()
    assert kept_aside(src) == [".claude", ".idea", ".vscode"]


def test_where_looking_takes_long_it_is_done_at_the_end_of_the_task_at_the_latest(machine, monkeypatch):
    monkeypatch.setattr(protected_paths, "_REST", 1e9)
    src = machine.top / "project" / "src"
    box = machine.box()
    shell(box, f"mkdir -p {src}/1/2/3/4/5/.claude")
    assert kept_aside(src) == []
    shell(box, "true")
    box.close()
    assert kept_aside(src) == [".claude"]


def test_settings_that_a_person_makes_between_two_commands_stay_and_are_guarded(machine):
    src = machine.top / "project" / "src"
    box = machine.box()
    shell(box, "true")
    time.sleep(0.1)  # a file's time is that of the kernel's last tick
    folder = settings(src / "x" / ".vscode")
    shell(box, f"echo evil > {folder}/settings.json")
    box.close()
    assert (folder / "settings.json").read_text() == "mine\n"
    assert kept_aside(src) == []


def test_what_builds_and_packages_bring_with_them_stays(machine):
    src = machine.top / "project" / "src"
    assert machine.run(f"mkdir -p {src}/node_modules/a/.vscode {src}/build/.idea").ok
    assert (src / "node_modules" / "a" / ".vscode").is_dir() and (src / "build" / ".idea").is_dir()
    assert machine.run(f"echo x > {src}/node_modules/a/.vscode/f").ok
    assert kept_aside(src) == []


WAYS_ROUND = {
    "by its own files": ("mkdir -p @task@/files/y/.claude", "mv @task@/files/y @src@/"),
    "by a build": ("mkdir -p @src@/build/.claude", "mv @src@/build @src@/y"),
    "by packages": ("mkdir -p @src@/node_modules/y/.claude", "mv @src@/node_modules/y @src@/y"),
    "under a name that says nothing": ("mkdir -p @src@/y/c", "mv @src@/y/c @src@/y/.claude"),
}


@lumen_machine.on_a_tier
@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("name", WAYS_ROUND)
def test_settings_come_by_no_way_round(machine, name, tasks):
    src, box = machine.top / "project" / "src", machine.box()
    for command in WAYS_ROUND[name]:
        time.sleep(0.1)  # a file's time is that of the kernel's last tick
        assert shell(box, command.replace("@src@", str(src)).replace("@task@", str(machine.values["task"]))).ok
        if tasks == 2:
            box.close()
            box = machine.box()
    box.close()
    assert kept_aside(src) == [".claude"]
    assert not (src / "y" / ".claude").exists()


def test_settings_that_one_task_saw_the_next_one_cannot_lose(machine, monkeypatch):
    folder = settings(machine.top / "project" / "src" / "1" / "2" / ".vscode")
    assert machine.run("true").ok
    for name in ("_MOST_AT_THE_TOP", "_MOST_FOLDERS", "_MOST_PASSED_OVER"):
        monkeypatch.setattr(f"lumen_tui.tools.sandbox.secrets.{name}", 0)  # as if it had buried them meanwhile
    machine.run(f"echo evil > {folder}/settings.json; echo evil > {folder}/new")
    assert os.listdir(folder) == ["settings.json"]
    assert (folder / "settings.json").read_text() == "mine\n"


def test_a_memory_of_the_version_before_is_read(machine):
    (machine.store.layout.index / protected_paths.REMEMBERED).write_bytes(b'{"env":[],"repositories":[]}')
    folder = settings(machine.top / "project" / "src" / ".vscode")
    machine.run(f"echo evil > {folder}/settings.json")
    assert (folder / "settings.json").read_text() == "mine\n"


def test_without_walls_what_a_person_allowed_stays(unwalled):
    unwalled.answer = type(unwalled.answer)(allowed=True)
    src = unwalled.top / "project" / "src"
    box = unwalled.box()
    assert shell(box, f"mkdir -p {src}/x/.claude").ok
    box.close()
    assert (src / "x" / ".claude").is_dir()
    assert kept_aside(src) == []
