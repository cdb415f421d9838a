"""How many files a command makes and how much it writes, however it goes about it and whoever else writes meanwhile."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import threading
import time

import lumen_machine
import pytest

from lumen_tui.tools.base import ApprovalReply
from lumen_tui.tools.sandbox import disks, usage

MOST = 1000
MANY = (
    "import os,time\ndef make(d,n=2000):\n os.makedirs(d,exist_ok=True)\n"
    " for i in range(n): open(f'{d}/{i}','w').close()\n"
)
FILES = {
    "in one folder": "make('d')",
    "in many folders": "for i in range(80): make(f'd/{i}/x/y',60)",
    "folders": "for i in range(2000): os.mkdir(str(i))",
    "links": "for i in range(2000): os.symlink('x',str(i))",
    "other names of one file": "open('f','w').close()\nfor i in range(2000): os.link('f',str(i))",
    "other names in many folders": "make('d',1)\nfor i in range(2000): os.makedirs(f'{i%50}',exist_ok=True); "
    "os.link('d/0',f'{i%50}/{i}')",
    "pipes": "for i in range(2000): os.mkfifo(str(i))",
    "for the time being": "make(os.environ['TMPDIR'])",
    "for the time being, other names": "open(os.environ['TMPDIR']+'/f','w').close()\n"
    "for i in range(2000): os.link(os.environ['TMPDIR']+'/f',os.environ['TMPDIR']+f'/{i}')",
    "in a granted folder": "make('@project@/src/d')",
    "in a folder that it closes": "make('d'); os.chmod('d',0)",
    "with times of long ago": "make('d'); [os.utime(f'd/{i}',(5,5)) for i in range(2000)]; os.utime('d',(5,5))",
    "where no path leads": "for i in range(30): os.mkdir('n'*200); os.chdir('n'*200)\nmake('d')",
}  # fmt: skip


@pytest.mark.sweep(most=6)
@lumen_machine.on_a_tier
@pytest.mark.parametrize("name", FILES)
def test_more_files_than_it_may_make_end_it(name, machine):
    machine.settings(files=MOST)
    script = (MANY + FILES[name] + "\ntime.sleep(20)").replace('"', "'").replace("'", '"')
    result = machine.run(f"@py@ '{script}'", seconds=25)
    if (machine.files / "d").is_dir():
        (machine.files / "d").chmod(0o700)  # or nobody could take it away
    assert not result.ok
    assert f"ended: it made too many files: a command may make {MOST:,}" in result.text, result.text[-500:]
    assert "[sandbox] files in lumen.toml" in result.text


def test_more_files_end_it_where_the_granted_folder_is_memory(machine):
    if not os.path.ismount("/dev/shm"):
        pytest.skip("/dev/shm is no file system of its own here")
    granted = tempfile.mkdtemp(prefix="lumen-test-", dir="/dev/shm")
    try:
        machine.settings(files=MOST, writable=[granted])
        script = MANY + f"make('{granted}/d'); time.sleep(20)"
        result = machine.run('@py@ "' + script + '"', seconds=25)
        assert "it made too many files" in result.text
    finally:
        shutil.rmtree(granted)


@lumen_machine.on_a_tier
def test_more_files_end_a_command_in_the_background(machine):
    machine.settings(files=MOST)
    box = machine.box()
    script = MANY + "make('d'); time.sleep(60)"
    box.call("shell_start", {"command": machine.values["py"] + f' "{script}"'})
    told = [box.call("shell_output", {"name": "job-1", "timeout": 20}).text for _ in range(2)]
    box.close()
    assert "ended: it made too many files" in "".join(told)


def test_more_files_end_it_where_there_are_no_walls(unwalled):
    unwalled.answer = ApprovalReply(allowed=True)
    unwalled.settings(files=MOST)
    result = unwalled.run('@py@ "' + MANY + "make('@project@/src/d'); time.sleep(20)\"", seconds=25)
    assert "it made too many files" in result.text


@lumen_machine.on_a_tier
def test_a_disk_that_takes_hardly_any_more_files_ends_it_sooner(machine, monkeypatch):
    """As if the disk had taken 3,000 more when the command began."""
    real, made = os.statvfs, machine.files / "d"

    class FewFilesFree:
        def __init__(self, path: str) -> None:
            disk = real(path)
            self.f_bavail, self.f_frsize, self.f_files = disk.f_bavail, disk.f_frsize, disk.f_files
            self.f_ffree = 3000 - (len(os.listdir(made)) if made.exists() else 0)

    monkeypatch.setattr(disks.os, "statvfs", FewFilesFree)
    result = machine.run('@py@ "' + MANY + "make('d',2500); time.sleep(20)\"", seconds=25)
    assert "it made too many files" in result.text


@lumen_machine.on_a_tier
def test_files_that_were_there_before_or_are_made_elsewhere_by_others_do_not_count(machine):
    machine.settings(files=MOST)
    elsewhere, old = machine.top / "elsewhere", machine.top / "project" / "src" / "old"
    for folder in (elsewhere, old):
        folder.mkdir()
    for number in range(2 * MOST):
        (old / str(number)).touch()
    begun, made = machine.top / "project" / "src" / "begun", machine.top / "project" / "src" / "made"

    def others() -> None:
        while not begun.exists():
            time.sleep(0.01)
        for number in range(2 * MOST):
            (elsewhere / str(number)).touch()
        made.touch()

    making = threading.Thread(target=others, daemon=True)
    making.start()
    script = (
        "touch @project@/src/begun; while [ ! -e @project@/src/made ]; do sleep .1; done; sleep 2; ls @project@/src/old"
    )
    result = machine.run(script, seconds=60)
    assert result.ok, result.text[-500:]


def test_what_is_taken_away_again_does_not_count(machine):
    machine.settings(files=MOST)
    script = MANY + "import shutil\nfor i in range(4): make('d',700); shutil.rmtree('d')\nprint('works')"
    result = machine.run('@py@ "' + script + '"', seconds=60)
    assert result.text == "works\n"


def test_what_comes_after_a_count_is_counted_as_soon_as_it_may_be_too_much(tmp_path, monkeypatch):
    """Others make files as well: while the disk takes no more fewer than they explain, nothing is counted again."""
    ticks = itertools.count()
    monkeypatch.setattr(disks.time, "monotonic", lambda: next(ticks) / 1000)
    left = [100_000]
    monkeypatch.setattr(disks, "_space", lambda path: disks.DiskSpace(1 << 40, left[0]))
    watched, used = disks.Disks([str(tmp_path)], (), 1 << 30, 100), usage.ResourceUsage()

    def make(own: int, others: int) -> None:
        for number in range(own):
            (tmp_path / f"{left[0]}-{number}").touch()
        left[0] -= own + others

    make(own=40, others=100)
    assert {watched.exceeded(used, ()) for _ in range(20)} == {""}
    before = next(ticks)
    assert {watched.exceeded(used, ()) for _ in range(20)} == {""}
    assert next(ticks) - before < 60, "it was counted again"
    make(own=61, others=0)
    assert [why for _ in range(10) if (why := watched.exceeded(used, ()))]


def test_it_counts_on_by_a_clock_that_was_put_back(tmp_path, monkeypatch):
    new = disks.NewFiles([str(tmp_path)], ())
    for number in range(40):
        (tmp_path / str(number)).touch()
    hour = time.time() + 3600
    monkeypatch.setattr(new, "_wall", hour)  # as if it had begun an hour later than it is now
    assert new.advance(hurry=True).files == 40


def test_neither_the_folders_below_others_nor_those_of_the_engine_count_twice(tmp_path):
    (tmp_path / "state" / "files").mkdir(parents=True)
    new = disks.NewFiles([str(tmp_path), str(tmp_path / "state" / "files")], [str(tmp_path / "state")])
    for path in (tmp_path / "state" / "events", tmp_path / "state" / "files" / "mine", tmp_path / "mine"):
        path.touch()
    (tmp_path / "sub").mkdir()
    os.link(tmp_path / "mine", tmp_path / "sub" / "again")
    tally = new.advance(hurry=True)
    assert (tally.files, tally.links, tally.closed) == (3, 2, 0)  # state, sub, mine of the task; two names of the other


FORGET = {
    "ignored": "import os,signal,time; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n",
    "thrown away": "import ctypes,os,time; ctypes.CDLL(None).sigaction(17, (ctypes.c_ulong*19)(0,0,0,0), 0)\n"
    "a=(ctypes.c_ubyte*152)(); a[136]=2; ctypes.CDLL(None).sigaction(17, a, 0)\n",
}
EACH = "def each(f):\n if not os.fork(): f(); os._exit(0)\n try: os.wait()\n except OSError: pass\n"
BURN = "def burn(s):\n e=time.process_time()+s\n while time.process_time()<e: pass\n"


@pytest.mark.sweep(most=2)
@lumen_machine.on_a_tier
@pytest.mark.parametrize(("how", "each"), [("ignored", 0.02), ("ignored", 0.3), ("thrown away", 0.3)])
def test_time_counts_of_children_whose_end_nobody_asks_for(machine, how, each):
    machine.settings(cpu_seconds=1)
    script = FORGET[how] + EACH + BURN + f"while 1: each(lambda: burn({each}))"
    result = machine.run("@py@ '" + script.replace("'", '"') + "'", seconds=60)
    assert "ended: it used more than 1 seconds of processor time" in result.text, result.text[-500:]


@lumen_machine.on_a_tier
@pytest.mark.parametrize("more", ["", "os.unlink(f'f{i}')\n"])
def test_bytes_count_of_children_whose_end_nobody_asks_for(machine, more):
    machine.settings(disk_mb=200)
    script = (
        FORGET["ignored"]
        + EACH
        + (
            "def put(f):\n  f.write(bytes(5<<20)); f.flush()\nkept=[]\n"
            f"for i in range(200):\n kept.append(open(f'f{{i}}','wb')); each(lambda: put(kept[-1]))\n {more}\n"
            "time.sleep(20)"
        )
    )
    result = machine.run("@py@ '" + script.replace("'", '"') + "'", seconds=60)
    assert "ended: it filled the disk" in result.text, result.text[-500:]


@lumen_machine.on_a_tier
def test_time_is_not_counted_twice(machine):
    """Children that are asked for are among their parent's, and those that nobody took yet have their own."""
    machine.settings(cpu_seconds=2)
    script = (
        "import os,time\n" + EACH + BURN + "for _ in range(10): each(lambda: each(lambda: burn(.1)))\nprint('works')"
    )
    result = machine.run("@py@ '" + script.replace("'", '"') + "'", seconds=100)
    assert result.text == "works\n"
