"""Frames: numbered once, durable before they are seen, and written here once and in order, whatever is killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from lumen_kills import killed_before, state_calls
from lumen_remote import sent_home

from lumen_tui.hosts.copying import BadFrame, Copier
from lumen_tui.hosts.gathering import Gatherer
from lumen_tui.hosts.spool import PIECE, Spool
from lumen_tui.model.frames import JOURNALS, RECORDS, TRANSCRIPT, Frame, may_be_given
from lumen_tui.store.tasks import homes

STEPS = 12


class Attempt:
    """What a worker writes in twelve steps, and who sends it home."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "far"
        (self.folder / "outputs").mkdir(parents=True)
        self.spool_path = root / "spool.jsonl"
        self.home = root / "home"
        self.home.mkdir()

    def append(self, name: str, data: bytes) -> None:
        with open(self.folder / name, "ab") as out:
            out.write(data)

    def step(self, number: int) -> None:
        self.append("events.jsonl", b'{"event": %d}\n' % number)
        self.append("steps.jsonl", b'{"step": %d}\n' % number * 3)
        self.append(TRANSCRIPT, b'{"line": %d}\n' % number)
        if number == 5:
            (self.folder / "outputs" / "1.txt").write_bytes(b"long " * PIECE)
        if number == STEPS:
            (self.folder / "result.md").write_bytes(b"The answer.")
            (self.folder / "exit.json").write_bytes(b'{"status": "done"}')

    def gather(self) -> int:
        """Look as a launcher does that has just started: all it knows is in the spool."""
        spool = Spool(self.spool_path)
        Gatherer(self.folder, self.folder / TRANSCRIPT, 1, spool).gather()
        spool.close()
        return spool.last

    def copier(self) -> Copier:
        return Copier(self.home, self.home / TRANSCRIPT, 1, "attic")

    def fetch(self) -> None:
        """Ask as a proxy does that has just started."""
        copier, spool = self.copier(), Spool(self.spool_path)
        while batch := spool.after(copier.seq, 1):
            copier.take(batch)
        spool.close()

    def numbers(self) -> list[int]:
        return [frame.seq for frame in Spool(self.spool_path).frames()]


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(tmp_path)


def test_every_step_comes_home_as_it_is_there(attempt):
    for number in range(1, STEPS + 1):
        attempt.step(number)
        attempt.gather()
        attempt.fetch()
        assert sent_home(attempt.home) == sent_home(attempt.folder)
    assert attempt.numbers() == list(range(1, len(attempt.numbers()) + 1))


def test_what_ends_the_attempt_is_the_last_that_comes(attempt):
    for number in range(1, STEPS + 1):
        attempt.step(number)
    attempt.gather()
    names = [frame.name for frame in Spool(attempt.spool_path).frames()]
    assert names[-2:] == ["result.md", "exit.json"]
    assert names.count("exit.json") == 1


def test_a_line_that_is_not_finished_waits(attempt):
    attempt.append("events.jsonl", b'{"event": 1}\n{"ev')
    attempt.gather()
    attempt.fetch()
    assert (attempt.home / "events.jsonl").read_bytes() == b'{"event": 1}\n'
    attempt.append("events.jsonl", b'ent": 2}\n')
    attempt.gather()
    attempt.fetch()
    assert (attempt.home / "events.jsonl").read_bytes() == b'{"event": 1}\n{"event": 2}\n'


def test_a_journal_that_was_put_aside_is_replaced_here_too(attempt):
    attempt.append("steps.jsonl", b'{"step": "old"}\n' * 20)
    attempt.gather()
    attempt.fetch()
    (attempt.folder / "steps.jsonl").rename(attempt.folder / "steps.1.jsonl")
    attempt.append("steps.jsonl", b'{"step": "new, and longer"}\n' * 30)
    attempt.gather()
    attempt.fetch()
    assert sent_home(attempt.home) == sent_home(attempt.folder)


@pytest.mark.fault("R1", "SIGKILL before each write of mail, schedules and what hosts send")
def test_a_launcher_killed_before_any_of_its_writes_loses_and_repeats_nothing(attempt, sampled):
    for number in range(1, STEPS + 1):
        attempt.step(number)
    calls = state_calls(attempt.spool_path.parent, attempt.gather)
    for point in sampled(list(range(len(calls))), 12):
        attempt.spool_path.unlink(missing_ok=True)
        shutil.rmtree(attempt.home)
        attempt.home.mkdir()
        assert killed_before(point, attempt.spool_path.parent, attempt.gather)
        attempt.fetch()
        attempt.gather()
        attempt.fetch()
        assert attempt.numbers() == list(range(1, len(attempt.numbers()) + 1))
        assert sent_home(attempt.home) == sent_home(attempt.folder)


