"""What a command could do to others without writing a byte: modes and times of files, locks, limits, shared memory."""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import lumen_machine
import msgspec
import pytest

from lumen_tui.storage import files
from lumen_tui.tools.sandbox import landlock

SECRET = "SECRET-CANARY-4711"
C = "import ctypes,os; c=ctypes.CDLL(None,use_errno=True)"


def modes(machine) -> dict[str, tuple[int, int, int]]:
    """Mode, owner and time of everything outside, at home and in the state folder."""
    tops = [machine.top / "outside", machine.top / "home", machine.store.root]
    skip = (machine.files, machine.store.root / "index")
    found = {}
    for top in tops:
        for path in [top, *top.rglob("*")]:
            if not any(path.is_relative_to(one) for one in skip):
                now = path.lstat()
                found[str(path)] = now.st_mode, now.st_uid, now.st_mtime_ns
    return found


MODES = {
    "chmod": "chmod 4777 @outside@/file; chmod -R 777 @home@; chmod 000 @state@ @state@/engine.lock",
    "fchmod": "@py@ 'import os; os.fchmod(os.open(\"@outside@/file\",0),0o666)'",
    "from its folder": "@py@ 'import os; os.chmod(\"file\",0o666,dir_fd=os.open(\"@outside@\",0))'",
    "from where it stands": "cd @outside@; chmod 777 . file ../home",
    "through links": "ln -s @home@/.ssh k; chmod 777 k k/id_rsa; ln -s k l; chmod 777 l/id_rsa",
    "through /proc": "chmod 777 /proc/self/root@outside@/file; exec 9<@outside@/file; "
                     "chmod 777 /proc/self/fd/9 /dev/fd/9",
    "a link that is swapped": "touch f; "
                              "(for i in 1 2 3 4 5 6 7 8 9; do ln -sfn @outside@/file f; rm f; touch f; done) & "
                              "for i in 1 2 3 4 5 6 7 8 9; do chmod 777 f; done; wait",
    "times": "touch -d 2001-01-01 @outside@/file @state@/heartbeat.json @state@/tasks; touch -h @outside@/file",
    "owner": "chown 1:1 @outside@/file; chown -h 1 @outside@/file; chgrp 1 @outside@",
    "attributes": f"@py@ '{C}; print(c.setxattr(b\"@outside@/file\",b\"user.a\",b\"x\",1,0))'",
    "flags": "chattr +d @outside@/file",
    "old calls": f"@py@ '{C}; x=os.uname().machine==\"x86_64\"; n=b\"@outside@/file\"; "
                 "x and [c.syscall(132,n,None), c.syscall(235,n,None), c.syscall(261,-100,n,None)]'",
}  # fmt: skip


@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", MODES)
def test_files_of_others_keep_mode_owner_and_times(machine, name):
    (machine.store.root / "heartbeat.json").write_text("{}")
    machine.files.mkdir()
    before = modes(machine)
    machine.run(MODES[name])
    assert modes(machine) == before
    assert b"user.a" not in str(os.listxattr(machine.top / "outside" / "file")).encode()


def test_its_own_files_get_theirs(machine):
    script = (
        "set -e; echo 'echo ran' > s; chmod 755 s; ./s; touch -d 2001-01-01 s; cp -a s t; chmod 640 t; ln -s s l; "
        "cp -a l m; mkdir d; tar cf a.tar s l; tar xpf a.tar -C d; stat -c '%a %Y' t d/s; cd ..; chmod 700 files/s; "
        "chmod 750 @project@/src; chmod 600 @project@/.env || echo KEPT; "
        '@py@ \'import os; os.fchmod(os.memfd_create("a"),0o600); os.chmod("files/s",0o711); '
        'os.utime("files/s",ns=(5,6))\''
    )
    result = machine.run(script)
    assert result.ok, result.text
    assert result.text.startswith("ran\n640 978307200\n755 978307200\n")
    assert "KEPT" in result.text
    assert [(machine.files / "s").stat().st_mode & 0o777, (machine.files / "s").stat().st_mtime_ns] == [0o711, 6]
    assert (machine.top / "project" / "src").stat().st_mode & 0o777 == 0o750


