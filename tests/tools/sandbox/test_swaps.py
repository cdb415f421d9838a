"""What is checked first and used later: a command swaps folders and links in between, or moves away what is kept."""

from __future__ import annotations

import os
import subprocess

import lumen_machine
import msgspec
import pytest

from lumen_tui.tools.base import ToolError
from lumen_tui.tools.files import opening, paths, read, search
from lumen_tui.tools.files.edit import EditArguments, plan_edit
from lumen_tui.tools.sandbox import admission, bubblewrap

SECRET = "SECRET-CANARY-4711"


@pytest.fixture
def app(machine):
    """A repository below a granted folder, with keys beside it."""
    top = machine.top / "project" / "app"
    subprocess.run(["git", "init", "-q", str(top)], check=True, env={"PATH": os.environ["PATH"], "HOME": str(top)})
    (top / ".env").write_text(f"TOKEN={SECRET}\n")
    return top


@pytest.mark.parametrize("place", ["src/a/b/c/d/e", "src/build", "src/node_modules"])
def test_a_repository_is_not_moved_away_from_its_walls(machine, app, place):
    before = machine.kept() | {"env": (app / ".env").read_bytes()}
    machine.run(
        f"mkdir -p @project@/{place}; mv @project@/app @project@/{place}/; mv @project@/app/.git @project@/src/"
    )
    result = machine.run(f"cd @project@/{place}/app; cat .env; echo evil > .git/hooks/pre-commit; cat ../../*/.env")
    assert SECRET not in result.text
    assert machine.kept() | {"env": (app / ".env").read_bytes()} == before
    assert not (app / ".git" / "hooks" / "pre-commit").exists()


