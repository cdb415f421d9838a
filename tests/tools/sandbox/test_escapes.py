"""Ways out of the sandbox (attacks.txt), tried for real under each tier that holds here. None leads anywhere."""

import time

import lumen_machine
import pytest
from sandbox_attacks import ATTACKS, SECRET, SURVIVORS, got_through, places

from lumen_tui.model.text import one_line


@pytest.mark.threat("S12", "ways out of the sandbox, on each tier")
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", ATTACKS)
def test_it_leads_nowhere(name, machine):
    places(machine)
    before = machine.kept()
    result = machine.run(ATTACKS[name])
    assert not got_through(result.text), result.text
    assert "could not be set up" not in result.text, result.text
    assert SECRET not in result.text.replace(f"grep: {SECRET}", ""), result.text
    assert machine.kept() == before
    assert machine.with_rights_of_their_owner() == []
    assert machine.reached() == []
    assert machine.victim.poll() is None, "another process was ended"


def test_the_suite_is_no_smaller_than_promised():
    assert len(ATTACKS) >= 105


@pytest.mark.threat("S12", "processes that outlive their command or its limits")
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", SURVIVORS)
def test_nothing_lives_on(name, machine):
    machine.values["n"] = str(time.monotonic_ns())[-6:]
    began = time.monotonic()
    machine.run(SURVIVORS[name])
    assert time.monotonic() - began < 8
    assert machine.survivors(f"61.5{machine.values['n']}") == []


def test_what_is_made_in_a_folder_may_go_to_its_group(machine):
    (machine.files / "shared").mkdir(parents=True)
    (machine.files / "shared").chmod(0o2775)
    result = machine.run("mkdir shared/new; stat -c %a shared/new; chmod 2755 shared")
    assert result.text.splitlines()[0] == "2755"
    assert result.ok == (machine.tier == "landlock"), "bubblewrap's filter sees a mode, and no file"


def test_pairs_of_sockets_work_that_stay_connected(machine):
    result = machine.run(
        '@py@ \'import socket; a,b=socket.socketpair(); a.send(b"x"); c,d=socket.socketpair(1,5); c.send(b"y"); '
        "print(b.recv(9), d.recv(9))'"
    )
    assert result.text == "b'x' b'y'\n"


def test_what_uses_memory_files_within_its_bounds_is_not_ended(machine):
    """Memory that is open and mapped is one memory, and so is what was sent to another process."""
    machine.settings(memory_mb=128)
    result = machine.run(
        '@py@ \'import mmap,os,time\nf=os.memfd_create("m"); [os.write(f,bytes(1<<20)) for _ in range(80)]; '
        "m=mmap.mmap(f,80<<20); "
        'sum(m[::4096]); g=os.dup(f)\nif not os.fork(): time.sleep(1); os._exit(0)\nos.wait(); print("works")\''
    )
    assert result.text == "works\n"


def test_memory_without_a_process_is_bounded(machine):
    if machine.tier == "landlock":
        pytest.skip("there is none to be had under Landlock")
    result = machine.run(
        "@py@ 'import ctypes; l=ctypes.CDLL(None); "
        "print([l.shmget(0,n,0o1600)>=0 for n in (56,65536,65537,1<<40)], [l.semget(0,n,0o1600)>=0 for n in (17,65)])'"
    )
    assert result.text == "[True, True, False, False] [True, False]\n"


def test_no_device_folder_takes_files(machine):
    """It would be memory, as much as the machine has."""
    result = machine.run("head -c 1M /dev/zero > /dev/x; ls /dev/x; echo x > /dev/null && echo works")
    assert result.text.endswith("works\n") and "No such file" in result.text


