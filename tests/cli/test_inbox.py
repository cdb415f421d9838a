from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from lumen_until import until

from lumen_tui.__main__ import run_plain
from lumen_tui.model import fields
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.signals import inbox
from lumen_tui.store.signals.signal_index import SignalIndex

DAY = 86400.0
NOW = 1_800_000_000.0


def send(layout: Layout, count: int, *, start: float = NOW, **more: object) -> list[str]:
    records = [{**fields.signal(f"note {n}", by="bo", now=start + n), **more} for n in range(count)]
    Journal(layout.signals).append_all(records)
    return [record["id"] for record in records]


def unread(layout: Layout, reader: str = "ana", limit: int = 10_000) -> list[str]:
    """Newest first, and the same as the room's own index says."""
    found = [signal["id"] for _, signal in inbox.unread(str(layout.root / "memory"), reader, limit).signals]
    if limit == 10_000:
        index = SignalIndex(layout, reader)
        while index.refresh():
            pass
        assert [row.signal.id for row in index.rows() if row.unread] == found
    return found


def receipts(layout: Layout) -> list[dict]:
    return [json.loads(line) for line in Journal(layout.receipts).lines()]


def test_what_was_shown_is_read_with_one_receipt(here, capsys):
    ids = send(here.layout, 5)
    assert run_plain(["inbox"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[::2]] == ids[::-1]
    assert [(one["signal_id"], one["upto"], one["reader"]) for one in receipts(here.layout)] == [(ids[-1], True, "ana")]
    assert unread(here.layout) == []
    assert unread(here.layout, "bo") == ids[::-1]
    more = send(here.layout, 2, start=NOW + 100)
    assert unread(here.layout) == more[::-1]


def test_only_what_was_shown_is_marked(here, capsys):
    ids = send(here.layout, 130)
    assert run_plain(["inbox", "--json"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == ids[:29:-1]
    assert unread(here.layout) == ids[29::-1]
    assert run_plain(["inbox", "--limit", "7"]) == 0
    assert unread(here.layout) == ids[22::-1]
    assert run_plain(["inbox", "--all"]) == 0
    assert unread(here.layout) == []


def test_a_filtered_look_marks_one_by_one(here):
    ids = send(here.layout, 3)
    mine = send(here.layout, 2, start=NOW + 10, wu_id="WU-042")
    assert run_plain(["inbox", "--wu", "wu-042"]) == 0
    assert unread(here.layout) == ids[::-1]
    assert [one["signal_id"] for one in receipts(here.layout)] == mine[::-1]


@pytest.mark.parametrize("words", [["--count"], ["--no-mark"], ["-c", "--json"]])
def test_counting_and_looking_mark_nothing(here, words, capsys):
    send(here.layout, 3)
    assert run_plain(["inbox", *words]) == 0
    assert receipts(here.layout) == []
    if "--no-mark" not in words:
        assert capsys.readouterr().out == "3\n"


def test_legacy_records_are_honoured(here):
    ids = send(here.layout, 4)
    send(here.layout, 1, start=NOW + 10, read=True)
    Journal(here.layout.receipts).append({"signal_id": ids[1], "read_at": "2026-11-21T03:57:02.931Z"})
    assert unread(here.layout) == [ids[3], ids[2], ids[0]]
    assert unread(here.layout, "bo") == [ids[3], ids[2], ids[0]]


def test_an_upto_receipt_without_a_usable_hint_is_found_by_its_id(here):
    ids = send(here.layout, 9)
    for offset in (-1, 17, 10**9):
        receipt = fields.receipt(ids[5], reader="ana", now=NOW + 100, offset=offset, upto=True)
        here.layout.receipts.write_bytes(json.dumps(receipt).encode() + b"\n")
        assert unread(here.layout) == ids[:5:-1]


def test_clocks_that_were_wrong_hide_nothing_and_repeat_nothing_for_ever(here):
    ahead = send(here.layout, 3, start=NOW + 400 * DAY)
    back = send(here.layout, 3, start=NOW - 400 * DAY)
    assert unread(here.layout) == [*back[::-1], *ahead[::-1]]
    assert run_plain(["inbox", "--limit", "5"]) == 0
    assert unread(here.layout) == [ahead[0]]
    assert run_plain(["inbox"]) == 0
    assert unread(here.layout) == []


def test_the_furthest_upto_counts_whatever_came_after_it(here):
    ids = send(here.layout, 9)
    for at in (7, 3):
        Journal(here.layout.receipts).append(fields.receipt(ids[at], reader="ana", now=NOW + 100, upto=True))
    Journal(here.layout.receipts).append(fields.receipt(ids[8], reader="bo", now=NOW + 100, upto=True))
    assert unread(here.layout) == [ids[8]]


def test_damage_never_blocks_the_inbox(here, capsys):
    ids = send(here.layout, 2)
    with here.layout.signals.open("ab") as file:
        file.write(b'{"id": "sig-torn", "mess\n\n[1]\n{"id": 7}\n' + b"[" * 100_000 + b"\n\xff\xfe\n")
    ids += send(here.layout, 1, start=NOW + 50)
    with here.layout.signals.open("ab") as file:
        file.write(b'{"id": "sig-half')
    with here.layout.receipts.open("ab") as file:
        file.write(b"nonsense\n")
    assert run_plain(["inbox"]) == 0
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines()[::2]] == ids[::-1]
    assert "5 damaged" in shown.err
    assert run_plain(["inbox", "--count"]) == 0
    assert capsys.readouterr().out == "0\n"


def test_hostile_text_is_shown_and_does_not_act(here, capsys):
    send(here.layout, 1, message="\x1b]52;c;eA==\x07\u202eevil\x9b2J", lane="\x1b[2J", sender="a\nb")
    assert run_plain(["inbox", "--no-mark"]) == 0
    assert run_plain(["inbox", "--json"]) == 0
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x07\u202e\x9b")
    assert "␛]52" in shown


def test_it_does_not_grow_with_history(shell):
    """A generous bound: what matters is that neither time nor memory follow the 200,000 lines."""
    line = json.dumps(fields.signal("an old note", by="bo", now=NOW)).encode() + b"\n"
    old = line.replace(b"sig-", b"sig-%06d")[:-1]
    with shell.layout.signals.open("wb") as file:
        file.writelines(old.replace(b"%06d", b"%06d" % number) + b"\n" for number in range(200_000))
    Journal(shell.layout.receipts).append(
        fields.receipt(inbox.newest(str(shell.layout.signals))[0], reader="ana", now=NOW + 1,
                       offset=inbox.newest(str(shell.layout.signals))[1], upto=True)
    )  # fmt: skip
    fresh = send(shell.layout, 3, start=NOW + DAY)
    probe = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from lumen_tui.__main__ import run_plain\n"
        "run_plain(sys.argv[1:]); sys.stderr.write(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    began = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe, shell.environ["PYTHONPATH"], "inbox", "--state", str(shell.root)],
        capture_output=True, text=True, timeout=60, check=True, env={"LUMEN_OPERATOR": "ana"},
    )  # fmt: skip
    assert time.monotonic() - began < 1.0
    assert [row.split()[0] for row in ran.stdout.splitlines()[::2]] == fresh[::-1]
    assert int(ran.stderr) < 25 * 1024


def test_watch_shows_what_comes(shell, watch):
    send(shell.layout, 1)
    with watch("inbox", "--watch") as line:
        assert line().startswith("sig-")
        assert line().strip() == "note 0"
        assert shell("signal", "late news").returncode == 0
        assert line().startswith("sig-")
        assert line().strip() == "late news"
        until(lambda: unread(shell.layout) == [])  # it marks what it has shown


def test_a_long_count_agrees_with_counting_one_by_one(tmp_path, capsys, monkeypatch):
    from lumen_tui.cli.fast import inbox
    from lumen_tui.storage.layout import Layout
    from lumen_tui.storage.store import Store

    Layout(tmp_path / "state").create()
    store = Store(tmp_path / "state")
    store.signals.append_all(
        {"id": f"sig-{n:04d}", "message": "m", "created_at": "2026-11-21T10:00:00Z", "read": n % 5 == 0}
        for n in range(300)
    )
    store.receipts.append({"signal_id": "sig-0099", "reader": "ada", "read_at": "2026-11-21T10:00:00Z", "upto": True})
    options = inbox.InboxOptions()
    options.reader, options.count = "ada", True
    assert inbox.show(str(store.root), options, 0.0) == 160
    monkeypatch.setattr(inbox, "_FEW", 10)
    assert inbox.show(str(store.root), options, 0.0) == 160


def test_a_torn_line_never_blocks_a_cold_inbox(tmp_path):
    import subprocess
    import sys

    from lumen_tui.storage.layout import Layout
    from lumen_tui.storage.store import Store

    Layout(tmp_path / "state").create()
    store = Store(tmp_path / "state")
    store.signals.append({"id": "sig-before", "message": "one", "created_at": "2026-11-21T10:00:00Z"})
    with store.layout.signals.open("ab") as journal:
        journal.write(b'{"id":"sig-torn","message":"torn')
    store.signals.append({"id": "sig-after", "message": "two", "created_at": "2026-11-21T10:00:01Z"})
    found = subprocess.run(
        [sys.executable, "-m", "lumen_tui", "inbox", "--state", str(store.root)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert "sig-before" in found.stdout and "sig-after" in found.stdout
    assert "1 damaged" in found.stderr
