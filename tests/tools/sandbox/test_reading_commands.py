"""Commands of a role that only reads: the sandbox is the policy, and without one a person is asked for each."""

from __future__ import annotations

import time

import lumen_machine
import msgspec
import pytest
from sandbox_attacks import ATTACKS, SECRET, SURVIVORS, got_through, places

from lumen_tui.model.approvals import AllowRule
from lumen_tui.tools.base import ApprovalReply

READER = {"shell": "read", "write": False}
EVEN_WITH = {"shell": "read", "write": True, "network": True}  # what the role may do otherwise grants a command nothing

WRITING = {
    "a redirection": "echo x > @project@/new; echo x >> @project@/src/main.c",
    "an interpreter": '@py@ \'open("@project@/src/main.c", "w").write("x")\'',
    "a program of its own": "cp /bin/touch @task@/files/t; @task@/files/t @project@/new",
    "moving and removing": "mv @project@/src @project@/other; rm -rf @project@/src @task@/files",
    "an editor in place": "sed -i s/main/other/ @project@/src/main.c; sort -o @project@/new /etc/passwd",
    "find": "find @project@ -name main.c -delete; find @project@ -exec touch {}.new ';'",
    "git": "cd @project@; git config x.y z; git -c user.name=a -c user.email=b commit --allow-empty -m x; git init new",
    "a program of git's": "cd @project@; git -c core.fsmonitor='touch new' status; git -c alias.x='!touch new' x",
    "a mode": "chmod 777 @project@/src @project@/src/main.c; chmod 4755 @project@/src/main.c",
    "a link": "ln -s @outside@ @project@/link; ln @project@/src/main.c @project@/hard",
    "temporary files": "mktemp -p /tmp; mktemp -p /var/tmp; echo x > /tmp/lumen-@pid@; echo x > @home@/new",
    "an archive": "tar cf @project@/new.tar /etc/hostname; dd if=/etc/hostname of=@project@/new",
    "settings that editors obey": "mkdir @project@/.vscode; echo x > @project@/.mcp.json",
    "the task's own files": "echo x > @task@/files/new; echo x > @task@/exit.json; echo x > @task@/result.md",
    "a signal's line": "echo x >> @state@/memory/signals.jsonl; rm -rf @state@/tasks",
}

REACHING = {
    "keys": "cat @home@/.ssh/id_rsa @home@/.aws/credentials @home@/.netrc",
    "keys by a copy of the folder": "tar c -C @home@ . | strings; grep -rh CANARY @home@",
    "an environment file": "cat @project@/.env; grep -r TOKEN @project@; cat @project@/.e*; ln -s .env @task@/files/e",
    "the operator's settings": "cat @state@/lumen.toml @state@/operator.toml; grep -r CANARY @state@",
    "another process's environment": "cat /proc/@pid@/environ; tr '\\0' ' ' < /proc/@pid@/environ; ps auxe",
    "another process's files": "cat /proc/@pid@/root@home@/.netrc /proc/@worker@/cwd/.env; ls -l /proc/@worker@/fd",
    "an end of another process": "kill -9 @pid@; kill -9 -1",
}

NETWORK = [
    "a TCP port of this machine", "the socket of docker", "an abstract socket", "a raw socket",
    "a datagram to a service", "a service's socket of a relative name",
]  # fmt: skip


def untouched(machine) -> dict[str, bytes]:
    """All that a reading command may not change: also what is granted for writing, and the task's own files."""
    (machine.files).mkdir(exist_ok=True)
    roots = (machine.top / "project", machine.store.layout.task("tsk-a"))
    found = {str(path): path.read_bytes() for root in roots for path in sorted(root.rglob("*")) if path.is_file()}
    return found | machine.kept()


@pytest.mark.threat("S12", "commands that may only read: writes, secrets, processes, network")
@pytest.mark.parametrize("role", [READER, EVEN_WITH], ids=["reader", "even with rights"])
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", WRITING)
def test_it_changes_nothing(name, machine, role):
    before = untouched(machine)
    result = machine.run(WRITING[name], **role)
    assert "could not be set up" not in result.text, result.text
    assert untouched(machine) == before
    assert sorted(path.name for path in (machine.top / "project").iterdir()) == [
        ".env",
        ".git",
        "app.sock",
        "log.sock",
        "src",
    ]


@pytest.mark.threat("S12", "commands that may only read: writes, secrets, processes, network")
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", REACHING)
def test_it_reaches_no_secret_and_no_other_process(name, machine):
    result = machine.run(REACHING[name], cwd=str(machine.top / "outside"), **READER)
    assert SECRET not in result.text, result.text
    assert machine.victim.poll() is None


@pytest.mark.threat("S12", "commands that may only read: writes, secrets, processes, network")
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", NETWORK)
def test_it_reaches_no_network_even_where_the_role_does(name, machine):
    result = machine.run(ATTACKS[name], **EVEN_WITH)
    assert not got_through(result.text), result.text
    assert machine.reached() == []


@pytest.mark.threat("S12", "commands that may only read: writes, secrets, processes, network")
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", SURVIVORS)
def test_it_leaves_no_process(name, machine):
    machine.values["n"] = str(time.monotonic_ns())[-6:]
    machine.run(SURVIVORS[name], **READER)
    assert machine.survivors(f"61.5{machine.values['n']}") == []