@pytest.mark.fault("R1", "SIGKILL before each write of mail, schedules and what hosts send")
def test_a_proxy_killed_before_any_of_its_writes_takes_everything_in_once(attempt, sampled):
    for number in range(1, STEPS + 1):
        attempt.step(number)
    attempt.gather()
    calls = state_calls(attempt.home, attempt.fetch)
    for point in sampled(list(range(len(calls))), 12):
        shutil.rmtree(attempt.home)
        attempt.home.mkdir()
        assert killed_before(point, attempt.home, attempt.fetch)
        attempt.fetch()
        assert sent_home(attempt.home) == sent_home(attempt.folder)
        assert homes.last_seq(attempt.home, 1) == len(attempt.numbers())


def test_a_torn_frame_was_sent_to_nobody_and_its_number_is_given_again(attempt):
    attempt.step(1)
    attempt.gather()
    whole = attempt.spool_path.read_bytes()
    lines = whole.splitlines(keepends=True)
    attempt.spool_path.write_bytes(b"".join(lines[:-1]) + lines[-1][:-9])
    attempt.gather()
    attempt.fetch()
    assert attempt.numbers() == list(range(1, len(lines) + 1))
    assert sent_home(attempt.home) == sent_home(attempt.folder)


def test_a_frame_that_comes_again_changes_nothing(attempt):
    for number in (1, 2, 3):
        attempt.step(number)
    attempt.gather()
    attempt.fetch()
    (attempt.home / "home.json").unlink()  # the proxy forgot how far it was
    attempt.fetch()
    assert sent_home(attempt.home) == sent_home(attempt.folder)


def test_frames_out_of_order_are_refused_and_change_nothing(attempt):
    for number in (1, 2):
        attempt.step(number)
        attempt.gather()
    frames = list(Spool(attempt.spool_path).frames())
    with pytest.raises(BadFrame, match="sent frame 3 behind frame 0"):
        attempt.copier().take(frames[2:])
    assert sent_home(attempt.home) == {}


def test_bytes_that_differ_from_those_here_are_refused(attempt):
    (attempt.home / "events.jsonl").write_bytes(b'{"event": "mine"}\n')
    with pytest.raises(BadFrame, match="other bytes"):
        attempt.copier().take([Frame(1, 1, "events.jsonl", b'{"event": "theirs"}\n')])
    with pytest.raises(BadFrame, match="882 before are missing"):
        attempt.copier().take([Frame(1, 1, "events.jsonl", b"{}\n", 900)])
    with pytest.raises(BadFrame, match="beyond 1024 MiB"):
        attempt.copier().take([Frame(1, 1, "events.jsonl", b"{}\n", 1024**3)])
    assert (attempt.home / "events.jsonl").read_bytes() == b'{"event": "mine"}\n'


FOREIGN = [
    "spec.json",
    "run.json",
    "run.lock",
    "lease.json",
    "../../lumen.toml",
    "/etc/passwd",
    "outputs/../exit.json",
    "outputs/x.sh",
    "events.jsonl/x",
    "EXIT.json",
    ".",
]


@pytest.mark.threat("S5", "names from a skill, a message and a change list that lead out")
@pytest.mark.parametrize("name", [*FOREIGN, "", "outputs/1.txt\n", "exit.json\0"])
def test_a_host_writes_no_other_file(attempt, name):
    with pytest.raises(BadFrame, match="a file that no worker writes"):
        attempt.copier().take([Frame(1, 1, name, b"x", whole=True)])
    assert sent_home(attempt.home) == {}
    assert sorted(path.name for path in attempt.home.iterdir()) == []


@pytest.mark.threat("S5", "names from a skill, a message and a change list that lead out")
def test_an_order_brings_no_other_file():
    inside = "spec.json", "run.1.json", "claim.2.json", "steps.1.jsonl", "outputs/1.txt", *JOURNALS, *RECORDS
    good = [*(f"tasks/tsk-a/{name}" for name in inside), "roles/doer.md", "prompts/worker.md", "work/WU-001.md"]
    bad = [
        "tasks/tsk-b/spec.json",
        "tasks/tsk-a/run.json",
        "tasks/tsk-a/run.lock",
        "tasks/tsk-a/../x",
        "tasks/tsk-a/lease.json",
        "lumen.toml",
        "operator.toml",
        "roles/../lumen.toml",
        "/etc/passwd",
        "accepted/accepted.json",
    ]
    bad.append("roles/doer.md\n")
    assert [name for name in good if not may_be_given(name, "tsk-a")] == []
    assert [name for name in bad if may_be_given(name, "tsk-a")] == []


def test_late_frames_of_an_attempt_that_is_over_are_evidence_and_no_part_of_the_task(attempt):
    late = Frame(7, 1, "exit.json", b'{"status": "done"}', whole=True)
    foreign = Frame(8, 1, "../../lumen.toml", b"x", whole=True)
    copier = Copier(attempt.home, attempt.home / TRANSCRIPT, 2, "attic")
    assert copier.take([late, foreign]) == 0
    assert sent_home(attempt.home) == {}
    kept = [msgspec.json.decode(line, type=Frame) for line in (attempt.home / "late.1.jsonl").read_bytes().splitlines()]
    assert kept == [late, msgspec.structs.replace(foreign, data=b"")]
