"""Which folders a task may change, for commands and for the tools that work inside the worker."""

from __future__ import annotations

import os

import lumen_machine
import msgspec
import pytest

from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.tools.files.writing import may_write
from lumen_tui.tools.sandbox.policy import policy, sandbox_settings, writable_roots


def context_of(machine, **role):
    return machine.box(**role)._context


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("/", "too wide"), ("/tmp", "too wide"), ("/etc", "too wide"), ("@home@", "too wide"), ("@top@", "too wide"),
        ("relative/path", "absolute"), ("@top@/missing", "no such folder"), ("@top@/outside/file", "not a folder"),
        ("@state@", "state folder"), ("@state@/roles", "state folder"),
    ],
)  # fmt: skip
def test_what_is_never_granted(unwalled, named, why):
    path = named.replace("@top@", str(unwalled.top))
    for name, value in unwalled.values.items():
        path = path.replace(f"@{name}@", str(value))
    context = context_of(unwalled, writable=(path,))
    granted, refused = writable_roots(context, sandbox_settings(context))
    assert granted == (str(unwalled.top / "project"),)
    assert why in refused[0][1]


@pytest.mark.parametrize(
    ("roots", "granted"),
    [
        ((), ["project", "outside"]), (("@top@/project",), ["project"]), (("@top@/project/src",), ["project/src"]),
        (("@top@",), ["project", "outside"]), (("/etc",), []), (("@top@/home",), []), (("/",), ["project", "outside"]),
    ],
)  # fmt: skip
def test_a_task_can_only_narrow_what_the_operator_granted(unwalled, roots, granted):
    wanted = tuple(root.replace("@top@", str(unwalled.top)) for root in roots)
    context = context_of(unwalled, writable=(str(unwalled.top / "outside"),), roots=wanted)
    found, _ = writable_roots(context, sandbox_settings(context))
    assert sorted(found) == sorted(str(unwalled.top / name) for name in granted)


PLACES = ("new", "src/new", "../new", "../outside/new", "../missing/new", "../state/new", "../state/tasks/new")


@lumen_machine.on_a_tier
@pytest.mark.parametrize("home", ["@top@/home", "/nowhere"])
@pytest.mark.parametrize(
    ("granted", "roots"),
    [
        (("@top@",), ()), (("@top@/project",), ()), (("@top@/missing",), ()), (("@top@",), ("@top@/project/src",)),
        (("@top@/outside",), ("@top@/outside",)), (("@top@/state",), ()), ((), ()),
    ],
)  # fmt: skip
def test_what_a_command_wrote_is_there_afterwards(machine, granted, roots, home):
    """In its own /tmp, in which all of this stands, it would be gone."""
    here, home = lambda text: text.replace("@top@", str(machine.top)), home.replace("@top@", str(machine.top))
    machine.settings(writable=[here(path) for path in granted])
    box = machine.box(roots=tuple(map(here, roots)))
    msgspec.structs.force_setattr(box._context, "environ", {**box._context.environ, "HOME": home})
    paths = [os.path.normpath(machine.top / "project" / place) for place in PLACES]
    script = "; ".join(f"mkdir -p {os.path.dirname(path)}; echo x > {path} && echo WROTE {path}" for path in paths)
    result = box.call("shell", {"command": script, "cwd": "", "timeout": 20})
    wrote = [line.removeprefix("WROTE ") for line in result.text.splitlines() if line.startswith("WROTE ")]
    assert [path for path in paths if os.path.exists(path)] == wrote, result.text
    if granted == ("@top@",) and home == "/nowhere":
        assert str(machine.top / "project" / "src" / "new") in wrote


def test_a_folder_that_is_not_granted_after_all_is_named_where_it_stands(unwalled):
    layout = unwalled.store.layout
    unwalled.settings(
        writable=[str(layout.root / "work"), str(unwalled.top / "missing"), str(unwalled.top / "project")]
    )
    layout.role("builder").write_text('+++\ntools = ["write_file"]\nwrite = true\nwritable = ["here"]\n+++\n')
    problems = (*load_config(layout)[1], *list_roles(layout)[2])
    told = {one.what: one.where for one in problems if "helper" not in one.where}
    assert told == {
        f"writable names {layout.root / 'work'}: inside the state folder": "lumen.toml",
        f"writable names {unwalled.top / 'missing'}: there is no such folder": "lumen.toml",
        "writable names here: not an absolute path": "roles/builder.md",
    }


