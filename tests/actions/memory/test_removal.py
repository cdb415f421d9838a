from __future__ import annotations

import json

import pytest


def test_deleting_marks_and_undo_brings_back(desk, cli):
    node = desk.add(content="scratch")
    before = desk.node(node)
    assert cli("delete", node[:10])[:2] == (0, "“scratch” deleted\n")
    after = desk.node(node)
    assert (after["content"], after["metadata"]["status"]) == ("scratch", "deleted")
    assert json.loads(cli("export", "--json")[1]) == []
    assert cli("delete", node)[0] == 3
    assert cli("undo")[0] == 0
    assert {**desk.node(node), "updated_at": 0, "updated_by": 0} == {
        **before, "metadata": {}, "updated_at": 0, "updated_by": 0,
    }  # fmt: skip


def test_by_tag_and_age_what_is_protected_stays(desk, cli):
    old, young = desk.add(age=9, tags=["tmp"]), desk.add(age=1, tags=["tmp"])
    untagged = desk.add(age=9, content="about tmp")
    pinned = desk.add(age=9, tags=["tmp"], metadata={"pinned": True})
    found = desk.add("discovery", age=9, tags=["tmp"])
    before = desk.files()
    told = json.loads(cli("delete", "--tag", "tmp", "--older-than", "7d", "--dry-run", "--json")[1])
    assert ([one["id"] for one in told["nodes"]], told["protected"]) == ([old], 2)
    assert desk.files() == before
    assert cli("delete", "--tag", "tmp", "--older-than", "7d")[0] == 0
    assert [desk.status(node) for node in (old, young, untagged, pinned, found)] == ["deleted"] + ["open"] * 4
    assert cli("delete", "--tag", "tmp", "--older-than", "7d")[0] == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [([], 2), (["mem-x", "--tag", "t"], 2), (["--older-than", "old"], 2), (["mem-nothing"], 3), (["--tag", "none"], 3)],
)
def test_bad_words_write_nothing(desk, cli, words, code):
    desk.add(age=9)
    before = desk.files()
    assert cli("delete", *words)[0] == code
    assert desk.files() == before


def test_single_nodes_by_hand(desk, cli):
    node = desk.add(age=101)
    assert cli("pin", node)[0] == 0
    assert desk.index().protects(node)
    assert cli("pin", node, "--off")[0] == 0
    assert cli("archive", node)[0] == 2, "a reason is needed"
    assert cli("archive", node, "-r", "done with it")[0] == 0
    assert desk.meta(node)["archive_reason"] == "done with it"
    assert cli("archive", node, "-r", "again")[0] == 2
    assert cli("unarchive", node)[0] == 0
    assert cli("decay")[0] == 3, "its age counts from now"
    assert cli("touch", node)[0] == 0
    assert cli("touch", "mem-none")[0] == 3


def test_export_filters_and_is_safe(desk, cli):
    note = desk.add(content="title\x1b[2J\nbody\u202e", wu_id="WU-001", tags=["a"], metadata={"priority": "P1"})
    desk.add("discovery", wu_id="WU-002")
    code, out, _ = cli("export", "--wu", "wu-001", "-f", "markdown")
    assert code == 0
    assert out.startswith("## title␛[2J\n\n" + note)
    assert not set(out) & set("\x1b\u202e")
    assert [one["type"] for one in json.loads(cli("export", "-t", "discovery", "--json")[1])] == ["discovery"]
    assert [one["id"] for one in json.loads(cli("export", "-l", "session", "-f", "json")[1])] == [note]
    assert cli("export", "--wu", "WU-009")[0] == 3
    assert cli("export", "-t", "discvery")[0] == 2