def test_errors_are_those_of_the_file(machine):
    result = machine.run(
        "chmod 600 missing; chmod 600 spec; @py@ 'import os; os.fchmod(77, 0o600)'; "
        f'@py@ \'{C}; print(c.chmod(ctypes.c_void_p(1),0), c.chmod(b"x"*5000,0), c.chmod(b"",0))\''
    )
    assert "'missing': No such file" in result.text
    assert "-1 -1 -1" in result.text


def test_limits_and_priorities_of_others_stay(machine):
    def now():
        pid = machine.victim.pid
        return (
            resource.prlimit(pid, resource.RLIMIT_NOFILE), os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getaffinity(pid), os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, 0),
        )  # fmt: skip

    before = now()
    for call in (
        "import resource; resource.prlimit(@pid@, resource.RLIMIT_NOFILE, (3, 3))",
        "import os; os.setpriority(os.PRIO_PROCESS, @pid@, 19)",
        "import os; os.sched_setaffinity(@pid@, {0})",
        "import os; os.sched_setscheduler(@pid@, os.SCHED_IDLE, os.sched_param(0))",
    ):  # fmt: skip
        assert not machine.run(f"@py@ '{call}'").ok
    assert now() == before
    own = machine.run("ulimit -n 20; nice -n 3 sh -c 'ulimit -n'; @py@ 'import os; os.sched_setaffinity(0, {0})'")
    assert (own.ok, own.text) == (True, "20\n")


@pytest.fixture
def segment() -> Iterator[int]:
    """Memory that another program of the same user shares by its number."""
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    key = 0x4C000000 | os.getpid() & 0xFFFFFF
    made = libc.shmget(key, 4096, 0o1600)
    place = libc.shmat(made, None, 0)
    ctypes.memmove(place, SECRET.encode(), len(SECRET))
    yield key
    libc.shmctl(made, 0, None)
    libc.shmdt(ctypes.c_void_p(place))


def test_shared_memory_of_others_is_out_of_sight(machine, segment):
    result = machine.run(
        f"@py@ '{C}; c.shmat.restype=ctypes.c_void_p; i=c.shmget({segment},0,0); p=c.shmat(i,0,0) if i>=0 else 0; "
        'print(ctypes.string_at(p,18) if p and i>=0 else "none")\''
    )
    assert result.text == "none\n"


LOCKS = {
    "a lock": "fcntl.flock(f,2)",
    "a lock whose maker is gone": "os.fork() or (fcntl.flock(f,2), os._exit(0)); os.wait()",
    "a shared lock": "fcntl.flock(f,1)",
    "a lease": "fcntl.fcntl(f,1024,0)",
    "a lock that memory keeps": "import ctypes as c; fcntl.flock(f,2); "
    "c.CDLL(None).mmap(None,c.c_size_t(4096),1,1,f,c.c_long(0)); os.close(f)",
}


@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", LOCKS)
def test_nobody_waits_for_a_lock_that_a_command_took(machine, name):
    journal = machine.store.layout.signals
    journal.write_text("{}\n")
    told: list[str] = []
    script = f"@py@ 'import fcntl,os,time; f=os.open(\"{journal}\",0); {LOCKS[name]}; print(1); time.sleep(30)'"
    command = threading.Thread(target=lambda: told.append(machine.run(script, seconds=25).text))
    began = time.monotonic()
    command.start()
    while command.is_alive():
        files.append(journal, b"{}\n")
        time.sleep(0.02)
    assert time.monotonic() - began < 10
    assert "signals.jsonl, for which others would wait" in told[0] or "Operation not permitted" in told[0]


