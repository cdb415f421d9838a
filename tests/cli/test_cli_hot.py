from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lumen_tui import hot
from lumen_tui.__main__ import _PLAIN_VERBS, run_plain
from lumen_tui.cli.fast import inbox, plain
from lumen_tui.cli.main import main
from lumen_tui.model import jsontext, times
from lumen_tui.storage.layout import default_root, distrust

REPO = Path(__file__).resolve().parents[2]
HEAVY = ("argparse", "json", "asyncio", "typing", "msgspec", "pathlib", "contextlib", "datetime", "re", "enum")
# One id of a thousand spells `pat` or `pwd`, and the table of secrets is asked: here ids are no matter of chance.
PROBE = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
os.urandom = lambda size: bytes(range(size))
from lumen_tui.__main__ import run_plain
code = run_plain(sys.argv[1:])
heavy = [name for name in {heavy!r} if name in sys.modules]
sys.stderr.write(" ".join(heavy))
sys.exit(9 if code is None else code)
"""


def cold(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", PROBE.format(heavy=HEAVY), str(REPO), *words]
    environ = {"LUMEN_STATE": str(root), "LUMEN_OPERATOR": "ana", "HOME": "/nonexistent"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "words",
    [
        ("signal", 'half "done" – ¾', "--wu", "wu-042", "--lane=Framework: Core", "-p", "P1", "--to", "bo"),
        ("create", "a race", "--type", "bug", "--tags", "auth,session", "--priority", "P0"),
        ("inbox",),
        ("inbox", "--count"),
        ("mem:signal", "by its documented name", "--wu", "WU-042"),
        ("mem-inbox", "--wu", "WU-042", "-l", "Framework: Core", "-c"),
        ("create", "nowhere", "--wu", "none"),
        ("signal", "the auth path of the token bucket lost a key, so tests that pass now cost 3 tokens, a pattern"),
        ("create", "which credentials, licences and passwords a patch may read is a secret, a key and a token"),
        ("inbox", "--reader", "bo", "--limit", "5", "--no-mark"),
    ],
)
def test_hot_verbs_load_nothing_heavy(shell, words):
    assert shell("signal", "there").returncode == 0
    assert shell("wu", "new", "Session manager", "--id", "WU-042", "--lane", "Framework: Core").returncode == 0
    assert shell("start", "--wu", "WU-042").returncode == 0
    assert shell("signal", "there", "--lane", "Framework: Core").returncode == 0, "the lanes are remembered"
    ran = cold(shell.root, *words)
    assert (ran.returncode, ran.stderr.replace("nothing unread for ana\n", "")) == (0, "")


def test_a_hot_signal_and_a_full_one_write_the_same_fields(shell):
    assert shell("wu", "new", "Session manager", "--id", "WU-042", "--lane", "Core").returncode == 0
    words = ("--wu", "wu-042", "--lane", "Core", "--priority", "p0", "--to", "bo", "--type", "question")
    assert cold(shell.root, "signal", "the same", *words).returncode == 0
    assert shell("signal", "the same", *words, "--reply-to", "").returncode == 0
    one, two = map(json.loads, shell.layout.signals.read_text().splitlines())
    for record in (one, two):
        record.pop("id")
        record.pop("created_at")
    assert one == two
    assert one["sender"] == "ana"


@pytest.mark.parametrize(
    ("where", "expected"),
    [((), ("WU-001", True)), (("--wu", "wu-001"), ("WU-001", True)), (("--wu=none",), ("", False)),
     (("--wu", ""), ("", False))],
)  # fmt: skip
def test_a_hot_node_and_a_full_one_write_the_same_fields(shell, where, expected):
    assert shell("wu", "new", "Session manager", "--id", "WU-001").returncode == 0
    assert shell("start", "--wu", "WU-001").returncode == 0
    words = ("--type", "idea", "--tags", "x, y", "--priority", "P2", *where)
    assert cold(shell.root, "create", "the same", *words).returncode == 0
    assert shell("create", "the same", *words, "--discovered-from", "").returncode == 0
    _, one, two = map(json.loads, shell.layout.memory.read_text().splitlines())
    assert (one.get("wu_id", ""), "session_id" in one) == expected
    for record in (one, two):
        record.pop("id")
        record.pop("created_at")
    assert one == two


@pytest.mark.parametrize(
    "words",
    [
        ("signal",),
        ("signal", "--help"),
        ("signal", "a", "b"),
        ("signal", "a", "--wu"),
        ("signal", "a", "--wu", "--lane"),
        ("signal", "a", "--wu", "WU-x"),
        ("signal", "a", "--wu", "WU-999", "--priority", "P9"),
        ("create", "a", "--wu", "WU-999", "--type", "nonsense"),
        ("create", "a", "--session", "ses-nobody"),
        ("inbox", "--wu", "WU-999"),
        ("mem:hook", "Stop"),
        ("mem:signal", "-m", "a"),
        ("checkpoint", "a", "b"),
        ("checkpoint", "--help"),
        ("ready",),
        ("ready", "--wu", "WU-999"),
        ("ready", "--take"),
        ("ready", "extra"),
        ("signal", "a", "--bogus", "b"),
        ("signal", "a", "--priority", "P9"),
        ("signal", " "),
        ("signal", "x" * 61_000),
        ("create", "a", "--type", "nonsense"),
        ("inbox", "--limit", "0"),
        ("inbox", "--limit", "many"),
        ("inbox", "--watch"),
        ("inbox", "extra"),
        ("task", "list"),
        ("--version",),
        (),
    ],
)
def test_whatever_is_unusual_is_left_to_the_parser_and_writes_nothing(here, words):
    before = here.files()
    assert run_plain(list(words)) is None
    assert here.files() == before


def test_a_missing_or_shared_folder_is_left_to_the_parser(here, monkeypatch):
    here.root.chmod(0o777)
    assert run_plain(["signal", "x"]) is None
    here.root.chmod(0o700)
    assert run_plain(["signal", "x"]) == 0
    (here.root / "memory").rename(here.root / "elsewhere")
    (here.root / "memory").symlink_to(here.root / "elsewhere")
    assert run_plain(["signal", "x"]) is None
    monkeypatch.setenv("LUMEN_STATE", str(here.root / "nowhere"))
    assert run_plain(["signal", "x"]) is None


@pytest.mark.parametrize("words", [["signal", "x"], ["create", "x"], ["inbox"], ["checkpoint", "x"]])
def test_the_hot_verbs_trust_no_folder_that_the_others_do_not(here, words, capsys):
    """What the full parser refuses is left to it, and the doctor names it."""
    above, root = here.root.parent, here.root
    os.symlink(root, above / "link")
    before = here.layout.signals.stat().st_size if here.layout.signals.exists() else 0
    for open_one, mode in ((above, 0o777), (root, 0o777), (root / "memory", 0o777)):
        root.chmod(0o711)
        kept = stat.S_IMODE(open_one.stat().st_mode)
        open_one.chmod(mode)
        assert distrust(root)
        for named in (root, above / "link"):
            assert run_plain(["--state", str(named), *words]) is None
        assert main(["--state", str(root), "doctor"]) == 1
        assert "other users can" in capsys.readouterr().out
        open_one.chmod(kept)
    root.chmod(0o700)
    assert (here.layout.signals.stat().st_size if here.layout.signals.exists() else 0) == before
    assert run_plain(["--state", str(root), *words]) in (0, 3)


def test_the_entry_point_knows_each_plain_verb_by_name():
    assert set(_PLAIN_VERBS) == set(plain.VERBS)


def test_an_unwritable_journal_is_an_error_and_not_tried_twice(here, capsys):
    here.layout.signals.symlink_to(here.root / "elsewhere")
    assert run_plain(["signal", "x"]) == 1
    assert "symbolic link" in capsys.readouterr().err


def test_undecodable_words_become_readable_text(here):
    assert run_plain(["signal", "caf\udce9"]) == 0
    assert json.loads(here.layout.signals.read_text())["message"] == "caf?"


def test_state_may_stand_first(here, tmp_path, monkeypatch):
    monkeypatch.delenv("LUMEN_STATE")
    assert run_plain(["--state", str(here.root), "signal", "x"]) == 0
    assert run_plain(["signal", "x", f"--state={here.root}"]) == 0


@pytest.mark.parametrize("environ", [{"LUMEN_STATE": "~/x"}, {"XDG_STATE_HOME": "/s"}, {"HOME": os.environ["HOME"]}])
@pytest.mark.parametrize("checkout", [True, False])
def test_the_default_folder_is_the_layouts(tmp_path, monkeypatch, environ, checkout):
    monkeypatch.chdir(tmp_path)
    if checkout:
        (tmp_path / "pyproject.toml").touch()
        (tmp_path / "lumen_tui").mkdir()
    assert hot.state_root(environ) == str(default_root(environ, tmp_path))


@pytest.mark.parametrize("seconds", [0.0, 951_782_400.5, 1_709_164_800.25, 1_800_000_000.0, 4_107_542_399.999])
def test_dates_are_read_as_the_model_reads_them(seconds):
    assert inbox.epoch(times.iso(seconds)) == pytest.approx(times.epoch(times.iso(seconds)), abs=1e-3)
    assert inbox.epoch("2026-01-01T00:00:00+02:00") == times.epoch("2026-01-01T00:00:00+02:00")
    assert inbox.epoch("2026-xx-01T00:00:00.000Z") == 0.0


def test_json_by_hand_is_json():
    value = {"a": 'q"\\\n\x00é😀', "b": [1, True, "x"], "c": {"d": ""}}
    assert json.loads(jsontext.dumps(value)) == value
