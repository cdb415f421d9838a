from __future__ import annotations

import json
import os

import pytest
from lumen_until import until

from lumen_tui.model.loop import Heartbeat
from lumen_tui.storage import files, lease
from lumen_tui.storage.sealer import Sealer


def findings(cli, *words: str) -> tuple[int, list[dict]]:
    code, out, _ = cli("doctor", "--json", *words)
    return code, json.loads(out)["findings"]


def places(found: list[dict], check: str) -> list[str]:
    return [one["where"] for one in found if one["check"] == check]


def test_a_fresh_folder_is_healthy_and_untouched(desk, cli):
    desk.signals(3)
    desk.add()
    before = desk.files()
    assert findings(cli) == (0, [])
    assert cli("doctor", "--fix")[1] == "0 fixed, healthy\n"
    assert desk.files() == before


def test_a_torn_line_a_legacy_record_and_a_wrong_receipt_hide_nothing_but_themselves(desk, cli):
    one = desk.signals(1)[0]
    legacy = desk.signals(1, read=True)[0]
    by_nobody = desk.signals(1)[0]
    desk.store.receipts.append({"signal_id": by_nobody, "read_at": "2026-11-21T03:57:02.931Z"})
    files.append(desk.layout.receipts, b'{"signal_id": 7}\nnonsense\n')
    with desk.layout.signals.open("ab") as file:
        file.write(b'{"id":"sig-torn","message":"ha')
    assert desk.unread("ana") == [one]
    code, found = findings(cli)
    assert code == 1
    assert places(found, "torn ends") == ["memory/signals.jsonl"]
    assert places(found, "damaged lines") == [f"memory/signal-receipts.jsonl:{n}" for n in (2, 3)]
    assert places(found, "legacy records") == ["memory/signal-receipts.jsonl", "memory/signals.jsonl"]
    code, found = findings(cli, "--fix")
    assert code == 0
    assert all(one["mended"] or one["level"] == "note" for one in found)
    assert places(found, "damaged lines")[0] == "memory/signals.jsonl:4", "closing the end makes a damaged line of it"
    assert desk.ids("signals.jsonl") == [one, legacy, by_nobody]
    assert desk.unread("ana") == [one]
    kept = [json.loads(line)["line"] for line in desk.layout.quarantine.read_bytes().splitlines()]
    assert sorted(kept) == sorted(['{"id":"sig-torn","message":"ha', '{"signal_id": 7}', "nonsense"])
    code, found = findings(cli)
    assert (code, {one["level"] for one in found}) == (0, {"note"})


@pytest.mark.parametrize(
    "name",
    [
        "memory/memory.jsonl", "memory/signals.jsonl", "memory/signal-receipts.jsonl", "memory/relationships.jsonl",
        "memory/touches.jsonl", "memory/archive.jsonl", "actions.jsonl", "events.jsonl", "commands.jsonl",
        "command-receipts.jsonl", "personnel.jsonl", "loops/packets.jsonl", "memory/archival.jsonl",
    ],
)  # fmt: skip
@pytest.mark.parametrize("junk", [b"\x00" * 50, b"[" * 9000, b'{"id": 5}', b"[1]", b'\xff\xfe{"id":"x"}', b"y" * 5000])
def test_damage_in_any_journal_is_named_by_its_line_and_kept(desk, cli, name, junk):
    desk.do("decay.pin", node_ids=desk.add())
    desk.read("ana", desk.signals(1)[0])
    path = desk.root / name
    if not path.exists():
        path.touch(0o600)
    before = path.read_bytes()
    files.append(path, b"\n" + junk + b"\n")
    first = before.count(b"\n") + 2
    code, found = findings(cli)
    if name == "personnel.jsonl" and junk.startswith(b"{"):
        assert code == 0
        return
    assert (code, places(found, "damaged lines")) == (1, [f"{name}:{first}"])
    assert findings(cli, "--fix")[0] == 0
    assert path.read_bytes().replace(b"\n\n", b"\n").strip() == before.strip()
    if len(junk) > 4096:
        (whole,) = (desk.root / "quarantine").glob("*.line")
        assert whole.read_bytes() == junk
    assert findings(cli) == (0, [])


