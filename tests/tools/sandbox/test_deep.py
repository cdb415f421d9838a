"""What is guarded stands anywhere: deep down, in builds and packages, behind links, where a task saw it before."""

from __future__ import annotations

import os
import subprocess
import time

import lumen_machine
import msgspec
import pytest

from lumen_tui.tools.files.writing import may_write
from lumen_tui.tools.sandbox import protected_paths

SECRET = "SECRET-CANARY-4711"


def repository(top, *options):
    top.mkdir(parents=True, exist_ok=True)
    quiet = {"PATH": os.environ["PATH"], "HOME": str(top)}
    subprocess.run(["git", "init", "-q", *options, str(top)], check=True, env=quiet)
    return top


@lumen_machine.on_a_tier
@pytest.mark.parametrize("place", ["src/1/2/3/4/5/6", "build/app", "node_modules/a/b", "src/a\nb #c", "src/\udcff"])
def test_a_repository_and_its_keys_are_found_wherever_they_stand(machine, place):
    app = repository(machine.top / "project" / place)
    (app / ".env").write_text(f"TOKEN={SECRET}\n")
    result = machine.run(
        "cat .env; echo evil > .git/hooks/pre-commit; echo evil >> .git/config; mv .git x", cwd=str(app)
    )
    assert SECRET not in result.text
    assert not (app / ".git" / "hooks" / "pre-commit").exists()
    assert "evil" not in (app / ".git" / "config").read_text()


def test_a_bare_repository_is_one_too(machine):
    bare = repository(machine.top / "project" / "bare", "--bare")
    before = (bare / "config").read_bytes()
    machine.run("echo '[core]' >> @project@/bare/config; echo evil > @project@/bare/hooks/post-receive")
    assert not machine.box().call("write_file", {"path": f"{bare}/hooks/update", "content": "evil"}).ok
    assert (bare / "config").read_bytes() == before
    assert {"post-receive", "update"}.isdisjoint(os.listdir(bare / "hooks"))


def test_what_one_task_saw_the_next_one_cannot_lose(machine, monkeypatch):
    app = repository(machine.top / "project" / "src" / "1" / "2")
    (app / ".env").write_text(f"TOKEN={SECRET}\n")
    assert machine.run("true").ok
    for name in ("_MOST_AT_THE_TOP", "_MOST_FOLDERS", "_MOST_PASSED_OVER"):
        monkeypatch.setattr(f"lumen_tui.tools.sandbox.secrets.{name}", 0)  # as if it had buried them meanwhile
    result = machine.run(f"cat {app}/.env; echo evil > {app}/.git/hooks/pre-commit; echo >> @state@/index/guarded.json")
    assert SECRET not in result.text
    assert not (app / ".git" / "hooks" / "pre-commit").exists()


def test_a_damaged_memory_of_it_is_made_anew(machine):
    for damage in (b"\xff", b"[" * 100_000, b"[]", b'{"env":[1]}'):
        (machine.store.layout.index / protected_paths.REMEMBERED).write_bytes(damage)
        assert SECRET not in machine.run("cat @project@/.env").text
        assert b"project/.env" in (machine.store.layout.index / protected_paths.REMEMBERED).read_bytes()


def test_too_many_folders_are_told_and_too_many_names_refused(machine, monkeypatch):
    told: list[str] = []
    box = machine.box()
    msgspec.structs.force_setattr(box._context, "progress", told.append)
    monkeypatch.setattr("lumen_tui.tools.sandbox.secrets._MOST_FOLDERS", 1)
    for _ in range(2):
        assert box.call("shell", {"command": f"echo {len(told)}"}).ok
    assert len([text for text in told if "has more folders than are looked through" in text]) == 1
    monkeypatch.setattr("lumen_tui.tools.sandbox.policy._MOST_PROTECTED", 1)
    result = machine.run("true")
    assert not result.ok
    assert "folders and files would have to be guarded, 1 at most" in result.text


def test_no_link_and_no_depth_keeps_later_commands_from_beginning(machine):
    machine.run(
        "cd @project@/src; ln -s .env .env; ln -s /dev/zero .env.z; mkfifo .env.f; ln -s @outside@ .env.d; "
        "mkdir -p q/.git; mkfifo q/.git/config q/.git/hooks; "
        "i=0; while [ $i -lt 300 ]; do mkdir a && cd a; i=$((i+1)); done; mkdir .git"
    )
    began = time.monotonic()
    result = machine.run("echo goes on")
    assert "goes on" in result.text
    assert time.monotonic() - began < 3


def test_of_very_many_repositories_only_the_nearest_are_open_for_commits(machine, monkeypatch):
    monkeypatch.setattr("lumen_tui.tools.sandbox.policy._MOST_IN_PARTS", 1)
    near, far = (repository(machine.top / "project" / "src" / name) for name in ("near", "far"))
    machine.run(f"cd {near}; echo x > .git/refs/heads/x; echo x > {far}/.git/refs/heads/x", cwd=str(near))
    assert os.listdir(far / ".git" / "refs" / "heads") == []
    assert os.listdir(near / ".git" / "refs" / "heads") == ["x"]


def test_the_file_tools_make_no_repository(machine):
    for name in ("objects/a", "refs/b", "config", "hooks/post-checkout"):
        assert machine.box().call("write_file", {"path": f"x/{name}", "content": "x"}).ok
    refused = machine.box().call("write_file", {"path": "x/HEAD", "content": "ref: refs/heads/main\n"})
    assert not refused.ok
    assert may_write(machine.box()._context, "HEAD")


@pytest.fixture
def strayed(machine):
    if machine.tier == "landlock":
        pytest.skip("under Landlock a folder that holds something protected takes no new files")
    return machine


def test_what_programs_would_obey_is_put_aside_while_the_command_runs(strayed):
    result = strayed.run(
        "cd @project@; mkdir .vscode; echo evil > .vscode/tasks.json; "
        "for i in 1 2 3 4 5 6 7 8 9; do [ -e .vscode ] || break; sleep 0.3; done; ls -d .vscode || echo GONE; "
        "echo on > src/on"
    )
    assert "GONE" in result.text
    assert (strayed.top / "project" / "src" / "on").exists(), "the command goes on"


def test_who_makes_it_again_is_ended(strayed):
    began = time.monotonic()
    result = strayed.run("cd @project@; while :; do mkdir -p .claude; sleep 0.05; done", seconds=20)
    assert time.monotonic() - began < 8
    assert "ended: it made again what other programs would run or obey" in result.text
    assert not (strayed.top / "project" / ".claude").exists()
    assert len([name for name in os.listdir(strayed.top / "project") if ".aside-" in name]) <= 4


def test_a_link_that_programs_obey_leads_where_it_did(strayed):
    project = strayed.top / "project"
    (project / "shared").mkdir()
    (project / ".claude").symlink_to("shared")
    strayed.run("cd @project@; rm .claude; mkdir .claude; echo evil > .claude/x; echo evil > shared/settings.json")
    assert os.readlink(project / ".claude") == "shared"
    assert os.listdir(project / "shared") == []