@pytest.mark.threat("S12", "commands that may only read: writes, secrets, processes, network")
@pytest.mark.sweep(most=10)
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", ATTACKS)
def test_no_way_out_of_the_sandbox_is_open_to_it(name, machine):
    places(machine)
    before = machine.kept()
    result = machine.run(ATTACKS[name], **READER)
    assert not got_through(result.text), result.text
    assert SECRET not in result.text.replace(f"grep: {SECRET}", ""), result.text
    assert machine.kept() == before
    assert machine.with_rights_of_their_owner() == []
    assert machine.reached() == []
    assert machine.victim.poll() is None, "another process was ended"


def test_what_it_was_denied_says_so(machine):
    text = machine.run("echo x > @project@/new", **READER).text
    assert f"[sandbox {machine.tier}: it can change no file, and reaches no network]" in text


def test_an_environment_file_deep_in_a_granted_folder_is_hidden_wherever_it_starts(machine):
    deep = machine.top / "project" / "1" / "2" / "3" / "4" / "5"
    deep.mkdir(parents=True)
    (deep / ".env.local").write_text(f"TOKEN={SECRET}\n")
    (deep / "seen").write_text("TOKEN=seen\n")
    for command in (f"grep -r TOKEN {machine.top}/project", f"cat {deep}/.env.local {deep}/seen"):
        text = machine.run(command, cwd=str(machine.top / "outside"), **READER).text
        assert SECRET not in text
        assert "seen" in text


READS = (
    "ls @outside@ | head -3",
    "cat spec.json",
    "git -C @project@ status",
    "grep -rh KEY @home@",
    "touch @project@/new",
)


@pytest.mark.threat("S12", "commands that may only read: writes, secrets, processes, network")
@pytest.mark.parametrize("command", READS)
def test_without_a_sandbox_every_command_asks_and_a_no_runs_nothing(unwalled, command):
    unwalled.answer = ApprovalReply(allowed=False, reason="not on a Friday")
    result = unwalled.run(command, **READER)
    assert not result.ok
    assert "not on a Friday" in result.text
    (asked,) = unwalled.asked
    assert "No sandbox" in asked.risk
    assert asked.reason.startswith("without a sandbox every command asks")
    assert not (unwalled.top / "project" / "new").exists()


def test_without_a_sandbox_an_allowed_command_runs_and_is_noted_as_begun(unwalled):
    unwalled.answer = ApprovalReply(allowed=True, by="ann")
    begun: list[str] = []
    box = unwalled.box(**READER)
    msgspec.structs.force_setattr(box._context, "begins", begun.append)
    assert "file" in box.call("shell", {"command": f"ls {unwalled.top}/outside"}).text
    assert begun == ["shell"], "a worker that dies now is not started again by itself"


def test_in_a_sandbox_nothing_counts_as_begun(machine):
    begun: list[str] = []
    box = machine.box(**READER)
    msgspec.structs.force_setattr(box._context, "begins", begun.append)
    assert box.call("shell", {"command": "ls"}).ok
    assert begun == []


def test_where_nobody_can_be_asked_it_is_refused_with_what_to_do(unwalled):
    from lumen_tui.tools.base import _nobody

    box = unwalled.box(**READER)
    msgspec.structs.force_setattr(box._context, "ask", _nobody)
    result = box.call("shell", {"command": "ls"})
    assert not result.ok
    assert "nobody can be asked here" in result.text
    assert "`lumen-tui doctor --sandbox`" in result.text


def save(machine, rule: AllowRule) -> None:
    lines = [f'{name} = "{getattr(rule, name)}"' for name in ("tool", "role", "pattern", "by")]
    free = ["unwalled = true"] if rule.unwalled else []
    machine.store.layout.operator.write_text("\n".join(["[[allow]]", *lines, *free]) + "\n")


def test_a_rule_saved_where_a_sandbox_held_does_not_hold_without_one(unwalled):
    rule = AllowRule(tool="shell", role="builder", pattern="git log *", by="ann")
    save(unwalled, rule)
    assert not unwalled.run("git log -1", **READER).ok
    assert len(unwalled.asked) == 1
    save(unwalled, AllowRule(tool="shell", role="builder", pattern="cat spec.json", by="ann", unwalled=True))
    assert unwalled.run("cat spec.json", **READER).ok
    assert len(unwalled.asked) == 1, "one that was saved without a sandbox does"


@pytest.mark.parametrize(
    "command", ["make test", "python3 x.py", "./run", "sh run.sh", "cat $(./run)", "git -C x status"]
)
def test_without_a_sandbox_no_rule_is_offered_that_runs_files(unwalled, command):
    unwalled.run(command, **READER)
    (asked,) = unwalled.asked
    assert asked.rule == ""
    assert "the worker may write those" in asked.risk


def test_without_a_sandbox_a_rule_is_offered_for_what_does_as_it_says(unwalled):
    unwalled.run("cat spec.json", **READER)
    assert unwalled.asked[0].rule == "cat spec.json"