def test_a_repository_is_not_buried_under_many_folders(machine, app, monkeypatch):
    box = machine.box()
    box.call("shell", {"command": f"mkdir -p {machine.top}/project/src/1/2/3"})
    monkeypatch.setattr("lumen_tui.tools.sandbox.secrets._MOST_FOLDERS", 1)  # as if there were very many
    said = box.call("shell", {"command": f"cd {app}; cat .env; echo evil > .git/hooks/pre-commit"})
    assert SECRET not in said.text
    assert not (app / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.threat("S6", "links put in the way while a tool works")
def test_a_link_that_is_called_env_makes_nothing_outside(machine):
    """bubblewrap makes what it has to cover; while it does, the machine's files stand below /oldroot."""
    machine.run("ln -s /oldroot@state@/kill.json .env; ln -s @home@/.ssh .env.local; ln -s /nowhere .env.x")
    before = machine.kept()
    assert machine.run("true").ok
    assert machine.kept() == before


def test_the_file_behind_a_link_called_env_is_hidden(machine):
    (machine.top / "project" / "src" / "prod.txt").write_text(SECRET)
    (machine.top / "project" / "src" / ".env").symlink_to("prod.txt")
    assert SECRET not in machine.run("cat @project@/src/prod.txt @project@/src/.env").text


MADE = (".git/commondir", ".git/config.worktree", ".mcp.json", ".vscode/tasks.json", ".claude/settings.json")


@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", MADE)
def test_what_git_and_editors_would_obey_is_not_made_either(machine, name):
    """`commondir` names the folder whose config and hooks git goes by: the next `git status` would run a program."""
    project = machine.top / "project"
    refused = machine.box().call("write_file", {"path": str(project / name), "content": "x"})
    assert not refused.ok
    assert not (project / name).exists()
    box = machine.box()
    made = box.call(
        "shell", {"command": f"cd {project}; mkdir -p {os.path.dirname(name) or '.'}; echo ../src > {name}"}
    )
    assert not (project / name).exists()
    if made.ok:  # then nothing is lost
        kept = [path for path in project.rglob("*") if ".aside-" in str(path) and path.is_file()]
        assert [path.read_text() for path in kept] == ["../src\n"]


def test_a_background_command_leaves_none_of_it_either(machine):
    box = machine.box()
    box.call("shell_start", {"command": f"cd {machine.top}/project; mkdir .vscode; echo made; sleep 60"})
    box.call("shell_output", {"name": "job-1", "timeout": 5})
    box.close()
    assert not (machine.top / "project" / ".vscode").exists()


WRONG = {
    "another folder": lambda words, at, other: [*words[: at + 1], str(other), *words[at + 2 :]],
    "another place": lambda words, at, other: [*words[: at + 2], str(other), *words[at + 3 :]],
    "writable": lambda words, at, _other: [*words[:at], "--bind", *words[at + 1 :]],
}


@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", WRONG)
def test_a_command_does_not_begin_in_walls_that_are_not_as_meant(machine, monkeypatch, name):
    if machine.tier != "bubblewrap":
        pytest.skip("bubblewrap goes by names, several times over")
    git = machine.top / "project" / ".git"
    other = machine.top / "project" / "src"
    real = bubblewrap.with_barrier

    def ready(words, held):
        """As if a command had put a link in the way at the right moments."""
        at = next(at for at, word in enumerate(words) if word == "--ro-bind" and words[at + 1] == str(git / "hooks"))
        return real(WRONG[name](words, at, other), held)

    monkeypatch.setattr(bubblewrap, "with_barrier", ready)
    before = machine.kept()
    result = machine.run("echo RAN; echo evil > @project@/.git/hooks/pre-commit")
    assert not result.ok
    assert "was changed while its sandbox was set up" in result.text
    assert "RAN" not in result.text
    assert machine.kept() == before


@pytest.mark.threat("S6", "links put in the way while a tool works")
def test_a_link_on_the_way_to_a_granted_folder_grants_nothing(machine, monkeypatch):
    if machine.tier != "landlock":
        pytest.skip("the same for bubblewrap is above")
    outside = machine.top / "outside" / "sub"
    outside.mkdir()
    (machine.top / "project" / "src" / "link").symlink_to(outside.parent)
    swapped = str(machine.top / "project" / "src" / "link" / "sub")
    real = admission.policy

    def policy(*given, **more):
        found = real(*given, **more)
        return msgspec.structs.replace(found, writable=(*found.writable, swapped))

    monkeypatch.setattr(admission, "policy", policy)
    machine.run("echo pwned > @outside@/sub/file")
    assert os.listdir(outside) == []


@pytest.fixture
def swapped(unwalled, monkeypatch):
    """A file of the task whose folder becomes a link to keys right after its path was looked at."""
    folder = unwalled.files / "a"
    folder.mkdir(parents=True)
    (folder / "id_rsa").write_text("mine\n")

    def swap():
        if not folder.is_symlink():
            folder.rename(unwalled.files / "b")
            folder.symlink_to(unwalled.top / "home" / ".ssh")

    def then_swaps(function):
        def called(*given, **named):
            found = function(*given, **named)
            swap()
            return found

        return called

    for module, name in ((read, "resolve"), (read, "folder"), (search, "resolve"), (search, "folder")):
        monkeypatch.setattr(module, name, then_swaps(getattr(paths, name)))
    monkeypatch.setattr("lumen_tui.tools.files.edit.may_write", then_swaps(lambda *_: ""))
    return unwalled


@pytest.mark.threat("S6", "links put in the way while a tool works")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "a/id_rsa"}), ("read_file", {"path": "a/id_rsa", "byte_offset": 1}),
        ("grep", {"path": "a/id_rsa", "pattern": "."}), ("grep", {"path": "a", "pattern": "."}),
        ("list_dir", {"path": "a"}), ("glob", {"path": "a", "pattern": "*"}),
    ],
)  # fmt: skip
def test_no_tool_follows_a_link_that_was_put_in_the_way(swapped, tool, arguments):
    (swapped.top / "home" / ".ssh" / "known").write_text(SECRET)
    result = swapped.box().call(tool, arguments)
    assert (swapped.files / "a").is_symlink(), "nothing was swapped"
    assert not result.ok
    assert SECRET not in result.text
    assert "known" not in result.text


@pytest.mark.threat("S6", "links put in the way while a tool works")
def test_an_edit_does_not_read_behind_it_either(swapped):
    with pytest.raises(ToolError, match="cannot be read"):
        plan_edit(swapped.box()._context, EditArguments("a/id_rsa", SECRET, "x"))


def test_opening_needs_no_right_to_list_the_folders_on_the_way_and_leaves_nothing_open(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("x")
    (tmp_path / "link").symlink_to("a")
    open_ones = os.listdir("/proc/self/fd")
    fd = opening.file(str(tmp_path / "a" / "b" / "file"))
    assert os.read(fd, 9) == b"x"
    os.close(fd)
    for wrong in ("link/b/file", "a/missing/file", "a/b/file/x", "link"):
        with pytest.raises(OSError):
            opening.file(str(tmp_path / wrong))
    with opening.folder(str(tmp_path / "new" / "deep"), make=True) as made:
        assert os.listdir(made) == []
    assert len(os.listdir("/proc/self/fd")) == len(open_ones)


BROAD = ("grep -r KEY {home}", "grep -rh KEY .", "grep -R KEY {state}", "diff -rN {home} {out}", "diff any {home}")
READER = {"shell": "read", "write": False}


@pytest.mark.parametrize("command", BROAD)
def test_without_walls_a_command_that_reads_whole_folders_asks(unwalled, command):
    home = unwalled.top / "home"
    command = command.format(home=home, state=unwalled.store.root, out=unwalled.top / "outside")
    assert SECRET not in unwalled.run(command, cwd=str(home), **READER).text
    assert len(unwalled.asked) == 1
