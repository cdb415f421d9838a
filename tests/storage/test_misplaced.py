"""Something else in the place of a state file: named everywhere, closed where it may forbid, and over when mended."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lumen_program import lumen

from lumen_tui.__main__ import main
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage import files, integrity
from lumen_tui.storage.layout import FOLDERS, Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.ledger.ledger import Ledger

NOW = 1_800_000_000.0
NAMES = [str(path.relative_to("/s")) for path in Layout(Path("/s")).files()]
POLICY = [str(path.relative_to("/s")) for path in integrity.policy_files(Layout(Path("/s")))]
ODD = {
    "folder": Path.mkdir,
    "link": lambda path: path.symlink_to("nowhere"),
    "pipe": os.mkfifo,
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "state")
    store.layout.create()
    return store


def beat_once(store: Store) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(store.root.parent), "PATH": os.environ["PATH"]}
    return lumen(["--state", str(store.root), "--engine-only", "--once"], env=env, cwd=store.root.parent)


def test_every_path_with_a_name_is_a_file_or_a_known_folder() -> None:
    """A new name in `Layout` is in these tests by itself, or fails here."""
    named = {str(path.relative_to("/s")) for path in vars(Layout(Path("/s"))).values() if isinstance(path, Path)}
    evolved = {"evolved/versions", "evolved/versions.git"}
    made_when_needed = {
        "sessions/ended", "sessions/operators", "sessions/rooms", "memory/cleanups", "replays", "skills", "themes",
        "tasks/.changes", "backups", "evals/versions", *evolved,
    }  # fmt: skip
    assert named - set(NAMES) - set(FOLDERS) - made_when_needed == {"."}
    assert len(NAMES) > 45 and set(POLICY) < set(NAMES)


@pytest.mark.fault("R7", "a folder, a link or a pipe in the place of each file")
@pytest.mark.sweep(most=16)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_named_until_it_is_mended(store: Store, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = store.root / name
    reader = SnapshotReader(store.root)
    reader.snapshot(NOW)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    for make in ODD.values():
        make(path)
        assert name in [problem.where for problem in reader.snapshot(NOW).problems], "a room that was open before"
        assert name in [problem.where for problem in SnapshotReader(store.root).snapshot(NOW).problems]
        told = [finding for finding in examine(store, now=NOW, fix=True).findings if finding.where == name]
        assert told and not any(finding.repaired for finding in told)
        assert main(["--state", str(store.root), "status"]) == 0
        assert name in capsys.readouterr().out
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        assert name not in [problem.where for problem in reader.snapshot(NOW).problems]


@pytest.mark.fault("R7", "a folder, a link or a pipe in the place of each file")
@pytest.mark.sweep(most=8)
@pytest.mark.parametrize("name", NAMES)
def test_an_engine_goes_on_or_says_why_not(store: Store, name: str) -> None:
    """What is kept in it is out of reach, and the exit code tells; what forbids keeps everything from starting."""
    main(["--state", str(store.root), "task", "new", "look around", "--role", "researcher"])
    path = store.root / name
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)
    done = beat_once(store)
    assert "Traceback" not in done.stderr
    if name in POLICY:
        assert done.returncode == 0
    else:
        assert done.returncode == 1 and f"{name} is " in done.stderr
    path.rmdir()
    assert beat_once(store).returncode == 0


@pytest.mark.fault("R7", "a folder, a link or a pipe in the place of each file")
@pytest.mark.parametrize("name", ["kill.json", "pause.json", "pauses.json"])
@pytest.mark.parametrize("kind", ODD)
def test_nothing_starts_while_what_may_forbid_it_cannot_be_read(store: Store, name: str, kind: str) -> None:
    main(["--state", str(store.root), "task", "new", "look around", "--role", "researcher"])
    ODD[kind](store.root / name)
    done = beat_once(store)
    assert name in done.stdout and "task_started" not in done.stdout


@pytest.mark.fault("R7", "a folder, a link or a pipe in the place of each file")
@pytest.mark.parametrize("kind", ODD)
def test_no_call_is_paid_for_while_nobody_knows_what_was_spent(store: Store, kind: str) -> None:
    ledger = Ledger(store.layout)
    ledger.refresh()
    ODD[kind](store.layout.spend)
    for one in (ledger, Ledger(store.layout)):
        with pytest.raises(files.Refused):
            one.refresh()


def test_a_command_that_needs_it_fails_with_the_same_sentence(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(store.layout.signals, ignore_errors=True)
    store.layout.signals.mkdir()
    assert main(["--state", str(store.root), "signal", "look here"]) == 1
    assert f"{store.layout.signals} is not a regular file; move it away" in capsys.readouterr().err