def test_a_link_into_a_granted_folder_is_its_target(unwalled):
    (unwalled.top / "link").symlink_to(unwalled.top / "home" / ".ssh")
    context = context_of(unwalled, writable=(str(unwalled.top / "link"),))
    found = policy(context, sandbox_settings(context), str(unwalled.top))
    assert str(unwalled.top / "home" / ".ssh") in found.hidden, "hidden goes before writable"


def test_a_role_that_does_not_write_has_no_folder(unwalled):
    context = context_of(unwalled, write=False)
    found = policy(context, sandbox_settings(context), str(unwalled.top))
    assert (found.writable, found.scratch) == ((), "")
    assert "may not change files" in may_write(context, "x")


ALLOWED = ["x", "deep/er/x", "@task@/files/x", "@project@/new", "@project@/src/main.c", "@project@/.git/MERGE_MSG",
           "@project@/env", "@project@/.env.example", "../files/x"]  # fmt: skip
REFUSED = [
    "", "a\0b", "@outside@/x", "@home@/.bashrc", "~/.ssh/authorized_keys", "/etc/passwd", "../spec.json",
    "../exit.json",
    "@task@/events.jsonl", "@task@", "@task@/files", "@state@/lumen.toml", "@state@/roles/x.md",
    "@state@/evolved/constitution.md", "@state@/tasks/tsk-b/spec.json", "@project@", "@project@/.git",
    "@project@/.git/hooks/pre-commit", "@project@/.git/config", "@project@/sub/.git/hooks/x", "@project@/.env",
    "@project@/src/.env.local", "@project@/.vscode/tasks.json", "@project@/.mcp.json", "@project@/../outside/x",
    "@project@/to-outside/x", "@project@/link", "@project@/hard", "@project@/pipe", "/proc/self/root/etc/passwd",
    "/proc/self/cwd/x", "@package@/x.py",
]  # fmt: skip


@pytest.fixture
def traps(unwalled):
    import lumen_tui

    project = unwalled.top / "project"
    (project / "to-outside").symlink_to(unwalled.top / "outside")
    (project / "link").symlink_to(unwalled.top / "outside" / "file")
    os.link(unwalled.top / "outside" / "file", project / "hard")
    os.mkfifo(project / "pipe")
    unwalled.values["package"] = os.path.dirname(lumen_tui.__file__)
    return unwalled


def _placed(machine, path):
    for name, value in machine.values.items():
        path = path.replace(f"@{name}@", str(value))
    return path


@pytest.mark.parametrize("path", ALLOWED)
def test_it_may_be_written(traps, path):
    assert may_write(context_of(traps), _placed(traps, path)) == ""


@pytest.mark.parametrize("path", REFUSED)
def test_it_may_not_be_written_and_the_reason_is_said(traps, path):
    assert may_write(context_of(traps), _placed(traps, path))


def test_the_state_folder_stays_closed_below_a_granted_folder(unwalled):
    context = context_of(unwalled)
    context = msgspec.structs.replace(context, environ={**context.environ, "HOME": "/nonexistent"})
    msgspec.structs.force_setattr(context, "role", msgspec.structs.replace(context.role, writable=(str(unwalled.top),)))
    assert str(unwalled.top) in writable_roots(context, sandbox_settings(context))[0]
    assert may_write(context, str(unwalled.top / "outside" / "new")) == ""
    assert "lumen itself" in may_write(context, str(unwalled.store.root / "lumen.toml"))
    assert may_write(context, str(unwalled.files / "x")) == ""


@lumen_machine.on_a_tier
@pytest.mark.parametrize(
    "name", [".GIT/hooks/x", ".Git/config", "src/.VSCODE/tasks.json", ".Env", ".Env.Local", "a/.giT"]
)
def test_what_programs_obey_is_not_written_in_other_letters(machine, name):
    result = machine.box().call("write_file", {"path": f"{machine.top}/project/{name}", "content": "x"})
    assert not result.ok
    assert not (machine.top / "project" / name).exists()