OVER = {
    "a fork bomb": ("b() { b | b & }; b; sleep 9; exit 1", "more than 40 processes|Cannot fork"),
    "a fork bomb of daemons": (
        "b() { setsid sh -c 'sleep 30' & }; while :; do b; done", "more than 40 processes|Cannot fork"
    ),
    "a memory bomb": ("@py@ 'x=[bytearray(1<<20) for _ in range(4000)]'", "MemoryError|128 MiB of memory"),
    "a memory bomb of many": (
        "for i in 1 2 3 4; do "
        "@py@ 'x=bytearray(60<<20); x[::4096]=bytes(len(x[::4096])); import time; time.sleep(9)' & done; wait",
        "more than 128 MiB of memory",
    ),
    "shared memory": (
        "@py@ 'import mmap,time; m=mmap.mmap(-1,400<<20); "
        "[(m.seek(i), m.write(b\"x\")) for i in range(0,400<<20,4096)]; time.sleep(9)'",
        "more than 128 MiB of memory",
    ),
    "memory files": (
        "@py@ 'import os,time; fs=[os.memfd_create(\"m\") for _ in range(30)]; "
        "[os.write(f,bytes(15<<20)) for f in fs]; time.sleep(9)'",
        "more than 128 MiB of memory",
    ),
    "memory files that are mapped alone": (
        "@py@ 'import mmap,os,time\nms=[]\nfor _ in range(30):\n f=os.memfd_create(\"m\"); os.write(f,bytes(15<<20)); "
        "ms.append(mmap.mmap(f,15<<20)); os.close(f)\n os.system(\"true\")\n"
        "time.sleep(9)'",
        "more than 128 MiB of memory",
    ),
    "memory files on the way between two sockets": (
        "@py@ 'import os,socket,time\na,b=socket.socketpair()\nfor _ in range(30):\n f=os.memfd_create(\"m\"); "
        "os.write(f,bytes(15<<20)); socket.send_fds(a,[b\"x\"],[f]); os.close(f)\ntime.sleep(9)'",
        "more than 128 MiB of memory",
    ),
    "memory of a process whose first thread has ended": (
        "@py@ 'import _thread,ctypes,os,time; p=bytearray(b\"x\")*(100<<20); "
        "_thread.start_new_thread(time.sleep,(9,)); "
        "ctypes.CDLL(None).syscall(60 if os.uname().machine==\"x86_64\" else 93,0)' & sleep 1; "
        "@py@ 'import time; p=bytearray(b\"x\")*(60<<20); time.sleep(9)'",
        "more than 128 MiB of memory",
    ),
    "inotify instances": (
        "@py@ 'import ctypes,time; l=ctypes.CDLL(None)\n"
        "print(\"none left\") if -1 in [l.inotify_init1(0) for _ in range(20)] else time.sleep(9)'",
        "more than 16 inotify instances",
    ),
    "inotify instances of another thread": (
        "@py@ 'import ctypes,time,_thread; l=ctypes.CDLL(None); l.close_range(9,10,2); l.unshare(0x400)\n"
        "def f():\n l.close_range(9,10,2); l.unshare(0x400)\n"
        " if -1 in [l.inotify_init1(0) for _ in range(20)]: print(\"none left\", flush=True)\n time.sleep(9)\n"
        "_thread.start_new_thread(f,()); time.sleep(9)'",
        "more than 16 inotify instances",
    ),
    "open files on the way between two sockets": (
        "@py@ 'import os,socket,time\na,b=socket.socketpair()\n"
        "for _ in range(80): socket.send_fds(a,[b\"x\"],[0])\ntime.sleep(9)'",
        "more than 64 open files on the way",
    ),
    "a busy loop": ("while :; do :; done", "ended: it used more than 1 seconds of processor time"),
    "a busy loop below others": ("sh -c 'while :; do :; done'; true", "ended: it used more than 1 seconds of"),
    "the kernel's own end for its time": ("kill -XCPU $$", "ended: it used more than 10 seconds of processor time"),
    "a program that gets no memory": ("@py@ 'bytearray(300 << 20)'", "limit: a command may use 128 MiB of memory"),
    "a death that nobody looked at": ("kill -KILL $$", "exit code 137: killed, by itself or because the machine ran"),
    "a huge file of its own": ("exec head -c 400M /dev/zero > big", "ended: it made a file of more than 16 MiB"),
    "a program that survives a huge file": (
        "@py@ 'import os; os.truncate(os.open(\"b\", os.O_RDWR | os.O_CREAT), 400 << 20)'",
        "limit: a file may have 16 MiB",
    ),
    "room that is set aside and not written": (
        "@py@ 'import os\nfor i in range(30): os.posix_fallocate(os.open(f\"f{i}\", 66), 0, 15 << 20)'; sleep 9",
        "ended: it filled the disk",
    ),
    "busy loops": ("for i in 1 2 3; do (while :; do :; done) & done; wait", "seconds of processor time"),
    "a flood of output": ("yes lumen", "far more than is kept"),
    "a huge file": ("head -c 400M /dev/zero > big; wc -c < big", "File size limit exceeded|File too large"),
    "many files": ("for i in $(seq 60); do head -c 15M /dev/zero > f$i; done; sleep 3", "it filled the disk"),
    "too many open files": ("@py@ 'x=[open(\"/dev/null\") for _ in range(500)]'", "limit: a process may have 64 open"),
    "endless time": ("sleep 30", "ended after 1 seconds"),
}  # fmt: skip


