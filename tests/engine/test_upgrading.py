"""State folders of earlier and later versions: brought up after a backup, whatever is killed when; or only read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lumen_archives import unpack
from lumen_kills import killed_before, state_calls
from lumen_program import lumen

from lumen_tui import STATE_SCHEMA, __version__
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import perform
from lumen_tui.cli.main import main
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.launch import start_engine
from lumen_tui.engine.port import RemotePort
from lumen_tui.engine.upgrading import pending, upgrade
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.schema import StateSchema
from lumen_tui.servers.desk import Desk
from lumen_tui.storage import files, lease, restoring, schema
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

DATA = Path(__file__).parents[1] / "data"
NOW = 1_790_000_000.0
LATER = StateSchema(STATE_SCHEMA + 1, "9.9.9", "2030-01-01T00:00:00Z", STATE_SCHEMA, "backups/before.tar.gz")


def lived(version: str, tmp_path: Path) -> Path:
    unpack(DATA / f"version-{version}.tar.xz", tmp_path)
    return tmp_path / "state"


@pytest.fixture(params=["0.1", "0.2"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that an earlier version lived in."""
    return lived(request.param, tmp_path)


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A folder that a later version wrote, with a signal."""
    store = Store(tmp_path / "state")
    store.layout.create()
    perform(store, SendSignal(message="of before"), by="ann", now=NOW)
    schema.write_schema(store.layout.schema, LATER)
    return store.root


_NOT_COMPARED = ("backups", "index", "locks", "engine.lock", "heartbeat.json", "events.jsonl")


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] not in _NOT_COMPARED
    }


def beat(root: Path) -> subprocess.CompletedProcess[str]:
    words = ["--engine-only", "--once", "--log-format", "jsonl", "--state", str(root)]
    return lumen(words, env=dict(os.environ), cwd=root.parent)


def run(root: Path, *words: str) -> int:
    return main(["--state", str(root), "--operator", "ann", *words])


def test_a_new_folder_is_of_this_version(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    assert schema.read_schema(layout.schema) == StateSchema(STATE_SCHEMA, __version__)
    assert pending(layout) is None


def test_an_engine_upgrades_after_a_backup_and_says_so(old: Path) -> None:
    before = contents(old)
    engine = lumen(
        ["--engine-only", "--once", "--log-format", "jsonl", "--state", str(old)], env=dict(os.environ), cwd=old.parent
    )
    assert engine.returncode == 0, engine.stderr
    (event,) = [line for line in map(json.loads, engine.stdout.splitlines()) if line.get("kind") == "upgraded"]
    record = schema.read_schema(old / "schema.json")
    assert (record.schema, record.before) == (STATE_SCHEMA, 1)
    assert record.backup in event["text"]
    elsewhere = old.with_name("restored")
    restoring.restore(elsewhere, str(old / record.backup), "", "stamp")
    assert contents(elsewhere) == before
    assert schema.read_schema(elsewhere / "schema.json").schema == 1
    again = lumen(
        ["--engine-only", "--once", "--log-format", "jsonl", "--state", str(old)], env=dict(os.environ), cwd=old.parent
    )
    assert (again.returncode, '"upgraded"' in again.stdout) == (0, False)
    assert len(list((old / "backups").iterdir())) == 1


def test_readers_and_verbs_leave_an_earlier_folder_as_it_is(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(old, "status") == 0
    assert run(old, "signal", "while nobody drives") == 0
    assert not (old / "schema.json").exists()
    assert run(old, "upgrade", "--dry-run") == 0
    assert "roles name tools as they are called now" in capsys.readouterr().out
    assert not (old / "backups").exists()


def test_roles_name_tools_as_they_are_called_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = lived("0.2", tmp_path)
    (root / "roles" / "twice.md").write_text('+++\npurpose = "says \'find\'"\ntools = ["find"]\n+++\n\nGo on.\n')
    before = (root / "roles" / "scout.md").read_text()
    assert run(root, "upgrade") == 0
    assert "role scout" in capsys.readouterr().out
    after = (root / "roles" / "scout.md").read_text()
    assert (after != before, after.replace('"glob"', '"find"')) == (True, before)
    assert 'tools = ["find"]' in (root / "roles" / "twice.md").read_text()  # its purpose would be changed, too
    assert run(root, "upgrade") == 0
    assert "has the form of this version" in capsys.readouterr().out
    actions = [json.loads(line) for line in (root / "actions.jsonl").read_text().splitlines()]
    (action,) = [entry for entry in actions if entry.get("by") == "engine" and entry.get("changes")]
    assert (action["verb"], action["changes"][0]["key"]) == ("role.adjust", "scout")


@pytest.mark.fault("R1", "SIGKILL at each step of a backup, a restore and an upgrade")
def test_an_upgrade_that_is_killed_anywhere_is_made_again(
    tmp_path: Path, sampled: Callable[[list[int], int], list[int]]
) -> None:
    origin = lived("0.2", tmp_path)
    root = tmp_path / "sweep"
    shutil.copytree(origin, root)
    calls = state_calls(root, lambda: upgrade(Store(root), NOW))
    upgraded = contents(root)["roles/scout.md"]
    killed = 0
    for call in sampled(list(range(len(calls))), 12):
        shutil.rmtree(root)
        shutil.copytree(origin, root)
        killed += killed_before(call, root, lambda: upgrade(Store(root), NOW))
        if schema.read_schema(root / "schema.json").schema != STATE_SCHEMA:
            assert upgrade(Store(root), NOW + 1) is not None
        record = schema.read_schema(root / "schema.json")
        restoring.check_backup(str(root / record.backup))
        assert contents(root)["roles/scout.md"] == upgraded
        firsts = [path for path in (root / "backups").glob("*.tar.gz") if not path.name.startswith(".")]
        pure = tmp_path / "pure"
        restoring.restore(pure, str(min(firsts)), "", "stamp")
        assert (pure / "roles" / "scout.md").read_bytes() == (origin / "roles" / "scout.md").read_bytes()
        shutil.rmtree(pure)
    assert killed > 0


def test_without_a_backup_nothing_is_upgraded(tmp_path: Path) -> None:
    root = lived("0.2", tmp_path)
    (root / "backups").write_text("in the way")
    before = contents(root)
    with pytest.raises(files.NotWritten, match="was not upgraded, as there is no backup of it"):
        Engine.open(root)
    assert contents(root) == before
    assert not lease.is_held(Layout(root))


def test_a_backup_that_was_killed_leaves_no_file_for_good(tmp_path: Path) -> None:
    root = lived("0.2", tmp_path)
    (root / "backups").mkdir(mode=0o700)
    (root / "backups" / ".before-schema-2-x.tar.gz.0123.tmp").write_bytes(bytes(1000))
    assert upgrade(Store(root), NOW) is not None
    assert [path.suffix for path in (root / "backups").iterdir()] == [".gz"]


@pytest.mark.parametrize(
    "words",
    [["signal", "hello"], ["create", "a note"], ["task", "new", "count"], ["role", "fire", "analyst", "-r", "no"],
     ["pause"], ["kill", "--reason", "x"], ["mail", "deliver"], ["doctor", "--fix"], ["upgrade"],
     ["init"], ["run", "x"], ["wu", "new", "x"]],
    ids=" ".join,
)  # fmt: skip
def test_a_later_folder_is_refused_by_name_and_not_changed(new: Path, words: list[str]) -> None:
    before = contents(new)
    (new / "relay").rmdir()
    command = [sys.executable, "-m", "lumen_tui", "--state", str(new), *words]
    done = subprocess.run(command, input="Subject: x\n\nx\n", text=True, capture_output=True, check=False)
    assert done.returncode == {"mail": 75, "doctor": 2, "kill": 2, "run": 1}.get(words[0], 1)
    assert "9.9.9" in done.stderr
    assert "install that version, or go back" in " ".join(done.stderr.split())
    assert contents(new) == before
    assert not (new / "relay").exists()


def test_a_later_folder_is_read(new: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(new)
    for words in (["status"], ["inbox", "--no-mark"], ["task", "list"], ["search", "before"], ["events"], ["health"]):
        run(new, *words)
        assert "of before" in capsys.readouterr().out if words[0] == "inbox" else True
    assert run(new, "doctor") == 1
    assert "9.9.9" in capsys.readouterr().out
    assert contents(new) == before


def test_no_engine_room_or_server_writes_into_a_later_folder(new: Path) -> None:
    before = contents(new)
    with pytest.raises(files.Refused, match=r"9\.9\.9"):
        Engine.open(new)
    with pytest.raises(files.Refused, match=r"9\.9\.9"):
        start_engine(new)
    port = RemotePort(new, "ann")
    assert "9.9.9" in port.read_only
    assert port.snapshot().unread == 1
    with pytest.raises(ActionError, match=r"9\.9\.9"):
        port.submit(SendSignal(message="no"))
    with pytest.raises(files.Refused, match=r"9\.9\.9"):
        perform(Desk(new).store, SendSignal(message="no"), by="ann", now=NOW)
    assert contents(new) == before


def test_a_hook_in_a_later_folder_writes_nothing_and_fails_nobody(new: Path) -> None:
    event = json.dumps({"session_id": "s-1", "hook_event_name": "Stop", "cwd": "/"})
    before = contents(new)
    command = [sys.executable, "-m", "lumen_tui", "--state", str(new), "hook", "Stop"]
    done = subprocess.run(command, input=event, text=True, capture_output=True, check=False)
    assert (done.returncode, bool(done.stderr)) == (0, True)
    assert contents(new) == before


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[]", b"\xff\xfe", b'{"schema":"two"}', b"[" * 100_000])
def test_rubbish_in_its_place_stops_writing_and_says_how_to_go_on(new: Path, data: bytes) -> None:
    (new / "schema.json").write_bytes(data)
    for words in (["signal", "x"], ["role", "fire", "analyst", "-r", "no"]):
        done = subprocess.run(
            [sys.executable, "-m", "lumen_tui", "--state", str(new), *words],
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode != 0
        assert "schema.json cannot be read" in done.stderr
    (new / "schema.json").unlink()
    assert upgrade(Store(new), NOW) is not None


def test_a_restored_backup_takes_a_later_folder_back(new: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema.write_schema(new / "schema.json", StateSchema(STATE_SCHEMA))
    backup = new.with_name("back.tar.gz")
    assert run(new, "backup", str(backup)) == 0
    schema.write_schema(new / "schema.json", LATER)
    assert run(new, "signal", "refused") == 1
    assert run(new, "restore", str(backup), "--replace") == 0
    assert run(new, "signal", "taken") == 0
    assert "taken" in (new / "memory" / "signals.jsonl").read_text()