def test_modes_are_closed(desk, cli):
    desk.signals(1)
    os.chmod(desk.layout.signals, 0o644)
    os.chmod(desk.root / "work", 0o775)  # noqa: S103 - what the doctor is to close
    os.chmod(desk.root, 0o770)  # noqa: S103
    code, found = findings(cli)
    assert (code, set(places(found, "modes"))) == (1, {".", "memory/signals.jsonl", "work"})
    assert findings(cli, "--fix")[0] == 0
    assert [os.stat(path).st_mode & 0o777 for path in (desk.root, desk.root / "work", desk.layout.signals)] == [
        0o700, 0o700, 0o600,
    ]  # fmt: skip


def test_links_are_named_and_never_followed(desk, cli, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("nonsense\n")
    os.chmod(outside, 0o644)
    desk.layout.touches.symlink_to(outside)
    os.mkfifo(desk.layout.relationships)
    os.link(outside, desk.root / "index" / "twice.json")
    code, found = findings(cli, "--fix")
    assert code == 1
    assert {"memory/touches.jsonl", "memory/relationships.jsonl", "index/twice.json"} <= set(places(found, "links"))
    assert outside.read_text() == "nonsense\n"
    assert outside.stat().st_mode & 0o777 == 0o644


def test_leftovers_go_when_they_are_old(desk, cli):
    old, young = desk.root / "memory" / ".signals.jsonl.0a.tmp", desk.root / "work" / ".WU-001.md.0b.tmp"
    for path, age in ((old, 61), (young, 30)):
        path.write_bytes(b"half")
        os.chmod(path, 0o600)
        os.utime(path, (desk.now - age, desk.now - age))
    folder = desk.layout.tasks / ".tsk-x.0c.tmp"
    folder.mkdir(0o700)
    (folder / "spec.json").touch(0o600)
    os.utime(folder, (desk.now - 61, desk.now - 61))
    assert findings(cli)[0] == 0, "in nobody's way"
    assert young.exists()
    code, found = findings(cli, "--fix")
    assert code == 0
    assert {"memory/.signals.jsonl.0a.tmp", "tasks/.tsk-x.0c.tmp"} == set(places(found, "leftovers"))
    assert (old.exists(), young.exists(), folder.exists()) == (False, True, False)


def test_orphaned_receipts_and_dead_references(desk, cli):
    node = desk.add(wu_id="WU-404")
    kept = desk.signals(1)[0]
    desk.read("ana", kept)
    desk.store.receipts.append({"signal_id": "sig-gone", "read_at": "2026-01-01T00:00:00Z", "reader": "ana"})
    edge = {"from_id": node, "to_id": "mem-gone", "type": "related", "created_at": "2026-01-01T00:00:00Z"}
    desk.store.relationships.append(edge)
    code, found = findings(cli)
    assert code == 1
    assert places(found, "orphaned receipts") == ["memory/signal-receipts.jsonl"]
    assert places(found, "relationships") == ["memory/relationships.jsonl:1"]
    assert "WU-404" in next(one["what"] for one in found if one["check"] == "work units")
    code, found = findings(cli, "--fix")
    assert code == 0
    assert [json.loads(line)["signal_id"] for line in desk.layout.receipts.read_bytes().splitlines()] == [kept]


def test_documents_tasks_and_index(desk, cli):
    desk.layout.config.write_text("[memory.decay]\nthreshold = 'low'\n")
    (desk.root / "roles" / "broken.md").write_text("no fence")
    (desk.root / "work" / "WU-001.md").write_text("+++\ntitle = [\n+++\n")
    (desk.root / "sessions" / "ses-1.json").write_text("{")
    (desk.root / "tasks" / "tsk-empty").mkdir(0o700)
    (desk.root / "index" / "damage-scan.json").write_text("{")
    (desk.root / "index" / "trail.db").write_text("this is no database")
    os.system(f"chmod -R go-rwx {desk.root}")  # noqa: S605 - a folder of this test
    code, found = findings(cli)
    assert code == 1
    assert places(found, "settings") == ["lumen.toml:2"]
    assert places(found, "roles") == ["roles/broken.md:1"]
    assert places(found, "work units") == ["work/WU-001.md:2"]
    assert places(found, "sessions") == ["sessions/ses-1.json"]
    assert len(places(found, "tasks")) == 1
    assert places(found, "index") == ["index/damage-scan.json", "index/trail.db"]
    code, found = findings(cli, "--fix")
    assert code == 1
    assert not any((desk.root / "index").iterdir())
    assert {one["check"] for one in findings(cli)[1]} == {"settings", "roles", "work units", "sessions", "tasks"}


def beat(desk, **more) -> None:
    said = {"beat": 3, "phase": "asleep", "at": "2027-01-15T07:59:00Z", "next_at": "2027-01-15T08:04:00Z", **more}
    files.replace(desk.layout.heartbeat, json.dumps(said).encode())


def test_lock_heartbeat_and_process_are_compared(desk, cli):
    beat(desk, phase="stopped")
    assert findings(cli) == (0, [])
    beat(desk, pid=2**22)
    code, found = findings(cli)
    assert (code, found[0]["check"], found[0]["level"]) == (0, "engine", "note")
    held = lease.take_lease(desk.layout)
    assert held is not None
    beat(desk, pid=os.getpid(), epoch=held.info.epoch)
    assert findings(cli) == (0, [])
    beat(desk, pid=1, epoch=held.info.epoch)
    assert places(findings(cli)[1], "engine") == ["engine.lock"]
    beat(desk, pid=os.getpid(), epoch=held.info.epoch, at="2027-01-15T06:00:00Z", next_at="2027-01-15T06:05:00Z")
    assert findings(cli)[0] == 1
    held.release()
    mine = held.info
    beat(desk, pid=mine.pid, start_ticks=mine.start_ticks, boot_id=mine.boot_id)
    code, found = findings(cli)
    assert (code, "lives all the same" in found[0]["what"]) == (1, True)
    assert Heartbeat(beat=1, phase="asleep", at="").phase == "asleep"


def test_it_says_what_it_did_in_words(desk, cli):
    desk.signals(1)
    files.append(desk.layout.signals, b"\x1b[2Jnonsense\n")
    code, out, _ = cli("doctor")
    assert code == 1
    assert "memory/signals.jsonl:2" in out
    assert out.endswith("1 problem left; `doctor --fix` fixes 1\n")
    assert "\x1b" not in out
    assert cli("doctor", "--fix")[1].endswith("1 fixed, healthy\n")


def test_mending_beside_a_writer_loses_nothing(desk, crew, cli):
    files.append(desk.layout.signals, b"nonsense\n")
    crew.start("signals", "400")
    until(lambda: len(crew.told("signals")) > 20)
    for _ in range(10):
        files.append(desk.layout.signals, b"more nonsense\n")
        assert findings(cli, "--fix")[0] == 0
    crew.end()
    assert desk.ids("signals.jsonl") == crew.told("signals")


def test_without_a_state_folder(desk, cli, monkeypatch):
    monkeypatch.setenv("LUMEN_STATE", str(desk.root / "nowhere"))
    assert cli("doctor")[0] == 2


def test_a_changed_history_is_located_and_accepted_by_the_operator_alone(desk, cli, monkeypatch):
    desk.signals(30)
    Sealer(desk.store.layout).seal(desk.now)
    code, out, _ = cli("doctor", "--json")
    head = json.loads(out)["history"]["head"]
    assert (code, len(head)) == (0, 64)
    assert cli("doctor", "--head", head)[0] == 0
    assert cli("doctor", "--head", "0" * 64)[0] == 1
    signals = desk.store.layout.signals
    signals.write_bytes(signals.read_bytes().replace(b"sig-", b"sik-", 1))
    code, out, _ = cli("doctor", "--fix")
    assert code == 1
    assert "memory/signals.jsonl" in out and "are not what they were" in out and "bytes 0 to" in out
    monkeypatch.setenv("CLAUDECODE", "1")
    assert cli("doctor", "--accept-history")[0] == 2
    monkeypatch.delenv("CLAUDECODE")
    monkeypatch.setattr("lumen_tui.cli.commands.state.agent_evidence", lambda _: "")
    code, out, _ = cli("doctor", "--accept-history")
    assert (code, "was accepted by" in out) == (0, True)
    assert cli("doctor", "--head", head)[0] == 0


def test_a_theme_that_is_not_listed_in_the_room_is_named(desk, cli):
    desk.layout.themes.mkdir(mode=0o700, exist_ok=True)
    files.replace(desk.layout.themes / "dusk.toml", b'ground = "blue"\n')
    code, found = findings(cli)
    assert (code, places(found, "themes")) == (1, ["themes/dusk.toml:1"])
    files.replace(desk.layout.themes / "dusk.toml", b'ground = "#000000"\n')
    assert findings(cli) == (0, [])
