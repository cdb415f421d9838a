"""Backups taken while others write, put back whole or not at all, and killed at every step."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from lumen_filled import fill
from lumen_kills import killed_before, state_calls

from lumen_tui.actions.registry import perform
from lumen_tui.cli.main import main
from lumen_tui.model.backups import MANIFEST, BackupManifest
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.work import NewWorkUnit
from lumen_tui.storage import locks, restoring
from lumen_tui.storage.backup import write_backup
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

NOW = 1_790_000_000.0
STAMP = "20260921T000000Z"
needs_age = pytest.mark.skipif(not shutil.which("age"), reason="needs age")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A state folder with records of several areas."""
    store = Store(tmp_path / "state")
    store.layout.create()
    for number in range(20):
        perform(store, SendSignal(message=f"signal {number}"), by="ann", now=NOW, client="test")
    perform(store, NewWorkUnit(title="Keep it"), by="ann", now=NOW, client="test")
    (store.root / "tasks" / "archive" / "2026").mkdir()
    (store.root / "tasks" / "archive" / "2026" / "old.txt").write_bytes(os.urandom(200_000))
    (store.root / "index" / "search.db").write_bytes(b"derived")
    return store.root


def contents(root: Path) -> dict[str, bytes]:
    """Every file of record."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] not in ("index", "engine.lock")
    }


def backed_up(root: Path, name: str = "backup.tar.gz", recipients: tuple[str, ...] = ()) -> Path:
    path = root.with_name(name)
    write_backup(Layout(root), str(path), recipients, NOW)
    return path


def test_what_is_restored_is_what_was(root: Path) -> None:
    before, path = contents(root), backed_up(root)
    target = root.with_name("elsewhere")
    manifest, earlier = restoring.restore(target, str(path), "", STAMP)
    assert earlier == ""
    assert contents(target) == before
    assert not (target / "index" / "search.db").exists()
    assert {file.path for file in manifest.files} == set(before)
    assert [p for p in target.rglob("*") if p.stat().st_mode & 0o077] == []
    perform(Store(target), SendSignal(message="it goes on"), by="ann", now=NOW, client="test")


def test_a_folder_that_is_there_is_exchanged_and_stays_beside(root: Path) -> None:
    path = backed_up(root)
    perform(Store(root), SendSignal(message="later"), by="ann", now=NOW, client="test")
    later = contents(root)
    _, earlier = restoring.restore(root, str(path), "", STAMP)
    assert contents(Path(earlier)) == later
    assert b"later" not in (root / "memory" / "signals.jsonl").read_bytes()
    assert not [name for name in os.listdir(root.parent) if "restoring" in name]


def test_without_an_exchange_in_one_step_it_takes_three_renames(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = backed_up(root), contents(root)
    monkeypatch.setattr(restoring, "_exchange", lambda first, second: False)
    _, earlier = restoring.restore(root, str(path), "", STAMP)
    assert contents(root) == contents(Path(earlier)) == before


def test_verbs_that_go_on_meanwhile_are_in_it_wholly_or_not_at_all(root: Path) -> None:
    """Each verb writes a unit and its line in the journal: none of them is there without the other."""
    over = threading.Event()

    def write(name: str) -> None:
        store, number = Store(root), 0
        while not over.is_set():
            number += 1
            perform(store, NewWorkUnit(title=f"{name} {number}"), by=name, now=NOW, client="test")

    writers = [threading.Thread(target=write, args=(name,)) for name in ("ann", "bob")]
    for writer in writers:
        writer.start()
    try:
        paths = [backed_up(root, f"{number}.tar.gz") for number in range(5)]
    finally:
        over.set()
        for writer in writers:
            writer.join()
    sizes = []
    for path in paths:
        target = root.with_name(f"of-{path.name}")
        restoring.restore(target, str(path), "", STAMP)
        recorded = (target / "actions.jsonl").read_text()
        assert recorded.endswith("\n")
        units = {unit.stem for unit in (target / "work").glob("WU-*.md")}
        done = {line for line in recorded.splitlines() if '"stage":"begun"' not in line}
        assert _units(done) <= units <= _units({*recorded.splitlines()})
        sizes.append(len(units))
    assert sizes == sorted(sizes)


def _units(lines: set[str]) -> set[str]:
    return {unit for line in lines for unit in re.findall(r'"(WU-\d+)"', line)}


def test_it_waits_for_a_journal_that_is_locked_and_holds_none_meanwhile(root: Path) -> None:
    held = locks.try_lock(root / "memory" / "signals.jsonl")
    assert held is not None
    path = root.with_name("late.tar.gz")
    thread = threading.Thread(target=write_backup, args=(Layout(root), str(path), (), NOW))
    thread.start()
    with locks.waiting_lock(root / "actions.jsonl"):  # which the backup may not keep
        assert not path.exists()
    os.close(held)
    thread.join(60)
    assert restoring.check_backup(str(path)).files


def test_links_and_temporary_files_stay_out_and_links_are_named(root: Path) -> None:
    (root / "work" / "WU-900.md").symlink_to("/etc/passwd")
    (root / "work" / ".WU-1.md.ab12.tmp").write_text("half")
    manifest = write_backup(Layout(root), str(root.with_name("b.tar.gz")), (), NOW)
    assert manifest.skipped == ("work/WU-900.md",)
    assert not [file.path for file in manifest.files if file.path.endswith(".tmp")]


def broken(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return apply


def member(name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE) -> Callable[[Path], None]:
    """Put one more member in front of those of a backup."""

    def apply(path: Path) -> None:
        out = io.BytesIO()
        with tarfile.open(path) as old, tarfile.open(fileobj=out, mode="w:gz") as new:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = (len(data) if kind == tarfile.REGTYPE else 0), kind, "/etc"
            new.addfile(info, io.BytesIO(data))
            for each in old:
                new.addfile(each, old.extractfile(each))
        path.write_bytes(out.getvalue())

    return apply


def forged(path: Path) -> None:
    """Change a file and leave the manifest."""
    with gzip.open(path) as stream:
        data = stream.read()
    path.write_bytes(gzip.compress(data.replace(b"signal 7", b"signal 8", 1)))


@pytest.mark.parametrize(
    "damage",
    [
        broken(lambda data: data[: len(data) // 2]),
        broken(lambda data: data[:-4]),
        broken(lambda data: b""),
        broken(lambda data: b"\x1f\x8b" + os.urandom(5000)),
        broken(lambda data: gzip.compress(b"no archive")),
        broken(lambda data: data[:1000] + bytes([data[1000] ^ 255]) + data[1001:]),
        forged,
        member("state/../../outside"),
        member("/etc/cron.d/x"),
        member("state/link", kind=tarfile.SYMTYPE),
        member(MANIFEST, b"{}"),
        member(MANIFEST, msgspec.json.encode(BackupManifest("", "9", "", (), schema=2))),
    ],
)
def test_a_damaged_or_forged_backup_changes_nothing(root: Path, damage: Callable[[Path], None]) -> None:
    path, before = backed_up(root), contents(root)
    damage(path)
    with pytest.raises(restoring.BadBackup):
        restoring.restore(root, str(path), "", STAMP)
    with pytest.raises(restoring.BadBackup):
        restoring.check_backup(str(path))
    assert contents(root) == before
    assert sorted(os.listdir(root.parent)) == ["backup.tar.gz", "state"]


def test_members_that_the_manifest_does_not_list_are_not_restored(root: Path) -> None:
    path = backed_up(root)
    member("state/work/WU-666.md")(path)
    restoring.restore(root.with_name("new"), str(path), "", STAMP)
    assert not (root.with_name("new") / "work" / "WU-666.md").exists()


@pytest.mark.fault("R1", "SIGKILL at each step of a backup, a restore and an upgrade")
def test_killed_at_every_step_of_a_backup_there_is_the_whole_file_or_none(root: Path, sampled) -> None:
    path = root.with_name("killed.tar.gz")

    def act() -> object:
        return write_backup(Layout(root), str(path), (), NOW)

    before = contents(root)
    calls = state_calls(root.parent, act)
    path.unlink()
    for number in sampled(range(len(calls)), most=25):
        assert killed_before(number, root.parent, act)
        for half in root.parent.glob(".killed.tar.gz.*.tmp"):
            half.unlink()
        if path.exists():
            assert restoring.check_backup(str(path)).files
            path.unlink()
        assert contents(root) == before


@pytest.mark.fault("R1", "SIGKILL at each step of a backup, a restore and an upgrade")
def test_killed_at_every_step_of_a_restore_the_folder_is_whole_and_nothing_is_lost(root: Path, sampled) -> None:
    path = backed_up(root)
    old = contents(root)
    perform(Store(root), SendSignal(message="later"), by="ann", now=NOW, client="test")
    later = contents(root)

    def act() -> object:
        return restoring.restore(root, str(path), "", STAMP)

    calls = state_calls(root.parent, act)
    spare = root.with_name(f"state.before-{STAMP}")
    for number in sampled(range(len(calls)), most=25):
        shutil.rmtree(root)
        shutil.rmtree(spare, ignore_errors=True)
        for name, data in later.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        assert killed_before(number, root.parent, act)
        there = contents(root)
        assert there in (old, later)
        if there == old:
            assert contents(spare) == later
        else:
            _, earlier = restoring.restore(root, str(path), "", f"{STAMP}-again")
            assert contents(root) == old
            assert contents(Path(earlier)) == later
            shutil.rmtree(earlier)


@pytest.fixture
def key(tmp_path: Path) -> tuple[str, str]:
    """The public key and the file of the secret one."""
    path = str(tmp_path.parent / f"{tmp_path.name}-key")
    done = subprocess.run(["age-keygen", "-o", path], capture_output=True, text=True, check=True, timeout=60)
    return done.stderr.split()[-1], path


@needs_age
def test_an_encrypted_one_is_read_by_its_recipient_alone(root: Path, key: tuple[str, str], tmp_path: Path) -> None:
    before, path = contents(root), backed_up(root, recipients=(key[0],))
    assert b"signal" not in path.read_bytes()
    other = tmp_path / "other-key"
    subprocess.run(["age-keygen", "-o", str(other)], capture_output=True, check=True, timeout=60)
    for identity in ("", str(other), str(tmp_path / "nowhere")):
        with pytest.raises(restoring.BadBackup, match=r"identity|age"):
            restoring.restore(root, str(path), identity, STAMP)
    restoring.restore(root.with_name("new"), str(path), key[1], STAMP)
    assert contents(root.with_name("new")) == before
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(restoring.BadBackup):
        restoring.check_backup(str(path), key[1])


@needs_age
def test_a_key_that_is_none_is_refused_by_name_and_leaves_nothing(root: Path) -> None:
    with pytest.raises(StoreError, match="age did not encrypt"):
        backed_up(root, recipients=("age1nonsense",))
    assert os.listdir(root.parent) == ["state"]


def test_without_age_a_recipient_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(StoreError, match="apt install age"):
        backed_up(root, recipients=("age1x",))
    assert os.listdir(root.parent) == ["state"]


def test_the_commands_ask_for_a_word_before_they_replace(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = ["--state", str(root)]
    path = root.with_name("mine.tar.gz")
    assert main(["backup", str(path), *state]) == 0
    assert main(["backup", str(path), *state]) == 2
    assert main(["backup", str(root / "inside.tar.gz"), *state]) == 2
    assert main(["restore", str(path), *state]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main(["restore", str(path), "--dry-run", *state]) == 0
    assert "is whole" in capsys.readouterr().out
    lock = locks.try_lock(root / "engine.lock")
    assert lock is not None
    assert main(["restore", str(path), "--replace", *state]) == 1
    assert "lumen-tui stop" in capsys.readouterr().err
    os.close(lock)
    assert main(["restore", str(path), "--replace", *state]) == 0
    assert "before-" in capsys.readouterr().out
    assert main(["journal", *state]) == 0
    assert "was restored" in capsys.readouterr().out


def test_an_agent_restores_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = backed_up(root)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert main(["restore", str(path), "--replace", "--state", str(root)]) == 2


def test_a_folder_that_really_worked_is_restored_and_sound(tmp_path: Path) -> None:
    root = tmp_path / "state"
    fill(root)
    path = backed_up(root)
    target = tmp_path / "restored"
    restoring.restore(target, str(path), "", STAMP)
    assert {*contents(root)} - {*contents(target)} <= {"heartbeat.json"}
    assert main(["doctor", "--state", str(target)]) == main(["doctor", "--state", str(root)])


def test_a_name_with_a_slash_at_its_end_is_a_folder_that_is_made(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a line of cron on a new machine: a file of that name would refuse every backup but the first."""
    folder = root.with_name("backups")
    assert main(["backup", f"{folder}/", "--state", str(root)]) == 0
    (path,) = folder.iterdir()
    assert str(path) in capsys.readouterr().out
    assert folder.stat().st_mode & 0o077 == 0
    assert main(["restore", str(path), "--dry-run", "--state", str(root)]) == 0
