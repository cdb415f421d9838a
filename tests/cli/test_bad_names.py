"""Names that nothing has: the nearest are offered, the exit code is 3 for an id and else 2, nothing is written."""

from __future__ import annotations

import json
import shutil

import pytest

from lumen_tui.store.work import views


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    """A copy of the folder for the tests after the first."""
    return tmp_path_factory.mktemp("known") / "state"


@pytest.fixture
def known(shell, furnished):
    if furnished.exists():
        shutil.copytree(furnished, shell.root, dirs_exist_ok=True)
        return shell
    for words in (
        ("wu", "new", "Session manager", "--id", "WU-042", "--lane", "Framework: Core"), ("start", "--wu", "WU-042"),
        ("create", "a race", "--type", "bug"),
    ):  # fmt: skip
        assert shell(*words).returncode == 0
    shutil.copytree(shell.root, furnished)
    return shell


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("signal", "x", "--wu", "WU-024"), "did you mean: WU-042"),
        (("signal", "x", "--wu", "42"), "write it as WU-042"),
        (("signal", "x", "--lane", "Framework: Coer"), "did you mean: Framework: Core"),
        (("signal", "x", "--lane", "framework:core"), "did you mean: Framework: Core"),
        (("signal", "x", "--priority", "P7"), "one of P0, P1, P2, P3"),
        (("inbox", "--wu", "WU-024"), "did you mean: WU-042"),
        (("inbox", "--lane", "Framework Core"), "did you mean: Framework: Core"),
        (("inbox", "--since", "3 moons"), "neither an age such as 2h nor a date"),
        (("inbox", "--reader", "two\nlines"), "one line of 1 to 100 printable characters"),
        (("create", "x", "--wu", "WU-024"), "did you mean: WU-042"),
        (("create", "x", "--session", "ses-zzz"), "; there is ses-"),
        (("create", "x", "--type", "discvery"), "did you mean: discovery"),
        (("checkpoint", "x", "--wu", "WU-024"), "did you mean: WU-042"),
        (("ready", "--wu", "WU-024"), "did you mean: WU-042"),
        (("ready", "--type", "discvery"), "did you mean: discovery"),
        (("start", "--wu", "WU-024"), "did you mean: WU-042"),
        (("start", "--wu", "WU-042", "-c", "fll"), "did you mean: full"),
        (("decide", "q", "--wu", "WU-024"), "did you mean: WU-042"),
        (("handoff", "x", "--wu", "WU-024"), "did you mean: WU-042"),
        (("session", "end", "ses-zzz"), "; there is ses-"),
        (("summarize", "--wu", "WU-024"), "did you mean: WU-042"),
        (("cleanup", "--ttl", "3 moons"), "such as 30d"),
        (("signal-cleanup", "--ttl", "banana"), "such as 30d"),
        (("delete", "--older-than", "3 moons"), "such as 30d"),
        (("decay", "--dry-run", "--at", "never"), "neither a date such as"),
    ],
    ids=" ".join,
)
def test_the_nearest_is_offered_and_nothing_is_written(known, words, said):
    before = known.files()
    ran = known(*words)
    code = 3 if said.startswith(("did you mean: WU-", "; there is ses-")) else 2
    assert (ran.returncode, ran.stdout) == (code, "")
    assert said in ran.stderr
    assert known.files() == before


def test_a_node_that_is_nearly_one_is_offered(known):
    node = json.loads(known.layout.memory.read_text().splitlines()[-1])["id"]
    wrong = node[:-1] + ("a" if node[-1] != "a" else "b")
    for words in (("archive", wrong, "-r", "x"), ("create", "x", "--discovered-from", wrong), ("touch", wrong)):
        ran = known(*words)
        assert (ran.returncode, f"did you mean: {node}" in ran.stderr) == (3, True), words


def test_a_prefix_of_several_lists_what_it_could_be(known):
    assert known("create", "another").returncode == 0
    ran = known("archive", "mem", "-r", "x")
    made = [json.loads(line)["id"] for line in known.layout.memory.read_text().splitlines()]
    assert ran.returncode == 2
    assert all(node in ran.stderr for node in made)


def test_a_new_lane_and_a_new_reader_are_no_slips(known):
    assert known("signal", "x", "--lane", "Operations").returncode == 0
    assert known("inbox", "--lane", "Operations", "--reader", "agent-2", "--count").stdout == "1\n"


def test_a_work_unit_that_only_records_know_of_is_known(known):
    old = {"id": "sig-1", "message": "old", "created_at": "2026-01-01T00:00:00Z", "sender": "x", "wu_id": "WU-007"}
    with known.layout.signals.open("a") as file:
        file.write(json.dumps(old) + "\n")
    assert known("signal", "x", "--wu", "WU-007").returncode == 0
    assert known("inbox", "--wu", "wu-007", "--count").stdout == "2\n"


def test_the_lanes_are_read_anew_after_each_change_of_a_unit(known):
    kept = known.root / "index" / "lanes.json"
    assert views.known_lanes(known.root) == ["Framework: Core"]
    kept.write_text("torn {")
    assert views.known_lanes(known.root) == ["Framework: Core"]
    assert known("wu", "new", "t", "--lane", "UI").returncode == 0
    (known.layout.work / "WU-900.md").write_text("not a unit")
    assert views.known_lanes(known.root) == ["Framework: Core", "UI"]
    assert views.is_known_lane(known.root, "UI")
    assert json.loads(kept.read_text())["lanes"] == ["Framework: Core", "UI"]
    (known.layout.work / "WU-901.md").write_text("not a unit either")
    before = kept.read_bytes()
    assert not views.is_known_lane(known.root, "Nowhere")
    assert views.known_lanes(known.root) == ["Framework: Core", "UI"]
    assert kept.read_bytes() == before, "only what is there is worth keeping the lanes for"