# The kernel counts these for all programs of a user together: two at once would take them from each other.
OF_THE_USER = [name for name in OVER if "inotify" in name or "on the way" in name]
IN_TURN = [pytest.param(name, marks=pytest.mark.xdist_group("of the user")) for name in OF_THE_USER]


@pytest.mark.threat("S12", "processes that outlive their command or its limits")
@pytest.mark.sweep(most=14)
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", [*(name for name in OVER if name not in OF_THE_USER), *IN_TURN])
def test_a_limit_ends_it(name, machine):
    script, wanted = OVER[name]
    seconds = 1 if "busy" in name else 10
    machine.settings(processes=40, memory_mb=128, cpu_seconds=seconds, file_mb=16, disk_mb=200,
                     open_files=200 if "open files on the way" in name else 64)  # fmt: skip
    began = time.monotonic()
    result = machine.run(script, seconds=1 if name == "endless time" else 15)
    assert time.monotonic() - began < 14
    if "none left" in result.text:
        pytest.skip("other programs hold the inotify instances of this user")
    assert not result.ok or "limit" in result.text
    assert any(one in result.text + result.summary for one in wanted.split("|")), result.text[-500:]
    assert machine.victim.poll() is None


def test_escape_sequences_in_output_are_made_visible(machine):
    result = machine.run("printf '\\033]52;c;aGk=\\007\\033[2J\\302\\233 \\342\\200\\256 rm\\000x'")
    assert not any(char in result.text for char in "\x1b\x07\x9b\u202e\x00")
    assert one_line(result.text)


def test_what_is_granted_works(machine):
    script = (
        "set -e; cd @project@/src; echo a > new; mkdir -p deep/er; echo b > deep/er/x; mv new newer; rm main.c; "
        "cd @task@/files; echo c > mine; t=$(mktemp); echo d > $t; cat $t; ls /tmp >/dev/null; echo $((6*7)) | cat"
    )
    result = machine.run(script)
    assert result.ok, result.text
    assert (machine.top / "project" / "src" / "newer").read_text() == "a\n"
    assert (machine.files / "mine").read_text() == "c\n"
    assert "42" in result.text


def test_files_move_from_one_folder_to_another(machine):
    result = machine.run(
        'mkdir a b; echo x > a/f; @py@ \'import os; os.rename("a/f","b/f"); os.link("b/f","a/g"); '
        'os.rename("a","b/a")\'; cat b/a/g; mkdir c; mv c @project@/src/; '
        '@py@ \'import os; os.rename("@outside@/file","b/stolen")\''
    )
    assert result.text.startswith("x\n"), result.text
    assert (machine.top / "project" / "src" / "c").is_dir()
    assert (machine.top / "outside" / "file").exists()


def test_git_works_in_a_granted_repository(machine):
    if machine.tier == "landlock":
        pytest.skip("under Landlock a folder that holds something protected takes no new files")
    script = "cd @project@ && echo x > f && git add f && git -c user.name=A -c user.email=a@b commit -qm one && git log"
    result = machine.run(script)
    assert result.ok, result.text


def test_a_role_that_only_reads_writes_nowhere(machine):
    before = machine.kept()
    result = machine.run("echo x > @project@/src/new; echo x > @task@/files/new; touch /tmp/pwned-@pid@", write=False)
    assert not result.ok
    assert machine.kept() == before
    assert not (machine.top / "project" / "src" / "new").exists()


def test_the_network_is_there_for_whom_it_is_granted(machine):
    result = machine.run(ATTACKS["a TCP port of this machine"], network=True)
    assert got_through(result.text)
    for attack in (
        "the socket of docker", "an abstract socket", "a raw socket", "a datagram to a service",
        "a service's socket of a relative name", "a datagram socket of a pair, with an address",
    ):  # fmt: skip
        assert not got_through(machine.run(ATTACKS[attack], network=True).text), attack