def test_its_own_files_it_may_lock(machine):
    result = machine.run(
        '@py@ \'import fcntl,mmap,time; f=open("l","w+"); f.write("x"); f.flush(); fcntl.flock(f,2); '
        "m=mmap.mmap(f.fileno(),1); time.sleep(0.4); print(1)'"
    )
    assert (result.ok, result.text) == (True, "1\n")


def test_where_nobody_answers_for_modes_nothing_is_run(machine):
    if machine.tier != "landlock":
        pytest.skip("bubblewrap mounts what is not to be changed read-only")
    script = (
        "import sys; from lumen_tui.tools.sandbox import chmod_broker, launcher\n"
        "broker = chmod_broker\n"
        "def serve(self, child):\n"
        "    broker.os.read(self._launcher_in, 9)\n"
        "    broker.os.close(self._launcher_out)\n"
        "broker.ChmodBroker._serve = serve\n"
        "sys.exit(launcher.main(sys.argv[1:]))"
    )
    reading, status = os.pipe()
    order = {
        "unsandboxed": False, "cwd": "/", "status": status, "network": False, "hidden": [], "writable": [],
        "protected": [], "devices": [], "processes": 99, "parent": os.getpid(),
        "filter": landlock.call_filter((), asked=(90,)).hex(),
    }  # fmt: skip
    argv = [sys.executable, "-c", script, json.dumps(order), "/bin/echo", "RAN"]
    done = subprocess.run(
        argv, pass_fds=(status,), capture_output=True, text=True, timeout=30, start_new_session=True, check=False
    )
    os.close(reading)
    os.close(status)
    assert (done.returncode, done.stdout) == (126, "")
    assert "nobody watches over the modes of files" in done.stderr


def test_the_state_folder_stays_closed_to_commands_below_a_granted_folder(machine):
    machine.store.layout.config.write_text(f'[sandbox]\ntier = "{machine.tier}"\nwritable = ["{machine.top}"]\n')
    box = machine.box()
    msgspec.structs.force_setattr(box._context, "environ", {**box._context.environ, "HOME": "/nowhere/home"})
    before, modes_before = machine.kept(), modes(machine)
    script = (
        "cd @state@; for f in tasks/tsk-a/spec.json engine.lock memory/new tasks/tsk-a/new; do echo x >> $f; done; "
        "chmod 600 tasks/tsk-a/*.json; chmod 755 . tasks tasks/tsk-a; mv memory x; echo x > tasks/tsk-a/files/mine; "
        "chmod 640 tasks/tsk-a/files/mine; echo y > @project@/src/mine"
    )
    for name in ("state", "project"):
        script = script.replace(f"@{name}@", str(machine.values[name]))
    result = box.call("shell", {"command": script, "cwd": "", "timeout": 20})
    assert (machine.files / "mine").stat().st_mode & 0o777 == 0o640, result.text
    assert (machine.top / "project" / "src" / "mine").exists()
    state = str(machine.store.root)
    assert {path: data for path, data in machine.kept().items() if path.startswith(state)} == {
        path: data for path, data in before.items() if path.startswith(state)
    }
    now = modes(machine)
    # the entry of the task's own folder is new, and so is the time of the folder that holds it
    same = [path for path in modes_before if path.startswith(state) and path != str(machine.files.parent)]
    assert [now[path] for path in same] == [modes_before[path] for path in same]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what no command of its can get to")
def test_a_secret_in_a_folder_that_no_command_can_enter_is_in_nobodys_way(machine):
    """Not below /tmp, which is the command's own."""
    home = tempfile.mkdtemp(prefix="lumen-test-", dir=pwd.getpwuid(0).pw_dir)
    try:
        private = os.path.join(home, "private")
        os.mkdir(private, 0o700)
        Path(private, "orders").write_text("nobody's business")
        os.chown(private, 65534, 65534)
        machine.settings(hidden=[f"{private}/orders"])
        result = machine.run(f"echo works; cat {private}/orders")
        assert "works" in result.text and "Permission denied" in result.text, result.text
    finally:
        shutil.rmtree(home)
